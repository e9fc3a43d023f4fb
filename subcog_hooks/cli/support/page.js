"use strict";
const root = document.documentElement;
document.getElementById("theme").addEventListener("click", () => {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
});
const keyOf = (row, place, isNumber) => {
  const cell = row.cells[place];
  return isNumber ? Number(cell.dataset.v ?? cell.textContent.replaceAll(",", "")) : (cell.dataset.v ?? cell.textContent);
};
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  for (const head of table.tHead.rows[0].cells) {
    head.firstElementChild.addEventListener("click", () => {
      const isNumber = head.classList.contains("n");
      const was = head.getAttribute("aria-sort");
      const turns = was === "ascending" || (was === null && isNumber) ? -1 : 1;
      const rows = Array.from(body.rows, (row) => [keyOf(row, head.cellIndex, isNumber), row]);
      const compared = isNumber ? (a, b) => a - b : new Intl.Collator(undefined, { numeric: true }).compare;
      rows.sort((a, b) => turns * compared(a[0], b[0]));
      body.replaceChildren(...rows.map(([, row]) => row));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", turns === 1 ? "ascending" : "descending");
      table.dispatchEvent(new Event("sorted", { bubbles: true }));
    });
  }
}
for (const field of document.querySelectorAll("input[type=search]")) {
  const section = field.closest("section");
  const all = section.querySelector("input[type=checkbox]");
  const filter = () => {
    const sought = field.value.toLowerCase();
    if (!sought && !section.hasAttribute("data-sought")) return;
    let left = sought && all && !all.checked ? 500 : Infinity;
    section.toggleAttribute("data-sought", sought !== "");
    for (const row of section.querySelector("tbody").rows) {
      row.hidden = !row.textContent.toLowerCase().includes(sought) || left-- <= 0;
    }
  };
  field.addEventListener("input", filter);
  section.addEventListener("sorted", filter);
  all?.addEventListener("change", filter);
}
