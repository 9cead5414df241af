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

    // ---- numbers: a matrix is one Float32Array, row after row

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
        weights[name] = numbers;
        start += numbers.length;
      }
      if (start !== text.length) throw new Error(`the file holds ${text.length} weights; the model has ${start}`);
      return weights;
    }

    /** The dot product of n numbers of a, from i on, and of b, from j on; four sums run faster than one. */
    function dot(a, i, b, j, n) {
      let s0 = 0, s1 = 0, s2 = 0, s3 = 0, k = 0;
      for (; k + 3 < n; k += 4) {
        s0 += a[i + k] * b[j + k];
        s1 += a[i + k + 1] * b[j + k + 1];
        s2 += a[i + k + 2] * b[j + k + 2];
        s3 += a[i + k + 3] * b[j + k + 3];
      }
      for (; k < n; k += 1) s0 += a[i + k] * b[j + k];
      return s0 + s1 + s2 + s3;
    }

    /** x W^T + b for each row of x, which is n_in wide. */
    function linear(x, n_in, { weight, bias }) {
      const n_out = weight.length / n_in, n_rows = x.length / n_in;
      const y = new Float32Array(n_rows * n_out);
      for (let o = 0; o < n_out; o += 1) {
        const b = bias ? bias[o] : 0;
        for (let r = 0; r < n_rows; r += 1) y[r * n_out + o] = b + dot(weight, o * n_in, x, r * n_in, n_in);
      }
      return y;
    }

    function add(x, y) {
      return x.map((number, i) => number + y[i]);
    }

    /** Turn n scores, from start on, into weights that sum to one, in place. */
    function softmax(scores, start, n) {
      let most = -Infinity, sum = 0;
      for (let i = start; i < start + n; i += 1) most = Math.max(most, scores[i]);
      for (let i = start; i < start + n; i += 1) sum += scores[i] = Math.exp(scores[i] - most);
      for (let i = start; i < start + n; i += 1) scores[i] /= sum;
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
      gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
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

      /** Room for the keys and values of a whole context, in each block. */
      newCache() {
        const n = this.config.context_length * this.n_kv_heads * this.d_head;
        const blocks = Array.from({ length: this.config.n_layers }, () => ({ keys: new Float32Array(n), values: new Float32Array(n) }));
        return { length: 0, blocks };
      }

      /** Bring each vector to mean 0 and variance 1 (or, "rms", to mean square 1), then to learned ones. */
      norm(x, name) {
        const { weight, bias } = this.layer(name), D = this.config.d_model;
        const y = new Float32Array(x.length);
        for (let row = 0; row < x.length; row += D) {
          let mean = 0, variance = 0;
          if (this.config.norm === "layer") for (let i = 0; i < D; i += 1) mean += x[row + i] / D;
          for (let i = 0; i < D; i += 1) variance += (x[row + i] - mean) ** 2 / D;
          const scale = 1 / Math.sqrt(variance + this.eps);
          for (let i = 0; i < D; i += 1) y[row + i] = (x[row + i] - mean) * scale * weight[i] + (bias ? bias[i] : 0);
        }
        return y;
      }

      /** Turn each pair of entries of each head by its position times base^(-2i/K), in place. */
      rotate(x, n_heads, offset) {
        const K = this.d_head, pairs = K / 2, T = x.length / (n_heads * K);
        for (let t = 0; t < T; t += 1) {
          for (let i = 0; i < pairs; i += 1) {
            const angle = (offset + t) * 10000 ** (-i / pairs);
            const cos = Math.cos(angle), sin = Math.sin(angle);
            for (let head = 0; head < n_heads; head += 1) {
              const a = (t * n_heads + head) * K + i, b = a + pairs;
              [x[a], x[b]] = [x[a] * cos - x[b] * sin, x[b] * cos + x[a] * sin];
            }
          }
        }
      }

      /** Multi-head attention of the newest positions to all positions so far, whose keys and values the cache keeps. */
      attention(x, name, { keys, values }, offset, causal, trace) {
        const { d_model: D, n_heads: H } = this.config, G = this.n_kv_heads, K = this.d_head;
        const T = x.length / D, S = offset + T;
        const query = linear(x, D, this.layer(`${name}.query`));
        const key = linear(x, D, this.layer(`${name}.key`));
        if (this.config.positions === "rotary") {
          this.rotate(query, H, offset);
          this.rotate(key, G, offset);
        }
        keys.set(key, offset * G * K);
        values.set(linear(x, D, this.layer(`${name}.value`)), offset * G * K);
        const heads = new Float32Array(T * D), weights = new Float32Array(H * T * S);
        for (let head = 0; head < H; head += 1) {
          const group = Math.floor((head * G) / H) * K; // several query heads may share a key head
          for (let t = 0; t < T; t += 1) {
            const q = (t * H + head) * K, row = (head * T + t) * S;
            const n_visible = causal ? offset + t + 1 : S; // what follows keeps the weight 0
            for (let s = 0; s < n_visible; s += 1) weights[row + s] = dot(query, q, keys, s * G * K + group, K) / Math.sqrt(K);
            softmax(weights, row, n_visible);
            for (let s = 0; s < n_visible; s += 1) {
              const weight = weights[row + s], v = s * G * K + group;
              for (let i = 0; i < K; i += 1) heads[q + i] += weight * values[v + i];
            }
          }
        }
        trace?.push(weights);
        return linear(heads, D, this.layer(`${name}.output`));
      }

      feedForward(x, name) {
        const { d_model: D, d_ff: F, activation } = this.config;
        let hidden = linear(x, D, this.layer(`${name}.expand`)).map(ACTIVATIONS[activation]);
        if (activation === "swiglu") {
          const gate = linear(x, D, this.layer(`${name}.gate`));
          hidden = hidden.map((number, i) => number * gate[i]);
        }
        return linear(hidden, F, this.layer(`${name}.contract`));
      }

      embed(ids, offset) {
        const D = this.config.d_model, x = new Float32Array(ids.length * D);
        const position = this.weights["positions.table.weight"], segment = this.weights["segment_embedding.weight"];
        ids.forEach((id, t) => {
          for (let i = 0; i < D; i += 1) {
            x[t * D + i] = this.weights["embedding.weight"][id * D + i];
            if (position) x[t * D + i] += position[(offset + t) * D + i];
            if (segment) x[t * D + i] += segment[i]; // BERT's first segment
          }
        });
        return this.kind === "bert" ? this.norm(x, "embedding_norm") : x;
      }

      /** The vector of each token in its context. The cache holds what came before, and comes to hold these too. */
      encode(ids, { causal = this.kind === "gpt", cache = this.newCache(), trace = null } = {}) {
        const end = cache.length + ids.length;
        if (end > this.config.context_length) throw new Error(`the text has ${end} tokens; the context ends at ${this.config.context_length}`);
        let x = this.embed(ids, cache.length);
        cache.blocks.forEach((block, n) => {
          const name = `stack.blocks.${n}`;
          x = add(x, this.attention(this.norm(x, `${name}.norms.0`), `${name}.attention`, block, cache.length, causal, trace));
          x = add(x, this.feedForward(this.norm(x, `${name}.norms.1`), `${name}.feed_forward`));
        });
        cache.length = end;
        return this.norm(x, "stack.final_norm");
      }

      /** Compare vectors with every token of the vocabulary. */
      unembed(x) {
        const D = this.config.d_model;
        const table = this.weights[this.config.is_tied ? "embedding.weight" : "unembedding.weight"];
        if (this.kind === "gpt") return linear(x, D, { weight: table });
        const activation = this.config.activation === "swiglu" ? "gelu" : this.config.activation;
        const hidden = linear(x, D, this.layer("token_head.transform")).map(ACTIVATIONS[activation]);
        return linear(this.norm(hidden, "token_head.norm"), D, { weight: table, bias: this.weights["token_head.bias"] });
      }

      // ---- what a figure may ask

      /** Logits of the token at the given places of a text; of a GPT, of the token after each. */
      logits(ids, places) {
        const D = this.config.d_model, x = this.encode(ids);
        const chosen = new Float32Array(places.length * D);
        places.forEach((place, row) => chosen.set(x.subarray(place * D, (place + 1) * D), row * D));
        return this.unembed(chosen);
      }

      /** Logits of the token after a text; what it shares with the text asked for last is not read again. */
      nextLogits(ids) {
        const { cache } = this.seen;
        let n_shared = 0;
        while (n_shared < Math.min(cache.length, ids.length - 1) && ids[n_shared] === this.seen.ids[n_shared]) n_shared += 1;
        cache.length = n_shared;
        const x = this.encode(ids.slice(n_shared), { cache });
        this.seen.ids = ids;
        return this.unembed(x.subarray(x.length - this.config.d_model));
      }

      /** The attention weights of each block, (heads, T, T), each row summing to one. */
      attentionWeights(ids, causal) {
        const trace = [];
        this.encode(ids, { causal, trace });
        return trace;
      }
    }

    // ---- choosing the next token, as in course_pkg/decoding/samplers.py

    /** The distribution that is drawn from: temperature, then top-k, then top-p. Temperature 0 is greedy. */
    function distribution(logits, { temperature = 1, top_k = Infinity, top_p = 1 } = {}) {
      const probs = Float64Array.from(logits, (x) => x / (temperature || 1));
      if (temperature === 0) top_k = 1;
      if (top_k < probs.length) {
        const kth = probs.slice().sort()[probs.length - top_k];
        probs.forEach((x, i) => { if (x < kth) probs[i] = -Infinity; });
      }
      softmax(probs, 0, probs.length);
      if (top_p < 1) {
        const ordered = probs.slice().sort().reverse();
        let before = 0, n_kept = 0;
        while (before < top_p && n_kept < ordered.length) before += ordered[n_kept++];
        probs.forEach((p, i) => { probs[i] = p < ordered[n_kept - 1] ? 0 : p / before; });
      }
      return probs;
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

  /** A model in its worker. */
  class Model {
    constructor(header) {
      Object.assign(this, { name: header.name, kind: header.kind, context_length: header.config.context_length });
      this.n_layers = header.config.n_layers;
      this.n_heads = header.config.n_heads;
      this.tokenizer = new Tokenizer(header.tokenizer);
      this.waiting = new Map(); // number of a question -> who waits for its answer
      this.n_asked = 0;
      const source = URL.createObjectURL(new Blob([`(${serve})(self, (${engine})());`], { type: "text/javascript" }));
      this.worker = new Worker(source);
      this.worker.onmessage = ({ data: { number, answer, error } }) => {
        const { resolve, reject } = this.waiting.get(number);
        this.waiting.delete(number);
        if (error === undefined) resolve(answer);
        else reject(new Error(error));
      };
      this.worker.onerror = (event) => {
        for (const { reject } of this.waiting.values()) reject(new Error(event.message ?? "the worker did not start"));
      };
    }

    /** Call a method of the Transformer in the worker. */
    ask(method, ...given) {
      return new Promise((resolve, reject) => {
        this.n_asked += 1;
        this.waiting.set(this.n_asked, { resolve, reject });
        this.worker.postMessage({ number: this.n_asked, method, given });
      });
    }
  }

  /** A model says in one line what it did to a reader's text; the figure shows it. */
  function readText(model, text, { room = model.context_length, keep = "first" } = {}) {
    let ids = model.tokenizer.encode(text);
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

  Object.assign(lm, { engine, model, weights, readText, distribution, mostProbable, draw });
})();
