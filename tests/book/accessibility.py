"""What axe finds on a page, in a fraction of the time that axe takes for a chapter.

Axe is slow at thousands of spans that are nothing but their text to it, and slowest at
their colours. So it gets a page without these spans, and colours are looked at here.
"""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

LEVELS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")
"""As far as a program can tell: contrast, names, roles (WCAG 2.1, A and AA)."""

COLOURS = "color-contrast"
"""The rule that `FAINT` takes the place of."""

SWIFT = {
    "rules": {COLOURS: {"enabled": False}},
    "checks": {"link-in-text-block": {"enabled": False}},
}
"""Without colours: a link in a text has to be underlined, or the like. For axe one that
is only brighter will do, and to see that takes it half of its time."""

FAINT = """
() => {
  const rgba = (text) => {
    const scale = { "rgb(": 1, "rgba(": 1, "color(srgb ": 255 };
    const [, kind, parts] = text.match(/^(rgba?\\(|color\\(srgb )(.+)\\)$/);
    const [r, g, b, a = 1] = parts.split(/[, /]+/).map(Number);
    return [...[r, g, b].map((one) => one * scale[kind]), a];
  };
  const over = ([r, g, b, a], under) =>
    [r, g, b].map((one, i) => one * a + under[i] * (1 - a));
  const grounds = new Map([[null, [255, 255, 255]]]);
  const ground = (one) => {
    if (!grounds.has(one)) {
      const own = rgba(getComputedStyle(one).backgroundColor);
      grounds.set(one, over(own, ground(one.parentElement)));
    }
    return grounds.get(one);
  };
  const opacities = new Map([[null, 1]]);
  const opacity = (one) => {
    if (!opacities.has(one)) {
      const own = Number(getComputedStyle(one).opacity);
      opacities.set(one, own * opacity(one.parentElement));
    }
    return opacities.get(one);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.map((one) => one / 255).map((one) =>
      one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one) => {
    const [r, g, b, a] = rgba(getComputedStyle(one).color), under = ground(one);
    const seen = over([r, g, b, a * opacity(one)], under);
    const [dark, light] = [seen, under].map(luminance).sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const enough = (one) => {
    const { fontSize, fontWeight } = getComputedStyle(one);
    return parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24) ? 3 : 4.5;
  };
  const shows = (one) =>
    [...one.childNodes].some((part) => part.nodeType === 3 && part.data.trim()) &&
    !one.closest("script, style, title, math, :disabled, label:has(:disabled)") &&
    one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  return [...document.body.querySelectorAll("*")]
    .filter((one) => shows(one) && contrast(one) < enough(one))
    .map((one) => one.outerHTML);
}
"""
"""The elements whose text does not stand out from what is behind it (WCAG 1.4.3)."""

SHORTEN = """
() => {
  const means = (one) =>
    [...one.attributes].some(({ name }) => name !== "class" && name !== "style");
  for (const one of document.querySelectorAll("pre span, math *")) {
    if (!means(one)) one.replaceWith(...one.childNodes);
  }
  for (const one of document.querySelectorAll("svg[role=img][aria-label]")) {
    if (!one.querySelector("a, [role], [tabindex]")) one.replaceChildren();
  }
  for (const one of document.querySelectorAll(".katex-html:not(:has(a, [id]))")) {
    const { width, height } = one.getBoundingClientRect();
    one.replaceChildren();
    one.style.cssText = `display: inline-block; width: ${width}px; height: ${height}px`;
  }
  document.body.normalize();
}
"""
"""Leaves the text of code, and of a drawing or a formula the room that it takes."""


def faint(page: Page) -> list[tuple[str, str]]:
    """Return what is too faint to read, in the colours that a page has now."""
    return [(COLOURS, one) for one in page.evaluate(FAINT)]


def found_by_axe(page: Page, **options: Any) -> list[tuple[str, str]]:  # noqa: ANN401
    """Return the rules that a page breaks, each with an element that breaks it."""
    # It would ask for the style sheets of a page again, and be refused too late: the
    # next page would be blamed.
    own = {"resultTypes": ["violations"], "preload": False}
    asked = {"runOnly": list(LEVELS), **own, **options}
    found = Axe().run(page, options=asked).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found]


def violations(page: Page) -> list[tuple[str, str]]:
    """Return what axe would find, and leave a page that is shorter than before."""
    of_colours = faint(page)
    page.evaluate(SHORTEN)
    return of_colours + found_by_axe(page, **SWIFT)
