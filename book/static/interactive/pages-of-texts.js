/* The memory of some texts: a buffer for each, pages, or pages that are shared.
 *
 * All texts begin with data.common tokens, go on with data.own of their own, and answer
 * with up to data.answers more. They come in this order, as long as they fit.
 */
"use strict";

Figure.define("pages-of-texts", ({ text, data, ui }) => {
  const { svg } = Figure;
  const COLUMNS = 32, WIDTH = 352, SIDE = WIDTH / COLUMNS;
  const ROWS = data.places / COLUMNS;
  const KINDS = ["series-1", "series-3", "series-4", "series-5"];

  const way = ui.choice({
    name: "way", label: text.way, value: "buffers",
    options: ["buffers", "pages", "shared"].map((name) => [name, text.ways[name]]),
  });
  const size = ui.choice({
    name: "size", label: text.size, value: "16",
    options: data.sizes.map((one) => [String(one), String(one)]),
  });
  const steps = ui.slider({
    name: "steps", label: text.steps, min: 0, max: Math.max(...data.answers), step: 1, value: data.steps,
  });
  const memory = ui.drawing({ width: WIDTH, height: 20 + ROWS * SIDE, alt: text.memory_alt });
  ui.legend([
    ["series-1", text.of_texts], ["series-2", text.of_all], ["muted", text.empty],
  ]);
  const shown = ui.readouts(
    ["running", "used", "kept", "unused"], (name) => text.readouts[name]);

  /** Return the places of each text that fits: how many are shared, its own, and empty. */
  function serve() {
    const page = way.value === "buffers" ? data.longest : Number(size.value);
    const found = [];
    let free = Math.floor(data.places / page);
    for (let r = 0; r < data.own.length; r++) {
      const length = data.common + data.own[r] + Math.min(steps.value, data.answers[r]);
      const common = way.value === "shared" ? Math.floor(data.common / page) : 0;
      const isFirst = found.length === 0;
      const pages = Math.ceil(length / page) - (isFirst ? 0 : common);
      if (pages > free) break;
      free -= pages;
      const kept = length - (isFirst ? 0 : common * page);
      found.push({ common: isFirst ? common * page : 0, kept, places: pages * page });
    }
    return found;
  }

  /** Draw every place of the memory as a small square. */
  function drawMemory(found) {
    memory.replaceChildren();
    svg(memory, "text", { x: 0, y: 11, class: "axis-title" }, text.memory);
    svg(memory, "rect", { x: 0, y: 17, width: WIDTH, height: ROWS * SIDE + 1, class: "cell" });
    const side = SIDE - 1.2;
    const paint = (from, to, kind) => {
      let path = "";
      for (let at = from; at < to; at++) {
        const [x, y] = [(at % COLUMNS) * SIDE, 18 + Math.floor(at / COLUMNS) * SIDE];
        path += `M${x} ${y}h${side}v${side}h${-side}z`;
      }
      svg(memory, "path", { d: path, class: `bar ${kind}` });
    };
    let at = 0;
    found.forEach(({ common, kept, places }, r) => {
      paint(at, at + common, "series-2");
      paint(at + common, at + kept, KINDS[r % KINDS.length]);
      paint(at + kept, at + places, "muted");
      at += places;
    });
  }

  return () => {
    const found = serve();
    const sum = (name) => found.reduce((total, one) => total + one[name], 0);
    const [used, kept] = [sum("places"), sum("kept")];
    drawMemory(found);
    shown.running.show(found.length, `${found.length} / ${data.own.length}`);
    shown.used.show(used);
    shown.kept.show(kept);
    shown.unused.show(used - kept, `${used - kept} (${Math.round((100 * (used - kept)) / used)} %)`);
  };
});
