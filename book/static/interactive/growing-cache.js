/* A text grows in a cache: what runs through the model, and what the cache moves.
 *
 * Step 1 shows a prompt of n tokens, each later step the newest token alone. So after m
 * steps the cache holds n + m - 1 tokens. Without one, step k would show n + k - 1.
 *
 * data.first: places of a buffer that doubles, at least. data.step: places that a buffer
 * gains which grows by a fixed number of them.
 */
"use strict";

Figure.define("growing-cache", ({ text, data, ui }) => {
  const { svg, grouped } = Figure;
  const MOST = 512;
  const COLUMNS = 64, ROWS = 22, WIDTH = 352, SIDE = WIDTH / COLUMNS;

  /** How many places a buffer gets, once it has too few. It has 0 before the first token. */
  const WAYS = {
    doubling: (places, needed) => Math.max(needed, places === 0 ? data.first : 2 * places),
    steps: (_, needed) => data.step * Math.ceil(needed / data.step),
    joined: (_, needed) => needed,
  };

  const steps = ui.slider({ name: "steps", label: text.steps, min: 1, max: MOST, step: 1, value: 32 });
  const way = ui.choice({
    name: "way", label: text.way, value: "doubling",
    options: Object.keys(WAYS).map((name) => [name, text.ways[name]]),
  });
  const next = ui.button({ name: "next", label: text.next, action: toNextMove });
  next.style.justifySelf = "start";
  const prompt = ui.slider({ name: "prompt", label: text.prompt, min: 1, max: 256, step: 1, value: 12 });

  const buffer = ui.drawing({ width: WIDTH, height: 19 + ROWS * SIDE, alt: text.buffer_alt });
  ui.legend([
    ["series-1", text.of_prompt], ["series-3", text.of_answer],
    ["series-2", text.moved_now], ["muted", text.spare],
  ]);
  const plot = ui.plot({
    x: [0, MOST], y: [0, 6], yTicks: [], xLabel: text.x, yLabel: text.y, alt: text.plot_alt,
  });
  drawPowers();
  ui.legend([["series-4", text.without], ["series-5", text.with], ["series-2", text.moved]]);
  const shown = ui.readouts(
    ["again", "once", "ratio", "places", "unused", "now", "total", "each"],
    (name) => text.readouts[name]);

  /** Write powers of ten beside the axis of a plot whose y are their exponents. */
  function drawPowers() {
    const axis = svg(null, "g");
    plot.root.prepend(axis);
    for (let power = 0; power <= 6; power++) {
      const y = plot.py(power);
      const name = power < 4 ? grouped(10 ** power) : `10${"⁰¹²³⁴⁵⁶"[power]}`;
      svg(axis, "line", { x1: plot.px(0), x2: plot.px(MOST), y1: y, y2: y, class: "grid" });
      svg(axis, "text", { x: plot.px(0) - 5, y: y + 3.5, class: "tick end" }, name);
    }
  }

  /** Return all steps of a text: what each computes and moves, and what there is then. */
  function grow(numPrompt, places) {
    const found = [];
    let again = 0, total = 0, size = 0;
    for (let k = 1; k <= MOST; k++) {
      const tokens = numPrompt + k - 1;
      const before = k === 1 ? 0 : tokens - 1;
      const isMoving = tokens > size;
      if (isMoving) size = places(size, tokens);
      again += tokens;
      total += isMoving ? before : 0;
      found.push({ again, once: tokens, places: size, now: isMoving ? before : 0, total });
    }
    return found;
  }

  /** Go to the next step that moves tokens, or to the last one. */
  function toNextMove() {
    const later = grow(prompt.value, WAYS[way.value]).slice(steps.value);
    const place = later.findIndex((one) => one.now > 0);
    steps.value = place < 0 ? MOST : steps.value + place + 1;
  }

  /** Draw every place of the buffer as a small square. */
  function drawBuffer({ once, places, now }) {
    buffer.replaceChildren();
    svg(buffer, "text", { x: 0, y: 11, class: "axis-title" }, text.buffer);
    svg(buffer, "rect", { x: 0, y: 17, width: WIDTH, height: ROWS * SIDE + 1, class: "cell" });
    const side = SIDE - 0.8;
    const paint = (from, to, kind) => {
      let path = "";
      for (let at = from; at < to; at++) {
        const [x, y] = [(at % COLUMNS) * SIDE, 18 + Math.floor(at / COLUMNS) * SIDE];
        path += `M${x} ${y}h${side}v${side}h${-side}z`;
      }
      svg(buffer, "path", { d: path, class: `bar ${kind}` });
    };
    const newest = steps.value === 1 ? once : once - 1;
    paint(0, prompt.value, now ? "series-2" : "series-1");
    paint(prompt.value, newest, now ? "series-2" : "series-3");
    paint(newest, once, "series-3");
    paint(once, places, "muted");
  }

  /** Draw how the three counts grow with the steps. */
  function drawCounts(all) {
    plot.clear();
    const power = (count) => Math.log10(Math.max(count, 1));
    for (const [name, kind, style] of [
      ["again", "series-4", ""], ["once", "series-5", ""], ["total", "series-2", "dashed"],
    ]) {
      plot.line(all.map((one, i) => [i + 1, power(one[name])]), `${kind} ${style}`);
      plot.mark(steps.value, power(all[steps.value - 1][name]), kind);
    }
    plot.line([[steps.value, 0], [steps.value, 6]], "muted dashed");
  }

  return () => {
    const all = grow(prompt.value, WAYS[way.value]);
    const one = all[steps.value - 1];
    const unused = one.places - one.once;
    drawBuffer(one);
    drawCounts(all);
    next.disabled = steps.value === MOST;

    for (const name of ["again", "once", "places", "now", "total"]) shown[name].show(one[name], grouped(one[name]));
    shown.ratio.show(one.again / one.once, Figure.written(one.again / one.once, 3));
    shown.unused.show(unused, `${grouped(unused)} (${Math.round((100 * unused) / one.places)} %)`);
    shown.each.show(one.total / one.once, Figure.written(one.total / one.once, 3));
  };
});
