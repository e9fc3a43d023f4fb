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
    });
  }
}
for (const field of document.querySelectorAll("input")) {
  field.addEventListener("input", () => {
    const sought = field.value.toLowerCase();
    for (const row of field.nextElementSibling.querySelector("tbody").rows) {
      row.hidden = !row.textContent.toLowerCase().includes(sought);
    }
  });
}
