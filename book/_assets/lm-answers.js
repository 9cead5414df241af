/* GPT chooses among the reader's answers: how probable it makes each, by three ways to compare them. */
(() => {
  "use strict";
  const { h } = lm;
  const WAYS = {
    "whole answer": { value: ({ nats }) => nats, unit: "nats" },
    "per token": { value: ({ nats, n_tokens }) => nats / n_tokens, unit: "nats per token" },
    "gain by the prompt": { value: ({ nats, prior }) => nats - prior, unit: "nats more than without the prompt" },
  };

  customElements.define(
    "lm-answers",
    class extends lm.ModelElement {
      build() {
        const { prompt, scores } = this.data;
        this.way = "whole answer";
        this.prompt = h("textarea", { rows: "2", spellcheck: "false" }, prompt);
        this.answers = h("textarea", { rows: String(scores.length), spellcheck: "false" }, scores.map(({ answer }) => answer).join("\n"));
        this.panel = h("div", { class: "lm-panel" });
        this.note = h("p", { class: "lm-hint lm-note" });
        this.stage.append(
          h("label", { class: "lm-field lm-line" }, "Your prompt", this.prompt),
          this.question("Answers, one on each line", this.answers, h("button", { class: "lm-button" }, "Choose"), () => this.ask()),
          lm.choices("Compare by", Object.keys(WAYS), this.way, (way) => this.compare(way)),
          this.panel,
          this.note,
        );
        this.show(scores, []);
      }

      async ask() {
        const { most_answers, model: name } = this.data;
        const prompt = this.prompt.value.trim();
        const answers = this.answers.value.split("\n").map((line) => line.trim()).filter(Boolean);
        if (!prompt) return this.say("The prompt is empty: type a question or a beginning.");
        if (answers.length < 2 || answers.length > most_answers) return this.say(`There are ${answers.length} answers: type 2 to ${most_answers}, one on each line.`);
        if (new Set(answers).size < answers.length) return this.say("An answer stands there twice: the answers must differ.");
        try {
          const model = await this.fetch(name), { tokenizer } = model;
          const ids = answers.map((answer) => tokenizer.encode(` ${answer}`));
          const longest = Math.max(...ids.map((row) => row.length));
          if (longest > model.context_length / 2) throw new Error(`an answer has ${longest} tokens; there is room for ${model.context_length / 2}`);
          const read = lm.readText(model, tokenizer.encode(prompt), { room: model.context_length - longest, keep: "last" });
          const scores = [];
          for (const [n, row] of ids.entries()) {
            this.say(`Scoring answer ${n + 1} of ${ids.length} …`);
            scores.push({ answer: answers[n], n_tokens: row.length, nats: await this.nats(model, read.ids, row), prior: await this.nats(model, [], row) });
          }
          this.show(scores, read.notes);
        } catch (error) {
          this.fail(error);
        }
      }

      /** The log-probability of an answer after what stands before it. */
      async nats(model, before, answer) {
        const ids = [model.tokenizer.special["<eos>"], ...before, ...answer];
        const places = answer.map((_, i) => before.length + i); // logits at a place are of the token after it
        const rows = await model.ask("logits", ids.slice(0, -1), places);
        return rows.reduce((sum, logits, i) => sum + Math.log(lm.distribution(logits)[answer[i]]), 0);
      }

      compare(way) {
        this.way = way;
        this.show(this.scores, this.notes);
      }

      /** Show the scores as shares of what the answers have together, the best marked. */
      show(scores, notes) {
        Object.assign(this, { scores, notes });
        const { value, unit } = WAYS[this.way];
        const values = scores.map(value), best = Math.max(...values);
        const shares = values.map((v) => Math.exp(v - best)), total = shares.reduce((a, b) => a + b);
        const chosen = values.indexOf(best);
        this.panel.replaceChildren(
          h("p", {}, "Share of each answer, if one of them must be right"),
          lm.bars(scores.map(({ answer }, n) => ({ label: answer, value: shares[n] / total, mark: n === chosen ? "chosen" : "" }))),
        );
        this.note.textContent = notes.join(" ");
        this.say(`Compared by ${this.way}, it chooses “${scores[chosen].answer}”: ${best.toFixed(2)} ${unit}.`);
      }
    },
  );
})();
