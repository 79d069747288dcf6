/* What additions of MLX cost: each an operation of its own, or all in one.
 *
 * data.numbers: the lengths of the arrays. data.us: by the additions of an operation,
 * its microseconds for each of these lengths, as the lab has measured them. An addition
 * reads two arrays and writes one.
 */
"use strict";

Figure.define("operation-costs", ({ text, data, ui }) => {
  const { svg, grouped, written } = Figure;
  const LAST = data.numbers.length - 1, HIGHEST = 5; // of powers of 10, in microseconds

  const place = ui.slider({
    name: "numbers", label: text.numbers, min: 0, max: LAST, step: 1, value: 0,
    format: (at) => grouped(data.numbers[at]),
  });
  const additions = ui.choice({
    name: "additions", label: text.additions, value: "8",
    options: Object.keys(data.us).filter((one) => one !== "1").map((one) => [one, one]),
  });

  const plot = ui.plot({
    x: [0, LAST], y: [0, HIGHEST], yTicks: [], height: 220, alt: text.alt,
    xTicks: [0, 4, 8].map((at) => [at, grouped(data.numbers[at])]),
    xLabel: text.x, yLabel: text.y,
  });
  drawPowers();
  ui.legend([["series-1", text.alone], ["series-2", text.joined]]);
  const shown = ui.readouts(
    ["alone", "joined", "times", "moved_alone", "moved_joined"], (name) => text.readouts[name]);

  /** Write powers of ten beside the axis, whose numbers are their exponents. */
  function drawPowers() {
    const axis = svg(null, "g");
    plot.root.prepend(axis);
    for (let power = 0; power <= HIGHEST; power++) {
      const y = plot.py(power);
      const name = power < 5 ? grouped(10 ** power) : `10${"⁰¹²³⁴⁵"[power]}`;
      svg(axis, "line", { x1: plot.px(0), x2: plot.px(LAST), y1: y, y2: y, class: "grid" });
      svg(axis, "text", { x: plot.px(0) - 5, y: y + 3.5, class: "tick end" }, name);
    }
  }

  function drawTimes(all, kind) {
    plot.line(all.map((one, at) => [at, Math.log10(one)]), kind);
    plot.mark(place.value, Math.log10(all[place.value]), kind);
  }

  /** Write a time in microseconds, or a long one in milliseconds. */
  function inWords(us) {
    return us < 1000 ? `${written(us, 3)} µs` : `${written(us / 1000, 3)} ms`;
  }

  /** Write a number of bytes. */
  function inBytes(count) {
    if (count < 1e4) return `${grouped(count)} B`;
    return count < 1e7 ? `${grouped(Math.round(count / 1e3))} KB` : `${grouped(Math.round(count / 1e6))} MB`;
  }

  return () => {
    const count = Number(additions.value), at = place.value;
    const alone = data.us["1"].map((us) => count * us), joined = data.us[additions.value];
    const trip = 3 * 4 * data.numbers[at];

    plot.clear();
    plot.line([[at, 0], [at, HIGHEST]], "muted dashed");
    drawTimes(alone, "series-1");
    drawTimes(joined, "series-2");

    shown.alone.show(alone[at], inWords(alone[at]));
    shown.joined.show(joined[at], inWords(joined[at]));
    shown.times.show(alone[at] / joined[at], written(alone[at] / joined[at], 2));
    shown.moved_alone.show(count * trip, inBytes(count * trip));
    shown.moved_joined.show(trip, inBytes(trip));
  };
});
