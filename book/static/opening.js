/* Opens what a link leads to, where it is folded away, with all that is around it. */
"use strict";

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let node = target; node; node = node.parentElement) {
    if (node.tagName === "DETAILS") node.open = true;
  }
  target?.querySelector(":scope > details")?.setAttribute("open", "");
  target?.scrollIntoView();
}

addEventListener("hashchange", openTarget);
openTarget();
