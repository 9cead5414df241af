/* An optimizer on its way down a valley: choose it, its rate and the valley's shape. */
(() => {
  "use strict";
  const { h, svg, choices, spoken } = lm;
  const WIDTH = 430, HEIGHT = 300, SCALE = 95; // pixels to a unit; the origin is in the middle
  const LEVELS = [0.1, 0.5, 1.2, 2.2, 3.5, 5.1];

  customElements.define(
    "lm-valley",
    class extends lm.Element {
      build() {
        const { rates, ratio, angle } = this.data;
        this.optimizer = Object.keys(rates).at(0);
        const slider = (min, max, step) => h("input", { type: "range", min, max, step, input: () => this.draw() });
        // Rates and steepness are felt by their ratio, so these two sliders hold powers of ten.
        this.knobs = {
          rate: { slider: slider(-3, 0.5, 0.02), label: h("span", {}) },
          ratio: { slider: slider(0, 2, 0.02), label: h("span", {}) },
          angle: { slider: slider(0, 45, 1), label: h("span", {}) },
        };
        this.knobs.ratio.slider.value = Math.log10(ratio);
        this.knobs.angle.slider.value = angle;
        this.plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lm-plot", "aria-hidden": "true" });
        this.stage.append(
          h(
            "div",
            { class: "lm-controls" },
            choices("Optimizer", Object.keys(rates), this.optimizer, (name) => this.choose(name)),
            ...Object.values(this.knobs).map((knob) => h("label", { class: "lm-knob" }, knob.label, knob.slider)),
          ),
          this.plot,
        );
        this.choose(this.optimizer);
      }

      choose(name) {
        this.optimizer = name;
        this.knobs.rate.slider.value = Math.log10(this.data.rates[name]);
        this.draw();
      }

      /** Curvature of the valley, a symmetric matrix as [xx, xy, yy]. */
      curvature(ratio, angle) {
        const c = Math.cos((angle * Math.PI) / 180), s = Math.sin((angle * Math.PI) / 180);
        return [c * c + ratio * s * s, (1 - ratio) * c * s, s * s + ratio * c * c];
      }

      loss([xx, xy, yy], [x, y]) {
        return (xx * x * x + 2 * xy * x * y + yy * y * y) / 2;
      }

      /** The start and the point after each step, as the optimizer's definition has it. */
      walk(name, rate, ratio, angle) {
        const { start, steps, momentum, betas, eps } = this.data;
        const [xx, xy, yy] = this.curvature(ratio, angle);
        const points = [start];
        let mean = [0, 0], square = [0, 0];
        for (let step = 1; step <= steps; step += 1) {
          const [x, y] = points.at(-1);
          const gradient = [xx * x + xy * y, xy * x + yy * y];
          let direction;
          if (name === "Adam") {
            mean = mean.map((m, i) => betas[0] * m + (1 - betas[0]) * gradient[i]);
            square = square.map((v, i) => betas[1] * v + (1 - betas[1]) * gradient[i] ** 2);
            direction = mean.map((m, i) => m / (1 - betas[0] ** step) / (Math.sqrt(square[i] / (1 - betas[1] ** step)) + eps));
          } else {
            mean = mean.map((m, i) => (name === "momentum" ? momentum : 0) * m + gradient[i]);
            direction = mean;
          }
          points.push([x - rate * direction[0], y - rate * direction[1]]);
        }
        return points;
      }

      draw() {
        const rate = 10 ** Number(this.knobs.rate.slider.value);
        const ratio = 10 ** Number(this.knobs.ratio.slider.value);
        const angle = Number(this.knobs.angle.slider.value);
        this.knobs.rate.label.textContent = `Rate ${Number(rate.toPrecision(2))}`;
        this.knobs.ratio.label.textContent = `${Number(ratio.toPrecision(2))} times steeper across`;
        this.knobs.angle.label.textContent = `Turned by ${angle}°`;
        // What assistive technology reads is the rate, not its logarithm.
        for (const { slider, label } of Object.values(this.knobs)) slider.setAttribute("aria-valuetext", label.textContent);
        const points = this.walk(this.optimizer, rate, ratio, angle);
        this.plot.replaceChildren(...this.contours(ratio, angle), ...this.path(points));
        const curvature = this.curvature(ratio, angle);
        const share = this.loss(curvature, points.at(-1)) / this.loss(curvature, points[0]);
        const ending = share < 1 ? `the loss is ${spoken(share)} of what it was` : `the loss has grown ${spoken(share)} times: it diverges`;
        this.say(`${this.optimizer}, rate ${Number(rate.toPrecision(2))}: after ${points.length - 1} steps ${ending}.`);
      }

      place([x, y]) {
        return [WIDTH / 2 + SCALE * x, HEIGHT / 2 - SCALE * y];
      }

      contours(ratio, angle) {
        const [cx, cy] = this.place([0, 0]);
        return LEVELS.map((level) =>
          svg("ellipse", {
            cx, cy, rx: SCALE * Math.sqrt(2 * level), ry: SCALE * Math.sqrt((2 * level) / ratio),
            transform: `rotate(${-angle} ${cx} ${cy})`, class: "lm-contour",
          }),
        );
      }

      path(points) {
        const far = points.findIndex(([x, y]) => !(Math.abs(x) < 20 && Math.abs(y) < 20));
        const seen = (far < 0 ? points : points.slice(0, far)).map((point) => this.place(point).map((x) => Number(x.toFixed(1))));
        return [
          svg("polyline", { points: seen.map((p) => p.join(",")).join(" "), class: "lm-chosen" }),
          ...seen.map(([cx, cy], i) => svg("circle", { cx, cy, r: i === 0 ? 5 : 2.6, class: "lm-chosen" })),
          svg("circle", { cx: WIDTH / 2, cy: HEIGHT / 2, r: 4, class: "lm-bottom" }),
        ];
      }
    },
  );
})();
