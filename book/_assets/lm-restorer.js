/* A trained encoder and decoder put the vowels back into the reader's own words, letter by letter. */
(() => {
  "use strict";
  const { h, probability, showWhitespace } = lm;
  const END = "⟨end⟩";

  /** A matrix as the list of its rows, or a vector, from whole numbers of 16 bits. */
  function unpack({ shape, scale, numbers }) {
    const bytes = Uint8Array.from(atob(numbers), (character) => character.charCodeAt(0));
    const flat = Float64Array.from(new Int16Array(bytes.buffer), (number) => number * scale);
    if (shape.length === 1) return flat;
    return Array.from({ length: shape[0] }, (_, i) => flat.subarray(i * shape[1], (i + 1) * shape[1]));
  }

  const dot = (a, b) => a.reduce((sum, number, i) => sum + number * b[i], 0);
  const linear = ({ weight, bias }, x) => weight.map((row, i) => dot(row, x) + bias[i]);
  const sigmoid = (a) => 1 / (1 + Math.exp(-a));

  function softmax(scores) {
    const most = Math.max(...scores), parts = scores.map((score) => Math.exp(score - most));
    const total = parts.reduce((a, b) => a + b);
    return parts.map((part) => part / total);
  }

  /** One step of a GRU, its blocks in torch's order: reset, update, candidate. */
  function step({ of_input, of_hidden }, x, hidden) {
    const n = hidden.length, a = linear(of_input, x), b = linear(of_hidden, hidden);
    return hidden.map((before, i) => {
      const reset = sigmoid(a[i] + b[i]), update = sigmoid(a[n + i] + b[n + i]);
      return (1 - update) * Math.tanh(a[2 * n + i] + reset * b[2 * n + i]) + update * before;
    });
  }

  customElements.define(
    "lm-restorer",
    class extends lm.Element {
      build() {
        const { weights, symbols, text, most } = this.data;
        const of = (name) => unpack(weights[name]);
        const layer = (name, kind, end) => ({ weight: of(`${name}weight_${kind}_l0${end}`), bias: of(`${name}bias_${kind}_l0${end}`) });
        const cell = (name, end = "") => ({ of_input: layer(name, "ih", end), of_hidden: layer(name, "hh", end) });
        this.model = {
          source: of("encoder.embedding.weight"),
          forward: cell("encoder.stack.kernel."),
          backward: cell("encoder.stack.kernel.", "_reverse"),
          target: of("embedding.weight"),
          decoder: cell("decoder.kernel."),
          combine: { weight: of("combine.weight"), bias: of("combine.bias") },
          output: { weight: of("output.weight"), bias: of("output.bias") },
        };
        this.ids = new Map(symbols.map((symbol, id) => [symbol, id]));
        this.field = h("input", { type: "text", value: text, maxlength: most, autocomplete: "off", spellcheck: "false", input: () => this.draw() });
        this.source = h("ol", { class: "lm-words" });
        this.target = h("div", {
          class: "lm-tokens",
          role: "group",
          "aria-label": "Letters that the model writes",
          keydown: (event) => this.step(event, this.target.children, this.selected, (t) => this.select(t)),
        });
        this.stage.append(
          h("label", { class: "lm-field lm-line" }, `Your words, up to ${most} letters: `, this.field),
          h("p", { class: "lm-hint" }, "What the model reads. Shade and number: the weight."),
          this.source,
          h("p", { class: "lm-hint" }, "What it writes. Point at a letter, or use the arrow keys."),
          this.target,
        );
        this.draw();
      }

      /** Read some symbols, then write greedily: a list of {id, p, weights}, the end last. */
      restore(read) {
        const { source, forward, backward, target, decoder, combine, output } = this.model;
        const xs = read.map((id) => source[id]);
        const blank = Array(forward.of_hidden.weight[0].length).fill(0);
        const walk = (cell, inputs) => {
          let hidden = blank;
          return inputs.map((x) => (hidden = step(cell, x, hidden)));
        };
        const from_left = walk(forward, xs), from_right = walk(backward, [...xs].reverse()).reverse();
        const states = xs.map((_, j) => [...from_left[j], ...from_right[j]]);
        let query = [...from_left.at(-1), ...from_right[0]], id = this.data.end;
        const written = [];
        do {
          query = step(decoder, target[id], query);
          const weights = softmax(states.map((state) => dot(query, state)));
          const context = query.map((_, i) => states.reduce((sum, state, j) => sum + weights[j] * state[i], 0));
          const probs = softmax(linear(output, linear(combine, [...query, ...context]).map(Math.tanh)));
          id = probs.indexOf(Math.max(...probs));
          written.push({ id, p: probs[id], weights });
        } while (id !== this.data.end && written.length < 2 * this.data.most);
        return written;
      }

      draw() {
        const typed = [...this.field.value];
        const known = typed.filter((symbol) => this.ids.has(symbol));
        this.note = known.length < typed.length ? " Symbols that the model has never seen are left out." : "";
        this.read = known.filter((symbol) => !this.data.vowels.includes(symbol));
        if (!this.read.some((symbol) => symbol.trim())) {
          this.source.replaceChildren();
          this.target.replaceChildren();
          this.say("There is no consonant to read: type a word or two.");
          return;
        }
        this.written = this.restore(this.read.map((symbol) => this.ids.get(symbol)));
        this.target.replaceChildren(
          ...this.written.map(({ id }, t) =>
            h("button", { type: "button", class: "lm-token", click: () => this.select(t), mouseenter: () => this.select(t) }, this.name(id)),
          ),
        );
        this.select(Math.min(this.data.selected, this.written.length - 1));
      }

      name(id) {
        return id === this.data.end ? END : showWhitespace(this.data.symbols[id]);
      }

      select(t) {
        const { id, p, weights } = this.written[t];
        this.selected = t;
        [...this.target.children].forEach((button, i) => {
          button.tabIndex = i === t ? 0 : -1;
          button.setAttribute("aria-pressed", String(i === t));
        });
        this.source.replaceChildren(
          ...this.read.map((symbol, j) =>
            h("li", { style: `--weight: ${weights[j]}` }, h("span", {}, showWhitespace(symbol)), h("span", { class: "lm-weight" }, weights[j].toFixed(2))),
          ),
        );
        const best = weights.indexOf(Math.max(...weights));
        const text = this.written.map((one) => (one.id === this.data.end ? "" : this.data.symbols[one.id])).join("");
        this.say(
          `“${text}”. The model writes “${this.name(id)}” with probability ${probability(p)} and looks most at ` +
            `“${showWhitespace(this.read[best])}” (${weights[best].toFixed(2)}).${this.note}`,
        );
      }
    },
  );
})();
