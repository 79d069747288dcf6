/* Which query head reads which key/value head, and what one token leaves in the cache.
 *
 * With H query heads and H_kv key/value heads, query head h reads key/value head
 * floor(h / (H / H_kv)): runs of neighbours. The wrong rule beside it is h mod H_kv.
 */
"use strict";

Figure.define("grouped-heads", ({ text, data, ui }) => {
  const { divisors, grouped } = Figure;
  const WIDTH = 360;
  const TOP = 46;
  const BOTTOM = 126;
  const models = new Map(data.models.map((one) => [one.name, one]));

  const model = ui.choice({
    name: "model", label: text.model, value: "Qwen2-0.5B",
    options: data.models.map(({ name }) => [name, name === "embedded" ? text.embedded : name]),
  });
  const kvHeads = ui.choice({ name: "kv_heads", label: text.kv_heads, options: [], value: "" });
  const head = ui.slider({ name: "head", label: text.head, min: 0, max: 1, step: 1, value: 0 });
  const tokens = ui.slider({
    name: "tokens", label: text.tokens, min: 0, max: 15, step: 1, value: 15,
    format: (power) => grouped(2 ** power),
  });
  const inTurns = ui.toggle({ name: "in_turns", label: text.in_turns });

  const heads = ui.drawing({ width: WIDTH, height: 176, alt: text.heads_alt });
  const ticks = [];
  const chart = ui.plot({
    x: [0.5, 4.5], y: [0, 1], xTicks: ticks, height: 170,
    xLabel: text.kv_heads, yLabel: text.per_token_axis, alt: text.chart_alt,
  });
  ui.legend([["series-1", text.chosen], ["muted", text.others]]);

  ui.widenNumbers();
  const show = ui.readouts(
    ["reads", "shared_by", "per_token", "cache", "share", "wrong", "all"],
    (name) => text[`readout_${name}`]);

  /** Take over the sizes of a model, once for each choice of one. */
  let current = null;
  function adopt(one) {
    if (one === current) return;
    current = one;
    const options = divisors(one.heads).map((count) =>
      Figure.html(null, "option", { value: count }, count));
    kvHeads.input.replaceChildren(...options);
    kvHeads.value = String(one.kvHeads);
    head.input.max = one.heads - 1;
    head.value = Math.round(0.65 * (one.heads - 1));
  }

  /** Draw the heads: queries above, keys and values below, a line for each reading. */
  function drawHeads(one, count, reads, right) {
    heads.replaceChildren();
    const { svg } = Figure;
    const across = (index, of) => (index + 0.5) * WIDTH / of;
    const kind = (kv) => `series-${kv % 5 + 1}`;
    svg(heads, "text", { x: 0, y: 12, class: "axis-title" }, text.query_heads);
    svg(heads, "text", { x: 0, y: 164, class: "axis-title" }, text.key_value_heads);
    reads.forEach((kv, h) => {
      const line = svg(heads, "line", {
        x1: across(h, one.heads), y1: TOP, x2: across(kv, count), y2: BOTTOM,
        class: `line ${kind(kv)}${kv === right[h] ? "" : " dashed"}`,
      });
      line.style.opacity = h === head.value ? 1 : 0.4;
      line.style.strokeWidth = h === head.value ? 4 : 1.5;
    });
    const sign = (x, y, size, label, series, strong) => {
      const box = svg(heads, "rect", {
        x: x - size / 2, y: y - size / 2, width: size, height: size, rx: 3, class: `cell line ${series}`,
      });
      box.style.fill = strong ? "var(--figure-empty)" : "var(--figure-paper)";
      box.style.strokeWidth = strong ? 3 : 1.5;
      if (size > 16 || strong) {
        const above = size > 16 ? 4 : y === TOP ? -10 : 20;
        svg(heads, "text", { x, y: y + above, class: "middle" }, label);
      }
    };
    const querySize = Math.min(24, WIDTH / one.heads - 3);
    const keySize = Math.min(24, WIDTH / count - 3);
    reads.forEach((kv, h) =>
      sign(across(h, one.heads), TOP, querySize, h, kind(kv), h === head.value));
    for (let kv = 0; kv < count; kv++) {
      sign(across(kv, count), BOTTOM, keySize, kv, kind(kv), kv === reads[head.value]);
    }
  }

  /** Draw the bytes that a token leaves behind, for every possible count of heads. */
  function drawBytes(one, count, perToken) {
    const counts = divisors(one.heads);
    ticks.splice(0, ticks.length, ...counts.map((each, i) => [i + 1, each]));
    chart.rescale([0.5, counts.length + 0.5], [0, perToken(one.heads) / 1000 * 1.1]);
    chart.clear();
    counts.forEach((each, i) =>
      chart.bar(i + 1, perToken(each) / 1000, 0.6, each === count ? "series-1" : "muted"));
  }

  return () => {
    const one = models.get(model.value);
    adopt(one);
    const count = Number(kvHeads.value);
    const all = Array.from({ length: one.heads }, (_, h) => h);
    const right = all.map((h) => Math.floor(h / (one.heads / count)));
    const reads = inTurns.value ? all.map((h) => h % count) : right;
    const shared = all.filter((h) => reads[h] === reads[head.value]);
    const perToken = (kv) => 2 * one.layers * kv * one.headDim * data.bytes;
    const cache = perToken(count) * 2 ** tokens.value;

    drawHeads(one, count, reads, right);
    drawBytes(one, count, perToken);
    show.reads.show(reads[head.value]);
    show.shared_by.show(shared, shared.join(", "));
    show.per_token.show(perToken(count), grouped(perToken(count)));
    show.cache.show(cache, grouped(Number((cache / 1e6).toFixed(1))));
    show.share.show(count / one.heads, `${count}/${one.heads}`);
    show.wrong.show(all.filter((h) => reads[h] !== right[h]).length);
    show.all.show(reads, reads.join(" "));
  };
});
