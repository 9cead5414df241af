"use strict";
// Sorts a table by the column whose heading is pressed, and hides rows that the filter leaves out.
// Every row is on the page without this; headings become buttons only where it runs.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const direction = heading.ariaSort === "ascending" ? -1 : 1;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      const rows = [...body.rows];
      rows.sort((a, b) => direction * compare(value(a, column), value(b, column)));
      body.append(...rows);
    });
  });
}
const form = document.querySelector("form.filter");
if (form) {
  form.hidden = false;
  const rows = [...document.querySelectorAll("#students tbody tr")];
  const show = () => {
    const words = form.elements.words.value.trim().toLowerCase();
    const state = form.elements.state.value;
    const section = form.elements.section?.value;
    let n = 0;
    for (const row of rows) {
      const fits = row.textContent.toLowerCase().includes(words) &&
        (!state || row.dataset.is.split("|").includes(state)) &&
        (!section || row.dataset.section === section);
      row.hidden = !fits;
      n += fits;
    }
    form.querySelector("output").textContent = `${n} of ${rows.length} shown`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
}
