/* Shannon's guessing game (1951): the reader guesses a text letter by letter, against a model. */
(() => {
  "use strict";
  const { h, showWhitespace } = lm;

  /** Shannon's bounds on the entropy, in bits per letter, from the number of guesses for each letter.

      With q_i the share of letters found at guess i: the entropy of q is the upper bound, and
      sum i (q_i - q_{i+1}) log2 i the lower one. An ideal guesser's q never rises,
      so the shares are sorted first. */
  function shannonBounds(guesses) {
    const counts = new Map();
    for (const n of guesses) counts.set(n, (counts.get(n) ?? 0) + 1);
    const q = [...counts.values()].sort((a, b) => b - a).map((n) => n / guesses.length);
    const upper = q.reduce((sum, share) => sum - share * Math.log2(share), 0);
    const lower = q.reduce(
      (sum, share, i) => sum + (i + 1) * (share - (q[i + 1] ?? 0)) * Math.log2(i + 1),
      0,
    );
    return { lower, upper };
  }

  class GuessLetter extends lm.Element {
    build() {
      this.strip = h("p", { class: "lm-strip" });
      this.input = h("input", {
        type: "text",
        maxlength: 1,
        size: 2,
        autocomplete: "off",
        autocapitalize: "none",
        spellcheck: "false",
        input: () => {
          const letter = this.input.value;
          this.input.value = "";
          if (letter) this.guess(letter);
        },
      });
      this.keys = h("div", { class: "lm-keys" });
      this.score = h("dl", { class: "lm-score" });
      this.stage.append(
        h("p", { class: "lm-hint" }, "The bar over a letter is the model’s surprise: its bits, −log₂ of the probability it gave."),
        this.strip,
        h("label", { class: "lm-field" }, "Next letter (␣ is a space): ", this.input),
        this.keys,
        this.score,
        h("button", { type: "button", class: "lm-button", click: () => this.restart() }, "Start again"),
      );
      this.restart();
    }

    restart() {
      this.position = this.data.shown;
      this.guesses = [];
      this.tried = new Set();
      this.draw();
      this.say("Guess the next letter: type it or press it.");
    }

    /** Bits that the model spends on letters from..to. */
    modelBits(from, to) {
      const bits = this.data.probability.slice(from, to).map((p) => -Math.log2(p));
      return bits.reduce((sum, b) => sum + b, 0) / bits.length;
    }

    guess(letter) {
      const { text, alphabet, probability, rank } = this.data;
      if (this.position >= text.length) return;
      if (!alphabet.includes(letter)) letter = letter.toLowerCase();
      if (!alphabet.includes(letter)) return this.say(`“${letter}” does not occur in this text.`);
      if (this.tried.has(letter)) return this.say(`You have tried “${showWhitespace(letter)}” already.`);
      this.tried.add(letter);
      if (letter !== text[this.position]) {
        this.draw();
        return this.say(`Not “${showWhitespace(letter)}”. Guess again.`);
      }
      const n = this.tried.size;
      const at = this.position;
      this.guesses.push(n);
      this.tried = new Set();
      this.position += 1;
      this.draw();
      const end = this.position === text.length ? " That was the last letter." : "";
      this.say(
        `“${showWhitespace(letter)}” after ${n} ${n === 1 ? "guess" : "guesses"}. The model gave it ` +
          `probability ${lm.probability(probability[at])} and would have needed ${rank[at]}.${end}`,
      );
    }

    draw() {
      const { text, alphabet, probability, shown } = this.data;
      const letters = [...text].slice(0, this.position).map((letter, i) =>
        h("span", {
          class: i < shown ? "lm-letter" : "lm-letter lm-guessed",
          style: `--bits: ${Math.min(-Math.log2(probability[i]), 10).toFixed(2)}`,
        }, showWhitespace(letter)),
      );
      const cursor = this.position < text.length ? [h("span", { class: "lm-letter lm-cursor" }, "?")] : [];
      this.strip.replaceChildren(...letters, ...cursor);
      this.keys.replaceChildren(
        ...alphabet.map((letter) =>
          h("button", {
            type: "button",
            class: "lm-key",
            disabled: this.tried.has(letter) || this.position >= text.length,
            "aria-label": letter === " " ? "space" : letter === "\n" ? "line break" : null,
            click: () => {
              this.guess(letter);
              this.input.focus({ preventScroll: true });
            },
          }, showWhitespace(letter)),
        ),
      );
      this.drawScore();
    }

    drawScore() {
      const rows = [["model, on the letters given", `${this.modelBits(0, this.data.shown).toFixed(2)} bits per letter`]];
      if (this.guesses.length) {
        const { lower, upper } = shannonBounds(this.guesses);
        const n = this.guesses.length, k = new Set(this.guesses).size; // the first term of the bias: Miller 1955
        rows.push(
          ["model, on the letters you guessed", `${this.modelBits(this.data.shown, this.position).toFixed(2)} bits per letter`],
          [`you, from ${n} ${n === 1 ? "letter" : "letters"}`, `${lower.toFixed(2)} to ${upper.toFixed(2)} bits per letter`],
          ["too low, since so few letters were guessed, by", `${((k - 1) / (2 * n * Math.LN2)).toFixed(2)} bits or more`],
        );
      }
      this.score.replaceChildren(...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    }
  }

  GuessLetter.shannonBounds = shannonBounds;
  customElements.define("lm-guess-letter", GuessLetter);
})();
