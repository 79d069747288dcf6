/* A matrix times one vector: what the loop takes, beside what memory takes to deliver.
 *
 * data.cycles: by rung, the cycles for a weight that were measured in the cache.
 * data.cycle_ns: a cycle. data.bytes_per_ns: what memory delivers. data.weights: how many
 * the matrix has. data.bits: by format, the bits of a weight with its share of scales.
 */
"use strict";

Figure.define("race-with-memory", ({ text, data, ui }) => {
  const { svg, written } = Figure;
  const LOOP = "series-1", MEMORY = "series-2";

  const rung = ui.choice({
    name: "rung", label: text.rung, value: "plain",
    options: Object.keys(data.cycles).map((name) => [name, text.rungs[name]]),
  });
  const format = ui.choice({
    name: "format", label: text.format, value: "four",
    options: Object.keys(data.bits).map((name) => [name, text.formats[name]]),
  });
  const cores = ui.slider({ name: "cores", label: text.cores, min: 1, max: 16, step: 1, value: 1 });

  const bars = ui.drawing({ width: 360, height: 70, alt: text.bars_alt });
  ui.legend([[LOOP, text.loop], [MEMORY, text.memory]]);
  const shown = ui.readouts(["ms", "limit", "read"], (name) => text.readouts[name]);

  /** Draw the milliseconds of both, one bar each. */
  function draw(loopMs, memoryMs) {
    bars.replaceChildren();
    svg(bars, "text", { x: 0, y: 11, class: "axis-title" }, text.times);
    const [left, right] = [74, 298];
    const scale = (right - left) / Math.max(loopMs, memoryMs);
    const bar = (y, label, ms, kind) => {
      svg(bars, "text", { x: left - 6, y: y + 14, class: "tick end" }, label);
      svg(bars, "rect", { x: left, y, width: ms * scale, height: 20, class: `bar ${kind}` });
      svg(bars, "text", { x: left + ms * scale + 5, y: y + 14 }, written(ms, 3));
    };
    bar(18, text.loop, loopMs, LOOP);
    bar(44, text.memory, memoryMs, MEMORY);
  }

  return () => {
    const bytes = (data.weights * data.bits[format.value]) / 8;
    const loopNs = (data.weights * data.cycles[rung.value] * data.cycle_ns) / cores.value;
    const memoryNs = bytes / data.bytes_per_ns, ns = Math.max(loopNs, memoryNs);
    draw(loopNs / 1e6, memoryNs / 1e6);
    shown.ms.show(ns / 1e6, written(ns / 1e6, 3));
    shown.read.show(bytes / ns, written(bytes / ns, 3));
    shown.limit.show(
      loopNs > memoryNs ? "loop" : "memory", loopNs > memoryNs ? text.loop : text.memory);
  };
});
