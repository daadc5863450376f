// Lists and tables are sorted, filtered and folded; charts show the value under the pointer.
"use strict";
(() => {
  const OPEN = Number(document.body.dataset.open);

  const made = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };

  // Shows what matches the filter; without one, the first few and a button for the rest.
  const foldable = (tools, items, what) => {
    let all = items().length <= OPEN;
    const box = made("input", "", { type: "search", placeholder: "filter", "aria-label": `Filter ${what}` });
    const more = made("button", "", { type: "button", class: "more" });
    const show = () => {
      const wanted = box.value.trim().toLowerCase();
      let shown = 0;
      items().forEach((item, i) => {
        const fits = wanted ? item.textContent.toLowerCase().includes(wanted) : all || i < OPEN;
        item.classList.toggle("folded", !fits);
        shown += fits;
      });
      more.textContent = `show all ${items().length}`;
      more.hidden = all || Boolean(wanted);
      tools.querySelector("[role=status]").textContent = wanted ? `${shown} fit` : "";
    };
    box.addEventListener("input", show);
    more.addEventListener("click", () => { all = true; show(); });
    tools.append(box, made("span", "", { role: "status" }), more);
    show();
    return show;
  };

  const value = (cell) => {
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number.parseFloat(text.replaceAll(",", "").replace("−", "-"));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  };
  const compared = (a, b) =>
    typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;

  for (const frame of document.querySelectorAll(".table.tools")) {
    const body = frame.querySelector("tbody");
    const tools = made("div", "", { class: "toolbar" });
    frame.before(tools);
    const show = foldable(tools, () => [...body.rows], frame.getAttribute("aria-label"));
    frame.querySelectorAll("thead th").forEach((head, column) => {
      const button = made("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        frame.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => compared(value(a.cells[column]), value(b.cells[column])));
        body.append(...(down ? rows.reverse() : rows));
        show();
      });
    });
  }

  for (const list of document.querySelectorAll("ol.rules")) {
    const tools = made("div", "", { class: "toolbar" });
    list.before(tools);
    const show = foldable(tools, () => [...list.children], "rules");
    const order = made("select", "", { "aria-label": "Order of the rules" });
    const asWritten = [...list.children];
    for (const [key, text] of [["", "heaviest first"], ["coverage", "widest coverage first"], ["precision", "most often right first"]]) {
      if (!key || asWritten.some((item) => item.dataset[key])) order.append(made("option", text, { value: key }));
    }
    order.addEventListener("change", () => {
      const key = order.value;
      const sorted = key
        ? [...asWritten].sort((a, b) => (b.dataset[key] || -1) - (a.dataset[key] || -1))
        : asWritten;
      list.append(...sorted);
      show();
    });
    tools.append(order);
  }

  const tip = made("div", "", { class: "tip", "aria-hidden": "true" });
  tip.hidden = true;
  document.body.append(tip);
  document.addEventListener("pointerover", (event) => {
    const spot = event.target.closest("[data-say]");
    tip.hidden = !spot;
    if (!spot) return;
    tip.textContent = spot.dataset.say;
    const box = spot.getBoundingClientRect();
    const left = box.left + box.width / 2 - tip.offsetWidth / 2;
    tip.style.left = `${Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(4, box.top - tip.offsetHeight - 6)}px`;
  });
})();
