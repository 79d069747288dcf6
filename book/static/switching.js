/* Has the links to other languages lead to the section that is being read. */
"use strict";

/** The last section that begins above the middle of the window. */
function sectionInView() {
  const begun = [...document.querySelectorAll("article section[id]")].filter(
    (one) => one.getBoundingClientRect().top < innerHeight / 2);
  return begun.at(-1)?.id ?? "";
}

for (const link of document.querySelectorAll(".languages a")) {
  link.addEventListener("click", () => { link.hash = sectionInView(); });
}
