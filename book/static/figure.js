/* What the interactive figures are made of: controls, numbers and drawings.
 *
 *   Figure.define("rms-norm", ({ text, data, ui }) => {
 *     const scale = ui.slider({ name: "scale", label: text.scale, min: 0, max: 4, value: 1 });
 *     const chart = ui.plot({ x: [0, 4], y: [0, 1], xLabel: text.x, yLabel: text.y });
 *     return () => { ... };              // draws; called at once and at every change
 *   });
 *
 * `text` holds the labels from the chapter, `data` what Python computed. Every control
 * is a native one, so the keyboard works; every number that a figure shows is in an
 * `output` with its full precision in `data-value`, where the tests read it.
 */
"use strict";

const Figure = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  let counter = 0;

  /** Make an HTML element with attributes and children, inside `parent`. */
  function html(parent, tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    parent?.append(node);
    return node;
  }

  /** Make an SVG element with attributes, inside `parent`. */
  function svg(parent, tag, attributes = {}, text = null) {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== null) node.textContent = text;
    parent?.append(node);
    return node;
  }

  /** Write a number as people read it: four digits, a true minus sign. */
  function written(value, digits = 4) {
    if (typeof value !== "number") return String(value);
    if (Number.isNaN(value)) return "nan";
    if (!Number.isFinite(value)) return value < 0 ? "−inf" : "inf";
    const size = Math.abs(value);
    const extreme = size !== 0 && (size < 1e-3 || size >= 1e5);
    const plain = extreme ? value.toExponential(2) : String(Number(value.toPrecision(digits)));
    return plain.replace(/-/g, "−");
  }

  /** Write numbers one after the other. */
  function listed(values, digits = 4) {
    return values.map((one) => written(one, digits)).join(", ");
  }

  /** Write a whole number in groups of thousands, as the language of the page does. */
  function grouped(number) {
    return number.toLocaleString(document.documentElement.lang);
  }

  function sum(values) {
    return values.reduce((total, one) => total + one, 0);
  }

  /** The shares of some scores: the maximum is subtracted first. */
  function softmax(scores) {
    const largest = Math.max(...scores);
    const exponentials = scores.map((one) => Math.exp(one - largest));
    const total = sum(exponentials);
    return exponentials.map((one) => one / total);
  }

  /** The whole numbers that divide `number`. */
  function divisors(number) {
    return Array.from({ length: number }, (_, i) => i + 1).filter((one) => number % one === 0);
  }

  /** Bits after the leading one, and the exponents of the least and the largest numbers. */
  const FORMATS = { float32: [23, -126, 127], float16: [10, -14, 15], bfloat16: [7, -126, 127] };

  /** Round to the nearest number of a format, and halfway to the even one; inf beyond all. */
  function rounded(value, format) {
    if (!Number.isFinite(value) || value === 0) return value;
    const [digits, lowest, highest] = FORMATS[format];
    let exponent = Math.max(Math.floor(Math.log2(Math.abs(value))), lowest);
    if (2 ** exponent > Math.abs(value) && exponent > lowest) exponent -= 1; // log2 rounds, too
    const step = 2 ** (exponent - digits);
    const below = Math.floor(value / step), rest = value / step - below;
    const isUp = rest > 0.5 || (rest === 0.5 && below % 2 !== 0);
    const nearest = (below + (isUp ? 1 : 0)) * step;
    return Math.abs(nearest) >= 2 ** (highest + 1) ? Math.sign(value) * Infinity : nearest;
  }

  class Toolkit {
    constructor(root) {
      this.controls = html(root, "div", { class: "controls" });
      this.stage = html(root, "div", { class: "stage" });
      this.numbers = html(root, "dl", { class: "numbers" });
      this.draw = () => {};
    }

    /** A number between `min` and `max`. `format` writes what stands beside it. */
    slider({ name, label, min, max, value, step = "any", format = written }) {
      const id = `control-${++counter}`;
      const row = html(this.controls, "div", { class: "control" });
      html(row, "label", { for: id }, label);
      const input = html(row, "input", { type: "range", id, min, max, step, "data-control": name });
      input.value = value;
      const shown = html(row, "span", { class: "shown", "aria-hidden": "true" });
      const show = () => {
        shown.textContent = format(Number(input.value));
        input.setAttribute("aria-valuetext", shown.textContent);
      };
      input.addEventListener("input", () => { show(); this.draw(); });
      show();
      return {
        get value() { return Number(input.value); },
        set value(next) { input.value = next; show(); },
        input,
      };
    }

    /** One of several: `options` is a list of [value, label]. Values are texts. */
    choice({ name, label, options, value }) {
      const id = `control-${++counter}`;
      const row = html(this.controls, "div", { class: "control" });
      html(row, "label", { for: id }, label);
      const input = html(row, "select", { id, "data-control": name });
      for (const [key, shown] of options) html(input, "option", { value: key }, shown);
      input.value = value;
      input.addEventListener("input", () => this.draw());
      return {
        get value() { return input.value; },
        set value(next) { input.value = next; },
        input,
      };
    }

    /** On or off. */
    toggle({ name, label, value = false }) {
      const row = html(this.controls, "label", { class: "control toggle" });
      const input = html(row, "input", { type: "checkbox", "data-control": name });
      input.checked = value;
      row.append(label);
      input.addEventListener("input", () => this.draw());
      return {
        get value() { return input.checked; },
        set value(next) { input.checked = next; },
        input,
      };
    }

    /** Something to press. */
    button({ name, label, action }) {
      const button = html(this.controls, "button", { type: "button", "data-control": name }, label);
      button.addEventListener("click", () => { action(); this.draw(); });
      return button;
    }

    /** A number, or a list of them, with a name: `readout.show(value, "as text")`. */
    readout({ name, label }) {
      const row = html(this.numbers, "div");
      html(row, "dt", {}, label);
      const output = html(html(row, "dd"), "output", { "data-readout": name });
      return {
        show(value, text = written(value)) {
          output.textContent = text;
          // JSON has no NaN and no infinity: these are written as texts.
          const exact = (one) =>
            Array.isArray(one) ? one.map(exact)
              : typeof one === "number" && !Number.isFinite(one) ? String(one) : one;
          output.dataset.value = JSON.stringify(exact(value));
        },
      };
    }

    /** A readout for each of `names`, by name. `label` is a function of the name. */
    readouts(names, label) {
      return Object.fromEntries(
        names.map((name) => [name, this.readout({ name, label: label(name) })]));
    }

    /** Give the numbers below the figure wide columns, for long labels or lists. */
    widenNumbers() {
      this.numbers.style.gridTemplateColumns = "repeat(auto-fit, minmax(min(17rem, 100%), 1fr))";
    }

    /** An empty drawing that fits the width of the page, `width` x `height` units. */
    drawing({ width = 360, height = 200, alt }) {
      return svg(this.stage, "svg", {
        viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alt,
      });
    }

    /** A table of numbers as shades: `map.show(values)`, rows of numbers in 0..1.
     *  `texts` (same shape) is written in the cells. */
    heatmap({ rows, columns, alt, rowTitle = "", columnTitle = "", cell = 34, margin = 58 }) {
      const width = margin + columns.length * cell + 2;
      const root = this.drawing({ width: Math.max(width, 300), height: 40 + rows.length * cell, alt });
      svg(root, "text", { x: margin, y: 11, class: "axis-title" }, columnTitle);
      svg(root, "text", { x: 0, y: 11, class: "axis-title" }, rowTitle);
      columns.forEach((name, j) => svg(root, "text",
        { x: margin + (j + 0.5) * cell, y: 30, class: "tick middle" }, name));
      const cells = rows.map((name, i) => {
        const y = 36 + i * cell;
        svg(root, "text", { x: margin - 6, y: y + cell / 2 + 4, class: "tick end" }, name);
        return columns.map((_, j) => {
          const x = margin + j * cell;
          const box = svg(root, "rect", { x, y, width: cell - 2, height: cell - 2, rx: 3, class: "cell" });
          const label = svg(root, "text",
            { x: x + cell / 2 - 1, y: y + cell / 2 + 3, class: "cell-text middle" });
          return { box, label };
        });
      });
      return {
        cells,
        show(values, texts = null) {
          values.forEach((row, i) => row.forEach((value, j) => {
            const { box, label } = cells[i][j];
            const shade = Math.max(0, Math.min(1, Number.isFinite(value) ? value : 0));
            // Half of the colour at most: the label stays legible on it, light and dark.
            box.style.fill = `color-mix(in srgb, var(--figure-1) ${Math.round(shade * 50)}%, var(--figure-empty))`;
            label.textContent = texts ? texts[i][j] : "";
          }));
        },
      };
    }

    /** Axes with curves, bars and marks in them. */
    plot({ x, y, xLabel = "", yLabel = "", alt, width = 360, height = 210, xTicks = null, yTicks = null }) {
      const box = { left: 44, right: width - 8, top: 20, bottom: height - 34 };
      const root = this.drawing({ width, height, alt });
      const axes = svg(root, "g");
      const content = svg(root, "g");
      const chart = {
        root, content, range: { x, y },
        px: (value) => box.left + (value - chart.range.x[0]) / (chart.range.x[1] - chart.range.x[0]) * (box.right - box.left),
        py: (value) => box.bottom - (value - chart.range.y[0]) / (chart.range.y[1] - chart.range.y[0]) * (box.bottom - box.top),
        clear() { content.replaceChildren(); },
        /** Change what the axes span. */
        rescale(nextX, nextY) { chart.range = { x: nextX, y: nextY }; frame(); },
        /** A curve through [x, y] points; breaks where a number is not finite. */
        line(points, kind = "series-1") {
          let path = "", pen = "M";
          for (const [a, b] of points) {
            if (!Number.isFinite(a) || !Number.isFinite(b)) { pen = "M"; continue; }
            const inside = Math.max(chart.range.y[0], Math.min(chart.range.y[1], b));
            path += `${pen}${chart.px(a).toFixed(2)} ${chart.py(inside).toFixed(2)}`;
            pen = "L";
          }
          return svg(content, "path", { d: path, class: `line ${kind}` });
        },
        /** A bar from 0 to `value` around `at`, `breadth` wide in units of x. */
        bar(at, value, breadth, kind = "series-1") {
          const inside = Math.max(chart.range.y[0], Math.min(chart.range.y[1], value));
          const base = chart.py(Math.max(chart.range.y[0], Math.min(chart.range.y[1], 0)));
          const tip = chart.py(inside);
          return svg(content, "rect", {
            x: chart.px(at - breadth / 2), y: Math.min(base, tip),
            width: chart.px(breadth) - chart.px(0), height: Math.abs(base - tip), class: `bar ${kind}`,
          });
        },
        mark(a, b, kind = "series-2") {
          return svg(content, "circle", { cx: chart.px(a), cy: chart.py(b), r: 4.5, class: `mark ${kind}` });
        },
        label(a, b, words, kind = "") {
          return svg(content, "text", { x: chart.px(a), y: chart.py(b), class: `tick ${kind}` }, words);
        },
      };
      function frame() {
        axes.replaceChildren();
        const ticksX = xTicks ?? ticks(chart.range.x);
        const ticksY = yTicks ?? ticks(chart.range.y);
        for (const value of ticksY) {
          const at = chart.py(value);
          svg(axes, "line", { x1: box.left, x2: box.right, y1: at, y2: at, class: "grid" });
          svg(axes, "text", { x: box.left - 5, y: at + 3.5, class: "tick end" }, written(value, 3));
        }
        for (const tick of ticksX) {
          const [value, name] = Array.isArray(tick) ? tick : [tick, written(tick, 3)];
          svg(axes, "text", { x: chart.px(value), y: box.bottom + 14, class: "tick middle" }, name);
        }
        svg(axes, "line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: "axis" });
        svg(axes, "text", { x: (box.left + box.right) / 2, y: height - 4, class: "axis-title middle" }, xLabel);
        svg(axes, "text", { x: 0, y: 11, class: "axis-title" }, yLabel);
      }
      frame();
      return chart;
    }

    /** What the colours stand for: a list of [class, label]. */
    legend(entries) {
      const list = html(this.stage, "ul", { class: "legend" });
      for (const [kind, label] of entries) {
        html(list, "li", {}, html(null, "span", { class: `swatch ${kind}` }), label);
      }
      return list;
    }
  }

  /** Round places for labels on an axis. */
  function ticks([low, high]) {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
      found.push(Number((i * step).toPrecision(12)));
    }
    return found;
  }

  /** How many controls are in sight: the first ones, the others are one click away. */
  const IN_SIGHT = 3;

  function foldControls(controls, label) {
    const others = [...controls.children].slice(IN_SIGHT);
    if (others.length === 0) return;
    const more = html(null, "details", { class: "more" }, html(null, "summary", {}, label));
    html(more, "div", { class: "controls" }, ...others);
    controls.after(more);
  }

  /** The texts of a chapter. To ask for one that is not there is an error. */
  function withoutGaps(text) {
    return new Proxy(text, {
      get(texts, name) {
        if (!Object.hasOwn(texts, name)) throw new Error(`expected a text ${String(name)}`);
        return texts[name];
      },
    });
  }

  /** Draw the figure `name` wherever the page has a place for it. */
  function define(name, build) {
    for (const root of document.querySelectorAll(`[data-figure="${name}"]`)) {
      const { text, data, more } = JSON.parse(root.querySelector("script").textContent);
      const ui = new Toolkit(root);
      ui.draw = build({ text: withoutGaps(text), data, ui });
      foldControls(ui.controls, more);
      ui.draw();
      root.dataset.ready = "true";
    }
  }

  return {
    define, html, svg,
    written, listed, grouped,
    sum, softmax, divisors, rounded, formats: Object.keys(FORMATS),
  };
})();
