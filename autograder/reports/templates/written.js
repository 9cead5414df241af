// Saves whatever is chosen at once; without this, the page's own button does.
const form = document.querySelector("form");
const state = document.querySelector("[role=status]");
let saving = Promise.resolve();
let edits = 0, saved = 0; // what was typed or chosen, counted; and up to where it is in the gradebook
async function save() {
  state.textContent = "saving";
  const upTo = edits;
  try {
    const answer = await fetch("", {
      method: "POST",
      headers: { Accept: "application/json" },
      body: new URLSearchParams(new FormData(form)),
    });
    const said = await answer.json();
    state.textContent = said.state;
    if (answer.ok) {
      saved = upTo;
      form.elements.seen.value = said.version;
      if (said.points !== null && document.activeElement !== form.elements.points)
        form.elements.points.value = said.points;
    }
  } catch {
    state.textContent = "not saved: the grader that opened this page does not answer";
  }
}
function saveIfWhole() {
  const n = form.querySelectorAll("fieldset").length;
  const chosen = form.querySelectorAll("input[type=radio]:checked").length;
  if (n && chosen < n && form.elements.points.value === "") {
    state.textContent = `${n - chosen} more to choose; nothing is saved yet`;
    return;
  }
  saving = saving.then(save);
}
form.addEventListener("input", () => { edits += 1; });
form.addEventListener("change", saveIfWhole);
form.addEventListener("submit", () => { saved = edits; });
// A link waits for what is on its way; what cannot be saved is asked about before it is left.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[href]");
  if (!link || edits === saved || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  document.activeElement.blur();
  await saving;
  location.assign(link.href);
});
addEventListener("beforeunload", (event) => { if (edits !== saved) event.preventDefault(); });
