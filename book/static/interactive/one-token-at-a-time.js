/* The generation loop, step by step: what the model is shown, what it computes again,
 * and which token it chooses.
 *
 * In step k it computes n + k - 1 positions, n being the length of the prompt. All but
 * the newest were computed in the step before, unless something remembers them.
 */
"use strict";

Figure.define("one-token-at-a-time", ({ text, data, ui }) => {
  const WIDTH = 360, LEFT = 26, TOP = 34;
  const BEST = "series-3", FIRST = "series-1", AGAIN = "series-2";

  const mostSteps = Math.max(...Object.values(data).map((one) => one.steps.length));
  const prompt = ui.choice({
    name: "prompt", label: text.prompt, value: "question",
    options: [["question", text.question], ["story", text.story]],
  });
  const step = ui.slider({
    name: "step", label: text.step, min: 1, max: mostSteps, step: 1, value: 4,
  });
  const next = ui.button({
    name: "next", label: text.next,
    action: () => { step.value = Math.min(step.value + 1, run().steps.length); },
  });
  next.style.justifySelf = "start";
  const remember = ui.toggle({ name: "remember", label: text.remember });

  const words = Figure.html(ui.stage, "div", {
    role: "img",
    style: "display: flex; flex-wrap: wrap; gap: 0.2rem; justify-content: center; " +
      "margin: 0.4rem auto; max-width: 36rem; font-size: var(--font-size--small)",
  });
  ui.legend([[FIRST, text.first], [AGAIN, text.again], [BEST, text.chosen]]);
  const stairs = ui.drawing({ width: WIDTH, height: 200, alt: text.stairs_alt });
  const bars = ui.drawing({ width: WIDTH, height: 136, alt: text.candidates_alt });

  const shown = ui.readouts(
    ["now", "total", "repeated", "share", "token", "probability", "sum"], (name) => text[name]);
  // One number each: it stays on one line, and its label wraps.
  for (const one of ui.numbers.querySelectorAll("dd")) one.style.flexShrink = 0;

  const run = () => data[prompt.value];

  /** Count the positions that step k computes: all of them, and those done before. */
  function work(k) {
    const length = run().prompt.length + k - 1;
    const fresh = k === 1 ? length : 1;
    return { all: remember.value ? fresh : length, again: remember.value ? 0 : length - fresh, fresh };
  }

  /** The likeliest tokens of step k, with log-probabilities: logit - logsumexp. */
  function candidates(k) {
    const { candidates: found, logsumexp } = run().steps[k - 1];
    return found.map(([token, logit]) => ({ token, log: logit - logsumexp }));
  }

  /** The text so far, a box per token, and the token that this step adds. */
  function showWords(k) {
    const { prompt: given, steps } = run();
    const answer = steps.slice(0, k).map((one) => one.candidates[0][0]);
    const tokens = [...given, ...answer];
    const { fresh } = work(k);
    words.replaceChildren();
    tokens.forEach((token, i) => {
      const isNew = i === tokens.length - 1;
      const isFresh = !isNew && i >= tokens.length - 1 - fresh;
      const colour = isNew ? 3 : isFresh ? 1 : 2;
      const shade = !isNew && !isFresh && remember.value ? 0 : 22;
      const box = Figure.html(words, "span", {
        style: `background: color-mix(in srgb, var(--figure-${colour}) ${shade}%, var(--figure-empty)); ` +
          "padding: 0 0.3rem; border-radius: 0.2rem; " +
          `border-bottom: 2px ${isNew ? "dashed" : "solid"} ` +
          (shade ? `var(--figure-${colour})` : "var(--figure-grid)"),
      }, token);
      if (isNew) box.style.fontWeight = "600";
    });
    words.setAttribute("aria-label", `${text.words_alt} ${tokens.join(" ")}`);
  }

  /** A row per step, a column per position. */
  function showStairs(k) {
    const { prompt: given, steps } = run();
    const columns = given.length + steps.length - 1;
    const cell = (WIDTH - LEFT - 4) / columns;
    const height = 160 / steps.length;
    stairs.replaceChildren();
    Figure.svg(stairs, "text", { x: WIDTH / 2, y: 11, class: "axis-title middle" }, text.positions);
    Figure.svg(stairs, "text", { x: 0, y: 11, class: "axis-title" }, text.steps);
    for (const column of [1, given.length, columns]) {
      Figure.svg(stairs, "text",
        { x: LEFT + (column - 0.5) * cell, y: 28, class: "tick middle" }, column);
    }
    for (let row = 1; row <= steps.length; row++) {
      const y = TOP + (row - 1) * height;
      const length = given.length + row - 1;
      const { fresh, again } = work(row);
      const paint = (from, count, kind) => count && Figure.svg(stairs, "rect", {
        x: LEFT + from * cell, y, width: count * cell - 1, height: Math.max(1, height - 1),
        class: `bar ${row <= k ? kind : "muted"}`, opacity: row < k ? 0.45 : row > k ? 0.5 : 1,
      });
      paint(0, again, AGAIN);
      paint(length - fresh, fresh, FIRST);
      if (row === 1 || row === k || row === steps.length) {
        const isNear = row !== k && Math.abs(row - k) * height < 10;
        if (!isNear) Figure.svg(stairs, "text", { x: LEFT - 5, y: y + height / 2 + 4, class: "tick end" }, row);
      }
    }
  }

  /** The likeliest tokens of this step. */
  function showCandidates(k) {
    bars.replaceChildren();
    Figure.svg(bars, "text", { x: 0, y: 11, class: "axis-title" }, text.candidates);
    candidates(k).forEach(({ token, log }, i) => {
      const y = 22 + i * 23, p = Math.exp(log);
      Figure.svg(bars, "text", { x: 92, y: y + 12, class: "tick end" }, token);
      Figure.svg(bars, "rect", { x: 98, y, width: 200, height: 16, class: "bar muted", opacity: 0.4 });
      Figure.svg(bars, "rect",
        { x: 98, y, width: 200 * p, height: 16, class: `bar ${i ? FIRST : BEST}` });
      Figure.svg(bars, "text", { x: 304, y: y + 12, class: "tick" }, p < 0.001 ? "< 0.001" : p.toFixed(3));
    });
  }

  return () => {
    const { steps } = run();
    step.input.max = steps.length;
    step.value = Math.min(step.value, steps.length);
    const k = step.value;
    next.disabled = k === steps.length;
    showWords(k);
    showStairs(k);
    showCandidates(k);

    let total = 0, again = 0, sum = 0;
    for (let row = 1; row <= k; row++) {
      total += work(row).all;
      again += work(row).again;
      sum += candidates(row)[0].log;
    }
    const [{ token, log }] = candidates(k);
    shown.now.show(work(k).all);
    shown.total.show(total);
    shown.repeated.show(again);
    shown.share.show(again / total, `${(100 * again / total).toFixed(1)} %`);
    shown.token.show(token);
    shown.probability.show(Math.exp(log));
    shown.sum.show(sum, Figure.written(sum, 3));
  };
});
