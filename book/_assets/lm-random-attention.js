/* Attention between random vectors of the reader's own words: choose width, scale, mask and padding. */
(() => {
  "use strict";
  const { h, choices } = lm;
  const PAD = "⟨pad⟩";
  const DIVIDED = "divided by √d", WHOLE = "as it is";
  const ALL = "all words", CAUSAL = "words up to itself";
  const NO_PADDING = "none", MASKED = "2, masked", SEEN = "2, not masked";

  /** Numbers of mean 0 and variance 1 that the name alone determines; widgets/random_attention.py draws the same. */
  function normalNumbers(name, n) {
    let state = 2166136261;
    for (let i = 0; i < name.length; i += 1) state = Math.imul(state ^ name.charCodeAt(i), 16777619);
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 2 ** 32;
    };
    const numbers = [];
    while (numbers.length < n) {
      const radius = Math.sqrt(-2 * Math.log(uniform())), angle = 2 * Math.PI * uniform();
      numbers.push(radius * Math.cos(angle), radius * Math.sin(angle));
    }
    return numbers.slice(0, n);
  }

  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

  /** A softmax over what may be seen: the rest gets weight 0. */
  function softmax(scores, seen) {
    const most = Math.max(...scores.filter((_, j) => seen[j]));
    const parts = scores.map((score, j) => (seen[j] ? Math.exp(score - most) : 0));
    const total = parts.reduce((sum, part) => sum + part, 0);
    return parts.map((part) => part / total);
  }

  customElements.define(
    "lm-random-attention",
    class extends lm.Element {
      build() {
        const { text, d, widths, most } = this.data;
        Object.assign(this, { d, scale: DIVIDED, visible: ALL, padding: NO_PADDING, row: null });
        this.field = h("input", { type: "text", value: text, maxlength: 200, input: () => this.draw() });
        this.grid = h("div", { class: "lm-table lm-whole" });
        const set = (name) => (value) => {
          this[name] = value;
          this.draw();
        };
        this.stage.append(
          h("label", { class: "lm-field" }, `Your sentence, up to ${most} words: `, this.field),
          h(
            "div",
            { class: "lm-controls" },
            choices("Width d", widths, d, set("d")),
            choices("Score", [DIVIDED, WHOLE], this.scale, set("scale")),
            choices("A word sees", [ALL, CAUSAL], this.visible, set("visible")),
            choices("Padding", [NO_PADDING, MASKED, SEEN], this.padding, set("padding")),
          ),
          h("p", { class: "lm-hint" }, "Each row is a word that looks, each column a word that is looked at. Choose a row to read it."),
          this.grid,
        );
        this.draw();
      }

      /** The attention weights of these words, a row for each, padding last. */
      weights(words, n_padded) {
        const scale = this.scale === DIVIDED ? Math.sqrt(this.d) : 1;
        const queries = words.map((word) => normalNumbers(`query ${word}`, this.d));
        const keys = words.map((word) => normalNumbers(`key ${word}`, this.d));
        const n_real = words.length - n_padded;
        return queries.slice(0, n_real).map((query, i) =>
          softmax(
            keys.map((key) => dot(query, key) / scale),
            keys.map((_, j) => !(this.visible === CAUSAL && j > i) && !(this.padding === MASKED && j >= n_real)),
          ),
        );
      }

      draw() {
        const all = this.field.value.trim().split(/\s+/).filter(Boolean);
        if (!all.length) {
          this.grid.replaceChildren();
          this.say("Type a word or more.");
          return;
        }
        const typed = all.slice(0, this.data.most);
        const n_padded = this.padding === NO_PADDING ? 0 : 2;
        this.words = [...typed, ...Array(n_padded).fill(PAD)];
        this.table = this.weights(this.words, n_padded);
        if (this.row !== null && this.row >= typed.length) this.row = null;
        const cell = (weight) =>
          h("td", { style: `--weight: ${weight}`, "data-hidden": weight === 0 }, h("span", {}, weight === 0 ? "0" : weight.toFixed(2)));
        this.grid.replaceChildren(
          h(
            "table",
            { class: "lm-weights" },
            h("caption", {}, "Attention weights"),
            h("thead", {}, h("tr", {}, h("td", {}), ...this.words.map((word) => h("th", { scope: "col" }, word)))),
            h(
              "tbody",
              {},
              ...this.table.map((weights, i) =>
                h(
                  "tr",
                  {},
                  h("th", { scope: "row" }, h("button", { type: "button", class: "lm-token", "aria-pressed": String(i === this.row), click: () => this.choose(i) }, typed[i])),
                  ...weights.map(cell),
                ),
              ),
            ),
          ),
        );
        this.report(all.length - typed.length);
      }

      choose(row) {
        this.row = this.row === row ? null : row;
        this.draw();
        this.grid.querySelectorAll("button")[row].focus();
      }

      report(n_left_out) {
        const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
        const throughput = (weights) => 1 - dot(weights, weights);
        const cut = n_left_out ? ` Only the first ${this.data.most} words are shown.` : "";
        if (this.row === null) {
          const largest = mean(this.table.map((weights) => Math.max(...weights)));
          const through = mean(this.table.map(throughput));
          this.say(`On average over the rows, the largest weight is ${largest.toFixed(2)} and the slopes of the softmax sum to ${through.toFixed(2)} (1 − Σa²).${cut}`);
          return;
        }
        const weights = this.table[this.row];
        const best = weights.indexOf(Math.max(...weights));
        this.say(`“${this.words[this.row]}” looks most at “${this.words[best]}” (${weights[best].toFixed(2)}); its row sums to ${weights.reduce((a, b) => a + b).toFixed(2)}, and 1 − Σa² is ${throughput(weights).toFixed(2)}.${cut}`);
      }
    },
  );
})();
