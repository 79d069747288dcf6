/* A queue of texts goes through the slots of a batch: who is where, step by step.
 *
 * data.texts: tokens of a prompt and steps of its answer, for each text. data.slots: how
 * many slots the figure opens with. Step k of a text attends to its prompt and k tokens.
 */
"use strict";

Figure.define("filled-slots", ({ text, data, ui }) => {
  const { svg } = Figure;
  const WIDTH = 352, HEIGHT = 104, TOP = 17, MOST_SLOTS = 8, COLOURS = 5;
  const MOST_STEPS = Figure.sum(data.texts.map(([, steps]) => steps));
  const LONGEST = Math.max(...data.texts.map(([prompt, steps]) => prompt + steps));

  const slots = ui.slider({ name: "slots", label: text.slots, min: 1, max: MOST_SLOTS, step: 1, value: data.slots });
  const way = ui.choice({
    name: "way", label: text.way, value: "at_once",
    options: Object.keys(text.ways).map((name) => [name, text.ways[name]]),
  });
  const step = ui.slider({ name: "step", label: text.step, min: 1, max: MOST_STEPS, step: 1, value: 4 });

  const plan = ui.drawing({ width: WIDTH, height: TOP + HEIGHT + 2, alt: text.plan_alt });
  const rows = ui.drawing({ width: WIDTH, height: TOP + HEIGHT + 2, alt: text.rows_alt });
  const shown = ui.readouts(["steps", "idle", "longest", "padding"], (name) => text.readouts[name]);

  /** Return for each step what is in each slot: a text and its step, or null. */
  function run(numSlots, waits) {
    const waiting = data.texts.map(([prompt, steps], number) => ({ number, prompt, steps }));
    let now = Array(numSlots).fill(null);
    const found = [];
    while (waiting.length || now.some(Boolean)) {
      if (!waits || !now.some(Boolean)) now = now.map((one) => one ?? next(waiting));
      found.push(now.map((one) => one && { ...one }));
      now = now.map((one) => (one && one.k < one.steps ? { ...one, k: one.k + 1 } : null));
    }
    return found;
  }

  function next(waiting) {
    return waiting.length ? { ...waiting.shift(), k: 1 } : null;
  }

  const kind = (one) => `bar series-${1 + (one.number % COLOURS)}`;

  /** A line of a slot: its place from the top, and its height. */
  const line = (slot) => ({ y: TOP + (slot * HEIGHT) / slots.value, height: HEIGHT / slots.value - 2 });

  function begin(drawing, title) {
    drawing.replaceChildren();
    svg(drawing, "text", { x: 0, y: 11, class: "axis-title" }, title);
  }

  /** Each slot is a line, each step a column. The chosen step is framed. */
  function drawPlan(all, numColumns, at) {
    const side = WIDTH / numColumns;
    begin(plan, text.plan);
    for (let slot = 0; slot < slots.value; slot++) {
      svg(plan, "rect", { x: 0, width: all.length * side, ...line(slot), class: "cell" });
    }
    all.forEach((now, column) => now.forEach((one, slot) => {
      if (one?.k !== 1) return;
      svg(plan, "rect", { x: column * side + 0.5, width: one.steps * side - 1, ...line(slot), class: kind(one) });
    }));
    svg(plan, "rect", {
      x: at * side, width: side, y: TOP - 2, height: HEIGHT + 2,
      fill: "none", stroke: "currentColor", "stroke-width": 1.5,
    });
  }

  /** The keys of the chosen step: all rows end in one column. */
  function drawRows(now, longest) {
    const side = WIDTH / LONGEST;
    begin(rows, text.rows);
    now.forEach((one, slot) => {
      const length = one ? one.prompt + one.k : 0;
      svg(rows, "rect", { x: 0, width: longest * side, ...line(slot), class: "cell" });
      if (!one) return;
      svg(rows, "rect", { x: (longest - length) * side, width: length * side, ...line(slot), class: kind(one) });
    });
  }

  return () => {
    const all = run(slots.value, way.value === "together");
    const at = Math.min(step.value, all.length) - 1;
    const lengths = all[at].map((one) => (one ? one.prompt + one.k : 0));
    const longest = Math.max(...lengths);
    const idle = Figure.sum(all.map((now) => now.filter((one) => !one).length)) / (all.length * slots.value);
    const padding = 1 - Figure.sum(lengths) / (longest * slots.value);
    const percent = (share) => `${Math.round(100 * share)} %`;
    drawPlan(all, run(slots.value, true).length, at); // one scale for both ways
    drawRows(all[at], longest);
    shown.steps.show(all.length, String(all.length));
    shown.idle.show(idle, percent(idle));
    shown.longest.show(longest, String(longest));
    shown.padding.show(padding, percent(padding));
  };
});
