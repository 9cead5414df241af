/* A new head on the frozen BERT, trained in the page on the reader's labelled lines; naive Bayes beside it. */
(() => {
  "use strict";
  const { h, bars } = lm;
  const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  const dot = (a, b) => a.reduce((sum, number, i) => sum + number * b[i], 0);

  /** The probability of class 1 by logistic regression on centred, scaled vectors. */
  function headProbability(vectors, classes, asked, { steps, lr, penalty }) {
    const n = vectors.length;
    const middle = Array.from(asked, (_, i) => vectors.reduce((sum, x) => sum + x[i], 0) / n);
    const centre = (x) => Array.from(x, (number, i) => number - middle[i]);
    let xs = vectors.map(centre);
    const scale = Math.sqrt(xs.reduce((sum, x) => sum + dot(x, x), 0) / n) || 1;
    xs = xs.map((x) => x.map((number) => number / scale));
    let weight = middle.map(() => 0), bias = 0;
    for (let step = 0; step < steps; step += 1) {
      const errors = xs.map((x, k) => (sigmoid(dot(x, weight) + bias) - classes[k]) / n);
      weight = weight.map((w, i) => w - lr * (xs.reduce((sum, x, k) => sum + errors[k] * x[i], 0) + penalty * w));
      bias -= lr * errors.reduce((sum, error) => sum + error, 0);
    }
    return sigmoid(dot(centre(asked), weight) / scale + bias);
  }

  /** The probability of class 1 by naive Bayes with add-one, and how many of the text's words it knows. */
  function bayesProbability(groups, text) {
    const counts = groups.map((lines) => {
      const count = new Map();
      for (const word of lines.flatMap(wordsOf)) count.set(word, (count.get(word) ?? 0) + 1);
      return count;
    });
    const known = new Set([...counts[0].keys(), ...counts[1].keys()]);
    const words = wordsOf(text).filter((word) => known.has(word));
    const totals = counts.map((count) => [...count.values()].reduce((sum, n) => sum + n, 0) + known.size);
    let score = Math.log(groups[1].length / groups[0].length);
    for (const word of words) {
      score += Math.log((((counts[1].get(word) ?? 0) + 1) / totals[1]) * (totals[0] / ((counts[0].get(word) ?? 0) + 1)));
    }
    return [sigmoid(score), words.length];
  }

  customElements.define(
    "lm-head-trainer",
    class extends lm.ModelElement {
      build() {
        const { labels, groups, text, head, bayes, known } = this.data;
        this.fields = labels.map((label, n) => {
          const area = h("textarea", { rows: 5, spellcheck: "false" });
          area.value = groups[n].join("\n");
          return area;
        });
        this.field = h("input", { type: "text", value: text, autocomplete: "off", spellcheck: "false" });
        this.panels = h("div", { class: "lm-guesses" });
        this.note = h("p", { class: "lm-hint lm-note" });
        this.stage.append(
          h(
            "div",
            { class: "lm-guesses" },
            ...labels.map((label, n) => h("label", { class: "lm-field" }, `Lines labelled “${label}”`, this.fields[n])),
          ),
          this.question("A text to judge", this.field, h("button", { class: "lm-button" }, "Train and judge"), () => this.train()),
          this.panels,
          this.note,
        );
        this.vectors = new Map(); // line -> its vector
        this.show(groups, text, head, bayes, known, []);
      }

      /** The mean of a line's vectors; each line is read once. */
      async vector(model, line, notes) {
        if (!this.vectors.has(line)) {
          const { special } = model.tokenizer;
          const read = lm.readText(model, model.tokenizer.encode(line), { room: model.context_length - 2 });
          notes.push(...read.notes);
          const states = await model.ask("encode", [special["[CLS]"], ...read.ids, special["[SEP]"]]);
          this.vectors.set(line, Array.from(states[0], (_, i) => states.reduce((sum, x) => sum + x[i], 0) / states.length));
        }
        return this.vectors.get(line);
      }

      async train() {
        const groups = this.fields.map((area) => area.value.split("\n").map((line) => line.trim()).filter(Boolean));
        const text = this.field.value.trim(), empty = groups.findIndex((lines) => !lines.length);
        if (empty >= 0) return this.say(`There is no line labelled “${this.data.labels[empty]}”: a class needs one at least.`);
        if (!text) return this.say("The text to judge is empty: type a sentence.");
        try {
          const model = await this.fetch(this.data.model), notes = [], vectors = [];
          for (const line of groups.flat()) vectors.push(await this.vector(model, line, notes));
          const asked = await this.vector(model, text, notes);
          const classes = groups.flatMap((lines, n) => lines.map(() => n));
          const head = headProbability(vectors, classes, asked, this.data.settings);
          this.show(groups, text, head, ...bayesProbability(groups, text), [...new Set(notes)]);
        } catch (error) {
          this.fail(error);
        }
      }

      /** Show what both say of the text; probabilities are those of the second class. */
      show(groups, text, head, bayes, known, notes) {
        const { labels } = this.data;
        const panel = (title, p) =>
          h("div", {}, h("p", {}, title), bars([1 - p, p].map((value, n) => ({ label: labels[n], value, mark: "" }))));
        this.panels.replaceChildren(panel("New head on frozen vectors", head), panel("Naive Bayes on words", bayes));
        this.note.textContent = notes.join(" ");
        const best = (p) => (Math.abs(p - 0.5) < 0.005 ? "undecided" : `“${labels[Number(p > 0.5)]}”`);
        this.say(
          `From ${groups[0].length} and ${groups[1].length} lines, the head: ${best(head)}; naive Bayes: ${best(bayes)}. ` +
            `Of the text's ${wordsOf(text).length} words, ${known} also occur in the lines.`,
        );
      }
    },
  );
})();
