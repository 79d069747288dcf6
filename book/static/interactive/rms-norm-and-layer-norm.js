/* RMSNorm and LayerNorm of one vector, which the reader rescales and shifts.
 *
 *   input      scale * (x + shift)
 *   RMSNorm    v / sqrt(mean(v * v) + eps)
 *   LayerNorm  (v - mean(v)) / sqrt(variance(v) + eps)
 *
 * A short line at each bar marks what comes out of x itself. */
"use strict";

Figure.define("rms-norm-and-layer-norm", ({ text, data, ui }) => {
  const scale = ui.slider({
    name: "scale", label: text.scale, min: -2, max: 3, step: 0.01, value: 1,
  });
  const shift = ui.slider({
    name: "shift", label: text.shift, min: -10, max: 10, step: 0.1, value: 4,
  });
  const eps = ui.choice({
    name: "eps", label: text.eps, value: "1e-6",
    options: [["0", "0"], ["1e-6", "0.000001"], ["0.01", "0.01"], ["1", "1"]],
  });
  const reset = ui.button({
    name: "reset", label: text.reset, action: () => { scale.value = 1; shift.value = 0; },
  });
  reset.style.justifySelf = "start";

  const places = data.x.map((_, i) => [i + 1, String(i + 1)]);
  const axes = { x: [0.4, data.x.length + 0.6], xTicks: places, xLabel: text.channel };
  const input = ui.plot({
    ...axes, y: [-10, 10], height: 150, yLabel: text.input, alt: text.input_alt,
  });
  const output = ui.plot({
    ...axes, y: [-2.5, 2.5], height: 190, yLabel: text.output, alt: text.output_alt,
    yTicks: [-2, -1, 0, 1, 2],
  });
  ui.legend([
    ["muted", text.legend_input], ["series-1", "RMSNorm"], ["series-2", "LayerNorm"],
  ]);
  ui.widenNumbers();
  const shown = {
    input: ui.readout({ name: "input", label: text.input_row }),
    mean: ui.readout({ name: "mean", label: text.mean }),
    deviation: ui.readout({ name: "deviation", label: text.deviation }),
    root: ui.readout({ name: "root", label: text.root }),
    rmsNorm: ui.readout({ name: "rms-norm", label: "RMSNorm" }),
    layerNorm: ui.readout({ name: "layer-norm", label: "LayerNorm" }),
  };

  const mean = (values) => Figure.sum(values) / values.length;
  const meanSquare = (values) => mean(values.map((one) => one * one));
  const centred = (values) => values.map((one) => one - mean(values));
  const divided = (values, added) =>
    values.map((one) => one / Math.sqrt(meanSquare(values) + added));

  /** Draw one bar, and a short line where `usual` would reach. */
  function drawBar(at, value, usual, kind) {
    if (Number.isFinite(value)) output.bar(at, value, 0.3, kind);
    output.line([[at - 0.2, usual], [at + 0.2, usual]], "muted");
  }

  const usual = { rms: divided(data.x, 0), layer: divided(centred(data.x), 0) };

  return () => {
    const added = Number(eps.value);
    const values = data.x.map((one) => scale.value * (one + shift.value));
    const rms = divided(values, added);
    const layer = divided(centred(values), added);

    const widest = Math.max(...values.map(Math.abs));
    const reach = [10, 20, 50, 100].find((one) => one >= widest);
    input.rescale(axes.x, [-reach, reach]);
    input.clear();
    output.clear();
    values.forEach((value, i) => {
      input.bar(i + 1, value, 0.6, "muted");
      drawBar(i + 0.82, rms[i], usual.rms[i], "series-1");
      drawBar(i + 1.18, layer[i], usual.layer[i], "series-2");
    });
    for (const chart of [input, output]) chart.line([[axes.x[0], 0], [axes.x[1], 0]], "muted");

    shown.input.show(values, Figure.listed(values, 3));
    shown.mean.show(mean(values));
    shown.deviation.show(Math.sqrt(meanSquare(centred(values))));
    shown.root.show(Math.sqrt(meanSquare(values)));
    shown.rmsNorm.show(rms, Figure.listed(rms, 3));
    shown.layerNorm.show(layer, Figure.listed(layer, 3));
  };
});
