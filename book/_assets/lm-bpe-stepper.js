/* Byte-pair encoding of the reader's own line, one merge at a time: replayed or learned afresh. */
(() => {
  "use strict";
  const { h, choices, showWhitespace } = lm;
  const SEPARATOR = "\u0100"; // no byte
  const REPLAY = "learned from the corpus", LEARN = "learned from this line";
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  /** A token is a string with one character for each byte; here as a reader sees it. */
  function shown(token) {
    const bytes = Uint8Array.from(token, (c) => c.charCodeAt(0));
    try {
      return showWhitespace(utf8.decode(bytes));
    } catch {
      return Array.from(bytes, (b) => (b < 128 ? showWhitespace(String.fromCharCode(b)) : `\\x${b.toString(16)}`)).join("");
    }
  }

  /** Replace every occurrence of a pair in a word by one token, from left to right. */
  function merge(word, [first, second]) {
    const out = [];
    for (let i = 0; i < word.length; i += 1) {
      const hit = word[i] === first && word[i + 1] === second;
      out.push(hit ? first + second : word[i]);
      if (hit) i += 1;
    }
    return out;
  }

  function* pairs(words) {
    for (const word of words) for (let i = 1; i < word.length; i += 1) yield [word[i - 1], word[i]];
  }

  customElements.define(
    "lm-bpe-stepper",
    class extends lm.Element {
      build() {
        const { merges, text } = this.data;
        const tokens = Array.from({ length: 256 }, (_, b) => String.fromCharCode(b));
        const known = new Set(tokens);
        this.ranks = new Map();
        merges.forEach(([a, b], rank) => {
          const made = tokens[a] + tokens[b];
          this.ranks.set(tokens[a] + SEPARATOR + tokens[b], rank);
          if (!known.has(made)) tokens.push(made);
          known.add(made);
        });
        this.mode = REPLAY;
        this.field = h("input", { type: "text", maxlength: "160", value: text, spellcheck: "false", autocomplete: "off", input: () => this.restart(Infinity) });
        this.slider = h("input", { type: "range", min: "0", "aria-label": "Merges done", input: () => this.show(Number(this.slider.value)) });
        this.pieces = h("ol", { class: "lm-pieces" });
        this.note = h("p", { class: "lm-merge" });
        this.stage.append(
          h("label", { class: "lm-field lm-line" }, "Your line", this.field),
          h(
            "div",
            { class: "lm-controls" },
            choices("Merges", [REPLAY, LEARN], REPLAY, (mode) => {
              this.mode = mode;
              this.restart(mode === REPLAY ? Infinity : 0);
            }),
            h("div", { class: "lm-steps" }, this.button("Undo", -1), this.button("Merge", 1), this.slider),
          ),
          this.note,
          this.pieces,
        );
        this.restart(this.data.merged);
      }

      button(label, change) {
        return h("button", { type: "button", class: "lm-button", click: () => this.show(this.step + change) }, label);
      }

      /** Cut and merge the line as it now is, and show it after so many merges. */
      restart(step) {
        const cuts = this.field.value.match(new RegExp(this.data.pattern, "gu")) ?? [];
        const words = cuts.map((cut) => Array.from(new TextEncoder().encode(cut), (b) => String.fromCharCode(b)));
        this.n_bytes = words.flat().length;
        this.steps = [{ words }];
        const choose = this.mode === REPLAY ? (now) => this.lowestRank(now) : this.mostFrequent();
        for (;;) {
          const now = this.steps.at(-1).words;
          const next = choose(now);
          if (!next) break;
          this.steps.push({ ...next, words: now.map((word) => merge(word, next.pair)) });
        }
        this.slider.max = String(this.steps.length - 1);
        this.show(step);
      }

      /** Encoding: of the known pairs in the line, the one that was learned first. */
      lowestRank(words) {
        let best = null;
        for (const pair of pairs(words)) {
          const rank = this.ranks.get(pair.join(SEPARATOR));
          if (rank !== undefined && (best === null || rank < best.rank)) best = { pair, rank, why: `merge number ${rank + 1} of the corpus` };
        }
        return best;
      }

      /** Training: the most frequent pair; of equals, the one whose parts are older. */
      mostFrequent() {
        const age = new Map(Array.from({ length: 256 }, (_, b) => [String.fromCharCode(b), b]));
        return (words) => {
          const counts = new Map();
          for (const pair of pairs(words)) {
            const name = pair.join(SEPARATOR);
            counts.set(name, { pair, count: (counts.get(name)?.count ?? 0) + 1 });
          }
          const order = (a, b) => b.count - a.count || age.get(a.pair[0]) - age.get(b.pair[0]) || age.get(a.pair[1]) - age.get(b.pair[1]);
          const [best] = [...counts.values()].sort(order);
          if (!best || best.count < 2) return null;
          const made = best.pair.join("");
          if (!age.has(made)) age.set(made, age.size);
          return { ...best, why: `a pair seen ${best.count} times here` };
        };
      }

      show(step) {
        const last = this.steps.length - 1;
        this.step = Math.max(0, Math.min(step, last));
        this.slider.value = String(this.step);
        const { words, pair, why } = this.steps[this.step];
        const made = pair?.join("");
        this.note.textContent = pair
          ? `Merge ${this.step} of ${last}: “${shown(pair[0])}” + “${shown(pair[1])}” → “${shown(made)}”, ${why}.`
          : `No merge yet: ${last ? `${last} to come.` : "no pair to merge."}`;
        this.pieces.replaceChildren(
          ...words.flatMap((word) =>
            word.map((token, i) => h("li", { "data-cut": i === 0, "data-new": token === made }, shown(token))),
          ),
        );
        const n = words.flat().length;
        this.say(n ? `${n} tokens for ${this.n_bytes} bytes: ${(this.n_bytes / n).toFixed(2)} bytes a token.` : "Type a line.");
      }
    },
  );
})();
