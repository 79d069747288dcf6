/* Eight weights, and the levels that MLX's rule gives them, in float32.
 *
 *   edge   the end of a group that is farther from zero, the high one if neither is
 *   step   max((high - low) / (2^bits - 1), 1e-7), negative if the edge is high
 *   n      round(edge / step);  scale = edge / n, bias = edge;  scale = step, 0 if n is 0
 *   q      round((w - bias) / scale), held between 0 and 2^bits - 1
 *
 * data.weights: what the figure opens with. */
"use strict";

/** Quantise one group as `quantize` of the course does, and read it again. */
function quantisedGroup(group, bits) {
  const { fround } = Math;
  const toEven = (value) => {
    const below = Math.floor(value), rest = value - below;
    return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
  };
  const w = group.map(fround), largest = 2 ** bits - 1;
  const low = Math.min(...w), high = Math.max(...w);
  const isFromLow = Math.abs(low) > Math.abs(high), edge = isFromLow ? low : high;
  const width = Math.max(fround(fround(high - low) / largest), fround(1e-7));
  const step = isFromLow ? width : -width;
  const n = toEven(fround(edge / step));
  const [scale, bias] = n === 0 ? [step, 0] : [fround(edge / n), edge];
  const q = w.map((one) => {
    const nearest = toEven(fround(fround(one - bias) / scale));
    return Math.max(0, Math.min(largest, nearest));
  });
  const level = (one) => fround(fround(one * scale) + bias);
  const restored = q.map(level);
  return { scale, bias, q, restored, level, errors: restored.map((one, i) => one - w[i]) };
}

Figure.define("quantisation-levels", ({ text, data, ui }) => {
  const { svg, written, listed } = Figure;
  const WIDTH = 360, RULER = 62;
  const numbered = (values) => values.map((one) => [String(one), String(one)]);
  const weights = [...data.weights];
  let changing = 5; // the weight that the slider has

  const which = ui.choice({
    name: "which", label: text.which, value: "5", options: numbered(weights.map((_, i) => i)),
  });
  const value = ui.slider({
    name: "value", label: text.value, min: -8, max: 8, step: 0.01, value: weights[changing],
  });
  const bits = ui.choice({ name: "bits", label: text.bits, value: "4", options: numbered([2, 4, 8]) });
  const size = ui.choice({ name: "size", label: text.size, value: "8", options: numbered([8, 4, 2]) });
  const reset = ui.button({
    name: "reset", label: text.reset,
    action: () => { weights.splice(0, weights.length, ...data.weights); value.value = weights[changing]; },
  });
  reset.style.justifySelf = "start";

  const rulers = ui.drawing({ width: WIDTH, height: RULER, alt: text.rulers_alt });
  ui.legend([["series-2", text.weight], ["series-1", text.exact]]);
  const axis = [-0.6, weights.length - 0.4];
  const chart = ui.plot({
    x: axis, y: [-1, 1], height: 150, xTicks: weights.map((_, i) => [i, String(i)]),
    xLabel: text.which_axis, yLabel: text.error, alt: text.errors_alt,
  });
  ui.legend([["series-3", text.error_legend], ["dashed", text.half]]);
  ui.widenNumbers();
  const shown = ui.readouts(
    ["scales", "biases", "words", "memory", "largest", "rms", "in_steps", "q", "restored"],
    (name) => text.readouts[name]);
  for (const row of [...ui.numbers.children].slice(-2)) row.style.gridColumn = "1 / -1";

  /** Draw a ruler for each group: its levels, and above them its weights. */
  function drawRulers(groups) {
    rulers.replaceChildren();
    rulers.setAttribute("viewBox", `0 0 ${WIDTH} ${RULER * groups.length}`);
    const last = 2 ** Number(bits.value) - 1;
    const ends = groups.flatMap(({ level, w }) => [level(0), level(last), ...w]);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const px = (one) => 18 + ((one - low) / (high - low)) * (WIDTH - 36);
    groups.forEach(({ w, restored, scale, bias, level }, place) => {
      const y = RULER * place + 38;
      const mark = (q, height) => `M${px(level(q))} ${y - height}v${2 * height}`;
      const levels = Array.from({ length: last + 1 }, (_, q) => mark(q, 4)).join("");
      const line = (d, kind, width) =>
        svg(rulers, "path", { d, class: `line ${kind}` }).style.strokeWidth = width;
      line(`M${px(level(0))} ${y}H${px(level(last))}${levels}`, "muted", last > 15 ? 0.5 : 1);
      w.forEach((one, i) => line(`M${px(one)} ${y - 20}L${px(restored[i])} ${y - 4}`, "series-2", 1));
      w.forEach((one, i) => {
        svg(rulers, "circle", { cx: px(one), cy: y - 20, r: 3.5, class: "mark series-2" });
        if (place * w.length + i !== changing) return;
        svg(rulers, "text", { x: px(one), y: y - 27, class: "middle" }, changing);
      });
      const zero = Math.round(-bias / scale);
      for (const q of [0, zero]) if (q <= last) line(mark(q, 7), "series-1", 2);
      const name = (one) => svg(rulers, "text", { x: px(one), y: y + 19, class: "tick middle" }, written(one, 3));
      name(bias);
      if (zero <= last && Math.abs(px(bias) - px(0)) > 34) name(0);
    });
  }

  /** Draw by how much each weight is off, and half a step of its group. */
  function drawErrors(errors, groups) {
    const widest = Math.max(...errors.map(Math.abs), ...groups.map(({ scale }) => Math.abs(scale) / 2));
    const reach = [0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5].find((one) => one >= widest);
    chart.rescale(axis, [-reach, reach]);
    chart.clear();
    errors.forEach((one, i) => chart.bar(i, one, 0.6, "series-3"));
    chart.line([[axis[0], 0], [axis[1], 0]], "muted");
    const length = errors.length / groups.length;
    groups.forEach(({ scale }, i) => {
      for (const half of [scale / 2, -scale / 2]) {
        chart.line([[i * length - 0.4, half], [(i + 1) * length - 0.6, half]], "muted dashed");
      }
    });
  }

  /** Put the integers into words of 32 bits, the first one into the lowest bits. */
  function packed(q) {
    const perWord = 32 / Number(bits.value), words = [];
    q.forEach((one, i) => {
      const word = Math.floor(i / perWord);
      words[word] = (words[word] ?? 0) + one * 2 ** ((i % perWord) * Number(bits.value));
    });
    return words;
  }

  return () => {
    if (Number(which.value) !== changing) {
      changing = Number(which.value);
      value.value = weights[changing];
    }
    weights[changing] = value.value;
    const length = Number(size.value);
    const groups = Array.from({ length: weights.length / length }, (_, i) => {
      const w = weights.slice(i * length, (i + 1) * length);
      return { w, ...quantisedGroup(w, Number(bits.value)) };
    });
    const [q, restored, errors] = ["q", "restored", "errors"].map((name) => groups.flatMap((one) => one[name]));
    drawRulers(groups);
    drawErrors(errors, groups);

    const digits = Math.min(8, (weights.length * Number(bits.value)) / 4);
    const hex = (word) => `0x${word.toString(16).padStart(digits, "0")}`;
    for (const [name, key] of [["scales", "scale"], ["biases", "bias"]]) {
      shown[name].show(groups.map((one) => one[key]), listed(groups.map((one) => one[key]), 3));
    }
    shown.words.show(packed(q), packed(q).map(hex).join(" "));
    shown.memory.show(Number(bits.value) + (2 * 16) / length); // both have 16 bits
    const largest = (values) => Math.max(...values.map(Math.abs));
    const rms = Math.sqrt(Figure.sum(errors.map((one) => one * one)) / errors.length);
    for (const [name, one] of [
      ["largest", largest(errors)], ["rms", rms],
      ["in_steps", largest(errors.map((error, i) => error / groups[Math.floor(i / length)].scale))],
    ]) shown[name].show(one, written(one, 3));
    shown.q.show(q, q.join(", "));
    shown.restored.show(restored, listed(restored, 3));
  };
});
