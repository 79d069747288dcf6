/* RMSNorm of float16 values, with the squares in float16 and in float32.
 *
 * All entries of the vector have the size s, so the norm should give s / sqrt(s*s + eps),
 * which is close to 1 as soon as s is well above the root of eps. */
"use strict";

Figure.define("float16-overflow", ({ text, data, ui }) => {
  const half = (value) => Figure.rounded(value, "float16");

  const size = ui.slider({
    name: "exponent", label: text.size, min: -5, max: 4.8, step: 0.01, value: 2.6,
    format: (value) => Figure.written(half(10 ** value), 3),
  });
  const channels = ui.choice({
    name: "channels", label: text.channels, value: "1",
    options: data.channels.map((count) => [String(count), String(count)]),
  });
  const eps = ui.choice({
    name: "eps", label: text.eps, value: String(data.eps),
    options: [[String(data.eps), "0.000001"], ["0", "0"]],
  });

  const ticks = [[-4, "10⁻⁴"], [-2, "0.01"], [0, "1"], [2, "100"], [4, "10⁴"]];
  const plot = ui.plot({
    x: [-5, 4.8], y: [0, 1.5], xLabel: text.x, yLabel: text.y, alt: text.alt,
    xTicks: ticks,
  });
  ui.legend([["series-1", text.in_float32], ["series-2", text.in_float16]]);
  ui.widenNumbers();
  const shown = {
    size: ui.readout({ name: "size", label: text.rounded }),
    square: ui.readout({ name: "square", label: text.square }),
    square16: ui.readout({ name: "square-16", label: text.square_16 }),
    mean16: ui.readout({ name: "mean-16", label: text.mean_16 }),
    norm: ui.readout({ name: "norm", label: text.norm }),
    norm16: ui.readout({ name: "norm-16", label: text.norm_16 }),
    off: ui.readout({ name: "units-off", label: text.units_off }),
  };

  /** All steps in float16: square, sum over the channels, mean, norm. */
  function inFloat16(x, count, added) {
    const square = half(x * x);
    const mean = half(half(count * square) / count);
    const inverse = half(1 / Math.sqrt(half(mean + half(added))));
    return { square, mean, norm: half(x * inverse) };
  }

  /** Squares and norm in float32, the result in float16: what the course asks for. */
  function inFloat32(x, added) {
    const square = Math.fround(x * x);
    const total = Math.fround(square + Math.fround(added));
    const inverse = Math.fround(1 / Math.sqrt(total));
    return { square, norm: half(Math.fround(x * inverse)) };
  }

  /** Draw both curves for some number of channels and some eps. */
  function drawCurves(count, added) {
    const places = Array.from({ length: 491 }, (_, i) => -5 + i * 0.02);
    const curve = (norm) => places.map((place) => [place, norm(half(10 ** place))]);
    plot.line(curve((x) => inFloat32(x, added).norm), "series-1");
    plot.line(curve((x) => inFloat16(x, count, added).norm), "series-2 dashed");
  }

  return () => {
    const [count, added] = [Number(channels.value), Number(eps.value)];
    const x = half(10 ** size.value);
    const narrow = inFloat16(x, count, added);
    const wide = inFloat32(x, added);
    const exact = x / Math.sqrt(x * x + added);

    plot.clear();
    drawCurves(count, added);
    plot.line([[size.value, 0], [size.value, 1.5]], "muted");
    plot.mark(size.value, wide.norm, "series-1");
    if (Number.isFinite(narrow.norm)) plot.mark(size.value, Math.min(narrow.norm, 1.5), "series-2");

    shown.size.show(x);
    shown.square.show(wide.square);
    shown.square16.show(narrow.square);
    shown.mean16.show(narrow.mean);
    shown.norm.show(wide.norm);
    shown.norm16.show(narrow.norm);
    shown.off.show(Math.abs(narrow.norm - exact) / (2 ** -10 * exact));
  };
});
