/* SIMD groups share the keys of one query: each keeps a maximum, a total and a sum.
 *
 * In a step SIMD group p takes key p + step * groups. A larger score makes what the SIMD
 * group has so far fade. After the last step the parts are merged:
 *
 *   result = sum of e^(most_p - most) sum_p / sum of e^(most_p - most) total_p
 *
 * data.scores, data.values: one number for each key.
 */
"use strict";

Figure.define("keys-in-parts", ({ text, data, ui }) => {
  const { svg, sum, listed, written } = Figure;
  const MOST_KEYS = data.scores.length, HIGHEST = 8;
  const ROW = 19, TOP = 34, COLUMNS = [116, 176, 236, 346];

  const step = ui.slider({ name: "step", label: text.step, min: 0, max: 4, step: 1, value: 2 });
  const groups = ui.choice({
    name: "groups", label: text.groups, value: "8",
    options: ["1", "2", "4", "8"].map((one) => [one, one]),
  });
  const keys = ui.slider({ name: "keys", label: text.keys, min: 1, max: MOST_KEYS, step: 1, value: 20 });

  const plot = ui.plot({
    x: [-0.6, MOST_KEYS - 0.4], y: [0, HIGHEST], height: 150, alt: text.scores_alt,
    yLabel: text.score, xLabel: text.taken_by, yTicks: [0, 2, 4, 6, 8], xTicks: [],
  });
  ui.legend([["series-1", text.legend.done], ["series-2", text.legend.now], ["muted", text.legend.later]]);
  const parts = ui.drawing({ width: 352, height: TOP + 8 * ROW, alt: text.parts_alt });
  ui.widenNumbers();
  const shown = ui.readouts(
    ["result", "direct", "unweighted", "factors", "steps", "busy"], (name) => text.readouts[name]);

  /** What the SIMD groups have after some steps. */
  function collect(count, done) {
    return Array.from({ length: count }, (_, part) => {
      let most = -Infinity, total = 0, summed = 0, fade = 1;
      const own = [];
      for (let i = 0; i < done && part + i * count < keys.value; i++) {
        const key = part + i * count, score = data.scores[key];
        const now = Math.max(most, score), weight = Math.exp(score - now);
        fade = Math.exp(most - now);
        most = now;
        total = total * fade + weight;
        summed = summed * fade + weight * data.values[key];
        own.push(key);
      }
      return { most, total, summed, own };
    });
  }

  /** What each part weighs in the merge: nothing, if it had no key. */
  function weighed(found) {
    const most = Math.max(...found.map((one) => one.most));
    return { most, factors: found.map((one) => (one.most === -Infinity ? 0 : Math.exp(one.most - most))) };
  }

  function drawScores(found, count, steps, merged) {
    plot.clear();
    const isMerged = step.value > steps;
    for (let key = 0; key < keys.value; key++) {
      const { most, own } = found[key % count];
      const isDone = own.includes(key), isNow = !isMerged && own.at(-1) === key && Math.floor(key / count) === step.value - 1;
      const bar = plot.bar(key, data.scores[key], 0.8, isNow ? "series-2" : isDone ? "series-1" : "muted");
      const against = isMerged ? merged.most : most;
      bar.style.fillOpacity = isDone ? 0.12 + 0.88 * Math.exp(data.scores[key] - against) : 0.4;
      svg(plot.content, "text", { x: plot.px(key), y: 130, class: "tick middle" }, String(key % count));
    }
  }

  function drawParts(found, merged) {
    parts.replaceChildren();
    [["axis-title", text.part, 0, ""], ...["most", "total", "sum", "weighs"].map((name, i) => ["axis-title", text[name], COLUMNS[i], " end"])]
      .forEach(([kind, said, x, end]) => svg(parts, "text", { x, y: 18, class: kind + end }, said));
    found.forEach((one, part) => {
      const y = TOP + ROW * part + 6;
      svg(parts, "text", { x: 8, y, class: "tick" }, String(part));
      [one.most, one.total, one.summed, merged.factors[part]].forEach((value, i) =>
        svg(parts, "text", { x: COLUMNS[i], y, class: "tick end" }, written(value, 3)));
      const width = 40 * merged.factors[part];
      svg(parts, "rect", { x: COLUMNS[2] + 16, y: y - 10, width, height: 12, class: "bar series-3" });
    });
  }

  return () => {
    const count = Number(groups.value), steps = Math.ceil(keys.value / count);
    step.input.max = steps + 1;
    step.value = Math.min(step.value, steps + 1);
    const found = collect(count, Math.min(step.value, steps));
    const merged = weighed(found);
    drawScores(found, count, steps, merged);
    drawParts(found, merged);

    const seen = found.flatMap((one) => one.own);
    const direct = Figure.softmax(seen.map((key) => data.scores[key]));
    const total = sum(found.map((one, part) => one.total * merged.factors[part]));
    const summed = sum(found.map((one, part) => one.summed * merged.factors[part]));
    const active = found.filter((one) => one.own.length === step.value).length;
    shown.result.show(seen.length ? summed / total : NaN);
    shown.direct.show(seen.length ? sum(direct.map((share, i) => share * data.values[seen[i]])) : NaN);
    shown.unweighted.show(sum(found.map((one) => one.summed)) / sum(found.map((one) => one.total)));
    shown.factors.show(merged.factors, listed(merged.factors, 2));
    shown.steps.show(steps);
    shown.busy.show(step.value === 0 || step.value > steps ? 0 : active);
  };
});
