/* An n-gram model in the page: counts a text, smooths, and continues the reader's prompt. */
(() => {
  "use strict";
  const { h, choices, bars, showWhitespace } = lm;
  const END = "⟨end⟩";
  const LENGTH = { words: 24, letters: 80 };
  const MOST_BARS = 6;
  const WORD = /[\p{L}\p{N}_]+(?:['’][\p{L}\p{N}_]+)*|[^\p{L}\p{N}_\s]/gu; // WORD_PATTERN of the package
  const CUTS = { words: (text) => text.match(WORD) ?? [], letters: (text) => [...text] };
  const FALLBACK = [0.5, 1, 1.5];

  /** Numbers in [0, 1) that a seed determines: the generator mulberry32. */
  function uniform(seed) {
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  /** Counts of all n-grams of some documents, each between two ends of text; id 0 is the end.

      An order has, for each of its n-grams: its last token, how often it was seen, and after how many
      different tokens (plain counts where it begins a document). Children of an n-gram are those of the
      next order that continue it. */
  class Counts {
    constructor(documents, mostOrder) {
      this.ids = new Map([[END, 0]]);
      for (const token of documents.flat()) if (!this.ids.has(token)) this.ids.set(token, this.ids.size);
      this.tokens = [...this.ids.keys()];
      const stream = [0, ...documents.flatMap((tokens) => [...tokens.map((token) => this.ids.get(token)), 0])];
      this.stream = stream;
      const V = this.tokens.length;
      this.orders = [];
      let before = null;
      for (let n = 1; n <= mostOrder; n += 1) {
        const order = { numbers: new Map(), token: [], counts: [], contexts: [], begins: [], children: [] };
        const lower = this.orders[n - 2];
        const at = new Int32Array(stream.length).fill(-1); // the n-gram that ends here
        const add = (token, begins) => {
          order.token.push(token);
          order.counts.push(0);
          order.contexts.push(0);
          order.begins.push(begins);
          order.children.push([]);
          return order.token.length - 1;
        };
        if (n === 1) for (let token = 0; token < V; token += 1) add(token, false);
        for (let t = 1; t < stream.length; t += 1) {
          let number = stream[t];
          if (n > 1) {
            // a history of one token may be the end itself; a longer one never reaches back over it
            const history = n === 2 ? stream[t - 1] : stream[t - 1] === 0 ? -1 : before[t - 1];
            if (history < 0) continue;
            const key = history * V + stream[t];
            number = order.numbers.get(key);
            if (number === undefined) {
              number = add(stream[t], n === 2 ? history === 0 : lower.begins[history]);
              order.numbers.set(key, number);
              lower.children[history].push(number);
              lower.contexts[before[t]] += 1;
            }
          }
          order.counts[number] += 1;
          at[t] = number;
        }
        if (lower) lower.contexts = lower.contexts.map((n_contexts, i) => (lower.begins[i] ? lower.counts[i] : n_contexts));
        this.orders.push(order);
        before = at;
      }
    }

    /** The number of a sequence of ids among the n-grams of its length, -1 if it was never seen. */
    find(ids) {
      let number = ids[0] ?? -1;
      for (let n = 1; n < ids.length && number >= 0; n += 1) number = this.orders[n].numbers.get(number * this.tokens.length + ids[n]) ?? -1;
      return number;
    }

    /** What followed a history: its n-grams, one order higher. */
    children(history) {
      if (history.length === 0) return this.orders[0].token.filter((i) => this.orders[0].counts[i] > 0);
      const number = this.find(history);
      return number < 0 ? [] : this.orders[history.length - 1].children[number];
    }

    /** How many tokens in a row, at most, of these stand in the text. */
    longestCopy(ids) {
      let longest = 0;
      for (let start = 0; start + longest < ids.length; start += 1) {
        for (let t = 0; t < this.stream.length; t += 1) {
          let n = 0;
          while (start + n < ids.length && ids[start + n] === this.stream[t + n]) n += 1;
          longest = Math.max(longest, n);
        }
      }
      return longest;
    }
  }

  /** Discounts of counts 1, 2, 3 and more: Chen & Goodman 1999. */
  function discounts(counts) {
    const n = [0, 0, 0, 0, 0];
    for (const count of counts) if (count < 5) n[count] += 1;
    if (!n[1] || !n[2] || !n[3]) return FALLBACK;
    const y = n[1] / (n[1] + 2 * n[2]);
    const found = [1, 2, 3].map((c) => c - ((c + 1) * y * n[c + 1]) / n[c]);
    return found.every((discount, i) => discount > 0 && discount <= i + 1) ? found : FALLBACK;
  }

  /** The models of one text. */
  class Model {
    constructor(counts) {
      this.counts = counts;
      this.known = new Map(); // "order n" -> discounts
    }

    /** The probability of each token after these ids (-1 is unknown), and the longest history that was seen. */
    predict(ids, order, method) {
      const { tokens } = this.counts;
      let history = [];
      for (const id of [...ids].reverse()) {
        if (history.length === order - 1 || id < 0) break;
        history = [id, ...history];
        if (id === 0) break;
      }
      let seen = history;
      while (seen.length && !this.counts.children(seen).length) seen = seen.slice(1);
      const V = tokens.length;
      const longest = this.counts.orders[history.length];
      const followers = this.counts.children(history);
      const total = followers.reduce((sum, i) => sum + longest.counts[i], 0);
      let probs;
      if (method === "none") {
        probs = new Float64Array(V);
        for (const i of followers) probs[longest.token[i]] = longest.counts[i] / total;
      } else if (method === "add-one") {
        probs = new Float64Array(V).fill(1 / (total + V));
        for (const i of followers) probs[longest.token[i]] = (longest.counts[i] + 1) / (total + V);
      } else {
        probs = new Float64Array(V).fill(1 / V);
        for (let n = 1; n <= seen.length + 1; n += 1) probs = this.discounted(probs, seen.slice(seen.length - n + 1), n, order);
      }
      return { probs, history, seen, total, isStuck: method === "none" && total === 0 };
    }

    /** Interpolated Kneser–Ney: this order's discounted counts over the lower order's probabilities. */
    discounted(lower, history, n, order) {
      const { token, counts: plain, contexts } = this.counts.orders[n - 1];
      const counts = n < order ? contexts : plain;
      const name = `${order} ${n}`;
      if (!this.known.has(name)) this.known.set(name, discounts(counts));
      const taken = (count) => Math.min(this.known.get(name)[Math.min(count, 3) - 1], count);
      const followers = this.counts.children(history);
      const total = followers.reduce((sum, i) => sum + counts[i], 0);
      const freed = followers.reduce((sum, i) => sum + taken(counts[i]), 0);
      const probs = lower.map((p) => (freed * p) / total);
      for (const i of followers) probs[token[i]] += (counts[i] - taken(counts[i])) / total;
      return probs;
    }
  }

  customElements.define(
    "lm-ngram-sampler",
    class extends lm.Element {
      build() {
        const { texts, prompt, orders, order, methods, unit } = this.data;
        Object.assign(this, { texts, order, method: methods[0], unit, presses: 0, models: {} });
        this.field = h("input", { type: "text", value: prompt, maxlength: 80, spellcheck: "false", autocomplete: "off", change: () => this.sample() });
        this.own = h("textarea", { rows: 4, maxlength: 300000, spellcheck: "false", change: () => this.count() });
        this.written = h("span", { class: "lm-tokens", keydown: (event) => this.step(event, event.currentTarget.children, this.selected, (i) => this.select(i)) });
        this.panel = h("div", { class: "lm-panel" });
        const set = (name) => (value) => {
          this[name] = value;
          this.sample();
        };
        this.stage.append(
          h("label", { class: "lm-field lm-line" }, "The text begins", this.field),
          h(
            "div",
            { class: "lm-controls" },
            choices("Tokens", Object.keys(CUTS), this.unit, set("unit")),
            choices("Order n", orders, order, set("order")),
            choices("Smoothing", methods, this.method, set("method")),
            h("button", { type: "button", class: "lm-button", click: () => this.sample() }, "Sample"),
          ),
          h("p", { class: "lm-hint" }, "Choose any token to see what it was drawn from."),
          this.written,
          this.panel,
          h("details", { class: "lm-own" }, h("summary", {}, "Count a text of your own"), h("label", { class: "lm-field" }, "Paste it here; empty the field to return to ours", this.own)),
        );
        this.sample();
      }

      /** Count what the reader has pasted, or the shipped texts again. */
      count() {
        this.texts = this.own.value.trim() ? [this.own.value] : this.data.texts;
        this.models = {};
        this.sample();
      }

      /** The model of the chosen tokens; it is counted when it is first needed. */
      get model() {
        this.models[this.unit] ??= new Model(new Counts(this.texts.map(CUTS[this.unit]), Math.max(...this.data.orders)));
        return this.models[this.unit];
      }

      /** Continue the prompt, each time with other random numbers. */
      sample() {
        const { counts } = this.model;
        const random = uniform((this.presses += 1));
        const prompt = CUTS[this.unit](this.field.value);
        this.shown = prompt;
        this.ids = [0, ...prompt.map((token) => counts.ids.get(token) ?? -1)];
        this.n_given = this.ids.length;
        let isStuck = false;
        while (this.ids.length < this.n_given + LENGTH[this.unit]) {
          const predicted = this.model.predict(this.ids, this.order, this.method);
          isStuck = predicted.isStuck;
          if (isStuck) break;
          let left = random();
          let drawn = predicted.probs.findIndex((p) => (left -= p) < 0);
          if (drawn < 0) drawn = predicted.probs.findLastIndex((p) => p > 0); // rounding left a rest
          this.ids.push(drawn);
          if (drawn === 0) break;
        }
        this.draw(isStuck);
      }

      draw(isStuck) {
        const { counts } = this.model;
        const names = [...this.shown, ...this.ids.slice(this.n_given).map((id) => counts.tokens[id])];
        this.written.replaceChildren(
          ...names.map((name, i) =>
            h("button", { type: "button", class: "lm-token", "data-given": i < this.n_given - 1, tabindex: "-1", click: () => this.select(i) }, showWhitespace(name)),
          ),
        );
        this.select(Math.min(this.n_given - 1, names.length - 1));
        const what = `Order ${this.order}, ${this.method}: `;
        if (isStuck) return this.say(`${what}stuck. What the model sees was never followed by anything in the text, so every token has probability 0.`);
        const copied = counts.longestCopy(this.ids.slice(1).filter((id) => id > 0));
        this.say(`${what}${names.length - this.n_given + 1} ${this.unit} drawn. The longest passage copied from the counted text has ${copied} ${this.unit}.`);
      }

      /** Show the distribution of token i. */
      select(i) {
        this.selected = i;
        [...this.written.children].forEach((button, k) => {
          button.tabIndex = k === i ? 0 : -1;
          button.setAttribute("aria-pressed", String(k === i));
        });
        if (i < 0) return this.panel.replaceChildren();
        const { tokens } = this.model.counts;
        const chosen = this.ids[i + 1];
        const { probs, history, seen, total } = this.model.predict(this.ids.slice(0, i + 1), this.order, this.method);
        const write = (ids) => `“${ids.map((id) => showWhitespace(tokens[id])).join(this.unit === "words" ? " " : "")}”`;
        const name = history.length ? write(history) : "nothing";
        const often = history.length ? `It occurs ${total.toLocaleString("en-US")} ${total === 1 ? "time" : "times"} with something after it.` : "";
        const shorter = history.length > seen.length ? ` Only ${seen.length ? write(seen) : "the shortest history, nothing,"} was seen.` : "";
        const best = [...probs.keys()].sort((a, b) => probs[b] - probs[a]).slice(0, MOST_BARS);
        if (chosen >= 0 && !best.includes(chosen)) best[MOST_BARS - 1] = chosen;
        const mark = i < this.n_given - 1 ? "given" : "drawn";
        const rows = best.filter((id) => probs[id] > 0 || id === chosen).map((id) => ({ label: showWhitespace(tokens[id]), value: probs[id], mark: id === chosen ? mark : "" }));
        const rest = 1 - rows.reduce((sum, row) => sum + row.value, 0);
        if (rest > 1e-9 && (total > 0 || this.method !== "none")) rows.push({ label: "all others", value: rest, mark: "" });
        const unknown = chosen < 0 ? ` “${showWhitespace(this.shown[i])}” does not occur in the counted text.` : "";
        this.panel.replaceChildren(h("p", {}, "What may follow ", h("strong", {}, name), `? ${often}${shorter}${unknown}`), bars(rows));
      }
    },
  );
})();
