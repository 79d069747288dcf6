/* Requests that come by chance, and how long each waits for a seat: by how many come in a
 * second, and by how many places there are.
 *
 * data.comes[rate]: when requests come. data.waits[rate][places]: how long each of them
 * waits, null being who was refused. All times are in seconds.
 */
"use strict";

Figure.define("bounded-queue", ({ text, data, ui }) => {
  const { written } = Figure;
  const LEAST = 2; // seconds that the axis spans, however short the waits are

  const rate = ui.choice({
    name: "rate", label: text.rate, value: "3",
    options: Object.keys(data.comes).map((one) => [one, one]),
  });
  const places = ui.choice({
    name: "places", label: text.places, value: "none",
    options: [...Object.keys(data.waits[3]).filter((one) => one !== "none").map((one) => [one, one]), ["none", text.none]],
  });
  const plot = ui.plot({ x: [0, data.lasts], y: [0, LEAST], xLabel: text.x, yLabel: text.y, alt: text.plot_alt });
  ui.legend([["series-1", text.inside], ["series-2", text.refused]]);
  const shown = ui.readouts(
    ["answered", "refused", "longest", "mean", "in_time"], (name) => text.readouts[name]);

  /** A dot for each request that is let in, at its wait, and a stroke for each other. */
  function draw(comes, waits) {
    plot.clear();
    comes.forEach((at, number) => {
      const wait = waits[number];
      if (wait === null) plot.bar(at, plot.range.y[1] / 25, 0.25, "series-2");
      else plot.mark(at, wait, "series-1").setAttribute("r", 2);
    });
  }

  return () => {
    const waits = data.waits[rate.value][places.value];
    const inside = waits.filter((one) => one !== null);
    const longest = Math.max(...inside);
    const mean = inside.reduce((sum, one) => sum + one, 0) / inside.length;
    const inTime = inside.filter((one) => one + data.takes <= data.patience).length;

    plot.rescale([0, data.lasts], [0, Math.max(LEAST, 1.05 * longest)]);
    draw(data.comes[rate.value], waits);
    shown.answered.show(inside.length);
    shown.refused.show(waits.length - inside.length);
    shown.longest.show(longest, `${written(longest, 3)} s`);
    shown.mean.show(mean, `${written(mean, 3)} s`);
    shown.in_time.show(inTime);
  };
});
