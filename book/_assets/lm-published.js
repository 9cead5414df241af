/* The figure of lm-gpt.js with a second model to choose, which others trained and the reader opens: from a file of
   this book's own folder, or from one on the reader's disk. It goes on with a text, or answers in a chat. */
(() => {
  "use strict";
  const { h, choices } = lm;
  const GOES_ON = "goes on with your text", CHATS = "answers you in a chat";
  const KNOBS = { [CHATS]: { temperature: 0.2, top_p: 0.9 } }; // as in the terminal
  const MOST_SHOWN = 64; // tokens whose attention is shown
  const PIECE = 32; // tokens of a long text that are read between two looks at the button

  customElements.define(
    "lm-published",
    class extends lm.Completer {
      build() {
        super.build();
        const { model: own, published, megabytes } = this.data;
        this.own = own;
        this.selected_model = own;
        this.mode = GOES_ON;
        this.messages = [];
        this.n_left_out = 0; // of the oldest messages: what did not fit before will not fit again
        const names = { [`${own}, ${megabytes[own]} MB`]: own, [`${published.title}, ${published.megabytes} MB`]: published.name };
        this.modes = choices("What it does", [GOES_ON, CHATS], GOES_ON, (mode) => this.choose({ mode }));
        this.said = h("ol", { class: "lm-talk", "aria-label": "What was said so far" });
        this.anew = h("button", { type: "button", class: "lm-button", click: () => this.forget() }, "New conversation");
        this.opener = this.buildOpener(published);
        this.told = h("p", { class: "lm-status", role: "status" });
        this.heads = h("div", {}, h("button", { type: "button", class: "lm-button", click: () => this.attend() }, "Show where its heads look"));
        this.looks = h("div", { class: "lm-looks" });
        this.heads.append(this.looks);
        this.stage.prepend(
          h("div", { class: "lm-controls" }, choices("Model", Object.keys(names), Object.keys(names)[0], (name) => this.choose({ model: names[name] })), this.modes),
          this.opener,
          this.told,
          this.said,
          this.anew,
        );
        this.panel.after(this.heads);
        this.choose({});
      }

      /** How the reader opens the file. */
      buildOpener({ title, file, memory, licence }) {
        this.fetcher = h("button", { type: "button", class: "lm-button", click: () => this.open({ url: new URL(file, lm.MODELS).href, size: this.data.published.size }) }, "Fetch it from this book");
        this.chooser = h("input", { type: "file", accept: ".gguf", change: () => { if (this.chooser.files[0]) this.open({ file: this.chooser.files[0] }); } });
        this.progress = h("progress", { "aria-label": `How much of ${title} has been read` });
        this.progress.hidden = true;
        this.anyway = h("button", { type: "button", class: "lm-button", click: () => this.accept(this.doubtful) }, "Use it anyway");
        this.anyway.hidden = true;
        this.fetcher.hidden = location.protocol === "file:"; // from disk, a page may not fetch
        return h(
          "div",
          { class: "lm-open" },
          h("p", {}, `${title} is one file, ${file}, which the page opens once and sends nowhere. It takes about ${memory} MB of memory until you leave the page. `, h("code", {}, "make published"), " puts it beside this book; a reader without it may choose it from a disk. ", `${licence}.`),
          h("div", { class: "lm-controls" }, this.fetcher, h("label", { class: "lm-field" }, "Choose the file", this.chooser), this.anyway),
          this.progress,
        );
      }

      /** Another model or another use of it. */
      choose({ model = this.selected_model, mode = this.mode }) {
        if (this.state !== "idle") this.state = "stopping";
        if (model === this.own) mode = GOES_ON;
        if (mode !== this.mode) this.turn({ ...this.data.settings, ...KNOBS[mode] });
        Object.assign(this, { selected_model: model, mode });
        const is_own = model === this.own, is_chat = mode === CHATS;
        this.opener.hidden = is_own || Boolean(this.opened);
        this.modes.hidden = is_own || !this.opened || this.opened.system === null;
        this.modes.querySelectorAll("input").forEach((input) => { input.checked = input.value === mode; });
        this.said.hidden = this.anew.hidden = !is_chat;
        this.verb = is_chat ? "Send" : "Continue";
        if (this.state === "idle") this.button.textContent = this.verb;
        this.field.previousSibling.textContent = is_chat ? "Your message" : "Your prompt";
        this.heads.hidden = is_own || !this.opened;
        if (is_own) return this.tell("");
        if (!lm.hasSIMD()) {
          this.fetcher.disabled = this.chooser.disabled = true;
          this.tell(`This browser's WebAssembly has no SIMD, the instructions that multiply several numbers at once, and ${this.data.published.title} needs them. ${this.own} runs without.`);
        } else if (!this.opened) this.tell(`${this.data.published.title} is not open yet.`);
      }

      /** What concerns the file is said beside it, not below the text. */
      tell(text) {
        this.told.textContent = text;
      }

      /** Set knobs as if the reader had. */
      turn(settings) {
        for (const name of ["temperature", "top_p"]) {
          this.sliders[name].value = String(settings[name]);
          this.sliders[name].dispatchEvent(new Event("input"));
        }
      }

      async open(source) {
        const { published } = this.data;
        this.anyway.hidden = true;
        this.doubtful?.worker.terminate();
        this.doubtful = null;
        this.fetcher.disabled = this.chooser.disabled = true;
        this.progress.hidden = false;
        this.progress.removeAttribute("value");
        this.tell(`Reading ${source.file?.name ?? published.file} …`);
        try {
          const model = await lm.openPublished(published.name, source, ({ n, of }) => {
            this.progress.value = n / of;
          });
          if (model.sha256 === published.sha256) this.accept(model);
          else this.doubt(model);
        } catch (error) {
          this.tell(`That did not work: ${error.message}. ${source.file ? "" : "Choose the file from your disk, or run “make published” where the book was built. "}${this.own} is still here.`);
        }
        this.fetcher.disabled = this.chooser.disabled = false;
        this.progress.hidden = true;
        this.chooser.value = ""; // so that the same file can be chosen again
      }

      /** A model that works but is not known to be the published one: the reader decides. */
      doubt(model) {
        const { sha256, title } = this.data.published;
        this.doubtful = model;
        this.anyway.hidden = false;
        this.tell(
          model.sha256 === null
            ? `This browser checks no SHA-256 on pages that came over http from another machine, so this may not be ${title}. Its structure fits.`
            : `This is not the published ${title}: the file's SHA-256 is ${model.sha256}, and it should be ${sha256}. Its structure fits.`,
        );
      }

      accept(model) {
        this.doubtful = null;
        this.anyway.hidden = true;
        Object.assign(this, { opened: model, n_left_out: 0 });
        lm.adopt(model);
        this.choose({});
        const chat = model.system === null ? " It brings no chat template that this page knows." : "";
        this.tell(`${this.data.published.title} is ready: ${model.megabytes.toFixed(0)} MB of memory hold its weights and the keys and values of ${model.context_length.toLocaleString("en")} tokens.${chat}`);
      }

      press() {
        if (this.state === "idle" && this.selected_model !== this.own && !this.opened) this.tell(`${this.data.published.title} is not open yet: fetch it, or choose its file.`);
        else super.press();
      }

      chosen() {
        return this.selected_model === this.own ? super.chosen() : this.opened;
      }

      /** In a chat: the conversation by the model's template, without its oldest part if it is too long. */
      given(model, prompt) {
        if (this.mode !== CHATS) return super.given(model, prompt);
        const room = model.context_length - lm.Completer.n_tokens, is_open = this.messages.at(-1)?.role === "user";
        const said = [...this.messages.slice(0, is_open ? -1 : undefined), { role: "user", content: prompt.trim() }];
        for (let { n_left_out } = this; n_left_out < said.length; n_left_out += 2) { // a question goes with its answer
          const ids = model.conversation(said.slice(n_left_out));
          if (ids.length > room) continue;
          Object.assign(this, { messages: said, n_left_out });
          const notes = n_left_out ? [`The ${n_left_out} oldest messages no longer fit: the model does not see them.`] : [];
          return { ids, prompt: prompt.trim(), notes };
        }
        throw new Error(`your message is longer than the ${room} tokens that there is room for`);
      }

      /** A long text is read piece by piece, and the reader can stop between two of them. */
      async next(model, ids) {
        if (model !== this.opened) return super.next(model, ids);
        const known = model.known ?? [];
        let n = 0;
        while (n < ids.length && ids[n] === known[n]) n += 1;
        for (n += PIECE; n < ids.length; n += PIECE) {
          if (this.state !== "running") return null;
          this.speed.textContent = `read ${n} of ${ids.length} tokens`;
          model.known = ids.slice(0, n);
          await model.ask("prepare", model.known);
        }
        this.read = model.known = [...ids];
        return super.next(model, ids);
      }

      async write(model, prompt) {
        this.looks.replaceChildren();
        const text = await super.write(model, prompt);
        if (this.messages.at(-1)?.role === "user") { // unless the reader has begun anew meanwhile
          this.messages.push({ role: "assistant", content: text });
          this.field.value = "";
          this.showSaid();
        }
        return text;
      }

      begin(prompt) {
        super.begin(prompt);
        if (this.mode !== CHATS) return;
        this.beginning.replaceChildren("To ", h("strong", {}, `“${prompt}”`), " the model answers:");
        this.showSaid();
      }

      showSaid() {
        const who = { user: "You", assistant: this.data.published.title };
        this.said.replaceChildren(...this.messages.map(({ role, content }) => h("li", {}, h("strong", {}, `${who[role]}: `), content)));
      }

      /** Where each head looks in what was read last. */
      async attend() {
        const model = this.opened;
        if (this.state !== "idle") return this.say("The model is writing: stop it first.");
        if (!this.read) return this.say("The model has read nothing yet: let it go on with a text.");
        const ids = (model.known = this.read.slice(0, MOST_SHOWN)), { tokenizer, n_layers, n_heads } = model;
        this.say(`Reading ${ids.length} tokens …`);
        try {
          const layers = await model.ask("attentionWeights", ids);
          const pick = (n) => h("select", { change: () => show() }, ...Array.from({ length: n }, (_, i) => h("option", { value: i }, String(i + 1))));
          const layer = pick(n_layers), head = pick(n_heads);
          const tokens = h("div", { class: "lm-tokens", role: "group", "aria-label": "Tokens that were read", keydown: (event) => this.step(event, tokens.children, asks, show) });
          tokens.append(...ids.map((id, t) => h("button", { type: "button", class: "lm-token", click: () => show(t) }, h("span", {}, lm.showWhitespace(tokenizer.show(id))), h("span", { class: "lm-weight" }))));
          let asks = ids.length - 1;
          const show = (t = asks) => {
            asks = t;
            const row = layers[layer.value][head.value][t];
            [...tokens.children].forEach((button, s) => {
              button.tabIndex = s === t ? 0 : -1;
              button.setAttribute("aria-pressed", String(s === t));
              button.style.setProperty("--weight", Math.sqrt(row[s])); // or the many small weights could not be seen
              button.lastChild.textContent = s > t ? "hidden" : row[s].toFixed(2);
            });
            const token = (s) => `“${lm.showWhitespace(tokenizer.show(ids[s]))}”`, share = (s) => `${token(s)} (${row[s].toFixed(2)})`;
            const most = lm.mostProbable(row.subarray(0, t + 1), 2).map(share).join(", then to ");
            this.say(`Layer ${Number(layer.value) + 1}, head ${Number(head.value) + 1}: ${token(t)} attends most to ${most}.`);
          };
          const cut = this.read.length > MOST_SHOWN ? ` Of ${this.read.length} tokens the first ${MOST_SHOWN} are shown.` : "";
          this.looks.replaceChildren(h("p", { class: "lm-hint" }, `Choose a token: the others show how much the head takes from them.${cut}`), h("div", { class: "lm-heads-of" }, h("label", {}, "Layer", layer), h("label", {}, "Head", head)), tokens);
          show();
        } catch (error) {
          this.fail(error);
        }
      }

      forget() {
        if (this.state !== "idle") this.state = "stopping";
        Object.assign(this, { messages: [], n_left_out: 0 });
        this.showSaid();
        this.say("A new conversation: the model has heard nothing yet.");
      }
    },
  );
})();
