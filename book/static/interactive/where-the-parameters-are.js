/* Where the parameters of a Qwen2 are: counted by kind, for any choice of sizes.
 *
 * data.presets: sizes of known models, by name: layers, hidden, heads, kv, intermediate,
 * vocab, tied. data.group: how many quantised weights share a scale and a bias.
 */
"use strict";

/** Count the parameters of a model by kind. `headDim` is the width D of a head. */
function countParameters({ layers, hidden, headDim, kv, intermediate, vocab, tied }) {
  const kvSize = kv * headDim;
  const biases = layers * (hidden + 2 * kvSize);
  const matrices = {
    embedding: vocab * hidden,
    attention: layers * (2 * hidden * hidden + 2 * kvSize * hidden),
    mlp: layers * 3 * intermediate * hidden,
    head: tied ? 0 : vocab * hidden,
  };
  const norms = (2 * layers + 1) * hidden;
  return {
    kinds: { ...matrices, attention: matrices.attention + biases, norms },
    quantisable: Figure.sum(Object.values(matrices)),
    vectors: biases + norms,
  };
}

/** Bytes of a model whose matrices have 4 bits, and whose groups have two bfloat16. */
function bytesIn4Bits({ quantisable, vectors }, group) {
  return quantisable / 2 + (quantisable / group) * 4 + vectors * 2;
}

Figure.define("where-the-parameters-are", ({ text, data, ui }) => {
  const { divisors, grouped } = Figure;
  const KINDS = ["embedding", "attention", "mlp", "norms", "head"];
  const OWN = "own";

  let headDim = 64;
  let kvChoices = [1];

  const preset = ui.choice({
    name: "preset", label: text.preset, value: "ours",
    options: [...Object.keys(data.presets).map((key) => [key, text.presets[key]]), [OWN, text.presets.own]],
  });
  const size = (name, min, max, step) => ui.slider({
    name, label: text[name], min, max, step, value: min, format: grouped,
  });
  const layers = size("layers", 1, 80, 1);
  const hidden = size("hidden", 64, 8192, 64);
  const intermediate = size("intermediate", 64, 32768, 64);
  const vocab = size("vocab", 256, 200000, 64);
  // The slider runs over the divisors of the number of query heads: no other will do.
  const kv = ui.slider({
    name: "kv", label: text.kv, min: 0, max: 0, step: 1, value: 0,
    format: (index) => grouped(kvChoices[index]),
  });
  const tied = ui.toggle({ name: "tied", label: text.tied });

  const stage = ui.drawing({ width: 360, height: 196, alt: text.alt });
  const shown = ui.readouts(
    [...KINDS, "total", "without", "heads", "float32", "bfloat16", "bits4"],
    (name) => text.readouts[name]);

  /** Move all controls to the sizes of a known model. */
  function apply(one) {
    headDim = one.hidden / one.heads;
    Object.assign(hidden.input, { min: headDim, step: headDim });
    layers.value = one.layers;
    hidden.value = one.hidden;
    intermediate.value = one.intermediate;
    vocab.value = one.vocab;
    tied.value = one.tied;
    offerKv(one.heads, one.kv);
  }

  /** Let the slider of the key/value heads run over what divides the query heads. */
  function offerKv(heads, wanted) {
    kvChoices = divisors(heads);
    kv.input.max = kvChoices.length - 1;
    kv.value = kvChoices.findLastIndex((one) => one <= wanted);
  }

  /** Return the sizes that the controls stand for. */
  const chosen = () => ({
    layers: layers.value, hidden: hidden.value, heads: hidden.value / headDim,
    kv: kvChoices[kv.value], intermediate: intermediate.value, vocab: vocab.value,
    tied: tied.value,
  });

  function drawBars(kinds, total) {
    stage.replaceChildren();
    const [left, right] = [82, 312];
    let from = 0;
    const longest = Math.max(...Object.values(kinds));
    KINDS.forEach((kind, i) => {
      const colour = `bar series-${i + 1}`;
      const share = kinds[kind] / total;
      Figure.svg(stage, "rect", { x: from * 360, y: 18, width: share * 360, height: 26, class: colour });
      from += share;
      const y = 62 + i * 27;
      Figure.svg(stage, "text", { x: left - 6, y: y + 14, class: "tick end" }, text.kinds[kind]);
      Figure.svg(stage, "rect", {
        x: left, y, width: (kinds[kind] / longest) * (right - left), height: 20, class: colour,
      });
      Figure.svg(stage, "text", { x: 360, y: y + 14, class: "end" }, `${(share * 100).toFixed(2)} %`);
    });
    Figure.svg(stage, "text", { x: 0, y: 11, class: "axis-title" }, text.whole);
  }

  /** Write a size as people do: in kilobytes, megabytes or gigabytes. */
  function written(bytes) {
    const [unit, name] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : [1e3, "kB"];
    return `${(bytes / unit).toFixed(2)} ${name}`;
  }

  let applied = null;
  return () => {
    if (preset.value !== applied && preset.value !== OWN) apply(data.presets[preset.value]);
    const heads = hidden.value / headDim;
    if (kvChoices.at(-1) !== heads) offerKv(heads, kvChoices[kv.value]);
    const sizes = chosen();
    const known = Object.entries(data.presets).find(([, one]) =>
      Object.keys(sizes).every((key) => sizes[key] === one[key]));
    preset.value = applied = known ? known[0] : OWN;

    const counted = countParameters({ ...sizes, headDim });
    const total = Figure.sum(Object.values(counted.kinds));
    drawBars(counted.kinds, total);
    for (const kind of KINDS) shown[kind].show(counted.kinds[kind], grouped(counted.kinds[kind]));
    const without = total - counted.kinds.embedding - counted.kinds.head;
    shown.total.show(total, grouped(total));
    shown.without.show(without, grouped(without));
    shown.heads.show(heads);
    for (const [name, bytes] of [
      ["float32", 4 * total], ["bfloat16", 2 * total], ["bits4", bytesIn4Bits(counted, data.group)],
    ]) shown[name].show(bytes, written(bytes));
  };
});
