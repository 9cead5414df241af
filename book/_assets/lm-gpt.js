/* The GPT goes on from the reader's prompt, token by token: see what each was drawn from, and turn the knobs meanwhile. */
(() => {
  "use strict";
  const { h, bars, showWhitespace } = lm;
  const N_TOKENS = 100; // at most, each time
  const N_CANDIDATES = 10;
  const IDLE = "idle", RUNNING = "running", STOPPING = "stopping";
  const TOP_KS = [1, 2, 5, 10, 20, 40, 100, 1000, Infinity];
  const KNOBS = {
    temperature: { name: "Temperature", min: 0, max: 2, step: 0.05, value: (x) => x, show: (x) => (x ? x.toFixed(2) : "0, greedy") },
    top_k: { name: "Top-k", min: 0, max: TOP_KS.length - 1, step: 1, value: (x) => TOP_KS[x], show: (k) => (k === Infinity ? "all" : String(k)) },
    top_p: { name: "Top-p", min: 0.05, max: 1, step: 0.05, value: (x) => x, show: (p) => p.toFixed(2) },
  };

  class Completer extends lm.ModelElement {
    static n_tokens = N_TOKENS;
    verb = "Continue";

    build() {
      const { prompt, tokens, candidates, settings } = this.data;
      this.settings = { ...settings };
      this.state = IDLE;
      this.field = h("textarea", { rows: "2", spellcheck: "false" }, prompt);
      this.button = h("button", { class: "lm-button" }, this.verb);
      this.written = h("div", { class: "lm-tokens", role: "group", "aria-label": "What the model wrote", keydown: (event) => this.step(event, this.written.children, this.selected, (i) => this.select(i)) });
      this.beginning = h("p", {});
      this.panel = h("div", { class: "lm-panel" });
      this.speed = h("p", { class: "lm-hint lm-speed" });
      this.note = h("p", { class: "lm-hint lm-note" });
      this.stage.append(
        this.question("Your prompt", this.field, this.button, () => this.press()),
        h("div", { class: "lm-controls" }, ...Object.keys(KNOBS).map((name) => this.knob(name))),
        this.beginning,
        this.written,
        this.speed,
        this.panel,
        this.note,
      );
      // What was drawn when the page was made, with the ten candidates of each step instead of all logits.
      this.begin(prompt);
      tokens.forEach((token, i) => this.append({ token, candidates: candidates[i] }));
      this.select(tokens.length - 1);
      const drawn = Object.entries(KNOBS).map(([name, { name: label, show }]) => `${label.toLowerCase()} ${show(settings[name])}`);
      this.note.textContent = `This was drawn when the page was made (${drawn.join(", ")}). “Continue” fetches the model and goes on from your prompt; from then on the knobs act at once.`;
    }

    /** A slider whose value counts from the next token on, and for the bars at once. */
    knob(name) {
      const { name: label, min, max, step, value, show } = KNOBS[name];
      const text = h("span", {});
      const slider = h("input", { type: "range", min, max, step, input: () => turn(value(Number(slider.value))) });
      const place = name === "top_k" ? TOP_KS.findIndex((k) => k >= this.settings.top_k) : this.settings[name];
      slider.value = String(place);
      this.sliders = { ...this.sliders, [name]: slider };
      const turn = (setting) => {
        this.settings[name] = setting;
        text.textContent = `${label} ${show(setting)}`;
        slider.setAttribute("aria-valuetext", show(setting));
        if (this.steps) this.select(this.selected);
      };
      turn(value(Number(slider.value)));
      return h("label", { class: "lm-knob" }, text, slider);
    }

    press() {
      if (this.state !== IDLE) this.state = STOPPING; // the loop sees it after the token that it is at
      else if (!this.field.value.trim()) this.say("The prompt is empty: type a word or two.");
      else this.run(this.field.value);
    }

    async run(prompt) {
      this.state = RUNNING;
      this.button.textContent = "Stop";
      try {
        const model = await this.chosen();
        if (this.state === RUNNING) await this.write(model, prompt);
      } catch (error) {
        this.fail(error);
      }
      this.state = IDLE;
      this.button.textContent = this.verb;
    }

    /** The model that goes on. */
    chosen() {
      return this.fetch(this.data.model);
    }

    /** What it reads first: the end of a prompt that is too long. */
    given(model, prompt) {
      const room = model.context_length - N_TOKENS - model.first.length;
      const { ids, notes } = lm.readText(model, model.tokenizer.encode(prompt), { room, keep: "last" });
      return { ids: [...model.first, ...ids], prompt: model.tokenizer.decode(ids), notes };
    }

    /** The logits of the token after some others. */
    next(model, ids) {
      return model.ask("nextLogits", ids);
    }

    /** Draw token after token until the reader stops it, the text ends, or there are enough. */
    async write(model, prompt) {
      const { tokenizer, ends } = model, { ids, prompt: read, notes } = this.given(model, prompt);
      this.begin(read);
      this.note.textContent = notes.join(" ");
      const start = performance.now();
      const isAtEnd = () => this.steps.length > 0 && ends.includes(ids.at(-1));
      for (let coming = this.next(model, ids); coming !== null; ) {
        const logits = await coming;
        if (!logits) break; // stopped before all was read
        const id = lm.draw(lm.distribution(logits, this.settings));
        ids.push(id);
        const goes_on = this.state === RUNNING && this.steps.length + 1 < N_TOKENS && !ends.includes(id);
        coming = goes_on ? this.next(model, ids) : null; // the worker computes while the page shows
        this.append({ token: tokenizer.show(id), id, logits, tokenizer });
        this.select(this.steps.length - 1);
        const seconds = (performance.now() - start) / 1000;
        this.speed.textContent = `${this.steps.length} tokens, ${(this.steps.length / seconds).toFixed(0)} tokens per second`;
      }
      const why = isAtEnd() ? "Here the model ended its text." : this.state === RUNNING ? `${N_TOKENS} tokens are enough for once.` : "Stopped.";
      const text = tokenizer.decode(this.steps.map(({ id }) => id));
      this.say(`“${text.trim()}” ${why}`);
      return text;
    }

    /** Forget what was written and begin anew. */
    begin(prompt) {
      this.prompt = prompt;
      this.steps = [];
      this.selected = 0;
      this.written.replaceChildren();
      this.speed.textContent = "";
      this.beginning.replaceChildren("After ", h("strong", {}, `“${prompt}”`), " the model wrote:");
    }

    append(step) {
      const i = this.steps.length;
      this.steps.push(step);
      this.written.append(h("button", { type: "button", class: "lm-token", tabindex: "-1", "aria-pressed": "false", click: () => this.select(i) }, showWhitespace(step.token)));
    }

    /** The most probable tokens of a step, under the settings as they are now, and the one that was drawn. */
    candidates({ id, token, logits, candidates, tokenizer }) {
      if (!logits) return candidates.map(([label, value]) => ({ label: showWhitespace(label), value, mark: label === token ? "drawn" : "" }));
      const probs = lm.distribution(logits, this.settings);
      // Ranked by the logits, so that what the settings cut off stays in sight, with probability 0.
      const likeliest = lm.mostProbable(logits, N_CANDIDATES);
      if (!likeliest.includes(id)) likeliest[N_CANDIDATES - 1] = id;
      return likeliest.map((other) => ({ label: showWhitespace(tokenizer.show(other)), value: probs[other], mark: other === id ? "drawn" : "" }));
    }

    /** Show what step i was drawn from. */
    select(i) {
      if (!this.steps[i]) return;
      const buttons = this.written.children;
      for (const [k, is_chosen] of [[this.selected, false], [i, true]]) {
        buttons[k].tabIndex = is_chosen ? 0 : -1;
        buttons[k].setAttribute("aria-pressed", String(is_chosen));
      }
      this.selected = i;
      const before = this.steps.slice(Math.max(0, i - 4), i).map((step) => step.token).join("");
      const history = i > 4 ? `… ${before.trim()}` : this.prompt.slice(-40) + before;
      this.panel.replaceChildren(h("p", {}, "Most probable after ", h("strong", {}, `“${history}”`)), bars(this.candidates(this.steps[i])));
    }
  }

  customElements.define("lm-gpt", Completer);
  lm.Completer = Completer; // what a published model in the page builds on
})();
