/* The lines of memory that the lanes of a SIMD group touch with one load.
 *
 * Lane i loads element first + i * stride. A line that any lane needs is fetched whole.
 *
 * data.lanes: of a SIMD group. data.line_bytes: of a line. data.most_stride: in elements,
 * as far as the slider goes. data.stride: what it opens with.
 */
"use strict";

Figure.define("lines-of-a-simdgroup", ({ text, data, ui }) => {
  const { svg } = Figure;
  const WIDTH = 352, TOP = 17, LINE = 5, MOST_BYTES = 4;
  const MOST_LINES = Math.ceil((data.lanes * (data.most_stride + 1) * MOST_BYTES) / data.line_bytes);
  const LANES = Array.from({ length: data.lanes }, (_, lane) => lane);

  const stride = ui.slider({ name: "stride", label: text.stride, min: 1, max: data.most_stride, step: 1, value: data.stride });
  const first = ui.slider({ name: "first", label: text.first, min: 0, max: data.lanes - 1, step: 1, value: 0 });
  const bytes = ui.choice({
    name: "bytes", label: text.bytes, value: "4",
    options: ["4", "2"].map((one) => [one, text.bytes_names[one]]),
  });

  const memory = ui.drawing({ width: WIDTH, height: TOP + MOST_LINES * LINE + 2, alt: text.alt });
  ui.legend([["series-1", text.legend.lane], ["series-3", text.legend.line]]);
  const shown = ui.readouts(["lines", "fewest", "fetched", "used"], (name) => text.readouts[name]);

  return () => {
    const size = Number(bytes.value);
    const starts = LANES.map((lane) => (first.value + lane * stride.value) * size);
    const lines = new Set(starts.map((start) => Math.floor(start / data.line_bytes)));
    const fewest = Math.ceil((data.lanes * size) / data.line_bytes);
    const scale = WIDTH / data.line_bytes;

    memory.replaceChildren();
    svg(memory, "text", { x: 0, y: 11, class: "axis-title" }, text.memory);
    for (let line = 0; line < MOST_LINES; line++) {
      const kind = lines.has(line) ? "bar series-3" : "cell";
      const box = svg(memory, "rect", { x: 0, y: TOP + line * LINE, width: WIDTH, height: LINE - 1, class: kind });
      if (lines.has(line)) box.style.fillOpacity = 0.3;
    }
    for (const start of starts) {
      svg(memory, "rect", {
        x: (start % data.line_bytes) * scale + 0.5, y: TOP + Math.floor(start / data.line_bytes) * LINE,
        width: size * scale - 1, height: LINE - 1, class: "bar series-1",
      });
    }
    const fetched = lines.size * data.line_bytes, used = (data.lanes * size) / fetched;
    shown.lines.show(lines.size);
    shown.fewest.show(fewest);
    shown.fetched.show(fetched, Figure.grouped(fetched));
    shown.used.show(used, `${(100 * used).toFixed(0)} %`);
  };
});
