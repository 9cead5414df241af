/* A map of word embeddings: type a word, or words with + and −, and see which words are nearest. */
(() => {
  "use strict";
  const { h, bars } = lm;
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 430, HEIGHT = 340, EDGE = 26;
  const N_COLOURS = 6;
  const LETTER = 8.6; // a letter's width in bold, at the larger size that phones have
  const RINGS = [9, 14, 26, 38, 50, 62, 74]; // how far a name may stand from its point
  const ANGLES = [0, Math.PI, -Math.PI / 4, Math.PI / 4, (-3 * Math.PI) / 4, (3 * Math.PI) / 4, -Math.PI / 2, Math.PI / 2];

  function svg(tag, attributes, text = "") {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  }

  /** Places for a label around a point, nearest first: [x, y, anchor]. */
  function around(cx, cy) {
    return RINGS.flatMap((radius) =>
      ANGLES.map((angle) => {
        const along = Math.cos(angle);
        return [cx + radius * along, cy + radius * Math.sin(angle) + 4, along > 0.3 ? "start" : along < -0.3 ? "end" : "middle"];
      }),
    );
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

      /** The first of several places [x, y, anchor] where a label stays on the map and off those placed before; it is placed there. */
      free(placed, label, places) {
        const boxes = places.map(([x, y, anchor]) => {
          const width = LETTER * label.length;
          const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
          return { left, right: left + width, top: y - 12, bottom: y + 4 };
        });
        const fits = (box) => box.left >= 0 && box.right <= WIDTH && box.top >= 0 && box.bottom <= HEIGHT
          && !placed.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom);
        const best = Math.max(boxes.findIndex(fits), 0);
        placed.push(boxes[best]);
        return places[best];
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
        // Kinds first, then names: each takes the first place where it covers no other.
        const placed = [];
        for (const [n, kind] of this.kinds.entries()) {
          const members = this.spots.filter((_, i) => kinds[i] === kind);
          const [left, right] = [Math.min, Math.max].map((end) => end(...members.map(([x]) => x)));
          const [top, bottom] = [Math.min, Math.max].map((end) => end(...members.map(([, y]) => y)));
          const middle = members.reduce((sum, [x]) => sum + x, 0) / members.length;
          const places = [[middle, top - 9, "middle"], [middle, bottom + 19, "middle"], [right + 9, bottom + 4, "start"], [left - 9, top + 4, "end"], ...around(middle, top)];
          const [x, y, anchor] = this.free(placed, kind, places);
          const fill = n < N_COLOURS ? `var(--lm-series-${n + 1})` : "var(--lm-muted)";
          parts.push(svg("text", { x, y, "text-anchor": anchor, style: `fill: ${fill}; font-weight: 700` }, kind));
        }
        for (const i of [...chosen, ...near]) {
          const [cx, cy] = this.spots[i];
          const [x, y, anchor] = this.free(placed, words[i], around(cx, cy));
          if (Math.hypot(x - cx, y - 4 - cy) > RINGS[1]) parts.push(svg("line", { x1: cx, y1: cy, x2: x, y2: y - 4, class: "lm-grid" }));
          parts.push(svg("text", { x, y, "text-anchor": anchor, class: chosen.includes(i) ? "lm-chosen" : "" }, words[i]));
        }
        this.map.replaceChildren(...parts);
      }
    },
  );
})();
