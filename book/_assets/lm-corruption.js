/* What each objective of pretraining makes of the reader's own sentence: input and target. */
(() => {
  "use strict";
  const { h, choices } = lm;
  const WORDS = /[\p{L}\p{N}_]+(?:['’][\p{L}\p{N}_]+)*|[^\p{L}\p{N}_\s]/gu;
  const MOST = 200;

  /** Whole numbers from 0 to n - 1 in a random order. */
  function shuffled(n, random) {
    const order = [...Array(n).keys()];
    for (let i = n - 1; i > 0; i -= 1) {
      const j = Math.floor(random() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }

  /** Cut a total into parts of at least 1, all divisions equally probable. */
  function divide(total, parts, random) {
    const cuts = shuffled(total - 1, random).slice(0, parts - 1).map((cut) => cut + 1).sort((a, b) => a - b);
    return [...cuts, total].map((end, i) => end - (i ? cuts[i - 1] : 0));
  }

  /** A number of events when `mean` are expected: Knuth's product of uniform draws. */
  function poisson(mean, random) {
    const limit = Math.exp(-mean);
    let n = 0;
    for (let product = random(); product > limit; product *= random()) n += 1;
    return n;
  }

  customElements.define(
    "lm-corruption",
    class extends lm.Element {
      build() {
        const { text, objective, views } = this.data;
        this.objective = objective;
        this.field = h("input", { type: "text", value: text, autocomplete: "off", spellcheck: "false", input: () => this.draw() });
        const row = (label) => {
          const list = h("ol", { class: "lm-pieces", "aria-label": label });
          return { list, part: h("div", {}, h("p", { class: "lm-hint" }, label), list) };
        };
        this.input = row("Input: what the model reads");
        this.target = row("Target: what it has to write");
        this.stage.append(
          h("label", { class: "lm-field lm-line" }, "Your sentence, or a few", this.field),
          choices("Objective", Object.keys(views), objective, (name) => {
            this.objective = name;
            // What was drawn in Python is shown until the reader changes the text or draws again.
            if (this.field.value === text) this.show(views[name]);
            else this.draw();
          }),
          h("button", { class: "lm-button", type: "button", click: () => this.draw() }, "Draw again"),
          this.input.part,
          this.target.part,
        );
        this.show(views[objective]);
      }

      /** Input and target of one draw; `random` is a source of uniform numbers. */
      corrupt(objective, words, random = Math.random) {
        const { rate, bart_rate, mean_length, shares, eos, mask, nothing, ends } = this.data;
        const n = words.length, whole = [...words, eos];
        switch (objective) {
          case "causal LM":
            return { input: [], target: whole };
          case "prefix LM": {
            const cut = 1 + Math.floor(random() * (n - 1));
            return { input: words.slice(0, cut), target: [...words.slice(cut), eos] };
          }
          case "BERT masking": {
            const input = [...words], target = words.map(() => nothing);
            for (const place of shuffled(n, random).slice(0, Math.max(1, Math.round(rate * n)))) {
              const draw = random();
              target[place] = words[place];
              if (draw < shares[0]) input[place] = mask;
              else if (draw < shares[0] + shares[1]) input[place] = words[Math.floor(random() * n)];
            }
            return { input, target };
          }
          case "span corruption": {
            const hidden = Math.min(Math.max(Math.round(rate * n), 1), n - 1);
            const spans = Math.min(Math.max(Math.round(hidden / mean_length), 1), n - hidden + 1);
            const cut = divide(hidden, spans, random);
            // One more kept stretch than holes: the first and the last may be empty.
            const kept = divide(n - hidden + 2, spans + 1, random);
            kept[0] -= 1;
            const input = [], target = [];
            let place = 0;
            for (let k = 0; k < spans; k += 1) {
              input.push(...words.slice(place, place + kept[k]), `<${k}>`);
              place += kept[k];
              target.push(`<${k}>`, ...words.slice(place, place + cut[k]));
              place += cut[k];
            }
            return { input: [...input, ...words.slice(place)], target: [...target, `<${spans}>`, eos] };
          }
          case "BART infilling": {
            const hidden = Math.round(bart_rate * n), lengths = [];
            let total = 0;
            while (total < hidden) {
              lengths.push(Math.min(poisson(mean_length, random), hidden - total));
              total += lengths.at(-1);
            }
            const input = [];
            let place = 0;
            for (const item of shuffled(n - hidden + lengths.length, random)) {
              input.push(item < lengths.length ? mask : words[place]);
              place += item < lengths.length ? lengths[item] : 1;
            }
            return { input, target: whole };
          }
          case "BART deletion":
            return { input: words.filter(() => random() >= bart_rate), target: whole };
          case "BART permutation": {
            const sentences = [[]];
            for (const word of words) {
              sentences.at(-1).push(word);
              if (ends.includes(word)) sentences.push([]);
            }
            if (!sentences.at(-1).length) sentences.pop();
            return { input: shuffled(sentences.length, random).flatMap((i) => sentences[i]), target: whole };
          }
          default: {
            const start = Math.floor(random() * n);
            return { input: [...words.slice(start), ...words.slice(0, start)], target: whole };
          }
        }
      }

      draw() {
        const words = this.field.value.match(WORDS) ?? [];
        if (words.length < 2 || words.length > MOST) {
          const many = words.length === 1 ? "1 word" : `${words.length} words`;
          return this.say(`The text has ${many}; it must have from 2 to ${MOST}.`);
        }
        this.show(this.corrupt(this.objective, words));
      }

      show({ input, target }) {
        const { eos, mask, nothing } = this.data;
        const special = (token) => token === mask || token === eos || /^<\d+>$/.test(token);
        const pieces = (tokens) => tokens.map((token) => h("li", { "data-new": special(token) }, token));
        this.input.list.replaceChildren(...(input.length ? pieces(input) : [h("li", {}, "nothing")]));
        this.target.list.replaceChildren(...pieces(target));
        const written = target.filter((token) => token !== nothing).length;
        const side = this.objective === "BERT masking" ? "to say, each in its place" : "to write, from left to right";
        this.say(`${this.objective}: ${input.length} tokens to read, ${written} ${side}.`);
      }
    },
  );
})();
