/* BERT fills the gaps of the reader's sentence: the most probable tokens for each [MASK]. */
(() => {
  "use strict";
  const { h, bars, showWhitespace } = lm;
  const GAP = / ?(?:\[MASK\]|_{3,})/i; // with the space before it, as tokens have it

  customElements.define(
    "lm-gaps",
    class extends lm.ModelElement {
      build() {
        const { text, gaps } = this.data;
        this.field = h("input", { type: "text", value: text, autocomplete: "off", spellcheck: "false" });
        this.panels = h("div", { class: "lm-guesses" });
        this.note = h("p", { class: "lm-hint lm-note" });
        this.stage.append(
          this.question("Your sentence, with [MASK] or ___ for each gap", this.field, h("button", { class: "lm-button" }, "Fill"), () => this.fill()),
          this.panels,
          this.note,
        );
        this.show(text, gaps, []);
      }

      async fill() {
        const text = this.field.value, pieces = text.split(GAP);
        if (!text.trim()) return this.say("The sentence is empty: type one with a [MASK].");
        if (pieces.length === 1) return this.say("The sentence has no gap: write [MASK] where a word is missing.");
        try {
          const model = await this.fetch(this.data.model), { tokenizer } = model, { special } = tokenizer;
          const all = pieces.flatMap((piece, n) => [...(n ? [special["[MASK]"]] : []), ...tokenizer.encode(piece)]);
          const { ids, notes } = lm.readText(model, all, { room: model.context_length - 2 });
          const read = [special["[CLS]"], ...ids, special["[SEP]"]];
          const places = read.flatMap((id, place) => (id === special["[MASK]"] ? [place] : []));
          if (!places.length) throw new Error(`the first gap lies behind the ${ids.length} tokens that the model has room for`);
          const gaps = (await model.ask("logits", read, places)).map((logits) => {
            const probs = lm.distribution(logits);
            return lm.mostProbable(probs, this.data.n_guesses).map((id) => [tokenizer.show(id), probs[id]]);
          });
          this.show(text, gaps, notes);
        } catch (error) {
          this.fail(error);
        }
      }

      /** Show the guesses, a list of [token, probability] for each gap, and say the first of each in its place. */
      show(text, gaps, notes) {
        this.panels.replaceChildren(
          ...gaps.map((guesses, n) =>
            h("div", {}, h("p", {}, gaps.length > 1 ? `Gap ${n + 1}` : "The gap"), bars(guesses.map(([token, value]) => ({ label: showWhitespace(token), value, mark: "" })))),
          ),
        );
        this.note.textContent = notes.join(" ");
        const filled = text.split(GAP).map((piece, n) => piece + (gaps[n]?.[0][0] ?? ""));
        this.say(`With the first guesses: “${filled.join("")}”`);
      }
    },
  );
})();
