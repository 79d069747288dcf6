/* The events of a stream, one after the other, as the reference's server sends them.
 *
 * data[example] has an event each: its kind, what stands in it, and the text so far.
 */
"use strict";

Figure.define("events-of-a-stream", ({ text, data, ui }) => {
  const WIDTH = 352, BOX = 36, ROW = 34, COLUMNS = 9;
  const KINDS = { text: "series-3", end: "series-2", usage: "series-4", error: "series-2", done: "series-1" };

  const example = ui.choice({
    name: "example", label: text.example, value: "usage",
    options: Object.keys(data).map((name) => [name, text.examples[name]]),
  });
  const next = ui.button({
    name: "next", label: text.next,
    action: () => { step.value = step.value >= events().length ? 1 : step.value + 1; },
  });
  next.style.justifySelf = "start";
  const step = ui.slider({ name: "step", label: text.step, min: 1, max: 12, step: 1, value: 1 });

  const boxes = ui.drawing({ width: WIDTH, height: 2 * ROW, alt: text.boxes_alt });
  const read = ui.readouts(
    ["kind", "role", "content", "reason", "usage", "text"], (name) => text.readouts[name]);

  const events = () => data[example.value];
  const written = (words) => (words ? words.replaceAll(" ", "·") : text.nothing);

  return () => {
    step.input.max = events().length;
    step.value = Math.min(step.value, events().length);
    const now = events()[step.value - 1];
    boxes.replaceChildren();
    events().slice(0, step.value).forEach((one, place) => {
      const x = (place % COLUMNS) * (BOX + 3), y = 3 + Math.floor(place / COLUMNS) * ROW;
      Figure.svg(boxes, "rect", { x, y, width: BOX, height: ROW - 8, class: `bar ${KINDS[one.kind]}`, opacity: 0.45 });
      Figure.svg(boxes, "text", { x: x + BOX / 2, y: y + 18, class: "tick middle" }, one.content ? written(one.content) : text.short[one.kind]);
    });
    read.kind.show(text.kinds[now.kind]);
    read.role.show(now.role || text.nothing);
    read.content.show(written(now.content));
    read.reason.show(now.reason || text.nothing);
    read.usage.show(now.usage || text.nothing);
    read.text.show(written(now.text));
  };
});
