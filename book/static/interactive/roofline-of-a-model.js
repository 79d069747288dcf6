/* What one step of a Qwen2 costs, and which roof of a machine it meets.
 *
 *   seconds = max(operations / operations per second, bytes / bytes per second)
 *
 * data.models: sizes, under the names of config.json. data.formats: bits of a quantised
 * weight or null, and the bytes of all other numbers. data.machines: bytes and operations
 * per second, in billions. data.lengths: numbers of tokens, or of texts, to choose from.
 */
"use strict";

/** Count one step of `texts` texts: `fresh` new tokens in each, which end at `seen`. */
function costOfStep(config, { bits, size }, group, { seen, fresh, texts }) {
  const { num_hidden_layers: layers, hidden_size: hidden, vocab_size: vocab } = config;
  const kvSize = (hidden / config.num_attention_heads) * config.num_key_value_heads;
  const linear = 2 * hidden * hidden + 2 * hidden * kvSize + 3 * hidden * config.intermediate_size;
  // A new token sees those up to itself. Only the last one of a text needs the head.
  const pairs = fresh * seen - (fresh * (fresh - 1)) / 2;
  const flops = texts * (layers * (2 * fresh * linear + 4 * pairs * hidden) + 2 * vocab * hidden);
  // All texts share the weights. One row is looked up in a table that is not the head.
  const row = config.tie_word_embeddings ? 0 : hidden;
  const matrices = layers * linear + vocab * hidden + row;
  const vectors = layers * (3 * hidden + 2 * kvSize) + hidden;
  const weights = bits === null ? (matrices + vectors) * size
    : Math.floor((matrices * bits) / 8) + (Math.floor((2 * matrices) / group) + vectors) * size;
  return { flops, weights, cache: texts * layers * 2 * seen * kvSize * size };
}

Figure.define("roofline-of-a-model", ({ text, data, ui }) => {
  const { svg, grouped } = Figure;
  const OWN = "own";
  const [WEIGHTS, ARITHMETIC, CACHE] = ["series-1", "series-2", "series-3"];
  const LOWEST = -1, HIGHEST = 6; // powers of ten on both axes of the plot

  const list = (name, keys, value) => ui.choice({
    name, label: text[name], value, options: keys.map((key) => [key, text[`${name}s`][key]]),
  });
  const model = list("model", Object.keys(data.models), "qwen2-0.5b");
  const format = list("format", Object.keys(data.formats), "four");
  const work = list("work", ["write", "read"], "write");
  const number = (name, largest, value) => ui.slider({
    name, label: text[name], min: 0, max: data.lengths.indexOf(largest), step: 1,
    value: data.lengths.indexOf(value), format: (place) => grouped(data.lengths[place]),
  });
  const seen = number("seen", data.lengths.at(-1), 1024);
  const texts = number("texts", 256, 1);
  const machine = list("machine", [...Object.keys(data.machines), OWN], Object.keys(data.machines)[0]);
  // The slider runs over powers of ten; the rate is rounded to three digits.
  const rateOf = (power) => Number((10 ** power).toPrecision(3));
  const rate = (name, most) => ui.slider({
    name, label: text[name], min: 1, max: most, value: 1, format: (power) => grouped(rateOf(power)),
  });
  const bandwidth = rate("bandwidth", 4);
  const arithmetic = rate("arithmetic", HIGHEST);

  const plot = ui.plot({
    x: [LOWEST, HIGHEST], y: [0, HIGHEST], xTicks: [], yTicks: [],
    xLabel: text.x, yLabel: text.y, alt: text.plot_alt, height: 220,
  });
  drawAxes();
  const bars = ui.drawing({ width: 360, height: 70, alt: text.bars_alt });
  ui.legend([[WEIGHTS, text.weights], [CACHE, text.cache], [ARITHMETIC, text.arithmetic_bar]]);
  const shown = ui.readouts(
    ["flops", "bytes", "intensity", "balance", "seconds", "limit", "speed", "each"],
    (name) => text.readouts[name]);

  /** Write a number with three digits, or four, and never as a power. */
  function written(number) {
    return number < 1000 ? Figure.written(number, 3) : grouped(Number(number.toPrecision(4)));
  }

  /** Write powers of ten beside the axes, above which a number is written as a power. */
  function drawAxes() {
    const axes = svg(null, "g");
    plot.root.prepend(axes);
    const name = (power) => (power < 4 ? grouped(10 ** power) : `10${"⁰¹²³⁴⁵⁶"[power]}`);
    for (let power = LOWEST; power <= HIGHEST; power++) {
      svg(axes, "text", { x: plot.px(power), y: plot.py(0) + 14, class: "tick middle" }, name(power));
      if (power < 0) continue;
      const y = plot.py(power);
      svg(axes, "line", { x1: plot.px(LOWEST), x2: plot.px(HIGHEST), y1: y, y2: y, class: "grid" });
      svg(axes, "text", { x: plot.px(LOWEST) - 5, y: y + 3.5, class: "tick end" }, name(power));
    }
  }

  /** Draw both parts of the roof, and the step where it meets it. */
  function drawRoof(bytesPerS, flopsPerS, intensity, isComputing) {
    const [rise, top] = [Math.log10(bytesPerS), Math.log10(flopsPerS)];
    const edge = Math.max(LOWEST, top - rise);
    const at = Math.log10(intensity), height = Math.min(top, rise + at);
    plot.clear();
    plot.line([[edge, 0], [edge, top]], "muted dashed");
    plot.line([[LOWEST, Math.min(top, rise + LOWEST)], [edge, top]], WEIGHTS);
    plot.line([[edge, top], [HIGHEST, top]], ARITHMETIC);
    plot.line([[at, 0], [at, height]], "muted");
    plot.mark(at, height, isComputing ? ARITHMETIC : WEIGHTS);
  }

  /** Draw the time of moving, weights before caches, and below it that of computing. */
  function drawTimes(times) {
    bars.replaceChildren();
    svg(bars, "text", { x: 0, y: 11, class: "axis-title" }, text.times);
    const [left, right] = [74, 298];
    const scale = (right - left) / Math.max(times.weights + times.cache, times.computing);
    const bar = (y, label, parts) => {
      svg(bars, "text", { x: left - 6, y: y + 14, class: "tick end" }, label);
      let x = left;
      for (const [ms, kind] of parts) {
        svg(bars, "rect", { x, y, width: ms * scale, height: 20, class: `bar ${kind}` });
        x += ms * scale;
      }
      const all = Figure.sum(parts.map(([ms]) => ms));
      svg(bars, "text", { x: x + 5, y: y + 14 }, written(all));
    };
    bar(18, text.moving, [[times.weights, WEIGHTS], [times.cache, CACHE]]);
    bar(44, text.computing, [[times.computing, ARITHMETIC]]);
  }

  let applied = null;
  return () => {
    const config = data.models[model.value];
    seen.input.max = data.lengths.indexOf(config.max_position_embeddings);
    seen.value = seen.input.value; // held to what the model has positions for
    if (machine.value !== applied && machine.value !== OWN) {
      [bandwidth, arithmetic].forEach((one, i) => { one.value = Math.log10(data.machines[machine.value][i]); });
    }
    const rates = [rateOf(bandwidth.value), rateOf(arithmetic.value)];
    const known = Object.keys(data.machines).find((key) => String(data.machines[key]) === String(rates));
    machine.value = applied = known ?? OWN;

    const tokens = data.lengths[seen.value], fresh = work.value === "read" ? tokens : 1;
    const step = { seen: tokens, fresh, texts: data.lengths[texts.value] };
    const cost = costOfStep(config, data.formats[format.value], data.group, step);
    const bytes = cost.weights + cost.cache;
    const [bytesPerS, flopsPerS] = rates.map((one) => one * 1e9);
    const [moving, computing] = [bytes / bytesPerS, cost.flops / flopsPerS];
    const seconds = Math.max(moving, computing), isComputing = computing > moving;
    drawRoof(...rates, cost.flops / bytes, isComputing);
    drawTimes({
      weights: (1e3 * cost.weights) / bytesPerS, cache: (1e3 * cost.cache) / bytesPerS,
      computing: 1e3 * computing,
    });

    const show = (name, value, unit = 1) => shown[name].show(value, written(value / unit));
    show("flops", cost.flops, 1e9);
    show("bytes", bytes, 1e6);
    show("intensity", cost.flops / bytes);
    show("balance", flopsPerS / bytesPerS);
    show("seconds", seconds, 1e-3);
    show("speed", (fresh * step.texts) / seconds);
    show("each", fresh / seconds);
    shown.limit.show(isComputing ? "compute" : "memory", isComputing ? text.compute : text.memory);
  };
});
