/* A text that streams, token by token: what is shown, and what has to wait.
 *
 * data[example].sizes[size] has a step for each token of so many bytes, and one for the
 * end: the token, the text shown so far, the characters that may begin a stop text, and
 * the bytes of a character that is not complete.
 */
"use strict";

Figure.define("held-back-text", ({ text, data, ui }) => {
  const WIDTH = 352, BOX = 17, ROW = 30, COLUMNS = 20;
  const SHOWN = "series-3", WAITS = "series-2", HALF = "series-4";

  const example = ui.choice({
    name: "example", label: text.example, value: "plain",
    options: Object.keys(data).map((name) => [name, text.examples[name]]),
  });
  const size = ui.choice({
    name: "size", label: text.size, value: "1",
    options: Object.keys(data.plain.sizes).map((name) => [name, name]),
  });
  const next = ui.button({
    name: "next", label: text.next,
    action: () => { step.value = step.value >= steps().length ? 1 : step.value + 1; },
  });
  next.style.justifySelf = "start";
  const step = ui.slider({ name: "step", label: text.step, min: 1, max: 40, step: 1, value: 5 });

  const boxes = ui.drawing({ width: WIDTH, height: 2 * ROW + 6, alt: text.boxes_alt });
  ui.legend([[SHOWN, text.of_shown], [WAITS, text.of_waits], [HALF, text.of_half]]);
  const read = ui.readouts(
    ["token", "new", "shown", "waits", "half", "stopped"], (name) => text.readouts[name]);
  for (const one of ui.numbers.querySelectorAll("dd")) one.style.flexShrink = 0;

  const steps = () => data[example.value].sizes[size.value];
  const written = (words) => (words ? words.replaceAll(" ", "·") : text.nothing);

  /** A box for each character that was read, and one for each byte of half a one. */
  function drawBoxes({ shown, waits, half }) {
    const all = [
      ...[...shown].map((one) => [one, SHOWN]),
      ...[...waits].map((one) => [one, WAITS]),
      ...Array.from({ length: half }, () => ["?", HALF]),
    ];
    boxes.replaceChildren();
    all.forEach(([one, kind], place) => {
      const x = (place % COLUMNS) * (BOX + 0.5), y = 4 + Math.floor(place / COLUMNS) * ROW;
      Figure.svg(boxes, "rect", { x, y, width: BOX - 1, height: ROW - 6, class: `bar ${kind}`, opacity: 0.45 });
      Figure.svg(boxes, "text", { x: x + BOX / 2 - 0.5, y: y + 17, class: "tick middle" }, one === " " ? "·" : one);
    });
  }

  return () => {
    step.input.max = steps().length;
    step.value = Math.min(step.value, steps().length);
    const now = steps()[step.value - 1];
    drawBoxes(now);
    read.token.show(now.token || text.end);
    read.new.show(written(now.new));
    read.shown.show(written(now.shown));
    read.waits.show(written(now.waits));
    read.half.show(now.half);
    read.stopped.show(now.stopped ? text.yes : text.no);
  };
});
