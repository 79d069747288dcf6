/* Activations in few bits, with one outlier: what rounding does to them and to products.
 *
 *   t = max(|x|) / most over the group,   p = round(x * (most / max(|x|)))
 *   y = sum over groups of  (s * t) * sum(q * p) + b * (t * sum(p))
 *
 * In float32, step by step as int8.h and the portable rung of matvec_int8.h have it. With
 * 8 bits, `most` is 127.
 *
 * data.x: activations, of which number data.place is the outlier. data.weights: by group
 * size, rows in 4 bits: their integers as hexadecimal digits, scales and biases.
 */
"use strict";

/** Cut a list into groups. */
function cut(list, size) {
  return Array.from({ length: list.length / size }, (_, g) => list.slice(g * size, (g + 1) * size));
}

/** Round the activations of a group to whole numbers of steps. */
function roundGroup(x, most) {
  const { fround } = Math;
  const rounder = 1.5 * 2 ** 23; // beside it, float32 has whole numbers only
  const largest = Math.max(...x.map(Math.abs));
  const factor = fround(most / largest);
  const step = fround(largest / most);
  const p = x.map((one) => fround(fround(one * factor) + rounder) - rounder);
  return { step, p, sum: fround(step * Figure.sum(p)) };
}

/** Multiply a row of weights by the vector as it is, and by the rounded one. */
function multiplyRow({ q, scales, biases }, xGroups, rounded) {
  const { fround } = Math;
  let exact = 0, y = 0;
  const dots = q.map((integers, g) => {
    const { step, p, sum } = rounded[g];
    const dot = Figure.sum(integers.map((one, i) => one * p[i]));
    exact += Figure.sum(
      integers.map((one, i) => (scales[g] * one + biases[g]) * xGroups[g][i]));
    y = fround(y + fround(fround(scales[g] * step) * dot));
    y = fround(y + fround(biases[g] * sum));
    return dot;
  });
  return { exact, y, dots };
}

Figure.define("rounded-activations", ({ text, data, ui }) => {
  const outlier = ui.slider({
    name: "outlier", label: text.outlier, min: -300, max: 300, step: 1, value: 50,
  });
  const group = ui.choice({
    name: "group", label: text.group, value: "64",
    options: Object.keys(data.weights).map((size) => [size, text.groups[size]]),
  });
  const bits = ui.choice({
    name: "bits", label: text.bits, value: "8", options: [["8", "8"], ["6", "6"], ["4", "4"]],
  });
  const trueSums = ui.toggle({ name: "true-sums", label: text.true_sums });

  const axes = {
    x: [-0.5, data.x.length - 0.5], xTicks: [0, 32, 64, 96, 127], xLabel: text.place,
  };
  const values = ui.plot({
    ...axes, y: [-4, 4], yTicks: [-4, -2, 0, 2, 4], height: 190, yLabel: text.values,
    alt: text.values_alt,
  });
  const errors = ui.plot({
    ...axes, y: [-1, 1], height: 160, yLabel: text.errors, alt: text.errors_alt,
  });
  ui.legend([
    ["muted", text.legend.exact], ["series-1", text.legend.rounded],
    ["series-2", text.legend.spoilt],
  ]);
  ui.widenNumbers();
  const shown = ui.readouts(
    ["steps", "neighbours", "zeros", "rms", "largest", "bound", "exact", "product", "error"],
    (name) => text.readouts[name]);

  const rootMeanSquare = (numbers) =>
    Math.sqrt(Figure.sum(numbers.map((one) => one * one)) / numbers.length);

  /** The rows of weights for a group size, taken apart. */
  const rowsOf = Object.fromEntries(Object.entries(data.weights).map(([size, kept]) =>
    [size, kept.q.map((digits, o) => ({
      q: cut([...digits].map((digit) => parseInt(digit, 16)), Number(size)),
      scales: kept.scales[o], biases: kept.biases[o],
    }))]));

  function drawBars(x, approximate, size) {
    const missing = x.map((one, i) => approximate[i] - one);
    const widest = Math.max(...missing.map(Math.abs));
    const reach = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5].find((one) => one >= widest);
    errors.rescale(axes.x, [-reach, reach]);
    for (const chart of [values, errors]) {
      chart.clear();
      chart.line(axes.x.map((at) => [at, 0]), "muted");
      for (let edge = size - 0.5; edge < axes.x[1]; edge += size) {
        chart.line(chart.range.y.map((at) => [edge, at]), "muted dashed");
      }
    }
    const own = Math.floor(data.place / size);
    x.forEach((one, i) => {
      const kind = Math.floor(i / size) === own ? "series-2" : "series-1";
      values.bar(i, one, 0.9, "muted");
      values.line([[i - 0.6, approximate[i]], [i + 0.6, approximate[i]]], kind);
      errors.bar(i, missing[i], 0.8, kind);
    });
    const top = outlier.value < 0 ? -3.9 : 3.5;
    if (Math.abs(outlier.value) > 4) values.label(data.place + 2, top, Figure.written(outlier.value));
    return missing;
  }

  return () => {
    const size = Number(group.value);
    const most = 2 ** (Number(bits.value) - 1) - 1;
    const x = data.x.map((one, i) => Math.fround(i === data.place ? outlier.value : one));
    const xGroups = cut(x, size);
    const rounded = xGroups.map((one) => roundGroup(one, most));
    if (trueSums.value) {
      xGroups.forEach((one, g) => { rounded[g].sum = Math.fround(Figure.sum(one)); });
    }
    const products = rowsOf[size].map((row) => multiplyRow(row, xGroups, rounded));
    const p = rounded.flatMap((one) => one.p);
    const missing = drawBars(x, rounded.flatMap(({ step, p }) => p.map((one) => step * one)), size);

    const lists = {
      steps: rounded.map(({ step }) => step),
      neighbours: p.slice(data.place - 3, data.place + 4),
    };
    for (const [name, list] of Object.entries(lists)) shown[name].show(list, Figure.listed(list, 3));
    shown.zeros.show(p.filter((one) => one === 0).length);
    shown.rms.show(rootMeanSquare(missing));
    const dots = products.flatMap((one) => one.dots);
    const largest = Math.max(...dots.map(Math.abs));
    shown.largest.show(largest, Figure.grouped(largest));
    shown.bound.show(15 * most * size, Figure.grouped(15 * most * size));
    shown.exact.show(products[0].exact);
    shown.product.show(products[0].y);
    const error = rootMeanSquare(products.map(({ exact, y }) => y - exact));
    const share = error / rootMeanSquare(products.map(({ exact }) => exact));
    shown.error.show([error, share],
      `${Figure.written(error, 3)}, ${Figure.written(100 * share, 3)} %`);
  };
});
