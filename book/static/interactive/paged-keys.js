/* One query looks at a text whose keys lie in pages: which slots it reads, what comes out.
 *
 * data.table: the pages of the text. data.scores and data.values: of its tokens.
 * data.other: the same of a second text. data.old: what a third one has left behind.
 */
"use strict";

Figure.define("paged-keys", ({ text, data, ui }) => {
  const { svg, sum } = Figure;
  const SIDE = 26, GAP = 14, COLUMNS = 3, HEIGHT = 46;
  const size = data.page_size;
  const LEFT = { zeros: { score: 0, value: 0 }, old: data.old, broken: { score: NaN, value: NaN } };

  const tokens = ui.slider({
    name: "tokens", label: text.tokens, min: 1, max: data.scores.length, step: 1, value: data.tokens,
  });
  const way = ui.choice({
    name: "way", label: text.way, value: "table",
    options: ["table", "pool", "whole", "masked"].map((name) => [name, text.ways[name]]),
  });
  const left = ui.choice({
    name: "left", label: text.left, value: "old",
    options: ["zeros", "old", "broken"].map((name) => [name, text.lefts[name]]),
  });
  const lines = Math.ceil(data.pages / COLUMNS);
  const pool = ui.drawing({
    width: COLUMNS * (size * SIDE + GAP), height: lines * (HEIGHT + GAP), alt: text.pool_alt,
  });
  ui.legend([["series-1", text.of_text], ["series-3", text.of_other], ["muted", text.of_nobody], ["series-2", text.read]]);
  const shown = ui.readouts(["result", "expected", "slots", "foreign"], (name) => text.readouts[name]);

  /** Return what each slot of the pool holds. */
  function contents() {
    const slots = Array.from({ length: data.pages * size }, () => ({ ...LEFT[left.value], kind: "muted" }));
    const write = ({ table, scores, values }, count, kind) => {
      for (let j = 0; j < count; j++) {
        slots[table[Math.floor(j / size)] * size + (j % size)] = { score: scores[j], value: values[j], kind };
      }
    };
    write(data.other, data.other.scores.length, "series-3");
    write(data, tokens.value, "series-1");
    return slots;
  }

  /** Return the slots that are read, in the order of the text. */
  function slotsRead() {
    const isWhole = way.value === "whole" || way.value === "masked";
    const count = isWhole ? Math.ceil(tokens.value / size) * size : tokens.value;
    return Array.from({ length: count }, (_, j) =>
      way.value === "pool" ? j : data.table[Math.floor(j / size)] * size + (j % size));
  }

  /** The weighted mean of the values: from `last` on, weights are 0. */
  function attend(keys, last) {
    const top = Math.max(...keys.slice(0, last).map((one) => one.score));
    const weights = keys.map((one, j) => (j < last ? Math.exp(one.score - top) : 0));
    return sum(keys.map((one, j) => weights[j] * one.value)) / sum(weights);
  }

  function drawPool(slots, read) {
    pool.replaceChildren();
    for (let page = 0; page < data.pages; page++) {
      const x = (page % COLUMNS) * (size * SIDE + GAP), y = Math.floor(page / COLUMNS) * (HEIGHT + GAP);
      svg(pool, "text", { x, y: y + 12, class: "axis-title" }, text.page.replace("{number}", page));
      for (let slot = 0; slot < size; slot++) {
        const one = slots[page * size + slot];
        const place = { x: x + slot * SIDE, y: y + 18, width: SIDE - 2, height: 26 };
        const box = svg(pool, "rect", { ...place, class: `bar ${one.kind}` });
        box.style.fillOpacity = 0.35;
        if (read.includes(page * size + slot)) svg(pool, "rect", { ...place, class: "line series-2" });
        svg(pool, "text", { x: place.x + SIDE / 2 - 1, y: y + 35, class: "middle" }, Figure.written(one.value, 2));
      }
    }
  }

  return () => {
    const slots = contents();
    const read = slotsRead();
    const keys = read.map((at) => slots[at]);
    const own = data.scores.slice(0, tokens.value).map((score, j) => ({ score, value: data.values[j] }));
    drawPool(slots, read);
    shown.result.show(attend(keys, way.value === "masked" ? tokens.value : keys.length));
    shown.expected.show(attend(own, own.length));
    shown.slots.show(read.length);
    shown.foreign.show(keys.filter((one) => one.kind !== "series-1").length);
  };
});
