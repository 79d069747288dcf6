/* A prompt comes in while others are being answered: what each step computes, and when.
 *
 * Each stream needs one token in a step. What the budget leaves is a piece of the prompt,
 * until nothing of it is left; then it is a stream like the others.
 *
 * data.ms: pairs of the tokens of a step and the milliseconds that it took.
 */
"use strict";

Figure.define("token-budget", ({ text, data, ui }) => {
  const { svg } = Figure;
  const WIDTH = 352, LEFT = 58, ROW = 15, BESIDE = 3;

  const budget = ui.slider({ name: "budget", label: text.budget, min: 8, max: 256, step: 8, value: 256 });
  const prompt = ui.slider({ name: "prompt", label: text.prompt, min: 8, max: 248, step: 8, value: 240 });
  const streams = ui.slider({ name: "streams", label: text.streams, min: 1, max: 6, step: 1, value: 4 });

  const drawing = ui.drawing({ width: WIDTH, height: 30 + 7 * ROW, alt: text.drawing_alt });
  ui.legend([["series-1", text.token], ["series-2", text.piece], ["series-3", text.first]]);
  const shown = ui.readouts(
    ["steps", "usual", "pause", "times", "wait"], (name) => text.readouts[name]);

  /** Return the milliseconds of a step with so many tokens: on the line between two. */
  function took(tokens) {
    const after = Math.max(1, data.ms.findIndex(([one]) => one >= tokens));
    const [[x0, y0], [x1, y1]] = data.ms.slice(after - 1, after + 1);
    return y0 + ((y1 - y0) * (tokens - x0)) / (x1 - x0);
  }

  /** Return the steps: a few before the prompt comes, those with pieces, a few after. */
  function serve() {
    const alone = { piece: 0, ms: took(streams.value) };
    const found = Array(BESIDE).fill(alone);
    for (let left = prompt.value; left > 0;) {
      const piece = Math.min(left, budget.value - streams.value);
      found.push({ piece, ms: took(piece + streams.value) });
      left -= piece;
    }
    const after = { piece: 0, ms: took(streams.value + 1), isAfter: true };
    return [...found, ...Array(BESIDE).fill(after)];
  }

  /** Draw a row for each stream and one for the prompt, over the time. */
  function draw(steps) {
    drawing.replaceChildren();
    const total = steps.reduce((sum, one) => sum + one.ms, 0);
    const x = (ms) => LEFT + ((WIDTH - LEFT - 6) * ms) / total;
    const y = (row) => 8 + row * ROW;
    for (let row = 0; row <= streams.value; row++) {
      const name = row < streams.value ? `${text.stream} ${row + 1}` : text.new;
      svg(drawing, "text", { x: LEFT - 8, y: y(row) + 10, class: "tick end" }, name);
      svg(drawing, "line", { x1: LEFT, x2: WIDTH - 6, y1: y(row) + 6, y2: y(row) + 6, class: "grid" });
    }
    const last = BESIDE + steps.filter((one) => one.piece).length - 1;
    let now = 0;
    steps.forEach((one, number) => {
      const [from, to] = [x(now), x(now + one.ms)];
      now += one.ms;
      for (let row = 0; row < streams.value; row++) dot(to, y(row) + 6, "series-1");
      if (one.piece) {
        const size = { x: from, y: y(streams.value), width: Math.max(to - from - 1, 0.6), height: 12 };
        svg(drawing, "rect", { ...size, class: "bar series-2" });
      }
      if (number === last) dot(to, y(streams.value) + 6, "series-3");
      if (one.isAfter) dot(to, y(streams.value) + 6, "series-1");
    });
    const under = y(streams.value + 1) + 9;
    svg(drawing, "text", { x: LEFT, y: under, class: "tick" }, "0 ms");
    svg(drawing, "text", { x: WIDTH - 6, y: under, class: "tick end" }, `${Figure.written(total, 3)} ms`);
  }

  function dot(x, y, kind) {
    svg(drawing, "circle", { cx: x, cy: y, r: 3, class: `bar ${kind}` });
  }

  return () => {
    const steps = serve();
    draw(steps);
    const withPieces = steps.filter((one) => one.piece);
    const usual = steps[0].ms;
    const pause = Math.max(...withPieces.map((one) => one.ms));
    const wait = withPieces.reduce((sum, one) => sum + one.ms, 0);
    shown.steps.show(withPieces.length, `${withPieces.length}`);
    for (const [name, ms] of [["usual", usual], ["pause", pause], ["wait", wait]]) {
      shown[name].show(ms, `${Figure.written(ms, 3)} ms`);
    }
    shown.times.show(pause / usual, Figure.written(pause / usual, 3));
  };
});
