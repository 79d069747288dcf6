/* The exponential of the kernels, in float32, with a part of it taken away.
 *
 *   e^x = 2^n e^r,   n = round(x / ln 2),   e^r = 1 + r + r^2 (c_0 + c_1 r + ...)
 *
 * Every operation is rounded to float32, in the order of `exponential.h`. Products and
 * sums are rounded one by one, as on a processor that cannot do both in one step.
 * data: the constants of that file. Its polynomial has coefficients.length + 2 terms.
 */
"use strict";

Figure.define("exponential", ({ text, data, ui }) => {
  const float = Math.fround;
  const ROUNDER = 1.5 * 2 ** 23; // added to a float, it leaves a whole number
  const MOST_TERMS = data.coefficients.length + 2;
  const WIDE = 110, NARROW = 4, LOWEST = -9, HIGHEST = 3; // of x, and of powers of 10

  const place = ui.slider({ name: "x", label: "x", min: -NARROW, max: NARROW, step: 1 / 16, value: 1 });
  const terms = ui.slider({
    name: "terms", label: text.terms, min: 1, max: MOST_TERMS, step: 1, value: 4,
  });
  const range = ui.choice({
    name: "range", label: text.range, value: "two",
    options: ["two", "one", "none"].map((one) => [one, text[`range_${one}`]]),
  });
  const span = ui.choice({
    name: "span", label: text.span, value: String(NARROW),
    options: [NARROW, WIDE].map((one) => [String(one), text[`span_${one}`]]),
  });

  const plot = ui.plot({
    x: [-NARROW, NARROW], y: [LOWEST, HIGHEST], height: 220, alt: text.alt,
    xLabel: "x", yLabel: text.y, yTicks: [-8, -6, -4, -2, 0, 2],
  });
  ui.legend([
    ["series-1", text.legend_error], ["series-2", text.legend_here], ["muted dashed", text.legend_unit],
  ]);
  ui.widenNumbers();
  const shown = ui.readouts(
    ["n", "r", "polynomial", "power", "result", "exact", "error", "units", "worst"],
    (name) => text[`shown_${name}`]);

  /** Return n, and r = x - n ln 2. */
  function reduced(x, how) {
    if (how === "none") return { n: 0, r: x };
    const n = float(float(float(x * data.per_ln2) + ROUNDER) - ROUNDER);
    const parts = how === "one" ? [float(Math.LN2)] : data.ln2;
    return { n, r: parts.reduce((rest, part) => float(rest - float(n * part)), x) };
  }

  /** Add up the first terms of the polynomial, the highest power first. */
  function polynomial(r, count) {
    if (count === 1) return 1;
    const kept = data.coefficients.slice(0, count - 2);
    const high = kept.reduceRight((sum, one) => float(float(sum * r) + one), 0);
    return float(float(float(high * float(r * r)) + r) + 1);
  }

  /** Compute e^x and all on the way to it, with the true value beside it. */
  function exponential(x, count, how) {
    const { n, r } = reduced(x, how);
    const power = polynomial(r, count);
    const isLow = x < data.least, isHigh = x > data.most;
    const result = isLow ? 0 : isHigh ? Infinity : float(power * 2 ** n);
    const exact = Math.exp(x);
    const error = Math.abs(result - exact) / exact;
    return { n, r, power, result, exact, error, isCut: isLow || isHigh };
  }

  /** The distance of neighbouring floats that are as large as `value`. */
  function lastPlace(value) {
    let exponent = Math.floor(Math.log2(value));
    if (2 ** exponent > value) exponent -= 1; // log2 rounds, too
    return 2 ** (Math.max(exponent, -126) - 23);
  }

  /** Draw the largest error in each of many narrow strips; return that of all. */
  function drawErrors(reach, count, how) {
    const STRIPS = 256, INSIDE = 8;
    let worst = 0;
    const curve = Array.from({ length: STRIPS }, (_, strip) => {
      const errors = Array.from({ length: INSIDE }, (_, i) => {
        const x = float(((strip + i / INSIDE) / STRIPS * 2 - 1) * reach);
        const { error, isCut } = exponential(x, count, how);
        if (!isCut) worst = Math.max(worst, error);
        return error;
      });
      const middle = ((strip + 0.5) / STRIPS * 2 - 1) * reach;
      return [middle, Math.max(Math.log10(Math.max(...errors)), LOWEST)];
    });
    plot.line(curve, "series-1");
    return worst;
  }

  /** Write more digits than elsewhere: it is the last ones that differ. */
  function precise(value) {
    const size = Math.abs(value);
    if (!Number.isFinite(value) || size === 0 || (size >= 1e-3 && size < 1e5)) return Figure.written(value, 8);
    return value.toExponential(7).replace(/-/g, "−");
  }

  return () => {
    const reach = Number(span.value);
    if (Number(place.input.max) !== reach) {
      const before = place.value;
      Object.assign(place.input, { min: -reach, max: reach });
      place.value = before;
      plot.rescale([-reach, reach], plot.range.y);
    }
    const x = place.value;
    const found = exponential(x, terms.value, range.value);

    plot.clear();
    const unit = Math.log10(2 ** -23);
    plot.line([[-reach, unit], [reach, unit]], "muted dashed");
    const worst = drawErrors(reach, terms.value, range.value);
    plot.line([[x, LOWEST], [x, HIGHEST]], "muted");
    if (Number.isFinite(found.error)) {
      const height = Math.log10(Math.max(found.error, 10 ** LOWEST));
      plot.mark(x, Math.min(height, HIGHEST), "series-2");
    }

    shown.n.show(found.n);
    shown.r.show(found.r, precise(found.r));
    shown.polynomial.show(found.power, precise(found.power));
    shown.power.show(2 ** found.n);
    shown.result.show(found.result, precise(found.result));
    shown.exact.show(found.exact, precise(found.exact));
    shown.error.show(found.error);
    shown.units.show(Math.abs(found.result - found.exact) / lastPlace(found.exact));
    shown.worst.show(worst);
  };
});
