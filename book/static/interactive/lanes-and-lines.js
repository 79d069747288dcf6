/* Which weights and which entries of x each lane of a SIMD group loads, and in which lines.
 *
 * A SIMD group multiplies a row. In a step of its loop each lane loads some weights, and
 * the entries of x that they meet, in several loads. A load is an instruction: it touches
 * all lines that its lanes ask for.
 *
 * data.lanes: of a SIMD group. data.line_bytes: of a line. data.rows: that a SIMD group of
 * the kernel "rows" multiplies. data.columns: what the figure opens with.
 */
"use strict";

Figure.define("lanes-and-lines", ({ text, data, ui }) => {
  const { svg, grouped } = Figure;
  const WIDTH = 352, TOP = 17, LINE = 8, MOST_COLUMNS = 1024;
  const LANES = Array.from({ length: data.lanes }, (_, lane) => lane);

  const kernel = ui.choice({
    name: "kernel", label: text.kernel, value: "stretch",
    options: ["stretch", "words", "rows"].map((name) => [name, text.kernels[name]]),
  });
  const step = ui.slider({ name: "step", label: text.step, min: 1, max: 8, step: 1, value: 1 });
  const load = ui.slider({ name: "load", label: text.load, min: 1, max: 8, step: 1, value: 1 });
  const lane = ui.slider({ name: "lane", label: text.lane, min: 0, max: data.lanes - 1, step: 1, value: 3 });
  const columns = ui.slider({
    name: "columns", label: text.columns, min: 64, max: MOST_COLUMNS, step: 64, value: data.columns, format: grouped,
  });
  const bits = ui.choice({
    name: "bits", label: text.bits, value: "4", options: ["4", "8"].map((one) => [one, one]),
  });
  const entry = ui.choice({
    name: "entry", label: text.entry, value: "2", options: ["2", "4"].map((one) => [one, one]),
  });

  const weights = ui.drawing({ width: WIDTH, alt: text.weights_alt });
  const vector = ui.drawing({ width: WIDTH, alt: text.vector_alt });
  ui.legend([
    ["series-1", text.legend.all], ["series-2", text.legend.lane], ["series-3", text.legend.line],
  ]);
  ui.widenNumbers();
  const shown = ui.readouts(
    ["busy", "steps", "weight_lines", "x_lines", "x_loads", "row_lines"],
    (name) => text.readouts[name]);

  /** How a row is cut up: what a lane takes at once, and what it loads of x for that. */
  function cut() {
    const bytes = kernel.value === "rows" ? 16 : 4;
    const each = (8 * bytes) / bits.value;
    const together = kernel.value === "rows" ? 4 : 1; // entries of x in a load
    const pieces = Math.ceil((columns.value * bits.value) / (8 * bytes));
    const steps = Math.ceil(pieces / data.lanes);
    return { bytes, each, together, pieces, steps, loads: each / together };
  }

  /** The piece of the row that each lane takes in a step; null for none. */
  function taken({ pieces, steps }, at) {
    return LANES.map((one) => {
      const piece = kernel.value === "stretch" ? one * steps + at : one + at * data.lanes;
      return piece < pieces ? piece : null;
    });
  }

  /** The bytes that each lane asks for: [first, number]; null for none. */
  const ofWeights = (way, at) =>
    taken(way, at).map((piece) => (piece === null ? null : [piece * way.bytes, way.bytes]));
  const ofVector = (way, at, number) => taken(way, at).map((piece) => (piece === null ? null
    : [(piece * way.each + number * way.together) * entry.value, way.together * entry.value]));

  function touched(spans) {
    return new Set(spans.filter(Boolean).map(([first]) => Math.floor(first / data.line_bytes)));
  }

  /** The fewest lines that would have held as many bytes. */
  function fewest(spans) {
    const bytes = Figure.sum(spans.filter(Boolean).map(([, number]) => number));
    return Math.ceil(bytes / data.line_bytes);
  }

  /** Draw memory, a line of it in each row, and what the lanes ask for. */
  function drawMemory(drawing, title, numBytes, spans) {
    drawing.replaceChildren();
    const height = TOP + Math.ceil(numBytes / data.line_bytes) * LINE + 2;
    drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    svg(drawing, "text", { x: 0, y: 11, class: "axis-title" }, title);
    const scale = WIDTH / data.line_bytes;
    const lines = touched(spans);
    for (let line = 0; line * data.line_bytes < numBytes; line++) {
      const rest = Math.min(data.line_bytes, numBytes - line * data.line_bytes);
      const kind = lines.has(line) ? "bar series-3" : "cell";
      const box = { x: 0, y: TOP + line * LINE, width: rest * scale, height: LINE - 1.5 };
      const rect = svg(drawing, "rect", { ...box, class: kind });
      if (lines.has(line)) rect.style.fillOpacity = 0.3;
    }
    spans.forEach((span, one) => {
      if (!span) return;
      const [first, number] = span;
      svg(drawing, "rect", {
        x: (first % data.line_bytes) * scale + 0.4, y: TOP + Math.floor(first / data.line_bytes) * LINE,
        width: number * scale - 0.8, height: LINE - 1.5,
        class: `bar series-${one === lane.value ? 2 : 1}`,
      });
    });
  }

  /** The lines that all loads of a row touch, and of x as many as fall on one row. */
  function linesOfRow(way) {
    const rows = kernel.value === "rows" ? data.rows : 1;
    let lines = 0;
    for (let at = 0; at < way.steps; at++) {
      lines += touched(ofWeights(way, at)).size;
      for (let number = 0; number < way.loads; number++) lines += touched(ofVector(way, at, number)).size / rows;
    }
    return lines;
  }

  const beside = (lines, spans) =>
    text.of.replace("{lines}", grouped(lines)).replace("{fewest}", grouped(fewest(spans)));

  return () => {
    const way = cut();
    const at = Math.min(step.value, way.steps) - 1;
    const number = Math.min(load.value, way.loads) - 1;
    const [own, met] = [ofWeights(way, at), ofVector(way, at, number)];
    const numbered = (template, one, all) =>
      template.replace("{one}", grouped(one + 1)).replace("{all}", grouped(all));
    drawMemory(weights, numbered(text.weights, at, way.steps), (columns.value * bits.value) / 8, own);
    drawMemory(vector, numbered(text.vector, number, way.loads), columns.value * entry.value, met);

    shown.busy.show(own.filter(Boolean).length);
    shown.steps.show(way.steps);
    const [ofOwn, ofMet] = [touched(own).size, touched(met).size];
    shown.weight_lines.show([ofOwn, fewest(own)], beside(ofOwn, own));
    shown.x_lines.show([ofMet, fewest(met)], beside(ofMet, met));
    shown.x_loads.show(way.loads);
    shown.row_lines.show(linesOfRow(way));
  };
});
