/* The map of the model: what goes through a part that is touched, for one token.
 *
 * Without this script the map is a drawing of links. MODEL_MAP is written when the book
 * is built: `flow` names what comes into a part and what goes out, and each of these
 * things is a strip of channels, shares, words or a sentence, for each token.
 */
"use strict";

(() => {
  const { html, written } = Figure;
  const { text, tokens, flow, things, facts, strips } = MODEL_MAP;
  const map = document.querySelector(".model-map");
  const panel = html(null, "div", { class: "map-panel", hidden: "" });
  const shown = { part: null, token: tokens.length - 1 };

  const percent = (share) => `${Number((share * 100).toPrecision(2))}%`;
  const shade = (value, colour) =>
    `color-mix(in srgb, var(--figure-${colour}) ${Math.round(value * 100)}%, var(--figure-empty))`;

  /** The colours of the first channels of the token's vector. All tokens have one scale. */
  function colours(name) {
    const { values } = strips[name];
    const largest = Math.max(...values.flat().map(Math.abs));
    return values[shown.token].map((value) =>
      shade(Math.sqrt(Math.abs(value) / largest), value < 0 ? 2 : 1)); // small ones are seen
  }

  /** These channels side by side, with the size of the whole vector. */
  function strip(parent, name) {
    const { values, sizes } = strips[name];
    const row = html(parent, "div", { class: "map-strip", role: "img", "aria-label": text.legend });
    colours(name).forEach((colour, channel) => html(row, "span",
      { style: `background: ${colour}`, title: written(values[shown.token][channel], 3) }));
    const size = html(parent, "output", { "data-readout": name }, `${text.size} ${written(sizes[shown.token], 3)}`);
    size.dataset.value = JSON.stringify({ channels: values[shown.token], size: sizes[shown.token] });
  }

  /** What each head gives to each token. A token that comes later gets nothing. */
  function heads(parent) {
    const table = html(parent, "table", { class: "map-shares" });
    const top = html(table, "tr", {}, html(null, "td"));
    tokens.forEach((token) => html(top, "th", { scope: "col" }, token));
    MODEL_MAP.heads[shown.token].forEach((shares, number) => {
      const row = html(table, "tr");
      html(row, "th", { scope: "row" }, MODEL_MAP.head_names[number]);
      shares.forEach((share, key) => html(row, "td",
        { style: `background: ${shade(share / 2, 1)}` }, key > shown.token ? "" : percent(share)));
    });
  }

  /** The likeliest tokens after this one. */
  function likeliest(parent) {
    const list = html(parent, "ol", { class: "map-likeliest" });
    for (const [token, share] of MODEL_MAP.likeliest[shown.token]) {
      const bar = html(null, "span", { class: "map-bar", style: `width: ${share * 60}%` });
      html(list, "li", {}, html(null, "b", {}, token), bar, percent(share));
    }
  }

  /** Tokens one after the other. */
  function words(parent, list) {
    const row = html(parent, "ol", { class: "map-words" });
    for (const word of list) html(row, "li", { class: "map-token" }, word);
  }

  const others = {
    heads, likeliest,
    ids: (parent) => words(parent, [`${tokens[shown.token]} ${MODEL_MAP.ids[shown.token]}`]),
    greedy: (parent) => words(parent, [MODEL_MAP.greedy[shown.token]]),
    draws: (parent) => words(parent, MODEL_MAP.draws[shown.token]),
    story: (parent) => words(parent, [...tokens, ...MODEL_MAP.story]),
  };

  /** One of the things that come in or go out, under its name. */
  function thing(parent, name) {
    const box = html(parent, "div", { class: "map-thing", "data-thing": name });
    html(box, "p", {}, things[name]);
    if (name in facts) html(box, "p", { class: "map-fact" }, facts[name]);
    else if (name in strips) strip(box, name);
    else others[name](box);
  }

  function way(parent, label, names) {
    const column = html(parent, "div", { class: "map-way" });
    html(column, "p", { class: "map-label" }, label);
    names.forEach((name) => thing(column, name));
  }

  /** At the foot of a part, what it puts out, as a strip. */
  function trace(part) {
    const name = flow[part.dataset.part][1].find((one) => one in strips);
    if (!name) return;
    const ends = colours(name).map((colour, channel, all) =>
      `${colour} ${100 * channel / all.length}% ${100 * (channel + 1) / all.length}%`);
    const foot = part.querySelector(".map-trace") ?? html(part, "span", { class: "map-trace" });
    foot.style.background = `linear-gradient(to right, ${ends.join()})`;
  }

  function draw() {
    for (const part of map.querySelectorAll(".map-part")) {
      part.setAttribute("aria-expanded", String(part.dataset.part === shown.part));
      trace(part);
    }
    for (const [number, chip] of map.querySelectorAll(".map-sentence button").entries()) {
      chip.setAttribute("aria-pressed", String(shown.part !== null && number === shown.token));
    }
    panel.hidden = shown.part === null;
    if (shown.part === null) return;
    const { name, does, days } = MODEL_MAP.parts[shown.part];
    const [before, after] = flow[shown.part];
    const close = html(null, "button", { type: "button", class: "map-close", "aria-label": text.close }, "×");
    close.addEventListener("click", () => touch(null));
    panel.replaceChildren(close, html(null, "p", {}, html(null, "strong", {}, name), ` · ${does}`));
    const ways = html(panel, "div", { class: "map-ways" });
    way(ways, `${text.comes_in}: ${tokens[shown.token]}`, before);
    way(ways, text.goes_out, after);
    const built = html(panel, "p", { class: "map-built" }, `${text.built} `);
    days.forEach(({ label, link }, number) =>
      built.append(number ? " · " : "", html(null, "a", { href: link }, label)));
    if ([...before, ...after].some((one) => one in strips)) {
      html(panel, "p", { class: "map-built" }, text.legend);
    }
  }

  /** Open a part; touched once more, it closes and has the focus. */
  function touch(name) {
    const open = shown.part;
    shown.part = name === open ? null : name;
    draw();
    if (shown.part === null) map.querySelector(`[data-part="${open}"]`)?.focus();
  }

  for (const part of map.querySelectorAll(".map-part")) {
    part.setAttribute("role", "button");
    part.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // opens a window
      event.preventDefault();
      touch(part.dataset.part);
    });
    part.addEventListener("keydown", (event) => {
      if (event.key === " ") { event.preventDefault(); part.click(); }
    });
  }
  map.querySelectorAll(".map-sentence .map-token:not(.map-next)").forEach((chip, number) => {
    const button = html(null, "button", { type: "button" }, chip.textContent);
    button.addEventListener("click", () => {
      shown.token = number;
      shown.part ??= (map.querySelector(".map-part.map-lit") ?? map.querySelector(".map-part")).dataset.part;
      draw();
    });
    chip.replaceChildren(button);
  });
  map.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && shown.part !== null) touch(null);
  });
  map.querySelector(".map-drawing").after(panel);
  html(map.querySelector(".map-label"), "span", {}, text.touch);
  draw();
  map.dataset.ready = "true";
})();
