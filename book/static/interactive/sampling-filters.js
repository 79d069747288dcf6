/* The next token of a story: what top-k, top-p and temperature leave of the model's
 * probabilities, and which tokens the same twelve random numbers then draw. */
"use strict";

Figure.define("sampling-filters", ({ text, data, ui }) => {
  const { softmax, sum } = Figure;
  const NUM_DRAWS = 12;
  const logs = data.log_probabilities; // of the whole vocabulary, the likeliest first

  const temp = ui.slider({ name: "temp", label: text.temp, min: 0, max: 3, step: 0.1, value: 0.7 });
  const topK = ui.slider({ name: "top_k", label: text.top_k, min: 0, max: 40, step: 1, value: 0, format: (k) => (k ? String(k) : text.off) });
  const topP = ui.slider({ name: "top_p", label: text.top_p, min: 0, max: 1, step: 0.01, value: 0.9, format: (p) => (p > 0 && p < 1 ? Figure.written(p) : text.off) });
  const order = ui.choice({
    name: "order", label: text.order, value: "last",
    options: [["last", text.temperature_last], ["first", text.temperature_first]],
  });
  let uniforms = [];
  const random = generator(7);
  const drawAgain = () => { uniforms = Array.from({ length: NUM_DRAWS }, random); };
  drawAgain();
  ui.button({ name: "again", label: text.again, action: drawAgain });

  const chart = bars(ui, data.tokens.slice(0, data.shown), text);
  ui.legend([["series-2", text.before], ["series-1", text.after]]);
  const readouts = ui.readouts(
    ["kept", "mass", "largest", "others", "choices", "drawn"], (name) => text[name]);
  ui.numbers.lastElementChild.style.gridColumn = "1 / -1"; // the twelve draws need a line

  return () => {
    const before = softmax(logs);
    const isFirst = order.value === "first";
    // At 0 there is nothing to divide by: all the probability goes to the likeliest.
    const scaled = logs.map((one, place) => (temp.value > 0 ? one / temp.value : place ? -Infinity : 0));
    let scores = keepTopK(isFirst ? scaled : logs, topK.value);
    scores = keepTopP(scores, topP.value);
    const numKept = temp.value > 0 ? scores.filter(Number.isFinite).length : 1;
    const after = softmax(scaled.map((one, place) => (place < numKept ? one : -Infinity)));

    chart.show(before, after, numKept);
    readouts.kept.show(numKept, `${numKept} / ${logs.length}`);
    const show = (name, value) => readouts[name].show(value, value.toFixed(3));
    show("mass", sum(before.slice(0, numKept)));
    show("largest", after[0]);
    show("others", sum(after.slice(data.shown)));
    readouts.choices.show(choices(after), choices(after).toFixed(1));
    const drawn = uniforms.map((one) => data.tokens[drawnBy(one, after)]);
    readouts.drawn.show(drawn, drawn.join("  "));
  };

  /** Drop all but the first `k` of sorted scores; 0 keeps all. */
  function keepTopK(sorted, k) {
    return sorted.map((one, place) => (k === 0 || place < k ? one : -Infinity));
  }

  /** Drop a token if those before it already add up to `p`; 0 and 1 keep all. */
  function keepTopP(sorted, p) {
    if (p === 0 || p === 1) return sorted;
    const shares = softmax(sorted);
    let beforeIt = 0;
    return sorted.map((one, place) => {
      const isKept = beforeIt < p;
      beforeIt += shares[place];
      return isKept ? one : -Infinity;
    });
  }

  /** The place at which the running sum of `shares` passes `uniform`. */
  function drawnBy(uniform, shares) {
    let upToIt = 0;
    const place = shares.findIndex((one) => (upToIt += one) > uniform);
    return place < 0 ? 0 : place;
  }

  /** exp(entropy): this many equally likely tokens would be as varied. */
  function choices(shares) {
    return Math.exp(-sum(shares.map((one) => (one > 0 ? one * Math.log(one) : 0))));
  }

  /** Numbers from 0 to 1 that come in the same order on every page (mulberry32). */
  function generator(seed) {
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  /** Two bars a token, before and after, and one row for all tokens not shown. */
  function bars(ui, names, text) {
    const [left, right, top, row] = [80, 262, 8, 19];
    const labels = [...names, text.all_others];
    const bottom = top + row * labels.length;
    const root = ui.drawing({ width: 320, height: bottom + 20, alt: text.chart });
    const content = Figure.svg(root, "g");
    const show = (before, after, numKept) => {
      content.replaceChildren();
      const group = (shares) => [...shares.slice(0, names.length), sum(shares.slice(names.length))];
      const [old, now] = [group(before), group(after)];
      const most = Math.max(...old, ...now);
      const [end, step] = [[0.3, 0.1], [0.6, 0.2], [1, 0.25]].find(([limit]) => most <= limit) ?? [1, 0.25];
      const px = (share) => left + (share / end) * (right - left);
      for (let tick = 0; tick <= end + 1e-9; tick += step) {
        const x = px(tick);
        Figure.svg(content, "line", { x1: x, x2: x, y1: top, y2: bottom, class: "grid" });
        Figure.svg(content, "text", { x, y: bottom + 14, class: "tick middle" }, Figure.written(tick, 2));
      }
      labels.forEach((name, place) => {
        const y = top + place * row;
        const isKept = place < numKept;
        Figure.svg(content, "text", { x: left - 6, y: y + 12, class: isKept ? "end" : "tick end" }, name);
        const bar = (share, from, height, kind) => Figure.svg(content, "rect",
          { x: left, y: y + from, width: px(share) - left, height, class: `bar ${kind}` });
        bar(old[place], 3, 4, "series-2");
        bar(now[place], 7, 8, "series-1");
        const value = isKept ? now[place].toFixed(3) : text.dropped;
        Figure.svg(content, "text", { x: 318, y: y + 12, class: isKept ? "end" : "tick end" }, value);
      });
    };
    return { show };
  }
});
