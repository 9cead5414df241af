/* A gradient on its way back through time: choose the cell and turn its matrix or its forget gates, and see how long it stays. */
(() => {
  "use strict";
  const { h, svg, choices, spoken } = lm;
  const WIDTH = 430, HEIGHT = 308, LEFT = 46, RIGHT = 50, TOP = 34, BOTTOM = 40;
  const LOWEST = -12, HIGHEST = 6; // powers of ten that are drawn

  const length = (row) => Math.hypot(...row);
  /** A row times a matrix, and a row times the transposed matrix. */
  const times = (row, matrix) => matrix[0].map((_, j) => row.reduce((sum, x, i) => sum + x * matrix[i][j], 0));
  const timesTransposed = (row, matrix) => matrix.map((line) => line.reduce((sum, x, i) => sum + x * row[i], 0));

  const sigmoid = (x) => 1 / (1 + Math.exp(-x));

  /** What the slider turns in each cell, between which limits, and what is drawn beside it. */
  const RADIUS = { knob: "Spectral radius", from: 0.5, to: 1.5, step: 0.01, references: [0.8, 1, 1.2] };
  const CELLS = {
    linear: { ...RADIUS, start: 1.1 },
    tanh: { ...RADIUS, start: 1.5 },
    LSTM: { knob: "Bias of the forget gates", from: -1, to: 6, step: 0.1, references: [0, 1, 4], start: 2 },
  };

  customElements.define(
    "lm-gradient",
    class extends lm.Element {
      build() {
        this.cell = "linear";
        this.slider = h("input", { type: "range", input: () => this.draw() });
        this.knob = h("span", {});
        this.plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lm-plot", "aria-hidden": "true" });
        this.stage.append(
          h(
            "div",
            { class: "lm-controls" },
            choices("Cell", Object.keys(CELLS), this.cell, (cell) => this.choose(cell)),
            h("label", { class: "lm-knob" }, this.knob, this.slider),
          ),
          this.plot,
        );
        this.choose(this.cell);
      }

      choose(cell) {
        this.cell = cell;
        const { from, to, step, start } = CELLS[cell];
        Object.assign(this.slider, { min: from, max: to, step, value: start });
        this.draw();
      }

      /** The gradient's length at each distance, exactly as the cell's own backward pass gives it. */
      norms(cell, value) {
        const { weight, projected, gradient } = this.data;
        if (cell === "LSTM") return this.normsOfLSTM(value);
        const n_steps = projected.length;
        let row = gradient;
        const lengths = [length(row)];
        const scaled = weight.map((line) => line.map((x) => x * value));
        const slopes = []; // of the squashing function, at each step
        let hidden = gradient.map(() => 0);
        for (const inputs of projected) {
          hidden = timesTransposed(hidden, scaled).map((x, i) => x + inputs[i]);
          if (cell === "tanh") hidden = hidden.map(Math.tanh);
          slopes.push(hidden.map((x) => (cell === "tanh" ? 1 - x * x : 1)));
        }
        for (let t = n_steps - 1; t > 0; t -= 1) {
          row = times(row.map((x, i) => x * slopes[t][i]), scaled);
          lengths.push(length(row));
        }
        return lengths;
      }

      /** The same for an LSTM with a bias on its forget gates, at hidden state and memory together. */
      normsOfLSTM(bias) {
        const { gates, projected_gates, gradient } = this.data;
        const R = gradient.length;
        let hidden = gradient.map(() => 0);
        let memory = hidden;
        const steps = [];
        for (const inputs of projected_gates) {
          const sums = timesTransposed(hidden, gates).map((x, n) => x + inputs[n]);
          const i = sums.slice(0, R).map(sigmoid);
          const f = sums.slice(R, 2 * R).map((x) => sigmoid(x + bias));
          const g = sums.slice(2 * R, 3 * R).map(Math.tanh);
          const o = sums.slice(3 * R).map(sigmoid);
          const before = memory;
          memory = before.map((c, n) => f[n] * c + i[n] * g[n]);
          const shown = memory.map(Math.tanh);
          hidden = shown.map((x, n) => o[n] * x);
          steps.push({ i, f, g, o, before, shown });
        }
        let atHidden = gradient;
        let atMemory = gradient.map(() => 0);
        const lengths = [length(gradient)];
        for (const { i, f, g, o, before, shown } of steps.slice(1).reverse()) {
          const inside = atMemory.map((x, n) => x + atHidden[n] * o[n] * (1 - shown[n] ** 2));
          const atGates = [
            ...inside.map((x, n) => x * g[n] * i[n] * (1 - i[n])),
            ...inside.map((x, n) => x * before[n] * f[n] * (1 - f[n])),
            ...inside.map((x, n) => x * i[n] * (1 - g[n] ** 2)),
            ...atHidden.map((x, n) => x * shown[n] * o[n] * (1 - o[n])),
          ];
          atHidden = times(atGates, gates);
          atMemory = inside.map((x, n) => x * f[n]);
          lengths.push(Math.hypot(length(atHidden), length(atMemory)));
        }
        return lengths;
      }

      draw() {
        const { knob, references } = CELLS[this.cell];
        const value = Number(this.slider.value);
        const lengths = this.norms(this.cell, value);
        this.knob.textContent = `${knob} ${value.toFixed(2)}`;
        const ends = [];
        this.plot.replaceChildren(...this.axes(lengths.length - 1));
        for (const reference of references) {
          if (reference.toFixed(2) !== value.toFixed(2)) ends.push(this.curve(this.norms(this.cell, reference), reference, "lm-reference"));
        }
        ends.push(this.curve(lengths, value, "lm-chosen"));
        this.label(ends);
        const ratio = lengths.at(-1) / lengths[0];
        const change = ratio === 1 ? "as long as" : ratio > 1 ? `${spoken(ratio)} times as long as` : `${spoken(ratio)} of`;
        this.say(`${knob} ${value.toFixed(2)}: after ${lengths.length - 1} steps back the gradient is ${change} ${ratio > 1 || ratio === 1 ? "it was" : "its first length"}.`);
      }

      x(distance, longest) {
        return LEFT + ((WIDTH - LEFT - RIGHT) * distance) / longest;
      }

      y(norm) {
        const power = Math.min(HIGHEST, Math.max(LOWEST, Math.log10(norm)));
        return TOP + ((HEIGHT - TOP - BOTTOM) * (HIGHEST - power)) / (HIGHEST - LOWEST);
      }

      axes(longest) {
        const parts = [svg("text", { x: 4, y: 12 }, "length of the gradient")];
        for (let power = LOWEST; power <= HIGHEST; power += 3) {
          const y = this.y(10 ** power);
          parts.push(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y, class: "lm-grid" }));
          const tick = svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, power === 0 ? "1" : "10");
          if (power !== 0) tick.append(svg("tspan", { dy: -5, "font-size": "75%" }, String(power).replace("-", "−")));
          parts.push(tick);
        }
        for (let distance = 0; distance <= longest; distance += 10) {
          parts.push(svg("text", { x: this.x(distance, longest), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, distance));
        }
        parts.push(svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "steps back in time"));
        return parts;
      }

      /** Draw one line and return where its label wants to be. */
      curve(lengths, value, kind) {
        const points = lengths.map((norm, k) => `${this.x(k, lengths.length - 1).toFixed(1)},${this.y(norm).toFixed(1)}`);
        this.plot.append(svg("polyline", { points: points.join(" "), class: kind }));
        return { y: this.y(lengths.at(-1)), text: value.toFixed(2), kind };
      }

      /** Write the value at each line's end, moved apart where two would touch. */
      label(ends) {
        ends.sort((a, b) => a.y - b.y);
        for (let i = 1; i < ends.length; i += 1) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + 14);
        for (const { y, text, kind } of ends) this.plot.append(svg("text", { x: WIDTH - RIGHT + 6, y: y + 4, class: kind }, text));
      }
    },
  );
})();
