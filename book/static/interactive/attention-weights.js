/* The attention weights of a short sentence: scale, mask, and one row from close up.
 *
 * The vectors have four channels of whole numbers, so that each score can be checked by
 * hand. The slider holds the logarithm of the scale, which makes 1/16 and 16 equally
 * far from 1.
 */
"use strict";

Figure.define("attention-weights", ({ text, data, ui }) => {
  const { queries, keys } = data, { words } = text;
  const places = words.map((_, i) => i);
  const names = words.map((word, i) => `${i + 1} ${word}`);

  const scale = ui.slider({
    name: "scale", label: text.scale, min: -6, max: 4, step: 0.25, value: -1,
    format: (power) => Figure.written(2 ** power, 3),
  });
  const row = ui.choice({
    name: "row", label: text.row, value: "3",
    options: names.map((name, i) => [String(i), name]),
  });
  const mask = ui.choice({
    name: "mask", label: text.mask, value: "none",
    options: [["none", text.none], ["causal", text.causal]],
  });

  const map = ui.heatmap({
    rows: words, columns: words, alt: text.map_alt, cell: 46, margin: 46,
    rowTitle: text.query, columnTitle: text.key,
  });
  // The chosen row is framed. The cells tell where they are.
  const first = map.cells[0][0].box;
  const frame = Figure.svg(first.ownerSVGElement, "rect", {
    x: Number(first.getAttribute("x")) - 2, height: 48, width: 46 * words.length + 2,
    rx: 4, class: "line series-2",
  });
  const bars = ui.plot({
    x: [-0.6, words.length - 0.4], y: [0, 1], height: 150, alt: text.bars_alt,
    yLabel: text.weights, xTicks: places.map((i) => [i, words[i]]), yTicks: [0, 0.5, 1],
  });

  for (const drawing of [first.ownerSVGElement, bars.root]) drawing.style.maxWidth = "26rem";

  const shown = ui.readouts(
    ["scale", "scores", "weights", "sum", "largest", "entropy"], (name) => text[`shown_${name}`]);

  /** Write a share: an exact 0 differs from one that is small. */
  const share = (weight) => (weight === 0 ? "0" : weight.toFixed(2));

  return () => {
    const factor = 2 ** scale.value;
    const scores = queries.map((query, i) => keys.map((key, j) =>
      mask.value === "causal" && j > i ? -Infinity : dot(query, key) * factor));
    const weights = scores.map(Figure.softmax);
    map.show(weights, weights.map((one) => one.map(share)));

    const chosen = Number(row.value);
    frame.setAttribute("y", Number(map.cells[chosen][0].box.getAttribute("y")) - 2);
    const own = weights[chosen];
    bars.clear();
    own.forEach((weight, j) => bars.bar(j, weight, 0.7, "series-1"));
    own.forEach((weight, j) => {
      bars.label(j, Math.min(weight, 0.9) + 0.04, share(weight), "middle");
    });

    shown.scale.show(factor);
    shown.scores.show(scores[chosen], Figure.listed(scores[chosen], 3));
    shown.weights.show(own, own.map(share).join(", "));
    shown.sum.show(Figure.sum(own));
    shown.largest.show(Math.max(...own));
    shown.entropy.show(entropy(own));
  };

  /** The sum of the products, channel by channel. */
  function dot(query, key) {
    return query.reduce((sum, entry, c) => sum + entry * key[c], 0);
  }

  /** In bits: 0 when one key has it all, log2(n) when n keys have the same. */
  function entropy(shares) {
    return -Figure.sum(shares.map((one) => (one > 0 ? one * Math.log2(one) : 0)));
  }
});
