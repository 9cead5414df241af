/* Where a translator looks: choose a word of the translation and see the attention on the source. */
(() => {
  "use strict";
  const { h, choices } = lm;

  customElements.define(
    "lm-alignment",
    class extends lm.Element {
      build() {
        const { models, model, texts, selected } = this.data;
        this.model = model;
        this.source = h("ol", { class: "lm-words" });
        this.target = h("div", {
          class: "lm-tokens",
          role: "group",
          "aria-label": "Words of the translation",
          keydown: (event) => this.step(event, this.target.children, this.selected, (t) => this.select(t)),
        });
        const names = texts.map((_, i) => i + 1);
        this.stage.append(
          h(
            "div",
            { class: "lm-controls" },
            choices("Text", names, 1, (name) => this.open(name - 1, 0)),
            choices("Attention", models, model, (name) => {
              this.model = name;
              this.select(this.selected);
            }),
          ),
          h("p", { class: "lm-hint" }, "Source. Shade and number: the weight. Frame: what the chosen word really translates."),
          this.source,
          h("p", { class: "lm-hint" }, "Translation. Point at a word, or use the arrow keys."),
          this.target,
        );
        this.open(0, selected);
      }

      /** Show a text with one word of its translation chosen. */
      open(number, selected) {
        this.text = this.data.texts[number];
        this.target.replaceChildren(
          ...this.text.target.map((word, t) =>
            h("button", { type: "button", class: "lm-token", click: () => this.select(t), mouseenter: () => this.select(t) }, word),
          ),
        );
        this.select(selected);
      }

      select(t) {
        const { source, target, gold, weights } = this.text;
        this.selected = t;
        [...this.target.children].forEach((button, i) => {
          button.tabIndex = i === t ? 0 : -1;
          button.setAttribute("aria-pressed", String(i === t));
        });
        const row = weights[this.model][t];
        const words = (places) => places.map((s) => `“${source[s]}”`).join(" and ");
        this.source.replaceChildren(
          ...source.map((word, s) =>
            h(
              "li",
              { style: `--weight: ${row[s]}`, "data-gold": gold[t].includes(s) },
              h("span", {}, word),
              h("span", { class: "lm-weight" }, row[s].toFixed(2)),
            ),
          ),
        );
        const best = row.indexOf(Math.max(...row));
        const on_gold = gold[t].reduce((sum, s) => sum + row[s], 0);
        this.say(
          `“${target[t]}” looks most at “${source[best]}” (${row[best].toFixed(2)}). ` +
            `It translates ${words(gold[t])}, which gets ${on_gold.toFixed(2)} in all.`,
        );
      }
    },
  );
})();
