/* A map of word embeddings: type a word, or words with + and −, and see which words are nearest. */
(() => {
  "use strict";
  const { h, bars } = lm;
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 430, HEIGHT = 340, EDGE = 26;
  const N_COLOURS = 6;

  function svg(tag, attributes, text = "") {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  }

  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

  customElements.define(
    "lm-embedding-map",
    class extends lm.Element {
      build() {
        const { words, kinds, places, text } = this.data;
        this.kinds = [...new Set(kinds)];
        this.numbers = new Map(words.map((word, i) => [word.toLowerCase(), i]));
        const [xs, ys] = [0, 1].map((axis) => places.map((place) => place[axis]));
        const scale = (values, size) => {
          const low = Math.min(...values), high = Math.max(...values);
          return (value) => EDGE + ((size - 2 * EDGE) * (value - low)) / (high - low || 1);
        };
        const x = scale(xs, WIDTH), y = scale(ys, HEIGHT);
        this.spots = places.map((place) => [x(place[0]), HEIGHT - y(place[1])]);
        this.field = h("input", { type: "text", value: text, maxlength: 80, autocapitalize: "off", spellcheck: "false", input: () => this.draw() });
        this.map = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lm-plot", "aria-hidden": "true" });
        this.map.addEventListener("click", (event) => this.tap(event));
        this.list = h("div", {});
        this.stage.append(
          h("label", { class: "lm-field lm-line" }, "A word of the map, or several with + and −: ", this.field),
          h("p", { class: "lm-hint" }, `Words: ${words.join(", ")}. A click on the map takes the nearest word.`),
          this.map,
          this.list,
        );
        this.draw();
      }

      /** Signs and numbers of the words in a formula such as "cats - cat + dog"; or the word that is not on the map. */
      read(text) {
        const terms = [];
        let sign = 1;
        for (const part of text.toLowerCase().replace(/[+−–-]/g, " $& ").split(/\s+/).filter(Boolean)) {
          if (part === "+") sign = 1;
          else if (/^[−–-]$/.test(part)) sign = -1;
          else if (!this.numbers.has(part)) return { unknown: part };
          else {
            terms.push([sign, this.numbers.get(part)]);
            sign = 1;
          }
        }
        return { terms };
      }

      /** The words nearest to the sum of terms, those of the formula left out: [number, cosine], nearest first. */
      nearest(terms) {
        const { vectors, shown } = this.data;
        const sum = vectors[0].map((_, d) => terms.reduce((total, [sign, i]) => total + sign * vectors[i][d], 0));
        const length = Math.sqrt(dot(sum, sum));
        const said = new Set(terms.map(([, i]) => i));
        return vectors
          .map((vector, i) => [i, dot(vector, sum) / (Math.sqrt(dot(vector, vector)) * length)])
          .filter(([i]) => !said.has(i))
          .sort((a, b) => b[1] - a[1])
          .slice(0, shown);
      }

      tap(event) {
        const box = this.map.getBoundingClientRect();
        const at = [((event.clientX - box.left) * WIDTH) / box.width, ((event.clientY - box.top) * HEIGHT) / box.height];
        const distances = this.spots.map((spot) => Math.hypot(spot[0] - at[0], spot[1] - at[1]));
        this.field.value = this.data.words[distances.indexOf(Math.min(...distances))];
        this.draw();
      }

      draw() {
        const { words, kinds } = this.data;
        const { terms, unknown } = this.read(this.field.value);
        if (unknown || !terms.length) {
          this.paint([], []);
          this.list.replaceChildren();
          this.say(unknown ? `“${unknown}” is not on the map.` : "Type a word of the map.");
          return;
        }
        const found = this.nearest(terms);
        if (!found.every(([, cosine]) => Number.isFinite(cosine))) {
          this.paint([], []);
          this.list.replaceChildren();
          this.say("This sum is zero: it points nowhere.");
          return;
        }
        this.paint(terms.map(([, i]) => i), found.map(([i]) => i));
        this.list.replaceChildren(bars(found.map(([i, cosine]) => ({ label: words[i], value: Math.max(cosine, 0) }))));
        const of = terms.map(([sign, i], n) => (n || sign < 0 ? (sign < 0 ? " − " : " + ") : "") + words[i]).join("");
        this.say(`Nearest to ${of}: ${found.map(([i]) => `${words[i]} (${kinds[i]})`).join(", ")}.`);
      }

      /** All words as points in the colours of their kinds; those of the formula and the nearest with their names. */
      paint(chosen, near) {
        const { words, kinds } = this.data;
        const parts = [];
        const from = chosen.length === 1 ? this.spots[chosen[0]] : null;
        if (from) near.forEach((i) => parts.push(svg("line", { x1: from[0], y1: from[1], x2: this.spots[i][0], y2: this.spots[i][1], class: "lm-grid" })));
        this.spots.forEach(([cx, cy], i) => {
          const colour = this.kinds.indexOf(kinds[i]);
          const fill = colour < N_COLOURS ? `var(--lm-series-${colour + 1})` : "var(--lm-muted)";
          parts.push(svg("circle", { cx, cy, r: chosen.includes(i) ? 7 : 4, style: `fill: ${fill}` }));
        });
        // Names of points that lie close would cover each other: they stand apart, towards the middle of the map.
        const placed = [];
        const inwards = (y) => (y > HEIGHT / 2 ? -1 : 1);
        const outside = (i) => Math.abs(this.spots[i][1] - HEIGHT / 2);
        const names = [...chosen, ...near].sort((a, b) => outside(b) - outside(a));
        for (const i of names) {
          const [x, own] = this.spots[i];
          const step = 14 * inwards(own);
          let y = own;
          while (placed.some((other) => Math.abs(other[0] - x) < 70 && Math.abs(other[1] - y) < 14)) y += step;
          placed.push([x, y]);
          const is_right = x > WIDTH - 90;
          parts.push(svg("text", { x: is_right ? x - 8 : x + 8, y: y + 4, "text-anchor": is_right ? "end" : "start", class: chosen.includes(i) ? "lm-chosen" : "" }, words[i]));
        }
        for (const [n, kind] of this.kinds.entries()) {
          const members = this.spots.filter((_, i) => kinds[i] === kind);
          const middle = members.reduce((sum, [x]) => sum + x, 0) / members.length;
          const top = Math.min(...members.map(([, y]) => y));
          const fill = n < N_COLOURS ? `var(--lm-series-${n + 1})` : "var(--lm-muted)";
          parts.push(svg("text", { x: Math.min(Math.max(middle, 40), WIDTH - 40), y: Math.max(top - 9, 12), "text-anchor": "middle", style: `fill: ${fill}; font-weight: 700` }, kind));
        }
        this.map.replaceChildren(...parts);
      }
    },
  );
})();
