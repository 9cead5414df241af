/* The course's own GPT and BERT, computed in the page: tokenizer, transformer, sampling.

   Three parts. `engine` is the mathematics, in the same steps and under the same names as course_pkg.
   `serve` lets it run in a worker, so that the page stays alive while it computes. `lm.model(name)`
   fetches a model's weights, once and only when a figure asks for them, and talks to its worker.
   The weights are what `python -m course_pkg export-web` writes. */
(() => {
  "use strict";
  const MODELS = new URL("models/", document.currentScript.src); // beside this script

  /** From text to logits. Its source is also sent to the worker, so it uses nothing outside itself. */
  function engine() {
    // ---- text: byte-pair encoding, as in course_pkg/text/tokenizers/byte_pair.py

    const utf8 = new TextEncoder();

    class Tokenizer {
      /** A token of the vocabulary is a string with one character for each byte. */
      constructor({ vocabulary, special, merges, pattern }) {
        Object.assign(this, { vocabulary, special });
        this.names = new Map(Object.entries(special).map(([name, id]) => [id, name]));
        this.ids = new Map(vocabulary.map((token, id) => [token, id]));
        for (const name in special) this.ids.delete(name); // text never produces them
        this.rank_of = new Map(merges.map(([a, b], rank) => [this.pairKey(a, b), rank]));
        this.merged = merges.map(([a, b]) => this.ids.get(vocabulary[a] + vocabulary[b]));
        this.pattern = new RegExp(pattern, "gu");
      }

      pairKey(a, b) {
        return a * this.vocabulary.length + b;
      }

      /** The ids of a text; half of a surrogate pair, which UTF-8 cannot encode, becomes "?". */
      encode(text) {
        const words = text.replace(/\p{Surrogate}/gu, "?").match(this.pattern) ?? [];
        return words.flatMap((word) => this.encodeWord(word));
      }

      /** Replay the merges: always the one that was learned first, wherever it fits. */
      encodeWord(word) {
        let ids = Array.from(utf8.encode(word), (byte) => this.ids.get(String.fromCharCode(byte)));
        ids = ids.filter((id) => id !== undefined); // a published vocabulary may lack a byte
        for (;;) {
          let first = Infinity;
          for (let i = 1; i < ids.length; i += 1) {
            first = Math.min(first, this.rank_of.get(this.pairKey(ids[i - 1], ids[i])) ?? Infinity);
          }
          if (first === Infinity) return ids;
          const out = [];
          for (let i = 0; i < ids.length; i += 1) {
            const fits = i + 1 < ids.length && this.rank_of.get(this.pairKey(ids[i], ids[i + 1])) === first;
            out.push(fits ? this.merged[first] : ids[i]);
            if (fits) i += 1;
          }
          ids = out;
        }
      }

      /** The text of some ids, without special tokens; broken UTF-8 becomes the replacement sign. */
      decode(ids) {
        const token_bytes = ids.filter((id) => !this.names.has(id)).map((id) => this.vocabulary[id]);
        const bytes = Uint8Array.from(token_bytes.join(""), (character) => character.charCodeAt(0));
        return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      }

      /** A token as a reader sees it: its name, its text, or \xNN for each byte of a broken character. */
      show(id) {
        if (this.names.has(id)) return this.names.get(id);
        const text = this.decode([id]);
        if (!text.includes("\ufffd")) return text;
        const readable = (c) => (c < "\x80" ? c : `\\x${c.charCodeAt(0).toString(16)}`);
        return Array.from(this.vocabulary[id], readable).join("");
      }
    }

    // ---- numbers: a vector is a Float32Array, a matrix the list of its rows, a text the list of its vectors

    /** The number that sixteen bits stand for (IEEE 754): sign, 5 bits of exponent, 10 of fraction. */
    function half(bits) {
      const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
      return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : (fraction / 1024) * 2 ** -14);
    }

    /** Weights by name: each character of the text is one number. */
    function readWeights(tensors, text) {
      const value_of = Float32Array.from({ length: 65536 }, (_, bits) => half(bits));
      const weights = {};
      let start = 0;
      for (const [name, shape] of tensors) {
        const numbers = new Float32Array(shape.reduce((product, n) => product * n, 1));
        for (let i = 0; i < numbers.length; i += 1) numbers[i] = value_of[text.charCodeAt(start + i)];
        weights[name] = shape.length === 1 ? numbers : slices(numbers, shape[1]);
        start += numbers.length;
      }
      if (start !== text.length) throw new Error(`the file holds ${text.length} weights; the model has ${start}`);
      return weights;
    }

    /** Views of a vector, each n numbers long. */
    function slices(vector, n) {
      return Array.from({ length: vector.length / n }, (_, i) => vector.subarray(i * n, (i + 1) * n));
    }

    /** The dot product; four sums run faster than one. */
    function dot(a, b) {
      const n = a.length;
      let s0 = 0, s1 = 0, s2 = 0, s3 = 0, i = 0;
      for (; i + 3 < n; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
      }
      for (; i < n; i += 1) s0 += a[i] * b[i];
      return s0 + s1 + s2 + s3;
    }

    /** W x + b for each vector x. */
    function linear(xs, { weight, bias }) {
      return xs.map((x) => {
        const y = new Float32Array(weight.length);
        for (let i = 0; i < y.length; i += 1) y[i] = dot(weight[i], x) + (bias ? bias[i] : 0);
        return y;
      });
    }

    function add(xs, ys) {
      return xs.map((x, t) => x.map((number, i) => number + ys[t][i]));
    }

    /** Turn scores into weights that sum to one, in place. */
    function softmax(scores) {
      let most = -Infinity, sum = 0;
      for (let i = 0; i < scores.length; i += 1) most = Math.max(most, scores[i]);
      for (let i = 0; i < scores.length; i += 1) sum += scores[i] = Math.exp(scores[i] - most);
      for (let i = 0; i < scores.length; i += 1) scores[i] /= sum;
    }

    /** The error function to 1.5e-7: Abramowitz & Stegun 1964, 7.1.26. */
    function erf(x) {
      const t = 1 / (1 + 0.3275911 * Math.abs(x));
      const polynomial = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
      return Math.sign(x) * (1 - polynomial * Math.exp(-x * x));
    }

    const silu = (x) => x / (1 + Math.exp(-x));
    const ACTIVATIONS = {
      relu: (x) => Math.max(0, x),
      gelu: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
      gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x))),
      silu,
      swiglu: silu,
    };

    // ---- the model, as in course_pkg/models/gpt.py and bert.py

    class Transformer {
      constructor(header, text) {
        this.kind = header.kind;
        this.config = header.config;
        this.eps = header.norm_eps;
        this.weights = readWeights(header.tensors, text);
        this.n_kv_heads = this.config.n_kv_heads ?? this.config.n_heads;
        this.d_head = this.config.d_model / this.config.n_heads;
        this.seen = { ids: [], cache: this.newCache() };
      }

      /** A layer's weight and bias. */
      layer(name) {
        return { weight: this.weights[`${name}.weight`], bias: this.weights[`${name}.bias`] };
      }

      /** For each block and head, the keys and values of the positions that have been read: none. */
      newCache() {
        const heads = () => Array.from({ length: this.n_kv_heads }, () => []);
        return Array.from({ length: this.config.n_layers }, () => ({ keys: heads(), values: heads() }));
      }

      /** Bring each vector to mean 0 and variance 1 (or, "rms", to mean square 1), then to learned ones. */
      norm(xs, name) {
        const { weight, bias } = this.layer(name);
        return xs.map((x) => {
          const mean = this.config.norm === "layer" ? x.reduce((sum, number) => sum + number, 0) / x.length : 0;
          const variance = x.reduce((sum, number) => sum + (number - mean) ** 2, 0) / x.length;
          const scale = 1 / Math.sqrt(variance + this.eps);
          return x.map((number, i) => (number - mean) * scale * weight[i] + (bias ? bias[i] : 0));
        });
      }

      /** Queries, keys or values by head: (T vectors of D) to (heads, T vectors of K), which are views. */
      split(xs) {
        const by_position = xs.map((x) => slices(x, this.d_head));
        return by_position[0].map((_, head) => by_position.map((heads) => heads[head]));
      }

      /** Turn entries i and i + K/2 of a head by the position times base^(-2i/K), in place. */
      rotate(x, position) {
        const pairs = x.length / 2;
        for (let i = 0; i < pairs; i += 1) {
          const angle = position * 10000 ** (-i / pairs), cos = Math.cos(angle), sin = Math.sin(angle);
          [x[i], x[i + pairs]] = [x[i] * cos - x[i + pairs] * sin, x[i + pairs] * cos + x[i] * sin];
        }
      }

      /** Multi-head attention of the newest positions to all positions so far, whose keys and values the cache keeps. */
      attention(xs, name, { keys, values }, causal, trace) {
        const offset = keys[0].length;
        const query = this.split(linear(xs, this.layer(`${name}.query`)));
        const key = this.split(linear(xs, this.layer(`${name}.key`)));
        const value = this.split(linear(xs, this.layer(`${name}.value`)));
        if (this.config.positions === "rotary") [...query, ...key].forEach((head) => head.forEach((x, t) => this.rotate(x, offset + t)));
        keys.forEach((head, g) => head.push(...key[g]));
        values.forEach((head, g) => head.push(...value[g]));
        const joined = xs.map((x) => new Float32Array(x.length)), out = this.split(joined);
        const weights = query.map((head, n) => {
          const group = Math.floor((n * keys.length) / query.length); // several query heads may share a key head
          return head.map((q, t) => {
            const n_visible = causal ? offset + t + 1 : keys[group].length;
            return this.attend(q, keys[group], values[group], n_visible, out[n][t]);
          });
        });
        trace?.push(weights);
        return linear(joined, this.layer(`${name}.output`));
      }

      /** Average the first n values by how well their keys fit the query, into `out`; return the weights. */
      attend(query, keys, values, n, out) {
        const weights = new Float32Array(keys.length); // what may not be seen keeps the weight 0
        for (let s = 0; s < n; s += 1) weights[s] = dot(query, keys[s]) / Math.sqrt(query.length);
        softmax(weights.subarray(0, n));
        for (let s = 0; s < n; s += 1) {
          for (let i = 0; i < out.length; i += 1) out[i] += weights[s] * values[s][i];
        }
        return weights;
      }

      feedForward(xs, name) {
        const activate = ACTIVATIONS[this.config.activation];
        let hidden = linear(xs, this.layer(`${name}.expand`)).map((x) => x.map(activate));
        if (this.config.activation === "swiglu") {
          const gate = linear(xs, this.layer(`${name}.gate`));
          hidden = hidden.map((x, t) => x.map((number, i) => number * gate[t][i]));
        }
        return linear(hidden, this.layer(`${name}.contract`));
      }

      embed(ids, offset) {
        const table = this.weights["embedding.weight"];
        const positions = this.weights["positions.table.weight"], segments = this.weights["segment_embedding.weight"];
        let xs = ids.map((id) => table[id]);
        if (positions) xs = add(xs, positions.slice(offset));
        if (this.kind === "gpt") return xs;
        return this.norm(add(xs, ids.map(() => segments[0])), "embedding_norm"); // one text is BERT's first segment
      }

      /** The vector of each token in its context. The cache holds what came before and is extended by these. */
      encode(ids, { causal = this.kind === "gpt", cache = this.newCache(), trace = null } = {}) {
        const offset = cache[0].keys[0].length, end = offset + ids.length;
        if (end > this.config.context_length) throw new Error(`the text has ${end} tokens; the context ends at ${this.config.context_length}`);
        let xs = this.embed(ids, offset);
        cache.forEach((kept, n) => {
          const name = `stack.blocks.${n}`;
          xs = add(xs, this.attention(this.norm(xs, `${name}.norms.0`), `${name}.attention`, kept, causal, trace));
          xs = add(xs, this.feedForward(this.norm(xs, `${name}.norms.1`), `${name}.feed_forward`));
        });
        return this.norm(xs, "stack.final_norm");
      }

      /** Compare vectors with every token of the vocabulary. */
      unembed(xs) {
        const table = this.weights[this.config.is_tied ? "embedding.weight" : "unembedding.weight"];
        if (this.kind === "gpt") return linear(xs, { weight: table });
        const activate = ACTIVATIONS[this.config.activation === "swiglu" ? "gelu" : this.config.activation];
        const hidden = linear(xs, this.layer("token_head.transform")).map((x) => x.map(activate));
        return linear(this.norm(hidden, "token_head.norm"), { weight: table, bias: this.weights["token_head.bias"] });
      }

      // ---- what a figure may ask

      /** Logits of the token at each of some places of a text; of a GPT, of the token after it. */
      logits(ids, places) {
        const xs = this.encode(ids);
        return this.unembed(places.map((place) => xs[place]));
      }

      /** Logits of the token after a text; what it shares with the text asked for last is not read again. */
      nextLogits(ids) {
        const { cache } = this.seen;
        const n_known = Math.min(cache[0].keys[0].length, ids.length - 1);
        let n_shared = 0;
        while (n_shared < n_known && ids[n_shared] === this.seen.ids[n_shared]) n_shared += 1;
        for (const { keys, values } of cache) for (const head of [...keys, ...values]) head.length = n_shared;
        this.seen.ids = ids;
        const xs = this.encode(ids.slice(n_shared), { cache });
        return this.unembed(xs.slice(-1))[0];
      }

      /** The attention weights: [layer][head][the token that asks][the token that answers], a row summing to one. */
      attentionWeights(ids, causal) {
        const trace = [];
        this.encode(ids, { causal, trace });
        return trace;
      }
    }

    // ---- choosing the next token, as in course_pkg/decoding/samplers.py

    /** The distribution that is drawn from: temperature, then top-k, top-p and min-p. Temperature 0 is greedy. */
    function distribution(logits, { temperature = 1, top_k = Infinity, top_p = 1, min_p = 0 } = {}) {
      const probs = new Float64Array(logits).map((x) => x / (temperature || 1));
      if (temperature === 0) top_k = 1;
      if (top_k < probs.length) {
        const kth = largest(probs, top_k)[top_k - 1];
        probs.forEach((x, i) => { if (x < kth) probs[i] = -Infinity; });
      }
      softmax(probs);
      if (top_p < 1) {
        let ordered = largest(probs, A_FEW), before = 0, n_kept = 0;
        while (before < top_p && n_kept < probs.length) {
          if (n_kept === ordered.length) ordered = largest(probs, probs.length);
          before += ordered[n_kept++];
        }
        const least = ordered[n_kept - 1];
        probs.forEach((p, i) => { probs[i] = p < least ? 0 : p / before; });
      }
      if (min_p > 0) {
        const least = min_p * probs.reduce((a, b) => Math.max(a, b));
        const kept = probs.reduce((sum, p) => sum + (p < least ? 0 : p), 0);
        probs.forEach((p, i) => { probs[i] = p < least ? 0 : p / kept; });
      }
      return probs;
    }

    const A_FEW = 100; // found in one pass, without sorting a vocabulary of 49,152

    /** The n largest numbers, or more, in order. */
    function largest(probs, n) {
      return n > A_FEW ? probs.slice().sort().reverse() : mostProbable(probs, n).map((id) => probs[id]);
    }

    /** The n most probable tokens, the likeliest first; n is small, so no need to sort them all. */
    function mostProbable(probs, n) {
      const best = [];
      for (let id = 0; id < probs.length; id += 1) {
        if (best.length === n && !(probs[id] > probs[best[n - 1]])) continue;
        let place = best.length === n ? n - 1 : best.length;
        for (; place > 0 && probs[best[place - 1]] < probs[id]; place -= 1) best[place] = best[place - 1];
        best[place] = id;
      }
      return best;
    }

    /** Draw a token; `random` is uniform between 0 and 1. */
    function draw(probs, random = Math.random()) {
      let sum = 0, last = 0;
      for (let id = 0; id < probs.length; id += 1) {
        if (probs[id] === 0) continue;
        sum += probs[id];
        last = id;
        if (random < sum) break;
      }
      return last; // rounding may leave the sum a hair below one
    }

    return { Tokenizer, Transformer, distribution, mostProbable, draw };
  }

  /** What the worker does: build the model from the first message, then answer one question a message. */
  function serve(scope, { Transformer }) {
    let model = null;
    scope.onmessage = ({ data: { number, method, given } }) => {
      try {
        if (method === "load") model = new Transformer(...given);
        const answer = method === "load" ? null : model[method](...given);
        scope.postMessage({ number, answer });
      } catch (error) {
        scope.postMessage({ number, error: error.message });
      }
    };
  }

  const { Tokenizer, distribution, mostProbable, draw } = engine();

  /** What computes in a worker, given as the source of its script. */
  class WorkerModel {
    constructor(source) {
      this.waiting = new Map(); // number of a question -> who waits for its answer
      this.n_asked = 0;
      this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      this.worker.onmessage = ({ data: { number, answer, error, progress } }) => {
        if (progress) return this.onprogress(progress);
        const { resolve, reject } = this.waiting.get(number);
        this.waiting.delete(number);
        if (error === undefined) resolve(answer);
        else reject(new Error(error));
      };
      this.worker.onerror = (event) => {
        for (const { reject } of this.waiting.values()) reject(new Error(event.message ?? "the worker did not start"));
      };
    }

    /** Call a method of the model in the worker. */
    ask(method, ...given) {
      return new Promise((resolve, reject) => {
        this.n_asked += 1;
        this.waiting.set(this.n_asked, { resolve, reject });
        this.worker.postMessage({ number: this.n_asked, method, given });
      });
    }
  }

  /** A model that ships. */
  class Model extends WorkerModel {
    constructor(header) {
      super(`(${serve})(self, (${engine})());`);
      Object.assign(this, { name: header.name, kind: header.kind, context_length: header.config.context_length });
      this.n_layers = header.config.n_layers;
      this.n_heads = header.config.n_heads;
      this.tokenizer = new Tokenizer(header.tokenizer);
      this.first = this.ends = [this.tokenizer.special["<eos>"]]; // as in training, a text begins behind the end of another
    }
  }

  /** The ids of a reader's text, as many as there is room for, and notes on what was done to it. */
  function readText(model, ids, { room = model.context_length, keep = "first" } = {}) {
    const notes = [];
    if (ids.length > room) {
      notes.push(`Your text has ${ids.length} tokens; the ${keep} ${room} are read, as many as ${model.name} has room for.`);
      ids = keep === "first" ? ids.slice(0, room) : ids.slice(-room);
    }
    if (ids.some((id) => model.tokenizer.show(id).includes("\\x"))) {
      notes.push("Characters that the vocabulary lacks are read byte by byte (\\xNN); the model has hardly seen any.");
    }
    return { ids, notes };
  }

  const arriving = new Map(); // name of a model -> what to do with its weights

  /** The script with a model's weights calls this. */
  function weights(header, text) {
    arriving.get(header.name)(header, text);
  }

  /** Load a script; a page from the file system may load nothing else. */
  function fetchWeights(name) {
    return new Promise((resolve, reject) => {
      arriving.set(name, (header, text) => resolve([header, text]));
      const script = lm.h("script", { src: new URL(`${name}.js`, MODELS).href });
      script.onerror = () => reject(new Error(`${name}.js, the file with the weights, is not there`));
      document.head.append(script);
    });
  }

  async function load(name) {
    for (const feature of ["Worker", "Blob", "TextDecoder"]) {
      if (!window[feature]) throw new Error(`this browser has no ${feature}, which the model needs`);
    }
    const [header, text] = await fetchWeights(name);
    const model = new Model(header);
    await model.ask("load", header, text);
    return model;
  }

  const models = new Map();

  /** A model by name, loaded when it is first asked for; all figures of a page share it. */
  function model(name) {
    if (!models.has(name)) {
      const loading = load(name);
      loading.catch(() => models.delete(name)); // the next one to ask tries again
      models.set(name, loading);
    }
    return models.get(name);
  }

  /** Give a model that a figure has opened to all figures of the page. */
  function adopt(model) {
    models.set(model.name, Promise.resolve(model));
  }

  /** A figure that computes with models; its data say how many megabytes each of them is. */
  class ModelElement extends lm.Element {
    /** The model, fetched when the first figure of the page asks for it. */
    fetch(name) {
      if (!models.has(name)) this.say(`Fetching ${name}, ${this.data.megabytes[name]} MB, once …`);
      return model(name);
    }

    /** The form in which the reader asks: a field with its label, and a button. */
    question(label, field, button, ask) {
      const submit = (event) => {
        event.preventDefault();
        ask();
      };
      return lm.h("form", { class: "lm-ask", submit }, lm.h("label", { class: "lm-field lm-line" }, label, field), button);
    }

    fail(error) {
      this.say(`That did not work: ${error.message}. What was shown before stays.`);
    }
  }

  Object.assign(lm, { MODELS, engine, ModelElement, WorkerModel, adopt, model, weights, readText, distribution, mostProbable, draw });
})();
