/* Day 2: each pair of channels is a hand on a dial, turned by where its token stands.
 *
 * A query stands `distance` positions after a key. Below the dials is their score for
 * every distance: computed exactly, and with angles in the chosen precision.
 */
"use strict";

/** The angle of every pair at a position: both factors and the product are rounded. */
function anglesAt(position, numPairs, base, format) {
  const rounded = (value) => (format === "exact" ? value : Figure.rounded(value, format));
  return Array.from({ length: numPairs }, (_, pair) => {
    const speed = rounded(base ** (-pair / numPairs));
    return rounded(rounded(position) * speed);
  });
}

/** The two channels of every pair. */
function channels(numPairs, pairing) {
  return Array.from({ length: numPairs }, (_, pair) =>
    pairing === "halves" ? [pair, pair + numPairs] : [2 * pair, 2 * pair + 1]);
}

/** All pairs of a vector, each turned by its angle. */
function turned(vector, angles, pairing) {
  return channels(angles.length, pairing).map(([first, second], pair) => {
    const [a, b] = [vector[first], vector[second]];
    const [cos, sin] = [Math.cos(angles[pair]), Math.sin(angles[pair])];
    return [a * cos - b * sin, b * cos + a * sin];
  });
}

Figure.define("rotary-dials", ({ text, data, ui }) => {
  const { query, key, bases, context } = data;
  const numPairs = query.length / 2;
  const farthest = 24;
  const distance = ui.slider({ name: "distance", label: text.distance, min: 0, max: farthest, step: 1, value: 1 });
  const place = ui.slider({ name: "key", label: text.key, min: 0, max: context - 1 - farthest, step: 1, value: 3, format: String });
  const pairing = ui.choice({ name: "pairing", label: text.pairing, value: "halves",
    options: [["halves", text.halves], ["neighbours", text.neighbours]] });
  const base = ui.choice({ name: "base", label: text.base, value: String(bases[0]),
    options: bases.map((one) => [String(one), String(one)]) });
  const precision = ui.choice({ name: "precision", label: text.precision, value: "float32",
    options: Figure.formats.map((one) => [one, one]) });

  // No score is larger, however the vectors are turned.
  const largest = Math.hypot(...query) * Math.hypot(...key);
  const cell = 80, radius = 34, middle = 60;
  const dials = ui.drawing({ width: numPairs * cell, height: 138, alt: text.dials });
  ui.legend([["series-1", text.query_hand], ["series-2", text.key_hand], ["dashed", text.before]]);
  const chart = ui.plot({ x: [0, farthest], y: [-largest, largest], xLabel: text.x, yLabel: text.y, alt: text.curve, height: 190 });
  ui.legend([["series-3", text.exact], ["series-4", text.computed]]);
  const position = ui.readout({ name: "position", label: text.position });
  const score = ui.readout({ name: "score", label: text.score });
  const exactScore = ui.readout({ name: "exact", label: text.exact_score });
  const turns = ui.readout({ name: "angles", label: text.angles });

  /** The vectors at two positions, and the angles that turned them. */
  function meeting(m, n, format) {
    const angles = anglesAt(m, numPairs, Number(base.value), format);
    const hands = [
      turned(query, angles, pairing.value),
      turned(key, anglesAt(n, numPairs, Number(base.value), format), pairing.value),
    ];
    const [q, k] = hands;
    const product = q.reduce((sum, [a, b], pair) => sum + a * k[pair][0] + b * k[pair][1], 0);
    return { angles, hands, score: product };
  }

  /** A hand from the middle of a dial; SVG counts y downwards. */
  function hand(pair, [a, b], kind) {
    const scale = radius / 2.4, x = (pair + 0.5) * cell;
    Figure.svg(dials, "line", { x1: x, y1: middle, x2: x + a * scale, y2: middle - b * scale, class: `line ${kind}` });
    if (!kind.includes("dashed")) {
      Figure.svg(dials, "circle", { cx: x + a * scale, cy: middle - b * scale, r: 3.5, class: `mark ${kind}` });
    }
  }

  function drawDials({ angles, hands }) {
    dials.replaceChildren();
    const still = angles.map(() => 0);
    const start = [query, key].map((vector) => turned(vector, still, pairing.value));
    channels(numPairs, pairing.value).forEach(([first, second], pair) => {
      const x = (pair + 0.5) * cell;
      Figure.svg(dials, "circle", { cx: x, cy: middle, r: radius + 3, class: "line grid" });
      Figure.svg(dials, "text", { x, y: 14, class: "middle" }, `x${first}, x${second}`);
      const speed = Figure.written(Number(base.value) ** (-pair / numPairs), 3);
      Figure.svg(dials, "text", { x, y: 116, class: "tick middle" }, `${text.speed} ${speed}`);
      Figure.svg(dials, "text", { x, y: 132, class: "tick middle" }, `${Figure.written(angles[pair])} ${text.unit}`);
      [1, 2].forEach((series, who) => {
        hand(pair, start[who][pair], "muted dashed");
        hand(pair, hands[who][pair], `series-${series}`);
      });
    });
  }

  return () => {
    const n = place.value, m = n + distance.value;
    const shown = meeting(m, n, precision.value);
    drawDials(shown);

    chart.clear();
    const steps = Array.from({ length: farthest * 4 + 1 }, (_, step) => step / 4);
    chart.line(steps.map((step) => [step, meeting(step, 0, "exact").score]), "series-3");
    for (let step = 0; step <= farthest; step++) {
      chart.mark(step, meeting(n + step, n, precision.value).score, "series-4").setAttribute("r", 3);
    }
    chart.mark(distance.value, shown.score, "series-4").setAttribute("r", 6.5);

    position.show(m, String(m));
    score.show(shown.score);
    exactScore.show(meeting(m, n, "exact").score);
    turns.show(shown.angles, Figure.listed(shown.angles));
  };
});
