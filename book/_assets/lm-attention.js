/* Where a model's heads look in the reader's sentence: choose layer, head and mask, and point at a token. */
(() => {
  "use strict";
  const { h, choices, showWhitespace } = lm;
  const MASKS = { causal: "causal: no token sees what follows", full: "full: every token sees all" };
  const MAP_WIDTH = 360, THUMBNAIL_WIDTH = 64;
  const INK = "61 143 209", FRAME = "rgb(217 112 43)"; // readable on light and dark alike
  const PAUSE_MILLISECONDS = 400; // after the last keystroke, before the model reads

  /** How dark a weight is shown: by its root, or the many small weights could not be seen. */
  const shade = (weight) => Math.sqrt(weight);

  /** Paint a head: a row asks, a column answers. */
  function paint(canvas, weights, width) {
    const T = weights.length, cell = Math.max(1, Math.floor(width / T));
    canvas.width = canvas.height = cell * T;
    const pen = canvas.getContext("2d");
    for (let t = 0; t < T; t += 1) {
      for (let s = 0; s < T; s += 1) {
        pen.fillStyle = `rgb(${INK} / ${shade(weights[t][s])})`;
        pen.fillRect(s * cell, t * cell, cell, cell);
      }
    }
    return { pen, cell };
  }

  customElements.define(
    "lm-attention",
    class extends lm.ModelElement {
      build() {
        const { models, masks, text, views, layer, head, selected } = this.data;
        this.views = new Map(); // model, mask, text -> tokens, and weights[layer][head][asks][answers]
        for (const { model, mask, tokens, weights } of views) {
          const layers = weights.map((layer) => layer.map((head) => head.map((row) => row.map((hundredths) => hundredths / 100))));
          this.views.set(this.key(model, mask, text), { tokens, layers, notes: [] });
        }
        Object.assign(this, { model: models[0], mask: masks[models[0]], text, layer, head });
        this.field = h("input", { type: "text", value: text, autocomplete: "off", spellcheck: "false", input: () => this.soon() });
        const mask_names = Object.values(MASKS);
        this.masks = choices("Mask", mask_names, MASKS[this.mask], (name) => this.choose({ mask: Object.keys(MASKS)[mask_names.indexOf(name)] }));
        this.heads = h("div", {});
        this.map = h("canvas", { class: "lm-map", "aria-hidden": "true", pointermove: (event) => this.pointAt(event), pointerdown: (event) => this.pointAt(event) });
        this.tokens = h("div", { class: "lm-tokens", role: "group", "aria-label": "Tokens of the sentence", keydown: (event) => this.step(event, this.tokens.children, this.selected, (t) => this.select(t)) });
        this.note = h("p", { class: "lm-hint lm-note" });
        this.stage.append(
          this.question("Your sentence", this.field, h("button", { class: "lm-button" }, "Attend"), () => this.read()),
          h(
            "div",
            { class: "lm-controls" },
            models.length > 1 ? choices("Model", models, this.model, (model) => this.choose({ model, mask: masks[model] })) : null,
            this.masks,
          ),
          h("div", { class: "lm-maps" }, this.heads, h("div", {}, h("p", { class: "lm-hint" }, "The chosen head: a row asks, a column answers"), this.map)),
          this.tokens,
          this.note,
        );
        this.show(selected);
      }

      key(model, mask, text) {
        return [model, mask, text].join("\n");
      }

      get view() {
        return this.views.get(this.key(this.model, this.mask, this.text));
      }

      /** Once the model is here, what is typed is read as soon as the reader pauses. */
      soon() {
        clearTimeout(this.timer);
        if (this.loaded) this.timer = setTimeout(() => this.read(), PAUSE_MILLISECONDS);
      }

      read() {
        clearTimeout(this.timer);
        if (!this.field.value.trim()) return this.say("The sentence is empty: type a word or two.");
        return this.choose({ text: this.field.value });
      }

      /** Show another text, model or mask, computed first if it has not been yet. */
      async choose({ text = this.text, model = this.model, mask = this.mask }) {
        const key = this.key(model, mask, text);
        this.wanted = key;
        if (!this.views.has(key)) {
          try {
            this.views.set(key, await this.compute(text, model, mask));
          } catch (error) {
            this.updateChoices();
            return this.fail(error);
          }
        }
        if (this.wanted !== key) return; // the reader has asked for something else since
        const is_same_text = text === this.text && model === this.model;
        Object.assign(this, { text, model, mask });
        this.show(is_same_text ? this.selected : this.view.tokens.length - 1);
      }

      async compute(text, name, mask) {
        const model = await this.fetch(name);
        this.loaded = true;
        const is_bert = model.kind === "bert";
        const { ids, notes } = lm.readText(model, model.tokenizer.encode(text), { room: model.context_length - (is_bert ? 2 : 0) });
        const { special } = model.tokenizer;
        const read = is_bert ? [special["[CLS]"], ...ids, special["[SEP]"]] : ids;
        const layers = await model.ask("attentionWeights", read, mask === "causal");
        return { tokens: read.map((id) => model.tokenizer.show(id)), layers, notes };
      }

      /** Draw the view afresh, with one token chosen. */
      show(selected) {
        this.updateChoices();
        this.tokens.replaceChildren(
          ...this.view.tokens.map((token, t) =>
            h(
              "button",
              { type: "button", class: "lm-token", click: () => this.select(t), mouseenter: () => this.select(t) },
              h("span", {}, showWhitespace(token)),
              h("span", { class: "lm-weight" }),
            ),
          ),
        );
        this.select(selected);
      }

      /** Bring the choices in line with the view; a radio button that has the focus must stay the same one. */
      updateChoices() {
        const { layers } = this.view, n_heads = layers[0].length;
        this.masks.querySelector(`[value="${MASKS[this.mask]}"]`).checked = true;
        const names = layers.flatMap((heads, layer) => heads.map((_, head) => `Layer ${layer + 1}, head ${head + 1}`));
        if (this.heads.querySelectorAll("canvas").length !== names.length) this.heads.replaceChildren(this.headChoices(names, n_heads));
        this.heads.querySelectorAll("canvas").forEach((canvas, i) => {
          paint(canvas, layers[Math.floor(i / n_heads)][i % n_heads], THUMBNAIL_WIDTH);
        });
      }

      /** Every head as a small picture to choose. */
      headChoices(names, n_heads) {
        const grid = choices("Layers downwards, heads across", names, `Layer ${this.layer}, head ${this.head}`, (name) => {
          [this.layer, this.head] = name.match(/\d+/g).map(Number);
          this.select(this.selected);
        });
        grid.classList.add("lm-heads");
        grid.style.setProperty("--n-heads", n_heads);
        grid.querySelectorAll("label").forEach((label) => label.append(h("canvas", { "aria-hidden": "true" })));
        return grid;
      }

      /** Show where token t attends. */
      select(t) {
        const { tokens, layers, notes } = this.view, weights = layers[this.layer - 1][this.head - 1], row = weights[t];
        this.selected = t;
        [...this.tokens.children].forEach((button, s) => {
          const is_hidden = this.mask === "causal" && s > t;
          button.tabIndex = s === t ? 0 : -1;
          button.setAttribute("aria-pressed", String(s === t));
          button.style.setProperty("--weight", shade(row[s]));
          button.lastChild.textContent = is_hidden ? "hidden" : row[s].toFixed(2);
        });
        const { pen, cell } = paint(this.map, weights, MAP_WIDTH);
        pen.strokeStyle = FRAME;
        pen.lineWidth = 2;
        pen.strokeRect(1, t * cell, tokens.length * cell - 2, cell);
        const [first, second] = lm.mostProbable(row, 2);
        const named = (s) => `“${showWhitespace(tokens[s])}” (${row[s].toFixed(2)})`;
        const then = second === undefined || row[second] === 0 ? "" : `, then to ${named(second)}`;
        this.say(`Layer ${this.layer}, head ${this.head}: “${showWhitespace(tokens[t])}” attends most to ${named(first)}${then}.`);
        this.note.textContent = [...notes, this.mask === this.data.masks[this.model] ? "" : `${this.model} has learned with the other mask: what it does under this one, it was never trained for.`].join(" ");
      }

      /** A row of the picture is the token that asks. */
      pointAt(event) {
        const { top, height } = this.map.getBoundingClientRect(), T = this.view.tokens.length;
        const t = Math.min(T - 1, Math.max(0, Math.floor(((event.clientY - top) / height) * T)));
        if (t !== this.selected) this.select(t);
      }
    },
  );
})();
