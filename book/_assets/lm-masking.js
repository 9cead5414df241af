/* BERT's masking rule on the reader's sentence: fresh draws, what is asked, and the shares of all draws so far. */
(() => {
  "use strict";
  const { h, choices } = lm;
  const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*|[^\p{L}\p{N}\s_]/gu; // as widgets/masking.py cuts
  const RULES = { "80 / 10 / 10": [0.8, 0.1], "[MASK] always": [1, 0], "random always": [0, 1] };
  const KINDS = ["[MASK]", "another word", "left as it is"];
  const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`; // never a % on a line of its own

  customElements.define(
    "lm-masking",
    class extends lm.Element {
      build() {
        const { text, rate, rates, drawn } = this.data;
        Object.assign(this, { rate, rule: Object.keys(RULES)[0] });
        this.field = h("input", { type: "text", value: text, maxlength: 300, autocomplete: "off", input: () => this.restart() });
        this.words = h("ol", { class: "lm-words lm-masked" });
        this.shares = h("tbody", {});
        this.stage.append(
          h("label", { class: "lm-field lm-line" }, "Your sentence", this.field),
          h(
            "div",
            { class: "lm-controls" },
            choices("Share asked", rates.map((r) => `${Math.round(100 * r)} %`), `${Math.round(100 * rate)} %`, (chosen) => this.restart({ rate: parseInt(chosen, 10) / 100 })),
            choices("Of these", Object.keys(RULES), this.rule, (rule) => this.restart({ rule })),
          ),
          this.words,
          h(
            "div",
            { class: "lm-actions" },
            h("button", { class: "lm-button", type: "button", click: () => this.draw(1) }, "Draw again"),
            h("button", { class: "lm-button", type: "button", click: () => this.draw(1000) }, "Draw 1,000 times"),
          ),
          h(
            "div",
            { class: "lm-table lm-whole" },
            h(
              "table",
              { class: "lm-drawn" },
              h("caption", {}, "All draws so far"),
              h("thead", {}, h("tr", {}, ...["what is at a place asked for", "times", "share", "rule"].map((name) => h("th", { scope: "col" }, name)))),
              this.shares,
            ),
          ),
        );
        this.clear();
        this.show(this.count(drawn, text.match(WORD)), 1);
      }

      clear() {
        this.n_draws = this.n_words = this.n_asked = 0;
        this.counts = [0, 0, 0];
      }

      restart(changes = {}) {
        Object.assign(this, changes);
        this.clear();
        this.draw(1);
      }

      /** One draw: for each word what the model reads, whether it is asked, and by which kind. */
      once(words) {
        const { pool } = this.data, [masked, random] = RULES[this.rule];
        return words.map((word) => {
          if (Math.random() >= this.rate) return [word, false, -1];
          const u = Math.random();
          if (u < masked) return ["[MASK]", true, 0];
          if (u < masked + random) return [pool[Math.floor(Math.random() * pool.length)], true, 1];
          return [word, true, 2];
        });
      }

      /** Add a draw to the counts. The one made in Python says what is read and asked, not by which kind. */
      count(drawn, words) {
        const draw = drawn.map(([seen, asked, kind], i) => [seen, asked, kind ?? (asked ? (seen === "[MASK]" ? 0 : seen === words[i] ? 2 : 1) : -1)]);
        this.n_draws += 1;
        this.n_words += draw.length;
        for (const [, asked, kind] of draw) {
          if (!asked) continue;
          this.n_asked += 1;
          this.counts[kind] += 1;
        }
        return draw.map((parts, i) => [words[i], ...parts]);
      }

      draw(n) {
        const words = this.field.value.match(WORD) ?? [], { most } = this.data;
        if (!words.length) return this.say("The sentence is empty: type at least one word.");
        if (words.length > most) return this.say(`The sentence has ${words.length} words; the figure has room for ${most}.`);
        let last;
        for (let i = 0; i < n; i += 1) last = this.count(this.once(words), words);
        this.show(last, n);
      }

      show(draw, n) {
        this.words.replaceChildren(
          ...draw.map(([word, seen, asked, kind]) =>
            h("li", asked ? { "data-kind": kind } : {}, h("span", { class: "lm-seen" }, seen), h("span", { class: "lm-weight" }, asked ? `asked: ${word}` : "")),
          ),
        );
        const rule = RULES[this.rule], due = [rule[0], rule[1], 1 - rule[0] - rule[1]];
        const share = (k, n) => (n ? percent(k / n) : "–");
        this.shares.replaceChildren(
          ...KINDS.map((kind, i) => h("tr", {}, h("th", { scope: "row" }, kind), h("td", {}, this.counts[i].toLocaleString("en")), h("td", {}, share(this.counts[i], this.n_asked)), h("td", {}, percent(Math.abs(due[i]))))),
          h("tr", {}, h("th", { scope: "row" }, "all that are asked"), h("td", {}, this.n_asked.toLocaleString("en")), h("td", {}, `${share(this.n_asked, this.n_words)} of ${this.n_words.toLocaleString("en")} words`), h("td", {}, percent(this.rate))),
        );
        const asked = draw.filter((place) => place[2]).map(([word]) => word);
        const places = asked.length === 1 ? "this place" : `these ${asked.length} places`;
        const said = asked.length ? `asks for ${asked.join(", ")}; the loss counts ${places} alone.` : "asks for nothing and adds nothing to the loss.";
        this.say(`${n > 1 ? "The last draw" : `Draw ${this.n_draws.toLocaleString("en")}`} ${said}`);
      }
    },
  );
})();
