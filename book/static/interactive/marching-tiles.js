/* A threadgroup computes a tile of a product: tiles of x and w march along the inputs.
 *
 * In each step the threads copy a tile of x and one of w to threadgroup memory, meet at a
 * barrier, multiply, and meet at another. What is read from device memory is counted for
 * all threadgroups: entries of x of two bytes, and for each weight half a byte and its
 * share of a scale and a bias of two bytes each, which are loaded with every word.
 *
 * data.rows, data.columns: of w. data.depth: columns of a step. data.padding: floats
 * behind each row of a tile.
 */
"use strict";

Figure.define("marching-tiles", ({ text, data, ui }) => {
  const { svg, grouped } = Figure;
  const UNIT = 1.98, TOP = 16, MOST_TOKENS = 48, OF_ENTRY = 2, OF_WEIGHT = 1;
  const STEPS = data.columns / data.depth;
  const [LEFT, BELOW] = [data.columns * UNIT + 5, TOP + data.columns * UNIT + 5];

  const slider = (name, min, max, value) =>
    ui.slider({ name, label: text[name], min, max, step: 1, value });
  const side = ui.choice({
    name: "side", label: text.side, value: "16",
    options: ["1", "8", "16", "32"].map((one) => [one, one]),
  });
  const done = slider("done", 0, 4 * STEPS, 1);
  const group = slider("group", 1, 9, 2);
  const tokens = slider("tokens", 1, MOST_TOKENS, 40);

  const product = ui.drawing({
    width: LEFT + data.rows * UNIT + 1, height: BELOW + MOST_TOKENS * UNIT + 1, alt: text.product_alt,
  });
  const memory = ui.drawing({ width: 352, height: 108, alt: text.memory_alt });
  ui.legend([
    ["series-1", text.legend.x], ["series-2", text.legend.w], ["series-3", text.legend.sums],
  ]);
  ui.widenNumbers();
  const shown = ui.readouts(
    ["weight_reads", "entry_reads", "bytes", "threads", "busy", "shared", "barriers", "added"],
    (name) => text.readouts[name]);

  const box = (root, x, y, width, height, kind, opacity = 1) => {
    svg(root, "rect", { x, y, width, height, class: kind }).style.fillOpacity = opacity;
  };
  const words = (root, x, y, said, kind = "axis-title") => svg(root, "text", { x, y, class: kind }, said);

  /** The tile of a threadgroup: where it begins, and how much of it is there. */
  function tileOf(number, size) {
    const across = Math.ceil(data.rows / size);
    const [first_row, first_token] = [(number % across) * size, Math.floor(number / across) * size];
    return {
      first_row, first_token,
      rows: Math.min(size, data.rows - first_row), tokens: Math.min(size, tokens.value - first_token),
    };
  }

  /** Draw x on the left, w above and turned, and the result where both meet. */
  function drawProduct(tile, now) {
    product.replaceChildren();
    words(product, 0, BELOW - 8, text.x);
    words(product, LEFT + data.rows * UNIT, 11, text.w, "axis-title end");
    box(product, 0, BELOW, data.columns * UNIT, tokens.value * UNIT, "cell");
    box(product, LEFT, TOP, data.rows * UNIT, data.columns * UNIT, "cell");
    box(product, LEFT, BELOW, data.rows * UNIT, tokens.value * UNIT, "cell");
    const [x, y] = [LEFT + tile.first_row * UNIT, BELOW + tile.first_token * UNIT];
    const [width, height, depth] = [tile.rows * UNIT, tile.tokens * UNIT, data.depth * UNIT];
    for (let step = 0; step <= now.step; step++) {
      const opacity = step === now.step ? 1 : 0.3;
      box(product, step * depth, y, depth, height, "bar series-1", opacity);
      box(product, x, TOP + step * depth, width, depth, "bar series-2", opacity);
    }
    box(product, x, y, width, height, "bar series-3", 0.15 + (0.85 * now.multiplied) / STEPS);
  }

  /** Draw what the threadgroup has in its memory, and where its threads stand. */
  function drawMemory(tile, now) {
    memory.replaceChildren();
    words(memory, 0, 11, text.memory);
    const unit = 2.2;
    [["series-1", tile.tokens, 0], ["series-2", tile.rows, 82]].forEach(([kind, there, x]) => {
      const rows = Number(side.value);
      box(memory, x, 22, data.depth * unit, rows * unit, "cell");
      if (now.step >= 0) box(memory, x, 22, data.depth * unit, there * unit, `bar ${kind}`);
    });
    ["copy", "barrier", "multiply", "barrier"].forEach((name, kind) => {
      const y = 34 + 20 * kind;
      if (kind === now.kind) box(memory, 168, y - 12, 184, 17, "bar series-3", 0.3);
      words(memory, 174, y, text.statements[name], "tick");
    });
  }

  return () => {
    const size = Number(side.value);
    const [across, down] = [Math.ceil(data.rows / size), Math.ceil(tokens.value / size)];
    const tile = tileOf(Math.min(group.value, across * down) - 1, size);
    const [step, kind] = done.value ? [Math.floor((done.value - 1) / 4), (done.value - 1) % 4] : [-1, -1];
    const multiplied = kind >= 2 ? step + 1 : Math.max(step, 0);
    drawProduct(tile, { step, multiplied });
    drawMemory(tile, { step, kind });

    const products = tokens.value * data.rows * data.columns;
    const ofX = OF_ENTRY * tokens.value * data.columns * across;
    const ofW = OF_WEIGHT * data.rows * data.columns * down;
    shown.weight_reads.show(down);
    shown.entry_reads.show(across);
    shown.bytes.show((1000 * (ofX + ofW)) / products, grouped(Math.round((1000 * (ofX + ofW)) / products)));
    shown.threads.show(size * size);
    shown.busy.show(tile.tokens * tile.rows);
    shown.shared.show(2 * 4 * size * (data.depth + data.padding));
    shown.barriers.show(2 * Math.max(step, 0) + (kind >= 1) + (kind >= 3));
    shown.added.show(multiplied * data.depth);
  };
});
