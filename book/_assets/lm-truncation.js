/* What temperature, top-k, top-p and min-p cut off: a GPT's distribution over the next token, ranked, under four sliders. */
(() => {
  "use strict";
  const { h, svg, choices, bars, showWhitespace, probability } = lm;
  const WIDTH = 430, HEIGHT = 270, LEFT = 12, RIGHT = 12, TOP = 58, BOTTOM = 232;
  const LEAST = 1e-6; // the lower edge of the plot
  const RULES = { top_k: "top-k", top_p: "top-p", min_p: "min-p" };
  const CLASSES = { top_k: "lm-first", top_p: "lm-chosen", min_p: "lm-third" };
  const TOP_KS = [1, 2, 3, 5, 10, 20, 40, 100, 300, 1000, Infinity];
  const MIN_PS = [0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
  const KNOBS = {
    temperature: { name: "Temperature", values: null, min: 0.1, max: 2, step: 0.05, show: (x) => x.toFixed(2) },
    top_k: { name: "Top-k", values: TOP_KS, show: (k) => (k === Infinity ? "off" : String(k)) },
    top_p: { name: "Top-p", values: null, min: 0.05, max: 1, step: 0.01, show: (p) => (p === 1 ? "off" : p.toFixed(2)) },
    min_p: { name: "Min-p", values: MIN_PS, show: (p) => (p === 0 ? "off" : String(p)) },
  };

  customElements.define(
    "lm-truncation",
    class extends lm.ModelElement {
      build() {
        const { cases, settings } = this.data;
        this.settings = { ...settings };
        this.cases = cases.map(({ prompt, drops, tokens }) => ({ prompt, tokens, logits: this.ranked(drops) }));
        this.field = h("input", { type: "text", spellcheck: "false", value: cases[0].prompt });
        this.button = h("button", { class: "lm-button" }, "Ask the model");
        this.plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lm-plot", "aria-hidden": "true" });
        this.panel = h("div", { class: "lm-panel" });
        this.note = h("p", { class: "lm-hint" });
        this.stage.append(
          choices("After", cases.map(({ prompt }) => prompt), cases[0].prompt, (prompt) => this.choose(prompt)),
          this.question("or a beginning of your own", this.field, this.button, () => this.ask()),
          h("div", { class: "lm-controls" }, ...Object.keys(KNOBS).map((name) => this.knob(name))),
          this.plot,
          this.panel,
          this.note,
        );
        this.choose(cases[0].prompt);
      }

      /** Logits from the highest to the lowest, the highest 0, from their differences in hundredths. */
      ranked(drops) {
        let logit = 0;
        return Float64Array.from([0, ...drops], (drop) => (logit -= drop / 100));
      }

      knob(name) {
        const { name: label, values, min, max, step, show } = KNOBS[name];
        const text = h("span", {});
        const range = values ? { min: 0, max: values.length - 1, step: 1 } : { min, max, step };
        const slider = h("input", { type: "range", ...range, input: () => turn() });
        slider.value = values ? values.indexOf(this.settings[name]) : this.settings[name];
        const turn = () => {
          const setting = values ? values[slider.value] : Number(slider.value);
          this.settings[name] = setting;
          text.textContent = `${label} ${show(setting)}`;
          slider.setAttribute("aria-valuetext", show(setting));
          if (this.current) this.draw();
        };
        turn();
        return h("label", { class: "lm-knob" }, text, slider);
      }

      choose(prompt) {
        this.current = this.cases.find((one) => one.prompt === prompt);
        this.field.value = prompt;
        this.note.textContent = "";
        this.draw();
      }

      async ask() {
        const prompt = this.field.value;
        if (!prompt.trim()) {
          this.say("The prompt is empty: type a word or two.");
          return;
        }
        try {
          const model = await this.fetch(this.data.model), { tokenizer } = model;
          const { ids, notes } = lm.readText(model, tokenizer.encode(prompt), { room: model.context_length - 1, keep: "last" });
          const logits = await model.ask("nextLogits", [tokenizer.special["<eos>"], ...ids]);
          const order = lm.mostProbable(logits, this.data.shown);
          this.current = { prompt, tokens: order.map((id) => tokenizer.show(id)), logits: Float64Array.from(logits).sort().reverse() };
          for (const radio of this.stage.querySelectorAll("input[type=radio]")) radio.checked = radio.value === prompt;
          this.note.textContent = notes.join(" ");
          this.draw();
        } catch (error) {
          this.fail(error);
        }
      }

      /** How many tokens each rule alone would leave, and what is left by all of them. */
      cut() {
        const { logits } = this.current, { temperature } = this.settings;
        const before = lm.distribution(logits, { temperature }), after = lm.distribution(logits, this.settings);
        const n_kept = (probs) => probs.reduce((n, p) => n + (p > 0), 0);
        const alone = {};
        for (const rule of Object.keys(RULES)) alone[rule] = n_kept(lm.distribution(logits, { temperature, [rule]: this.settings[rule] }));
        return { before, after, alone, n: n_kept(after) };
      }

      draw() {
        const { before, after, alone, n } = this.cut();
        const { prompt, tokens } = this.current, V = before.length;
        const x = (rank) => LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(rank)) / Math.log(V);
        const y = (p) => TOP + ((BOTTOM - TOP) * Math.log(Math.max(p, LEAST))) / Math.log(LEAST);
        const ranks = [...new Set(Array.from({ length: 400 }, (_, i) => Math.round(V ** (i / 399))))];
        const line = (upto, css) => svg("polyline", { points: ranks.filter((rank) => rank <= upto).map((rank) => `${x(rank).toFixed(1)},${y(before[rank - 1]).toFixed(1)}`).join(" "), class: css });
        const cuts = Object.keys(RULES).filter((rule) => alone[rule] < V);
        // A line must not cross the label of another: labels to the left of their lines stand on top, then
        // those of the lines furthest to the left.
        const is_right = (rule) => x(alone[rule]) > WIDTH - 140;
        const above = (a, b) => is_right(b) - is_right(a) || (is_right(a) ? alone[b] - alone[a] : alone[a] - alone[b]);
        this.plot.replaceChildren(
          ...[1, 10, 100, 1000].map((rank) => svg("line", { x1: x(rank), x2: x(rank), y1: TOP, y2: BOTTOM, class: "lm-grid" })),
          ...[1, 10, 100, 1000].map((rank) => svg("text", { x: x(rank), y: BOTTOM + 18, "text-anchor": rank === 1 ? "start" : "middle" }, String(rank))),
          svg("text", { x: WIDTH - RIGHT, y: BOTTOM + 34, "text-anchor": "end" }, "rank of the token"),
          ...[1, 1e-3].map((p) => svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(p), y2: y(p), class: "lm-grid" })),
          svg("text", { x: WIDTH - RIGHT, y: y(1e-3) - 5, "text-anchor": "end" }, "0.001"),
          svg("text", { x: WIDTH - RIGHT, y: y(1) + 14, "text-anchor": "end" }, "probability 1"),
          line(V, ""),
          line(n, "lm-kept"),
          ...cuts.sort(above).flatMap((rule, row) => {
            const at = x(alone[rule] + 0.5), high = 14 + 17 * row, flips = is_right(rule);
            return [
              svg("line", { x1: at, x2: at, y1: high + 3, y2: BOTTOM, class: CLASSES[rule] }),
              svg("text", { x: at + (flips ? -5 : 5), y: high, "text-anchor": flips ? "end" : "start", class: CLASSES[rule] }, `${RULES[rule]} leaves ${alone[rule].toLocaleString("en")}`),
            ];
          }),
        );
        const rows = tokens.map((token, i) => ({ label: showWhitespace(token), value: after[i], mark: after[i] > 0 ? "kept" : "" }));
        this.panel.replaceChildren(h("p", {}, "What is drawn from after ", h("strong", {}, `“${prompt}”`)), bars(rows));
        const mass = before.slice(0, n).reduce((sum, p) => sum + p, 0);
        const binding = cuts.filter((rule) => alone[rule] === n).map((rule) => RULES[rule]).join(" and ");
        const who = binding ? ` The cut is that of ${binding}.` : n < V ? " Two rules cut together." : " Nothing is cut off.";
        this.say(`${n.toLocaleString("en")} of ${V.toLocaleString("en")} tokens may be drawn; they had ${probability(mass)} of the probability at temperature ${this.settings.temperature.toFixed(2)}.${who}`);
      }
    },
  );
})();
