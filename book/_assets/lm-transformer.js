/* A transformer to open part by part: shapes and parameter counts for the reader's own sizes. */
(() => {
  "use strict";
  const { h } = lm;

  const SIZES = [
    ["d_model", "width d_model", 65536],
    ["n_heads", "heads", 1024],
    ["n_layers", "layers", 1000],
    ["d_ff", "feed-forward width", 262144],
    ["vocab_size", "vocabulary", 10000000],
    ["context_length", "context length", 10000000],
  ];
  const number = (n) => n.toLocaleString("en-US");
  const share = (part, whole) => `${Math.round((100 * part) / whole)} %`;

  /** What is wrong with a structure, in a sentence, or "". */
  function problem(c) {
    for (const [name, , most] of SIZES) {
      if (!Number.isInteger(c[name]) || c[name] < 1 || c[name] > most) {
        return `${name} is ${Number.isNaN(c[name]) ? "empty" : c[name]}; it must be a whole number from 1 to ${number(most)}.`;
      }
    }
    if (c.d_model % c.n_heads) return `d_model is ${c.d_model}; it must be a multiple of the number of heads, ${c.n_heads}.`;
    if (c.positions === "rotary" && (c.d_model / c.n_heads) % 2) {
      return `a head is ${c.d_model / c.n_heads} wide; with rotary positions it must be even.`;
    }
    return "";
  }

  /* A part is {name, shape, count, how, parts, kind}; the count of one with parts is their sum. */
  const leaf = (name, shape, count = 0, how = "", kind = "other") => ({ name, shape, count, how, kind, parts: [] });
  function group(name, shape, parts, how = "", times = 1) {
    return { name, shape, parts, how, times, count: times * parts.reduce((sum, part) => sum + part.count, 0) };
  }

  /** The parts of a structure, in the order in which text flows through them. */
  function parts(c) {
    const { d_model: D, n_heads: H, d_ff: F, vocab_size: V, context_length: T } = c;
    const K = D / H;
    const G = c.n_kv_heads;
    const bias = c.has_bias ? 1 : 0;
    const x = `${T} × ${D}`;
    const linear = (name, from, to, shape, kind) =>
      leaf(name, shape, from * to + bias * to, `${number(from)} × ${number(to)}${bias ? ` + ${number(to)}` : ""}`, kind);
    const norm = (name) => {
      const two = c.norm === "layer" && bias;
      return leaf(`${name} (${c.norm === "rms" ? "RMSNorm" : "LayerNorm"})`, x, D * (1 + two), two ? `gain and shift, 2 × ${number(D)}` : `gain, ${number(D)}`);
    };
    const attention = (name, mask) =>
      group(name, x, [
        linear("queries", D, D, `${H} heads × ${T} × ${K}`, "attention"),
        linear("keys", D, G * K, `${G} heads × ${T} × ${K}`, "attention"),
        linear("values", D, G * K, `${G} heads × ${T} × ${K}`, "attention"),
        leaf(`scores / √${K}${mask ? `, ${mask}` : ""}, softmax`, `${H} heads × ${T} × ${T}`),
        leaf("weights × values, heads side by side", x),
        linear("mix the heads", D, D, x, "attention"),
      ]);
    const feedForward = () =>
      group(
        "feed-forward layer",
        x,
        [
          linear("widen", D, F, `${T} × ${F}`, "feed-forward"),
          ...(c.activation === "swiglu" ? [linear("gate", D, F, `${T} × ${F}`, "feed-forward")] : []),
          leaf({ relu: "ReLU", swiglu: "SiLU, times the gate" }[c.activation] ?? "GELU", `${T} × ${F}`),
          linear("narrow", F, D, x, "feed-forward"),
        ],
      );
    const sum = (what) => leaf(`add ${what} to the residual path`, x);
    const sublayer = (layer, what) => (c.block === "pre_norm" ? [norm("norm"), layer, sum(what)] : [layer, sum(what), norm("norm")]);
    const stack = (name, mask, hasMemory) => [
      group(
        `${name}${c.n_layers} blocks`,
        x,
        [
          ...sublayer(attention("self-attention", mask), "it"),
          ...(hasMemory ? sublayer(attention("cross-attention to the encoder", ""), "it") : []),
          ...sublayer(feedForward(), "it"),
        ],
        `${c.n_layers} times`,
        c.n_layers,
      ),
      ...(c.block === "pre_norm" ? [norm(`${name}last norm`)] : []),
    ];
    const embedding = [leaf("token embedding", x, V * D, `${number(V)} × ${number(D)}`, "embedding")];
    if (c.positions === "learned") embedding.push(leaf("position embedding, added", x, T * D, `${number(T)} × ${number(D)}`, "embedding"));
    if (c.positions === "sinusoidal") embedding.push(leaf("sinusoids, added", x));
    if (c.n_segments) embedding.push(leaf("segment embedding, added", x, c.n_segments * D, `${c.n_segments} × ${number(D)}`, "embedding"));
    if (c.n_segments) embedding.push(norm("norm"));
    if (c.kind === "encoder") {
      return [...embedding, ...stack("", "", false), leaf("pooler of the first token", `${D}`, D * D + D, `${number(D)} × ${number(D)} + ${number(D)}`)];
    }
    const logits = c.is_tied
      ? leaf("logits, by the token embedding again", `${T} × ${V}`)
      : leaf("logits", `${T} × ${V}`, V * D, `${number(D)} × ${number(V)}`, "embedding");
    if (c.kind === "decoder") return [...embedding, ...stack("", "causal mask", false), logits];
    return [...embedding, ...stack("encoder: ", "", false), ...stack("decoder: ", "causal mask", true), logits];
  }

  const total = (list) => list.reduce((sum, part) => sum + part.count, 0);
  /** How many of the parameters are of a kind. */
  function ofKind(list, kind) {
    return list.reduce((sum, part) => sum + (part.parts.length ? part.times * ofKind(part.parts, kind) : part.kind === kind ? part.count : 0), 0);
  }

  customElements.define(
    "lm-transformer",
    class extends lm.Element {
      build() {
        this.opened = new Set();
        this.fields = Object.fromEntries(
          SIZES.map(([name, label]) => [
            name,
            [label, h("input", { type: "number", min: "1", step: "1", inputmode: "numeric", input: () => this.change() })],
          ]),
        );
        this.select = h(
          "select",
          { change: () => this.choose(this.select.value) },
          ...Object.keys(this.data.presets).map((name) => h("option", { value: name }, name)),
        );
        this.diagram = h("div", { class: "lm-layers" });
        this.stage.append(
          h("label", { class: "lm-size lm-preset" }, h("span", {}, "Structure"), this.select),
          h(
            "div",
            { class: "lm-sizes" },
            ...Object.values(this.fields).map(([label, input]) => h("label", { class: "lm-size" }, h("span", {}, label), input)),
          ),
        );
        this.status.after(this.diagram);
        this.select.value = this.data.preset;
        this.choose(this.data.preset);
      }

      choose(name) {
        this.config = { ...this.data.presets[name] };
        for (const [size, [, input]] of Object.entries(this.fields)) input.value = this.config[size];
        this.draw();
      }

      change() {
        const grouping = this.data.presets[this.select.value];
        const next = { ...this.config };
        for (const [size, [, input]] of Object.entries(this.fields)) next[size] = input.valueAsNumber;
        // Keys and values are shared by as many queries as in the structure that was chosen.
        const shared = grouping.n_heads / grouping.n_kv_heads;
        next.n_kv_heads = next.n_heads % shared ? next.n_heads : next.n_heads / shared;
        const wrong = problem(next);
        for (const [size, [, input]] of Object.entries(this.fields)) input.setAttribute("aria-invalid", String(Boolean(wrong) && wrong.startsWith(size)));
        if (wrong) {
          this.say(wrong);
          return;
        }
        this.config = next;
        this.draw();
      }

      /** The number of parameters of what is shown. */
      count() {
        return total(parts(this.config));
      }

      draw() {
        const list = parts(this.config);
        const all = total(list);
        this.diagram.replaceChildren(h("p", { class: "lm-flow" }, `${number(this.config.context_length)} token ids`), ...list.map((part, n) => this.part(part, String(n))));
        const [embedding, attention, wide] = ["embedding", "attention", "feed-forward"].map((kind) => share(ofKind(list, kind), all));
        this.say(`${number(all)} parameters: embeddings ${embedding}, attention ${attention}, feed-forward ${wide}. In float32 they take ${number(Math.round((4 * all) / 1e6))} MB.`);
      }

      /** One part: a line, or a line that opens. What was open stays open when sizes change. */
      part(part, path) {
        const line = [
          h("span", { class: "lm-part" }, part.name),
          h("span", { class: "lm-shape" }, part.shape),
          h("span", { class: "lm-count" }, part.count ? number(part.count) : "–"),
        ];
        if (!part.parts.length) {
          return h("div", { class: "lm-layer", "data-kind": part.kind }, ...line, part.how ? h("span", { class: "lm-how" }, part.how) : null);
        }
        const each = part.times > 1 ? `${part.times} × ${number(part.count / part.times)}; one of them is` : "";
        const details = h(
          "details",
          { class: "lm-layer", open: this.opened.has(path), toggle: () => this.opened[details.open ? "add" : "delete"](path) },
          h("summary", {}, ...line),
          each ? h("p", { class: "lm-how" }, each) : null,
          ...part.parts.map((inner, n) => this.part(inner, `${path}/${n}`)),
        );
        return details;
      }
    },
  );
})();
