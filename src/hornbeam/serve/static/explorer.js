// Keys: "/" goes to the search, arrows walk through what was found and from node to node in a
// drawing, "p" pins or compares, "g" goes, "?" shows this list, Escape closes.
"use strict";
document.documentElement.classList.add("script");

const PLACES = { h: "/", r: "/rules" };
let going = false;

function searchKey(event, box, found) {
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
}

// The nearest link of a drawing in the direction of an arrow key; what is straight ahead is nearer.
function neighbourOf(link, key) {
  const middle = (one) => {
    const box = one.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const [x, y] = middle(link);
  const ahead = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key];
  let best = null;
  let least = Infinity;
  for (const other of link.closest("svg").querySelectorAll("a")) {
    const [dx, dy] = middle(other).map((value, i) => value - [x, y][i]);
    const along = dx * ahead[0] + dy * ahead[1];
    const aside = Math.abs(dx * ahead[1] + dy * ahead[0]);
    if (along > 1 && along + 3 * aside < least) {
      least = along + 3 * aside;
      best = other;
    }
  }
  return best;
}

function pageKey(event) {
  if (going && PLACES[event.key]) {
    location.href = PLACES[event.key];
  } else if (event.key === "?") {
    document.getElementById("keys").showModal();
  } else if (event.key === "p") {
    const link = document.getElementById("compare-pinned");
    const form = document.getElementById("pin");
    if (link) link.click();
    else if (form) form.requestSubmit();
  }
  going = event.key === "g";
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const box = document.getElementById("q");
  const found = document.getElementById("found");
  if (box && found && (event.target === box || found.contains(event.target))) {
    searchKey(event, box, found);
    return;
  }
  if (event.target.closest("input, textarea, select, dialog")) return;
  const node = event.target.closest(".drawing a");
  if (node && event.key.startsWith("Arrow")) {
    const next = neighbourOf(node, event.key);
    if (next) {
      event.preventDefault();
      next.focus();
    }
  } else if (event.key === "/" && box) {
    event.preventDefault();
    box.focus();
    box.select();
  } else {
    pageKey(event);
  }
});

document.addEventListener("click", (event) => {
  const found = document.getElementById("found");
  if (found && !event.target.closest(".search")) found.replaceChildren();
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  const copied = event.target.closest("[data-copies]");
  // only where the connection is one that browsers trust; else the link can be copied by hand
  if (copied && navigator.clipboard) {
    event.preventDefault();
    navigator.clipboard.writeText(copied.href).then(() => {
      copied.textContent = "Link copied";
      copied.setAttribute("role", "status");
    });
  }
});
