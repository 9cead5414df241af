/* A learning rate that rises and falls: choose its peak, warm-up and length, and read off what Adam's steps become. */
(() => {
  "use strict";
  const { h, svg, choices, spoken } = lm;
  const WIDTH = 430, HEIGHT = 250, LEFT = 12, RIGHT = 12, TOP = 48, BOTTOM = 222;

  customElements.define(
    "lm-schedule",
    class extends lm.Element {
      build() {
        const { peak, n_warmup, n_steps, kinds } = this.data;
        this.kind = kinds[0];
        const knob = (min, max, step, value) => ({
          slider: h("input", { type: "range", min, max, step, value, input: () => this.draw() }),
          label: h("span", {}),
        });
        // Peak and length are felt by their ratio, so these two sliders hold powers of ten.
        this.knobs = {
          peak: knob(-5, -1, 0.02, Math.log10(peak)),
          steps: knob(2, 5, 0.05, Math.log10(n_steps)),
          warmup: knob(0, 50, 1, (100 * n_warmup) / n_steps),
          update: knob(0, 100, 0.5, 2),
        };
        this.plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lm-plot", "aria-hidden": "true" });
        this.stage.append(
          h(
            "div",
            { class: "lm-controls" },
            choices("After the warm-up", kinds, this.kind, (kind) => { this.kind = kind; this.draw(); }),
            ...Object.values(this.knobs).map(({ slider, label }) => h("label", { class: "lm-knob" }, label, slider)),
          ),
          this.plot,
        );
        this.draw();
      }

      /** The rate at update s = 1, 2, ..., and the formula that gives it. */
      rate(kind, s, peak, n_warmup, n_steps) {
        const top = spoken(peak);
        if (s <= n_warmup) return [(peak * s) / n_warmup, `${top} · ${s} / ${n_warmup}`];
        if (kind === "constant") return [peak, "its peak"];
        if (kind === "inverse root") {
          const from = Math.max(n_warmup, 1);
          return [peak * Math.sqrt(from / s), `${top} · √(${from} / ${s})`];
        }
        const { final } = this.data;
        const p = (s - 1 - n_warmup) / Math.max(1, n_steps - 1 - n_warmup);
        const share = final + ((1 - final) * (1 + Math.cos(Math.PI * p))) / 2;
        return [peak * share, `${top} · (${final} + ${1 - final} · (1 + cos ${p.toFixed(2)}π) / 2)`];
      }

      /** Root mean square of Adam's quotient at update s, where gradients are nothing but noise. */
      noise(s) {
        const b = this.data.beta1;
        return Math.sqrt((((1 - b) / (1 + b)) * (1 + b ** s)) / (1 - b ** s));
      }

      draw() {
        const peak = 10 ** Number(this.knobs.peak.slider.value);
        const n_steps = Number((10 ** Number(this.knobs.steps.slider.value)).toPrecision(2));
        const n_warmup = Math.round((n_steps * Number(this.knobs.warmup.slider.value)) / 100);
        const at = Math.max(1, Math.round((n_steps * Number(this.knobs.update.slider.value)) / 100));
        const said = {
          peak: `Peak ${spoken(peak)}`,
          steps: `${n_steps.toLocaleString("en")} updates in all`,
          warmup: n_warmup ? `Warm-up over ${n_warmup.toLocaleString("en")} of them` : "No warm-up",
          update: `Look at update ${at.toLocaleString("en")}`,
        };
        for (const [name, { slider, label }] of Object.entries(this.knobs)) {
          label.textContent = said[name];
          slider.setAttribute("aria-valuetext", said[name]);
        }
        const rate = (s) => this.rate(this.kind, s, peak, n_warmup, n_steps);
        const updates = Array.from({ length: 601 }, (_, i) => 1 + Math.round((i / 600) * (n_steps - 1)));
        const x = (s) => LEFT + ((WIDTH - LEFT - RIGHT) * s) / n_steps;
        const y = (value) => BOTTOM - ((BOTTOM - TOP) * value) / peak;
        const line = (value, css) => svg("polyline", { points: updates.map((s) => `${x(s).toFixed(1)},${y(value(s)).toFixed(1)}`).join(" "), class: css });
        const [value, formula] = rate(at);
        this.plot.replaceChildren(
          svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: BOTTOM, y2: BOTTOM, class: "lm-grid" }),
          svg("line", { x1: x(at), x2: x(at), y1: TOP - 6, y2: BOTTOM, class: "lm-start" }),
          line((s) => rate(s)[0] * this.noise(s), ""),
          line((s) => rate(s)[0], "lm-chosen"),
          svg("circle", { cx: x(at), cy: y(value), r: 5, class: "lm-chosen" }),
          svg("circle", { cx: x(at), cy: y(value * this.noise(at)), r: 4, class: "lm-bottom" }),
          svg("text", { x: LEFT, y: 16, class: "lm-chosen" }, "rate = Adam’s step where gradients agree"),
          svg("text", { x: LEFT, y: 34, class: "lm-reference" }, "Adam’s step where they are noise"),
          svg("text", { x: LEFT, y: BOTTOM + 18 }, "0"),
          svg("text", { x: WIDTH - RIGHT, y: BOTTOM + 18, "text-anchor": "end" }, `${n_steps.toLocaleString("en")} updates`),
        );
        this.say(`Update ${at.toLocaleString("en")}: the rate is ${formula} = ${spoken(value)}. Adam moves a weight by that much if its gradients agree, and by about ${spoken(value * this.noise(at))} if they are noise.`);
      }
    },
  );
})();
