/* A softmax that is corrected on the way: keys come in tiles, with a running maximum m,
 * a running sum of weights t, and running weighted values u.
 *
 *   m = max(m_old, scores of the tile),   factor = e^(m_old - m)
 *   t = t_old * factor + sum of e^(s - m),   u = u_old * factor + sum of e^(s - m) v
 *
 * The reader may leave the factor out, and drag each score. All is in double precision.
 * data.scores, data.values: one number for each key.
 */
"use strict";

Figure.define("online-softmax", ({ text, data, ui }) => {
  const { listed, sum } = Figure;
  const FORBIDDEN = -6, MOST = 10, REPAIRED = { both: "tu", total: "t", values: "u", nothing: "" };
  const { values } = data;
  const count = values.length;

  const seen = ui.slider({ name: "seen", label: text.seen, min: 1, max: count, step: 1, value: 4 });
  const width = ui.choice({
    name: "width", label: text.width, value: "1",
    options: ["1", "2", "4", "8"].map((one) => [one, one]),
  });
  const repaired = ui.choice({
    name: "repaired", label: text.repaired, value: "both",
    options: Object.keys(REPAIRED).map((one) => [one, text[`repaired_${one}`]]),
  });
  const key = ui.choice({
    name: "key", label: text.key, value: "0",
    options: values.map((_, j) => [String(j), String(j)]),
  });
  const score = ui.slider({
    name: "score", label: text.score, min: FORBIDDEN, max: MOST, step: 0.5, value: data.scores[0],
    format: (value) => (value === FORBIDDEN ? "−inf" : Figure.written(value)),
  });
  const positions = [...data.scores]; // of the slider, for each key
  const reset = ui.button({
    name: "reset", label: text.reset,
    action: () => {
      positions.splice(0, count, ...data.scores);
      score.value = positions[Number(key.value)];
    },
  });
  reset.style.justifySelf = "start";

  const across = { x: [-0.6, count - 0.4] };
  const scorePlot = ui.plot({
    ...across, y: [FORBIDDEN, MOST], height: 120, yLabel: text.scores, alt: text.scores_alt,
    xLabel: text.keys, xTicks: values.map((_, j) => [j, String(j)]), yTicks: [-5, 0, 5, 10],
  });
  ui.legend([
    ["series-1", text.legend_seen], ["series-2", text.legend_top], ["muted dashed", text.legend_border],
  ]);
  const sharePlot = ui.plot({
    ...across, y: [0, 1], height: 120, yLabel: text.shares, alt: text.shares_alt,
    xLabel: text.values, xTicks: values.map((one, j) => [j, String(one)]), yTicks: [0, 0.5, 1],
  });
  ui.legend([["series-3", text.legend_share], ["series-4", text.legend_true]]);
  ui.widenNumbers();
  const shown = ui.readouts(
    ["top", "factor", "total", "sum", "result", "direct", "apart", "factors"],
    (name) => text[`shown_${name}`]);

  /** Collect the scores tile by tile. `counted` is what each key weighs in the sum u. */
  function collect(scores, step, scaled) {
    let top = -Infinity, total = 0, summed = 0, counted = [];
    const tiles = [];
    for (let first = 0; first < scores.length; first += step) {
      const tile = scores.slice(first, first + step);
      const newTop = Math.max(top, ...tile);
      let factor = 1;
      let weights = tile.map(() => 0);
      if (newTop > -Infinity) { // else all was forbidden so far, and nothing weighs
        factor = Math.exp(top - newTop);
        weights = tile.map((one) => Math.exp(one - newTop));
      }
      const [ofTotal, ofSum] = [..."tu"].map((one) => (scaled.includes(one) ? factor : 1));
      total = total * ofTotal + sum(weights);
      summed = summed * ofSum + sum(weights.map((one, j) => one * values[first + j]));
      counted = [...counted.map((one) => one * ofSum), ...weights];
      top = newTop;
      tiles.push({ first, last: first + tile.length - 1, top, factor });
    }
    return { top, total, summed, tiles, shares: counted.map((one) => one / total) };
  }

  function drawScores(scores, tiles) {
    scorePlot.clear();
    scores.forEach((one, j) => {
      if (one === -Infinity) scorePlot.label(j, FORBIDDEN + 0.6, "−inf", "middle");
      else scorePlot.bar(j, one, 0.6, j < seen.value ? "series-1" : "muted");
    });
    for (let border = Number(width.value); border < count; border += Number(width.value)) {
      const line = scorePlot.line([[border - 0.5, FORBIDDEN], [border - 0.5, MOST]], "muted dashed");
      line.style.strokeWidth = 1;
    }
    scorePlot.line(across.x.map((x) => [x, 0]), "muted");
    const stairs = tiles.flatMap(({ first, last, top }) => [[first - 0.5, top], [last + 0.5, top]]);
    scorePlot.line(stairs, "series-2");
  }

  function drawShares(collected, direct) {
    sharePlot.clear();
    collected.forEach((share, j) => {
      if (Number.isNaN(share)) return;
      sharePlot.bar(j, share, 0.6, "series-3");
      sharePlot.line([[j - 0.4, direct[j]], [j + 0.4, direct[j]]], "series-4");
    });
  }

  let held = key.value;

  /** Put the score of a key where the pointer is, in half steps as the slider. */
  function drag(event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(scorePlot.root.getScreenCTM().inverse());
    const along = (at, place) => (at - place(0)) / (place(1) - place(0));
    const j = Math.round(along(x, scorePlot.px));
    if (j < 0 || j >= count) return;
    const to = Math.round(2 * along(y, scorePlot.py)) / 2;
    held = key.value = String(j);
    score.value = Math.max(FORBIDDEN, Math.min(MOST, to));
    ui.draw();
  }
  scorePlot.root.style.touchAction = "pan-y"; // a finger that moves up scrolls the page
  scorePlot.root.style.cursor = "ns-resize";
  scorePlot.root.addEventListener("pointerdown", (event) => {
    scorePlot.root.setPointerCapture(event.pointerId); // also beyond the plot
    drag(event);
  });
  scorePlot.root.addEventListener("pointermove", (event) => { if (event.buttons) drag(event); });

  return () => {
    if (key.value !== held) score.value = positions[Number(key.value)];
    held = key.value;
    positions[Number(key.value)] = score.value;
    const scores = positions.map((one) => (one === FORBIDDEN ? -Infinity : one));
    const soFar = scores.slice(0, seen.value);
    const collected = collect(soFar, Number(width.value), REPAIRED[repaired.value]);
    const direct = Figure.softmax(soFar);
    drawScores(scores, collected.tiles);
    drawShares(collected.shares, direct);

    const result = collected.summed / collected.total;
    const inOneGo = sum(direct.map((share, j) => share * values[j]));
    const factors = collected.tiles.map((one) => one.factor);
    shown.top.show(collected.top);
    shown.factor.show(factors.at(-1));
    shown.total.show(collected.total);
    shown.sum.show(collected.summed);
    shown.result.show(result);
    shown.direct.show(inOneGo);
    shown.apart.show(result - inOneGo);
    shown.factors.show(factors, listed(factors, 3));
  };
});
