/* What comes through a gate: act(gate) * up, as shades over gate and up, and as a slice.
 *
 * The dots are pairs of gate and up that occur in the embedded model. */
"use strict";

Figure.define("swiglu-surface", ({ text, data, ui }) => {
  const REACH = 4;
  const CELLS = 32;
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));

  /** The error function, by a series whose terms are all positive: nothing cancels. */
  function erf(x) {
    let [term, sum] = [x, x];
    for (let n = 1; Math.abs(term) > 1e-18; n += 1) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }

  const activations = {
    none: (x) => x,
    sigmoid,
    relu: (x) => Math.max(x, 0),
    gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
    silu: (x) => x * sigmoid(x),
  };

  const kind = ui.choice({
    name: "activation", label: text.activation, value: "silu",
    options: Object.keys(activations).map((key) => [key, text[key]]),
  });
  const gate = ui.slider({
    name: "gate", label: text.gate, min: -REACH, max: REACH, step: 0.05, value: -1.3,
  });
  const up = ui.slider({
    name: "up", label: text.up, min: -REACH, max: REACH, step: 0.05, value: 3,
  });
  const dots = ui.toggle({ name: "dots", label: text.dots, value: true });

  const range = [-REACH, REACH];
  const map = ui.plot({
    x: range, y: range, xLabel: text.gate_axis, yLabel: text.up_axis,
    width: 300, height: 290, alt: text.map_alt,
  });
  map.root.style.maxWidth = "25rem";
  ui.legend([
    ["series-1", text.positive], ["series-2", text.negative], ["series-3", text.chosen],
  ]);
  const slice = ui.plot({
    x: range, y: [-6, 10], xLabel: text.gate_axis, yLabel: text.slice_axis,
    height: 190, alt: text.slice_alt,
  });
  ui.widenNumbers();
  const shown = {
    activated: ui.readout({ name: "activated", label: text.activated }),
    product: ui.readout({ name: "product", label: text.product }),
    slope: ui.readout({ name: "slope", label: text.slope }),
  };

  /** Shade the surface; white is 0, full colour a product of 8 or more. */
  function drawSurface(act) {
    const step = (2 * REACH) / CELLS;
    const side = map.px(step) - map.px(0) + 0.3;
    const height = map.py(0) - map.py(step) + 0.3;
    for (let i = 0; i < CELLS; i += 1) {
      for (let j = 0; j < CELLS; j += 1) {
        const [left, low] = [-REACH + i * step, -REACH + j * step];
        const value = act(left + step / 2) * (low + step / 2);
        const shade = Math.round(100 * Math.min(1, Math.sqrt(Math.abs(value) / 8)));
        const colour = value < 0 ? "--figure-2" : "--figure-1";
        const cell = Figure.svg(map.content, "rect", {
          x: map.px(left), y: map.py(low + step), width: side, height,
        });
        cell.style.fill = `color-mix(in srgb, var(${colour}) ${shade}%, var(--figure-paper))`;
      }
    }
  }

  /** Put a dot wherever the embedded model has been. */
  function drawDots() {
    for (const [a, b] of data.pairs) {
      if (Math.abs(a) > REACH || Math.abs(b) > REACH) continue;
      const dot = Figure.svg(map.content, "circle", { cx: map.px(a), cy: map.py(b), r: 1.5 });
      dot.style.fill = "var(--figure-ink)";
    }
  }

  return () => {
    const act = activations[kind.value];
    const activated = act(gate.value);
    const product = activated * up.value;

    map.clear();
    drawSurface(act);
    if (dots.value) drawDots();
    map.line([[gate.value, -REACH], [gate.value, REACH]], "series-3");
    map.line([[-REACH, up.value], [REACH, up.value]], "series-3");

    const places = Array.from({ length: 161 }, (_, i) => -REACH + i * (REACH / 80));
    const most = Math.max(...places.map((x) => Math.abs(act(x) * up.value)), 0.5);
    const least = Math.min(...places.map((x) => act(x) * up.value), -0.2 * most);
    const top = Math.max(...places.map((x) => act(x) * up.value), 0.2 * most);
    slice.rescale(range, [least * 1.1, top * 1.1]);
    slice.clear();
    slice.line([[-REACH, 0], [REACH, 0]], "muted");
    slice.line(places.map((x) => [x, act(x) * up.value]), "series-3");
    slice.mark(gate.value, product, "series-3");

    shown.activated.show(activated);
    shown.product.show(product);
    const near = 1e-5;
    const rise = act(gate.value + near) - act(gate.value - near);
    shown.slope.show((rise / (2 * near)) * up.value);
  };
});
