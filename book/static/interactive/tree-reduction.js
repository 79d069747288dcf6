/* The threads of a threadgroup add up their numbers in halves, SIMD group by SIMD group.
 *
 * A SIMD group does one statement at a time, for all of its lanes: it stores, then it adds
 * in rounds, then thread 0 hands on the sum. A barrier lets a SIMD group on when all of
 * them have come. Where none is in its way, the first in the order goes on.
 *
 * data.numbers: that of each thread, a power of two of them. data.lanes: of a SIMD group.
 */
"use strict";

Figure.define("tree-reduction", ({ text, data, ui }) => {
  const { svg, sum, written } = Figure;
  const { numbers, lanes } = data;
  const COUNT = numbers.length, GROUPS = COUNT / lanes, ROUNDS = Math.log2(COUNT);
  // Statement 0 stores, 1 to ROUNDS add, and the last one hands on part[0].
  const LAST = ROUNDS + 1, STEPS = GROUPS * (ROUNDS + 1) + 1;
  const missing = { none: [], stores: ["stores"], rounds: ["rounds"], both: ["stores", "rounds"] };
  const WIDTH = 352, LEFT = 84, TOP = 18, ROW = 19, SIDE = (WIDTH - LEFT) / COUNT;

  const barriers = ui.choice({
    name: "barriers", label: text.barriers, value: "none",
    options: Object.keys(text.barriers_names).map((name) => [name, text.barriers_names[name]]),
  });
  const order = ui.choice({
    name: "order", label: text.order, value: "0",
    options: numbers.slice(0, GROUPS).map((_, group) => [String(group), String(group)]),
  });
  const step = ui.slider({ name: "step", label: text.step, min: 0, max: STEPS, step: 1, value: 0 });

  const drawing = ui.drawing({ width: WIDTH, height: TOP + (LAST + 1) * ROW + 58, alt: text.alt });
  ui.legend([
    ["series-1", text.legend.thread], ["series-2", text.legend.moved],
    ["series-3", text.legend.right], ["series-4", text.legend.wrong],
  ]);
  const shown = ui.readouts(["result", "expected", "waiting", "races"], (name) => text.readouts[name]);

  /** Whether a barrier stands before a statement. */
  function hasBarrier(statement) {
    if (statement === 0) return false;
    return !missing[barriers.value].includes(statement === 1 ? "stores" : "rounds");
  }

  const width = (round) => COUNT >> round;
  const threads = (group) => Array.from({ length: lanes }, (_, lane) => group * lanes + lane);

  /** What a thread reads and writes in a statement: places of `part`. */
  function accesses(thread, statement) {
    if (statement === 0) return { reads: [], writes: [thread] };
    if (statement === LAST) return { reads: thread === 0 ? [0] : [], writes: [] };
    if (thread >= width(statement)) return { reads: [], writes: [] };
    return { reads: [thread, thread + width(statement)], writes: [thread] };
  }

  /** What stands in `part` after each statement if all threads do it together. */
  function expectedAfter(statement) {
    const part = [...numbers];
    for (let round = 1; round <= Math.min(statement, ROUNDS); round++) {
      for (let t = 0; t < width(round); t++) part[t] += part[t + width(round)];
    }
    return part;
  }

  /** The places that two threads access with no barrier between, one of them to write. */
  function racing() {
    const found = new Set();
    let since = [];
    for (let statement = 0; statement <= LAST; statement++) {
      if (hasBarrier(statement)) since = [];
      for (let thread = 0; thread < COUNT; thread++) since.push([thread, accesses(thread, statement)]);
      for (const [one, { writes }] of since) {
        for (const [other, { reads, writes: also }] of since) {
          if (one !== other) writes.filter((p) => reads.includes(p) || also.includes(p)).forEach((p) => found.add(p));
        }
      }
    }
    return found;
  }

  /** Run some steps: where each SIMD group stands, what is in memory, what was last done. */
  function run(numSteps) {
    const next = Array(GROUPS).fill(0), part = Array(COUNT).fill(null);
    let result = null, moved = null;
    const may = (group) => next[group] <= (group === 0 ? LAST : ROUNDS)
      && (!hasBarrier(next[group]) || next.every((other) => other >= next[group]));
    const inOrder = next.map((_, i) => (i + Number(order.value)) % GROUPS);
    for (let i = 0; i < numSteps; i++) {
      const group = inOrder.find(may);
      const statement = next[group];
      // All lanes read before one of them writes. What nobody has stored counts as 0.
      const values = threads(group).map((t) => (statement === 0 ? numbers[t]
        : sum(accesses(t, statement).reads.map((place) => part[place] ?? 0))));
      threads(group).forEach((t, lane) => accesses(t, statement).writes.forEach((place) => { part[place] = values[lane]; }));
      if (statement === LAST) result = values[0];
      moved = { group, statement };
      next[group]++;
    }
    const isWaiting = (group) => next[group] <= (group === 0 ? LAST : ROUNDS) && !may(group);
    return { next, part, result, moved, waiting: next.map((_, group) => group).filter(isWaiting) };
  }

  const x = (thread) => LEFT + thread * SIDE;
  const y = (statement) => TOP + statement * ROW;

  function drawThreads({ next, moved }) {
    const names = [text.store, ...Array.from({ length: ROUNDS }, (_, i) => `${text.round} ${width(i + 1)}`), text.hand_on];
    svg(drawing, "text", { x: LEFT, y: 11, class: "axis-title" }, text.threads);
    names.forEach((name, statement) => {
      svg(drawing, "text", { x: LEFT - 6, y: y(statement) + 13, class: "tick end" }, name);
      if (hasBarrier(statement)) {
        svg(drawing, "rect", { x: LEFT, y: y(statement) - 1.5, width: COUNT * SIDE, height: 2, fill: "currentColor" });
      }
    });
    for (let group = 0; group < GROUPS; group++) {
      for (const t of threads(group)) {
        const at = Math.min(next[group], LAST);
        const kind = moved?.group === group ? "bar series-2" : "bar series-1";
        // Where a thread has been, and where it stands: before its next statement.
        for (let done = 0; done < next[group]; done++) {
          const { reads, writes } = accesses(t, done);
          const took = svg(drawing, "rect", { x: x(t) + 2, y: y(done) + 4, width: SIDE - 4, height: ROW - 8, class: "cell" });
          if (reads.length + writes.length === 0) took.style.opacity = 0.35;
        }
        if (next[group] <= (group === 0 ? LAST : ROUNDS)) {
          svg(drawing, "circle", { cx: x(t) + SIDE / 2, cy: y(at) + ROW / 2, r: Math.min(5, SIDE / 2 - 1.5), class: kind });
        }
      }
    }
  }

  function drawMemory({ part, moved }) {
    const top = y(LAST + 1) + 24;
    svg(drawing, "text", { x: LEFT, y: top - 6, class: "axis-title" }, text.part);
    const right = moved ? expectedAfter(moved.statement) : [];
    part.forEach((value, place) => {
      const fresh = moved && threads(moved.group).includes(place) && accesses(place, moved.statement).writes.length > 0;
      const kind = !fresh ? "cell" : value === right[place] ? "bar series-3" : "bar series-4";
      const box = svg(drawing, "rect", { x: x(place) + 0.5, y: top, width: SIDE - 1, height: 20, class: kind });
      if (fresh) box.style.fillOpacity = 0.35; // the number stays readable
      svg(drawing, "text", {
        x: x(place) + SIDE / 2, y: top + 14, class: "tick middle", "text-anchor": "middle",
      }, value === null ? "?" : String(value));
    });
    if (!moved) return;
    for (const t of threads(moved.group)) {
      const { reads } = accesses(t, moved.statement);
      if (reads.length < 2) continue;
      const [to, from] = reads.map((place) => x(place) + SIDE / 2);
      svg(drawing, "path", {
        d: `M${from} ${top + 21}Q${(from + to) / 2} ${top + 40} ${to} ${top + 21}`,
        fill: "none", stroke: "currentColor", "stroke-width": 0.8,
      });
    }
  }

  return () => {
    const state = run(step.value);
    const { result } = run(STEPS);
    drawing.replaceChildren();
    drawThreads(state);
    drawMemory(state);
    shown.result.show(result, written(result));
    shown.expected.show(sum(numbers), written(sum(numbers)));
    shown.waiting.show(state.waiting.length * lanes);
    shown.races.show(racing().size);
  };
});
