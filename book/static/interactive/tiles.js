/* A product cut into tiles: what is loaded into registers, how often, and what fits.
 *
 * A tile has the sums of some tokens and some panels; a panel has an output for each lane
 * of a register. For each four inputs it loads a register of each panel and four bytes of
 * each token, and multiplies each with each. Tiles are as equal as can be.
 *
 * data.matrices: inputs and outputs by name. data.registers: how many there are and their
 * bytes, by name. data.weight_bytes: what a weight takes in memory, with its share of a
 * scale and a bias.
 */
"use strict";

/** Count what a product of L tokens loads, in tiles of up to `most` tokens. */
function countLoads({ tokens, outputs, most, panels, lanes }) {
  const numTiles = Math.ceil(tokens / most);
  const widths = Math.ceil(outputs / (panels * lanes));
  // For four inputs of everything: registers of panels, and tokens that are repeated.
  const loads = numTiles * (outputs / lanes) + widths * tokens;
  const bytes = numTiles * outputs * 4 + widths * tokens * 4;
  return {
    numTiles, widths,
    perInstruction: loads / (tokens * (outputs / lanes)),
    perByte: 2 * 4 * tokens * outputs / bytes,
  };
}

Figure.define("tiles", ({ text, data, ui }) => {
  const { svg, grouped } = Figure;
  const OUTPUTS_SHOWN = 384;

  const slider = (name, max, value) =>
    ui.slider({ name, label: text[name], min: 1, max, step: 1, value });
  const choice = (name, kinds, value) => ui.choice({
    name, label: text[name], value,
    options: Object.keys(kinds).map((key) => [key, text[`${name}_names`][key]]),
  });
  const most = slider("most", 16, 12);
  const panels = slider("panels", 12, 1);
  const processor = choice("processor", data.registers, "AVX512");
  const tokens = slider("tokens", 256, 256);
  const matrix = choice("matrix", data.matrices, "gate");

  const tile = ui.drawing({ width: 360, height: 222, alt: text.tile_alt });
  const whole = ui.drawing({ width: 360, height: 196, alt: text.whole_alt });
  ui.legend([
    ["series-1", text.legend.activations], ["series-2", text.legend.panel],
    ["series-3", text.legend.sums], ["series-4", text.legend.results],
  ]);
  ui.widenNumbers();
  const shown = ui.readouts(
    ["unpacked", "weight", "activation", "instructions", "loads", "per_product",
      "per_byte", "per_matrix_byte", "registers"],
    (name) => text.readouts[name]);

  const box = (root, x, y, width, height, kind) =>
    svg(root, "rect", { x, y, width, height, class: kind });
  const filled = (template, numbers) =>
    template.replace(/{(\w+)}/g, (_, name) => grouped(numbers[name]));
  const words = (root, x, y, said, kind = "tick") => svg(root, "text", { x, y, class: kind }, said);

  /** Draw the sums of a tile, and beside them what each four inputs load. */
  function drawTile(rows, columns, fits, lanes) {
    tile.replaceChildren();
    const [left, top, width, height] = [92, 40, lanes * 1.3, 8.5];
    const said = { tokens: rows, outputs: columns * lanes, sums: rows * columns * lanes };
    words(tile, 0, 11, filled(text.tile, said), "axis-title");
    words(tile, left - 22, 29, text.panel_registers, "tick end");
    for (let c = 0; c < columns; c++) box(tile, left + c * width, 22, width - 2, 9, "bar series-2");
    for (let r = 0; r < rows; r++) {
      const y = top + r * height;
      box(tile, left - 18, y, 8, height - 2, "bar series-1");
      for (let c = 0; c < columns; c++) {
        const kind = r * columns + c < fits ? "bar series-3" : "cell";
        box(tile, left + c * width, y, width - 2, height - 2, kind);
      }
    }
    words(tile, left - 22, top + 8, text.tokens_of_tile, "tick end");
  }

  /** Draw the registers of the processor, and what is in each. */
  function drawRegisters(parts, count) {
    words(tile, 0, 196, text.registers, "axis-title");
    const kinds = parts.flatMap(([number, kind]) => Array(number).fill(kind));
    for (let i = 0; i < count; i++) {
      const kind = kinds[i] ? `bar ${kinds[i]}` : "cell";
      box(tile, (i % 32) * 11.2, 204, 9.2, 14, kind);
    }
    const over = kinds.length - count;
    if (over > 0) words(tile, 358, 196, filled(text.over, { over }), "end");
  }

  /** Draw the tokens and the first outputs of the product, cut into tiles. */
  function drawWhole({ numTokens, outputs, width, numTiles }) {
    whole.replaceChildren();
    const visible = Math.min(outputs, OUTPUTS_SHOWN);
    const [left, top, across] = [20, 34, 0.88];
    const down = Math.min(4, 154 / numTokens);
    const px = (output) => left + output * across;
    const py = (token) => top + token * down;
    const [right, bottom] = [px(visible), py(numTokens)];
    const edge = (number) => Math.floor(numTokens * number / numTiles);
    const from = numTiles > 1 ? Math.floor(numTiles / 3) : 0;
    words(whole, 0, 11, filled(text.whole, { shown: visible, all: outputs }), "axis-title");
    const wide = Math.min(width, visible) * across, high = py(edge(from + 1)) - py(edge(from));
    box(whole, left, top, right - left, bottom - top, "cell");
    box(whole, left, 22, wide, 8, "bar series-2");
    box(whole, left - 12, py(edge(from)), 8, high, "bar series-1");
    box(whole, left, py(edge(from)), wide, high, "bar series-3");
    let path = "";
    for (let i = 0; i <= numTiles; i++) path += `M${left} ${py(edge(i))}H${right}`;
    for (let output = 0; output < visible; output += width) {
      path += `M${px(output)} ${top}V${bottom}`;
    }
    svg(whole, "path", { d: path, class: "grid", fill: "none" });
  }

  return () => {
    const [inputs, outputs] = data.matrices[matrix.value];
    const { count, bytes } = data.registers[processor.value];
    const lanes = bytes / 4;
    const sizes = { tokens: tokens.value, outputs, most: most.value, panels: panels.value, lanes };
    const { numTiles, widths, perInstruction, perByte } = countLoads(sizes);
    const rows = Math.ceil(tokens.value / numTiles);
    const columns = Math.min(panels.value, outputs / lanes);
    const sums = rows * columns;
    // The shorter side stays in registers, and of the other one is enough at a time.
    const [ofPanels, ofTokens] = columns <= rows ? [columns, 1] : [1, rows];
    const held = ofPanels + ofTokens;

    drawTile(rows, columns, Math.max(0, Math.floor((count - held) / 2)), lanes);
    drawRegisters([
      [ofPanels, "series-2"], [ofTokens, "series-1"], [sums, "series-3"], [sums, "series-4"],
    ], count);
    drawWhole({ numTokens: tokens.value, outputs, width: lanes * panels.value, numTiles });

    shown.unpacked.show([1, tokens.value], filled(text.unpacked, { naive: tokens.value }));
    shown.weight.show(numTiles);
    shown.activation.show(widths, grouped(widths));
    shown.instructions.show(sums);
    shown.loads.show(rows + columns);
    shown.per_product.show(perInstruction, perInstruction.toFixed(2));
    shown.per_byte.show(perByte, perByte.toFixed(1));
    const memory = inputs * outputs * data.weight_bytes;
    shown.per_matrix_byte.show(2 * tokens.value * inputs * outputs / memory);
    shown.registers.show(2 * sums + held, filled(text.of, { needed: 2 * sums + held, count }));
  };
});
