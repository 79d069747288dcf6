/* A threadgroup normalises a row: a pass that adds up squares, a barrier, a pass that writes.
 *
 * In each round of a pass, thread t takes the number t of as many as there are threads.
 * Then each SIMD group adds up its lanes into a slot, all wait, and all add up the slots.
 * Bytes are those that threads ask for, in float32, and those of separate operations.
 *
 * data.x, data.residual: the row, and what may be added to it. data.lanes: of a SIMD group.
 * data.groups: how many of these there are. data.eps: as in the formula.
 */
"use strict";

Figure.define("row-in-two-passes", ({ text, data, ui }) => {
  const { svg, sum, written, grouped } = Figure;
  const { lanes, groups } = data;
  const COUNT = data.x.length, THREADS = lanes * groups, ROUNDS = COUNT / THREADS;
  const STEPS = 2 * ROUNDS + 3;
  const WIDTH = 352, LEFT = 62, SIDE = (WIDTH - LEFT) / COUNT, STRIP = 15, BYTES = 4;

  const kernel = ui.choice({
    name: "kernel", label: text.kernel, value: "norm",
    options: ["norm", "sum"].map((name) => [name, text.kernels[name]]),
  });
  const again = ui.choice({
    name: "again", label: text.again, value: "device",
    options: ["device", "threadgroup"].map((name) => [name, text.places[name]]),
  });
  const step = ui.slider({ name: "step", label: text.step, min: 0, max: STEPS, step: 1, value: 0 });

  const drawing = ui.drawing({ width: WIDTH, height: 236, alt: text.alt });
  ui.legend([
    ["series-1", text.legend.read], ["series-3", text.legend.written], ["series-2", text.legend.waiting],
  ]);
  ui.widenNumbers();
  const shown = ui.readouts(
    ["now", "read", "stored", "fused", "apart", "times"], (name) => text.readouts[name]);

  /** How many rounds of both passes are over at a step. */
  function rounds(at) {
    return [Math.min(at, ROUNDS), Math.max(0, at - ROUNDS - 3)];
  }

  /** The arrays of a row's length that each pass reads and writes, for each number. */
  function arrays(adds, isKept) {
    const first = { read: adds ? 2 : 1, stored: adds ? 1 : 0 };
    const second = { read: isKept ? 1 : 2, stored: 1 }; // a weight, and the number again
    return [first, second];
  }

  /** What the operations of Week 1 move: square, mean, eps, root, two products, and a sum. */
  function apart(adds) {
    const numbers = (adds ? 3 : 0) + 2 + 1 + 2 + 3, ones = 1 + 2 + 2 + 1;
    return BYTES * (numbers * COUNT + ones);
  }

  /** Draw a row of numbers: `kind(i)` is the class of a cell, and whether it is of now. */
  function strip(y, name, kind) {
    svg(drawing, "text", { x: LEFT - 6, y: y + STRIP - 3, class: "tick end" }, name);
    for (let i = 0; i < COUNT; i++) {
      const [found, isNow] = kind(i);
      const box = svg(drawing, "rect", { x: LEFT + i * SIDE, y, width: SIDE - 1.5, height: STRIP, class: found });
      if (found !== "cell") box.style.fillOpacity = isNow ? 1 : 0.35;
    }
  }

  /** Draw a box for each thread or slot, with a number in it. */
  function boxes(y, name, values, width, kind) {
    svg(drawing, "text", { x: LEFT - 6, y: y + 15, class: "tick end" }, name);
    values.forEach((value, i) => {
      const x = LEFT + i * width;
      const box = svg(drawing, "rect", { x, y, width: width - 3, height: 21, rx: 2, class: value === null ? "cell" : kind });
      if (value !== null) box.style.fillOpacity = 0.35;
      if (value !== null) svg(drawing, "text", { x: x + width / 2 - 1, y: y + 15, class: "tick middle" }, written(value, 3));
    });
  }

  return () => {
    const at = step.value, adds = kernel.value === "sum", isKept = again.value === "threadgroup";
    const row = data.x.map((one, i) => (adds ? one + data.residual[i] : one));
    const [first, second] = rounds(at);
    const isFirst = at >= 1 && at <= ROUNDS, isSecond = at > ROUNDS + 3;
    const over = (i, count) => i < count * THREADS;
    const now = (i, count, isPass) => isPass && Math.floor(i / THREADS) === count - 1;
    const squares = Array.from({ length: THREADS }, (_, t) =>
      sum(row.filter((_, i) => i % THREADS === t && over(i, first)).map((one) => one * one)));
    const slots = Array.from({ length: groups }, (_, g) => sum(squares.slice(g * lanes, (g + 1) * lanes)));
    const factor = 1 / Math.sqrt(sum(slots) / COUNT + data.eps);

    drawing.replaceChildren();
    const read = (isPassTwo) => (i) => {
      if (isPassTwo && over(i, second)) return ["bar series-1", now(i, second, isSecond)];
      if (over(i, first)) return ["bar series-1", now(i, first, isFirst)];
      return ["cell", false];
    };
    strip(4, adds ? text.both : text.row, read(!adds && !isKept));
    const stored = (count, isPass) => (i) => [over(i, count) ? "bar series-3" : "cell", now(i, count, isPass)];
    if (adds) {
      const put = stored(first, isFirst), asked = read(!isKept);
      strip(27, text.sum, (i) => (!isKept && now(i, second, isSecond) ? asked(i) : put(i)));
    }
    const width = (WIDTH - LEFT) / THREADS;
    boxes(56, text.threads, squares.map((one) => (at === 0 ? null : one)), width, "bar series-1");
    boxes(92, text.slots, slots.map((one) => (at > ROUNDS ? one : null)), lanes * width, "bar series-3");
    const isWaiting = at === ROUNDS + 2;
    svg(drawing, "line", {
      x1: LEFT, x2: WIDTH - 3, y1: 128, y2: 128, class: `line ${isWaiting ? "series-2" : "muted"}`,
    });
    svg(drawing, "text", { x: LEFT - 6, y: 132, class: "tick end" }, text.barrier);
    const factors = Array(groups).fill(at > ROUNDS + 2 ? factor : null);
    boxes(146, text.factor, factors, lanes * width, "bar series-1");
    strip(184, text.result, stored(second, isSecond));
    svg(drawing, "text", { x: LEFT, y: 226, class: "tick" }, text.passes.replace("{threads}", THREADS));

    const moved = (name, counts) => BYTES * THREADS
      * sum(arrays(adds, isKept).map((one, pass) => one[name] * counts[pass]));
    const fused = moved("read", [ROUNDS, ROUNDS]) + moved("stored", [ROUNDS, ROUNDS]);
    const names = ["start", ...Array(ROUNDS).fill("first"), "slots", "barrier", "total", ...Array(ROUNDS).fill("second")];
    shown.now.show(names[at], text.steps[names[at]]);
    shown.read.show(moved("read", [first, second]), grouped(moved("read", [first, second])));
    shown.stored.show(moved("stored", [first, second]), grouped(moved("stored", [first, second])));
    shown.fused.show(fused, grouped(fused));
    shown.apart.show(apart(adds), grouped(apart(adds)));
    shown.times.show(apart(adds) / fused, written(apart(adds) / fused, 3));
  };
});
