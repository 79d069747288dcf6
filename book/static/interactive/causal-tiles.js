/* A threadgroup takes some neighbouring queries through the keys, a tile at a time.
 *
 * Query l sees the keys up to l + cached. Tiles that none of the threadgroup's queries
 * sees are left out, and of the last one nothing behind the last key that one of them
 * sees is read. What a query keeps: most, total and sum, which fade with a larger score.
 *
 * data.query, data.keys, data.values: one number for each. data.tile: keys of a tile.
 * data.width: of a head, for bytes. data.bytes: of a number.
 */
"use strict";

Figure.define("causal-tiles", ({ text, data, ui }) => {
  const { svg, grouped, sum } = Figure;
  const MOST_TOKENS = data.query.length, MOST_KEYS = data.keys.length;
  const UNIT = 352 / MOST_KEYS, TOP = 18;

  const done = ui.slider({ name: "done", label: text.done, min: 0, max: 3, step: 1, value: 2 });
  const group = ui.slider({ name: "group", label: text.group, min: 1, max: 3, step: 1, value: 2 });
  const side = ui.choice({
    name: "side", label: text.side, value: "16",
    options: ["4", "8", "16", "32"].map((one) => [one, one]),
  });
  const tokens = ui.slider({ name: "tokens", label: text.tokens, min: 1, max: MOST_TOKENS, step: 1, value: 48 });
  const cached = ui.slider({
    name: "cached", label: text.cached, min: 0, max: MOST_KEYS - MOST_TOKENS, step: 1, value: 32,
  });
  const row = ui.slider({ name: "row", label: text.row, min: 0, max: 15, step: 1, value: 5 });

  const map = ui.drawing({ width: 353, height: TOP + MOST_TOKENS * UNIT + 1, alt: text.map_alt });
  ui.legend([
    ["series-1", text.legend.done], ["series-2", text.legend.now],
    ["series-4", text.legend.masked], ["series-3", text.legend.row],
  ]);
  ui.widenNumbers();
  const shown = ui.readouts(
    ["most", "fade", "total", "result", "tiles", "left_out", "masked", "barriers", "bytes"],
    (name) => text.readouts[name]);

  /** Draw some rows of scores as one shape: [query, first key, end]. */
  const shape = (spans, kind, opacity = 1) => {
    const path = spans.filter(([, from, to]) => to > from).map(([y, from, to]) =>
      `M${from * UNIT} ${TOP + y * UNIT}h${(to - from) * UNIT}v${UNIT}h${(from - to) * UNIT}z`).join("");
    svg(map, "path", { d: path, class: kind }).style.fillOpacity = opacity;
  };
  const line = (x1, y1, x2, y2) => svg(map, "line", {
    x1: x1 * UNIT, x2: x2 * UNIT, y1: TOP + y1 * UNIT, y2: TOP + y2 * UNIT, class: "axis",
  });
  const tilesOf = (end) => Math.ceil(end / data.tile);

  /** Draw who sees what, and how far the threadgroup has come. */
  function draw({ first, rows, end, context, query }) {
    map.replaceChildren();
    svg(map, "text", { x: 0, y: 12, class: "axis-title" }, text.map);
    svg(map, "rect", { x: 0, y: TOP, width: context * UNIT, height: tokens.value * UNIT, class: "cell" });
    const all = Array.from({ length: tokens.value }, (_, l) => l);
    const own = all.slice(first, first + rows);
    const sees = (l) => l + cached.value + 1;
    shape(all.map((l) => [l, 0, sees(l)]), "bar muted", 0.3);
    for (let tile = 0; tile < done.value; tile++) {
      const from = tile * data.tile, to = Math.min(from + data.tile, end);
      const kind = tile === done.value - 1 ? "bar series-2" : "bar series-1";
      shape(own.map((l) => [l, from, Math.min(to, sees(l))]), kind, 0.75);
      shape(own.map((l) => [l, Math.max(sees(l), from), to]), "bar series-4", 0.55);
    }
    shape([[query, 0, Math.min(sees(query), done.value * data.tile)]], "bar series-3");
    for (let border = data.tile; border < context; border += data.tile) line(border, 0, border, tokens.value);
    for (const y of [first, first + rows]) line(0, y, context, y);
    for (let from = tilesOf(end) * data.tile; from < context; from += data.tile) {
      const middle = (from + Math.min(from + data.tile, context)) / 2;
      if (2 * (middle - from) * UNIT < 48) continue;
      svg(map, "text", {
        x: middle * UNIT, y: TOP + (first + rows / 2) * UNIT + 4, class: "tick middle",
      }, text.unread);
    }
  }

  /** What a query keeps after the tiles so far. */
  function collect(query) {
    let most = -Infinity, total = 0, summed = 0, fade = NaN;
    const end = query + cached.value + 1;
    for (let tile = 0; tile < done.value; tile++) {
      const seen = [];
      for (let s = tile * data.tile; s < Math.min((tile + 1) * data.tile, end); s++) seen.push(s);
      const scores = seen.map((s) => data.query[query] * data.keys[s]);
      const now = Math.max(most, ...scores);
      fade = Math.exp(most - now);
      most = now;
      const weights = scores.map((score) => Math.exp(score - now));
      total = total * fade + sum(weights);
      summed = summed * fade + sum(weights.map((weight, i) => weight * data.values[seen[i]]));
    }
    return { most, total, summed, fade };
  }

  return () => {
    const size = Number(side.value), context = tokens.value + cached.value;
    const count = Math.ceil(tokens.value / size);
    group.input.max = count;
    group.value = Math.min(group.value, count);
    const first = (group.value - 1) * size, rows = Math.min(size, tokens.value - first);
    const end = first + rows + cached.value;
    row.input.max = rows - 1;
    row.value = Math.min(row.value, rows - 1);
    done.input.max = tilesOf(end);
    done.value = Math.min(done.value, tilesOf(end));
    const query = first + row.value;
    draw({ first, rows, end, context, query });

    const kept = collect(query);
    const ends = Array.from({ length: count }, (_, g) => Math.min((g + 1) * size, tokens.value) + cached.value);
    let masked = 0;
    for (let l = first; l < first + rows; l++) masked += tilesOf(end) * data.tile - (l + cached.value + 1);
    const bytes = data.bytes * data.width * (tokens.value + 2 * sum(ends));
    shown.most.show(kept.most);
    shown.fade.show(kept.fade);
    shown.total.show(kept.total);
    shown.result.show(kept.summed / kept.total);
    shown.tiles.show(tilesOf(end));
    shown.left_out.show(tilesOf(context) - tilesOf(end));
    shown.masked.show(masked);
    shown.barriers.show(4 * sum(ends.map(tilesOf)));
    shown.bytes.show(bytes, grouped(bytes));
  };
});
