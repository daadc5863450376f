// Keys: "/" goes to the search, arrows walk through what was found, Escape closes it.
"use strict";
document.documentElement.classList.add("script");

document.addEventListener("keydown", (event) => {
  const box = document.getElementById("q");
  const found = document.getElementById("found");
  if (!box || !found) return;
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    box.focus();
    box.select();
    return;
  }
  const inside = event.target === box || found.contains(event.target);
  if (!inside) return;
  if (event.key === "Escape") {
    found.replaceChildren();
    box.focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const stops = [box, ...found.querySelectorAll("a")];
    const next = stops.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1);
    if (next >= 0 && next < stops.length) {
      event.preventDefault();
      stops[next].focus();
    }
  }
});

document.addEventListener("click", (event) => {
  const found = document.getElementById("found");
  if (found && !event.target.closest(".search")) found.replaceChildren();
});
