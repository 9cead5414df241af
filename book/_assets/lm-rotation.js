/* Rotary positions: a query and a key are turned by their positions; what the dot product sees is the difference. */
(() => {
  "use strict";
  const { h, svg, choices } = lm;
  const WIDTH = 430, HEIGHT = 470;
  const CENTRE = { x: 215, y: 132 }, RADIUS = 104; // of the circle
  const LEFT = 40, RIGHT = 14, TOP = 300, BOTTOM = 424; // of the curve

  /** A pair of numbers turned by an angle, against the clock. */
  const turn = ([x, y], angle) => [
    x * Math.cos(angle) - y * Math.sin(angle),
    x * Math.sin(angle) + y * Math.cos(angle),
  ];

  /** A number with a true minus sign. */
  const signed = (value, digits = 2) => value.toFixed(digits).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");

  customElements.define(
    "lm-rotation",
    class extends lm.Element {
      build() {
        const { pairs, last, m, n } = this.data;
        this.m = this.knob({ min: 0, max: last, step: 1, value: m });
        this.n = this.knob({ min: 0, max: last, step: 1, value: n });
        this.angle = this.knob({ min: 0, max: 1.6, step: 0.005, value: pairs[0].angle }, (value) => {
          this.theta = value;
        });
        this.plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lm-plot", "aria-hidden": "true" });
        this.stage.append(
          choices("Pair of entries", pairs.map((_, i) => i + 1), 1, (number) => this.choose(number - 1)),
          h(
            "div",
            { class: "lm-controls" },
            h("label", { class: "lm-knob" }, this.m.label, this.m.input),
            h("label", { class: "lm-knob" }, this.n.label, this.n.input),
            h("label", { class: "lm-knob" }, this.angle.label, this.angle.input),
          ),
          h(
            "div",
            { class: "lm-actions" },
            h("button", { type: "button", class: "lm-button", click: () => this.shift(-1) }, "← Move both back"),
            h("button", { type: "button", class: "lm-button", click: () => this.shift(1) }, "Move both on →"),
          ),
          this.plot,
        );
        this.choose(0);
      }

      knob(range, moved = () => {}) {
        const input = h("input", {
          type: "range",
          ...range,
          input: () => {
            moved(Number(input.value));
            this.draw();
          },
        });
        return { label: h("span", {}), input };
      }

      choose(pair) {
        this.pair = this.data.pairs[pair];
        this.theta = this.pair.angle; // exact: the slider rounds, and slow pairs would stand still
        this.angle.input.value = this.theta;
        this.draw();
      }

      /** Move both positions, as far as there is room for both. */
      shift(by) {
        const [m, n] = [Number(this.m.input.value) + by, Number(this.n.input.value) + by];
        if (Math.min(m, n) < 0 || Math.max(m, n) > this.data.last) {
          return this.say(`One of the two is at the end: positions go from 0 to ${this.data.last}.`);
        }
        this.m.input.value = m;
        this.n.input.value = n;
        this.draw();
      }

      /** What a dot product of the two turned vectors is. */
      dot(m, n, angle) {
        const q = turn(this.pair.query, m * angle);
        const k = turn(this.pair.key, n * angle);
        return q[0] * k[0] + q[1] * k[1];
      }

      draw() {
        const [m, n] = [this.m, this.n].map((knob) => Number(knob.input.value));
        const angle = this.theta;
        const product = this.dot(m, n, angle);
        this.m.label.textContent = `Position of the query: m = ${m}`;
        this.n.label.textContent = `Position of the key: n = ${n}`;
        this.angle.label.textContent = `Angle per position: θ = ${angle.toFixed(4)} radians`;
        this.plot.replaceChildren(...this.circle(m, n, angle), ...this.curve(m, n, angle, product));
        this.say(
          `m = ${m}, n = ${n}: the query is turned by ${signed(m * angle)} radians, the key by ${signed(n * angle)}. ` +
            `The dot product is ${signed(product, 3)}, and it is the same for all positions with m − n = ${signed(m - n, 0)}.`,
        );
      }

      /** The two vectors, turned; where they started, thin. */
      circle(m, n, angle) {
        const { query, key } = this.pair;
        const scale = RADIUS / Math.max(Math.hypot(...query), Math.hypot(...key), 1e-9);
        const at = ([x, y], stretch = 1) => ({ x: CENTRE.x + stretch * scale * x, y: CENTRE.y - stretch * scale * y });
        const parts = [svg("circle", { cx: CENTRE.x, cy: CENTRE.y, r: RADIUS, class: "lm-grid lm-ring" })];
        for (const [name, vector, position, kind] of [["q", query, m, "lm-first"], ["k", key, n, "lm-chosen"]]) {
          const start = at(vector), turned = turn(vector, position * angle), end = at(turned);
          const length = Math.hypot(end.x - CENTRE.x, end.y - CENTRE.y) || 1;
          const out = { x: (end.x - CENTRE.x) / length, y: (end.y - CENTRE.y) / length };
          parts.push(
            svg("line", { x1: CENTRE.x, y1: CENTRE.y, x2: start.x, y2: start.y, class: "lm-start" }),
            svg("line", { x1: CENTRE.x, y1: CENTRE.y, x2: end.x, y2: end.y, class: kind }),
            svg("path", {
              d: `M ${end.x} ${end.y} l ${-11 * out.x - 5 * out.y} ${-11 * out.y + 5 * out.x} l ${10 * out.y} ${-10 * out.x} Z`,
              class: kind,
            }),
            svg("text", { x: end.x + 14 * out.x, y: end.y + 14 * out.y + 4, "text-anchor": "middle", class: kind }, name),
          );
        }
        return parts;
      }

      /** The dot product at every distance, and where the chosen one stands. */
      curve(m, n, angle, product) {
        const { last } = this.data;
        const most = Math.max(Math.hypot(...this.pair.query) * Math.hypot(...this.pair.key), 1e-9);
        const x = (distance) => LEFT + ((WIDTH - LEFT - RIGHT) * (distance + last)) / (2 * last);
        const y = (value) => (TOP + BOTTOM) / 2 - ((BOTTOM - TOP) / 2) * (value / most);
        const parts = [svg("text", { x: 4, y: TOP - 16 }, "dot product of this pair at each m − n")];
        for (const value of [-most, 0, most]) {
          parts.push(
            svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "lm-grid" }),
            svg("text", { x: LEFT - 5, y: y(value) + 4, "text-anchor": "end" }, signed(value, 1)),
          );
        }
        const points = [];
        for (let distance = -last; distance <= last; distance += 0.5) {
          points.push(`${x(distance).toFixed(1)},${y(this.dot(distance, 0, angle)).toFixed(1)}`);
        }
        parts.push(svg("polyline", { points: points.join(" ") }));
        for (const tick of [-60, -30, 0, 30, 60]) {
          if (Math.abs(tick) <= last) parts.push(svg("text", { x: x(tick), y: BOTTOM + 18, "text-anchor": "middle" }, signed(tick, 0)));
        }
        parts.push(
          svg("circle", { cx: x(m - n), cy: y(product), r: 7, class: "lm-third" }),
          svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "m − n"),
        );
        return parts;
      }
    },
  );
})();
