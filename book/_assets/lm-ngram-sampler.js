/* Samples of n-gram models: choose order and smoothing, sample, and see what each token was drawn from. */
(() => {
  "use strict";
  const { h, choices, bars, showWhitespace } = lm;
  const STEP_MILLISECONDS = 70;

  customElements.define(
    "lm-ngram-sampler",
    class extends lm.Element {
      build() {
        const { orders, methods } = this.data;
        this.order = orders[Math.floor(orders.length / 2)];
        this.method = methods[0];
        this.drawn = new Map(); // "order method" -> which of its samples is shown
        this.samples = h("ol", { class: "lm-samples" });
        this.panel = h("div", { class: "lm-panel" });
        this.stage.append(
          h(
            "div",
            { class: "lm-controls" },
            choices("Order n", orders, this.order, (order) => this.choose({ order })),
            choices("Smoothing", methods, this.method, (method) => this.choose({ method })),
            h("button", { type: "button", class: "lm-button", click: () => this.sample() }, "Sample"),
          ),
          this.samples,
          this.panel,
        );
        this.choose({});
      }

      /** The sample shown for an order under the chosen smoothing. */
      shown(order) {
        const all = this.data.samples.filter((s) => s.order === order && s.method === this.method);
        return all[(this.drawn.get(`${order} ${this.method}`) ?? 0) % all.length];
      }

      choose({ order = this.order, method = this.method }) {
        Object.assign(this, { order, method });
        clearInterval(this.timer);
        this.draw(this.shown(order).tokens.length);
        this.select(0);
      }

      /** Show the next sample, token by token. */
      sample() {
        const name = `${this.order} ${this.method}`;
        this.drawn.set(name, (this.drawn.get(name) ?? 0) + 1);
        clearInterval(this.timer);
        const { tokens } = this.shown(this.order);
        const finish = () => {
          clearInterval(this.timer);
          this.draw(tokens.length);
          this.select(tokens.length - 1);
          this.say(`Order ${this.order}, ${this.method}: ${tokens.join(this.data.joiner)}`);
        };
        if (this.calm) return finish();
        let n = 1;
        this.draw(n);
        this.timer = setInterval(() => {
          n += 1;
          if (n >= tokens.length) return finish();
          this.draw(n);
        }, STEP_MILLISECONDS);
      }

      draw(n_visible) {
        this.samples.replaceChildren(
          ...this.data.orders.map((order) => {
            const { tokens } = this.shown(order);
            const active = order === this.order;
            const label = h("span", { class: "lm-order" }, `n = ${order}`);
            if (!active) return h("li", {}, label, h("span", {}, tokens.map(showWhitespace).join(this.data.joiner)));
            return h("li", { "data-active": true }, label, this.tokenButtons(tokens.slice(0, n_visible)));
          }),
        );
      }

      tokenButtons(tokens) {
        return h(
          "span",
          { class: "lm-tokens", keydown: (event) => this.step(event, event.currentTarget.children, this.selected, (i) => this.select(i)) },
          ...tokens.map((token, i) =>
            h("button", { type: "button", class: "lm-token", tabindex: "-1", click: () => this.select(i) }, showWhitespace(token)),
          ),
        );
      }

      /** Show the distribution that token i was drawn from. */
      select(i) {
        this.selected = i;
        this.samples.querySelectorAll(".lm-token").forEach((button, k) => {
          button.tabIndex = k === i ? 0 : -1;
          button.setAttribute("aria-pressed", String(k === i));
        });
        const { tokens, candidates } = this.shown(this.order);
        const seen = tokens.slice(Math.max(0, i - this.order + 1), i).map(showWhitespace);
        const history = this.order === 1 ? "nothing: an order of 1 ignores what came before" : seen.length ? `“${seen.join(this.data.joiner)}”` : "the start of the text";
        const rest = 1 - candidates[i].reduce((sum, [, p]) => sum + p, 0);
        const rows = candidates[i].map(([token, p]) => ({ label: showWhitespace(token), value: p, mark: token === tokens[i] ? "drawn" : "" }));
        if (rest > 0.0005) rows.push({ label: "all others", value: rest, mark: "" });
        this.panel.replaceChildren(h("p", {}, "What may follow ", h("strong", {}, history)), bars(rows));
        this.say(`“${showWhitespace(tokens[i])}” was drawn with probability ${candidates[i].find(([token]) => token === tokens[i])[1].toFixed(3)}.`);
      }
    },
  );
})();
