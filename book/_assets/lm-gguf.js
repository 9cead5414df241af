/* A published model of LLaMA's structure, computed in the page from its GGUF file.

   `machine` runs in a worker: it reads the file into the memory of a WebAssembly module and leaves the
   weights there as they are, in blocks of four or eight bits. The products of their rows with a vector are
   the kernel's (kernel.wat); norms, rotation, softmax and gates are few and stand here, under the names of
   course_pkg. `lm.openPublished` is what a figure asks; the model that it gets answers like the course's own. */
(() => {
  "use strict";

  /** From a file to logits. Its source is sent to the worker, so it uses nothing outside itself. */
  function machine(scope, kernel) {
    const KINDS = {
      2: { name: "Q4_0", bits: 4, bytes: 18, second: 0, factor: -8 }, // d, 16 bytes of codes; m = -8 d
      3: { name: "Q4_1", bits: 4, bytes: 20, second: 2, factor: 1 }, // d, m, 16 bytes of codes
      8: { name: "Q8_0", bits: 8, bytes: 34 }, // d, 32 codes
    };
    const F32 = 0, BLOCK = 32;
    const OTHER_KINDS = { 0: "F32", 1: "F16", 6: "Q5_0", 7: "Q5_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 30: "BF16" };
    const FIELDS = [ // all that may be said of the structure; as in published_files.py
      ..."context_length embedding_length attention.head_count attention.head_count_kv block_count feed_forward_length".split(" "),
      ..."attention.layer_norm_rms_epsilon attention.key_length attention.value_length rope.freq_base rope.dimension_count vocab_size".split(" "),
    ];
    const MOST_POSITIONS = 1024; // of a text: their keys and values take as much memory as half the weights
    const AT_ONCE = 32; // positions that are read together, so that each weight is fetched once for all of them
    const MEGABYTE = 1e6, PAGE = 65536, MOST_BYTES = 1e9;
    const CUTS = { // where a text is cut before merging, by the file's name for it; as in published_files.py
      "gpt-2": "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+",
      smollm: "\\p{N}|'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+|\\p{White_Space}+(?![^\\p{White_Space}\\p{N}])|\\p{White_Space}+",
    };

    // Places of 32 numbers. With four bits: of each pair of bytes the low and the high half of the first, then of the second.
    const IN_ORDER = Uint8Array.from({ length: BLOCK }, (_, i) => i);
    const BY_HALVES = IN_ORDER.map((i) => 16 * (i & 1) + 8 * (i >> 4) + ((i & 15) >> 1));

    // ---- memory: the file from 0 on, behind it room to compute, keys and values

    class Memory {
      constructor() {
        this.memory = new WebAssembly.Memory({ initial: 1 });
      }

      get size() {
        return this.memory.buffer.byteLength;
      }

      /** See to it that there are so many bytes. Views of the memory must be made anew. */
      reserve(n) {
        try {
          if (n > this.size) this.memory.grow(Math.ceil((n - this.size) / PAGE));
        } catch {
          throw new Error(`the model takes ${Math.ceil(n / MEGABYTE)} MB of memory, more than this browser gives a page; close other pages`);
        }
      }

      floats(start, n) {
        return new Float32Array(this.memory.buffer, start, n);
      }
    }

    /** Read a file, chosen or fetched, to the beginning of the memory; return its size. */
    async function readInto(memory, { file, url, size }, progress) {
      let stream;
      if (file) {
        size = file.size;
        if (size > MOST_BYTES) throw new Error(`the file has ${(size / 1e9).toFixed(1)} GB; a page takes at most ${MOST_BYTES / 1e9}`);
        stream = file.stream();
      } else {
        const response = await fetch(url);
        if (!response.ok) throw new Error(`it does not lie beside this book (${response.status})`);
        stream = response.body;
      }
      memory.reserve(size);
      const reader = stream.getReader();
      let n = 0, told = 0;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (n === 0 && String.fromCharCode(...value.subarray(0, 4)) !== "GGUF") {
          reader.cancel();
          throw new Error("this is no GGUF file: it does not begin with “GGUF”");
        }
        if (n + value.length > MOST_BYTES) throw new Error(`the file has more than ${MOST_BYTES / 1e9} GB`);
        memory.reserve(n + value.length);
        new Uint8Array(memory.memory.buffer, n).set(value);
        n += value.length;
        if (n - told > 2 * MEGABYTE) progress((told = n), Math.max(n, size));
      }
      if (n === 0) throw new Error("the file is empty");
      return n;
    }

    /** The file's SHA-256 as hexadecimal digits; null where a browser computes none, as over http from another machine. */
    async function digest(bytes) {
      if (!scope.crypto?.subtle) return null;
      const sum = new Uint8Array(await scope.crypto.subtle.digest("SHA-256", bytes));
      return Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("");
    }

    // ---- the format: what the file says about itself, and where each array lies

    class Header {
      constructor(buffer, n) {
        this.view = new DataView(buffer, 0, n);
        this.bytes = new Uint8Array(buffer, 0, n);
        this.text = new TextDecoder();
        this.at = 4;
        try {
          this.read();
        } catch (error) {
          if (error instanceof RangeError) throw new Error("the file ends in its header: it is not whole");
          throw error;
        }
      }

      read() {
        const version = this.number("Uint32", 4);
        if (version !== 2 && version !== 3) throw new Error(`the file is GGUF version ${version}; it must be 2 or 3`);
        const n_arrays = this.long(), n_fields = this.long();
        this.fields = {};
        for (let i = 0; i < n_fields; i += 1) {
          const name = this.string();
          this.fields[name] = this.value(this.number("Uint32", 4));
        }
        const arrays = [];
        for (let i = 0; i < n_arrays; i += 1) {
          const name = this.string(), n_axes = this.number("Uint32", 4);
          const shape = Array.from({ length: n_axes }, () => this.long());
          arrays.push({ name, shape, kind: this.number("Uint32", 4), start: this.long() });
        }
        const alignment = this.fields["general.alignment"] ?? 32;
        const first = Math.ceil(this.at / alignment) * alignment;
        this.arrays = new Map(arrays.map((array) => [array.name, { ...array, start: first + array.start }]));
      }

      number(type, n_bytes) {
        const value = this.view[`get${type}`](this.at, true);
        this.at += n_bytes;
        return value;
      }

      long() {
        const value = Number(this.number("BigUint64", 8));
        if (value > 2 ** 40) throw new RangeError(); // no file is so long: the header is damaged
        return value;
      }

      string() {
        const n = this.long();
        if (this.at + n > this.bytes.length) throw new RangeError();
        const text = this.text.decode(this.bytes.subarray(this.at, this.at + n));
        this.at += n;
        return text;
      }

      value(type) {
        const NUMBERS = { 0: ["Uint8", 1], 1: ["Int8", 1], 2: ["Uint16", 2], 3: ["Int16", 2], 4: ["Uint32", 4], 5: ["Int32", 4], 6: ["Float32", 4], 7: ["Uint8", 1], 12: ["Float64", 8] };
        if (NUMBERS[type]) return this.number(...NUMBERS[type]);
        if (type === 10 || type === 11) return Number(this.number(type === 10 ? "BigUint64" : "BigInt64", 8));
        if (type === 8) return this.string();
        if (type !== 9) throw new Error(`the file's header has a field of type ${type}, which GGUF does not know`);
        const of = this.number("Uint32", 4), n = this.long();
        if (n > this.bytes.length) throw new RangeError();
        return Array.from({ length: n }, () => this.value(of));
      }
    }

    /** A field that must be there. */
    function field(fields, name) {
      if (fields[name] === undefined) throw new Error(`the file lacks ${name}`);
      return fields[name];
    }

    function demand(name, value, wanted, meaning) {
      if (value !== wanted) throw new Error(`${name} is ${value}; this page reads ${wanted}${meaning}`);
    }

    /** Vocabulary and merges as the engine's Tokenizer takes them: a token is a string with a character for each byte. */
    function tokenizerOf(fields) {
      demand("tokenizer.ggml.model", fields["tokenizer.ggml.model"], "gpt2", ", byte pairs");
      for (const name of ["add_bos_token", "add_eos_token"]) demand(`tokenizer.ggml.${name}`, fields[`tokenizer.ggml.${name}`] || 0, 0, ": no token is added to a text");
      const cut = field(fields, "tokenizer.ggml.pre");
      if (!CUTS[cut]) throw new Error(`tokenizer.ggml.pre is ${cut}; this page reads ${Object.keys(CUTS).join(" and ")}`);
      const names = field(fields, "tokenizer.ggml.tokens"), types = field(fields, "tokenizer.ggml.token_type");
      if (types.length !== names.length) throw new Error(`tokenizer.ggml.token_type has ${types.length} entries; it must have one for each of ${names.length} tokens`);
      const unknown = types.find((type) => type !== 1 && type !== 3);
      if (unknown !== undefined) throw new Error(`tokenizer.ggml.token_type has ${unknown}; it must be 1 or 3`);
      const byte_of = new Map(); // GPT-2 writes each byte as a character that can be seen
      for (let byte = 0, n_moved = 0; byte < 256; byte += 1) {
        const is_seen = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
        byte_of.set(String.fromCharCode(is_seen ? byte : 256 + n_moved++), String.fromCharCode(byte));
      }
      const special = {};
      const vocabulary = names.map((name, id) => {
        if (types[id] === 3) special[name] = id;
        return types[id] === 3 ? name : Array.from(name, (character) => byte_of.get(character) ?? "").join("");
      });
      const ids = new Map(names.map((name, id) => [name, id]));
      const merges = field(fields, "tokenizer.ggml.merges").map((line) => line.split(" ").map((part) => ids.get(part)));
      const eos = field(fields, "tokenizer.ggml.eos_token_id"), turn = fields["tokenizer.ggml.eot_token_id"] ?? eos;
      return { vocabulary, special, merges, pattern: CUTS[cut], ends: [...new Set([eos, turn, special["<|endoftext|>"] ?? eos])] };
    }

    // ---- the model: LLaMA's structure, as course_pkg's GPT with rotary positions, RMSNorm and SwiGLU

    class Llama {
      constructor(memory, { fields, arrays }, n_bytes) {
        demand("general.architecture", fields["general.architecture"], "llama", "");
        for (const [name, value] of Object.entries(fields)) {
          if (name.startsWith("llama.") && !FIELDS.includes(name.slice(6))) throw new Error(`${name} is ${value}; this page's model has no such choice`);
        }
        const size = (name) => field(fields, `llama.${name}`);
        this.d_model = size("embedding_length");
        this.d_ff = size("feed_forward_length");
        this.n_layers = size("block_count");
        this.n_heads = size("attention.head_count");
        this.n_kv_heads = size("attention.head_count_kv");
        this.eps = size("attention.layer_norm_rms_epsilon");
        this.base = fields["llama.rope.freq_base"] ?? 10000;
        this.d_head = this.d_model / this.n_heads;
        this.d_kv = this.n_kv_heads * this.d_head;
        this.context_length = Math.min(size("context_length"), MOST_POSITIONS);
        this.vocab_size = field(fields, "tokenizer.ggml.tokens").length;
        demand("llama.vocab_size", fields["llama.vocab_size"] ?? this.vocab_size, this.vocab_size, ", as many as there are tokens");
        if (!(this.base > 0 && this.base < Infinity)) throw new Error(`llama.rope.freq_base is ${this.base}; it must be positive and finite`);
        for (const name of ["rope.dimension_count", "attention.key_length", "attention.value_length"]) {
          demand(`llama.${name}`, fields[`llama.${name}`] ?? this.d_head, this.d_head, "");
        }
        if (this.d_head % 4 || this.n_heads % this.n_kv_heads) throw new Error(`the file has ${this.n_heads} heads of ${this.d_head}, and ${this.n_kv_heads} for keys; this page cannot read that`);
        this.memory = memory;
        this.place(arrays, n_bytes);
        this.ids = []; // whose keys and values are kept
      }

      /** Find each array, count its weights, and lay out the room behind the file. */
      place(stored, n_bytes) {
        const left = new Map(stored), { d_model: D, d_ff, d_kv } = this;
        const take = (name, rows, columns) => {
          const array = left.get(`${name}.weight`);
          if (!array) throw new Error(`the file lacks ${name}.weight`);
          left.delete(array.name);
          const kind = KINDS[array.kind], wanted = rows === 1 ? [columns] : [columns, rows];
          if (array.shape.join() !== wanted.join()) throw new Error(`${array.name} has the shape ${array.shape.join(" × ")}; the structure says ${wanted.join(" × ")}`);
          if (rows === 1 ? array.kind !== F32 : !kind) throw new Error(`${array.name} is stored as ${OTHER_KINDS[array.kind] ?? kind?.name ?? `kind ${array.kind}`}; this page reads ${rows === 1 ? "F32" : Object.values(KINDS).map(({ name }) => name).join(", ")}`);
          if (rows > 1 && columns % BLOCK) throw new Error(`${array.name} has rows of ${columns}; blocks of ${BLOCK} do not fill them`);
          const end = array.start + (rows === 1 ? 4 * columns : (rows * columns * kind.bytes) / BLOCK);
          if (end > n_bytes) throw new Error(`the file has ${n_bytes.toLocaleString("en")} bytes, and ${array.name} ends at ${end.toLocaleString("en")}: it is not whole`);
          const found = { start: array.start, rows, columns, n_blocks: columns / BLOCK, ...kind };
          if (!this.isFinite(found)) throw new Error(`${array.name} has a weight that is no number, or infinite: the file is damaged`);
          return found;
        };
        this.table = take("token_embd", this.vocab_size, D);
        this.head = stored.has("output.weight") ? take("output", this.vocab_size, D) : this.table;
        this.final_norm = take("output_norm", 1, D);
        this.blocks = Array.from({ length: this.n_layers }, (_, n) => {
          const part = (name, rows, columns) => take(`blk.${n}.${name}`, rows, columns);
          return {
            norms: [part("attn_norm", 1, D), part("ffn_norm", 1, D)],
            query: part("attn_q", D, D), key: part("attn_k", d_kv, D), value: part("attn_v", d_kv, D), output: part("attn_output", D, D),
            // What the file calls the gate is activated; what it calls up is what the activated units are multiplied by.
            expand: part("ffn_gate", d_ff, D), gate: part("ffn_up", d_ff, D), contract: part("ffn_down", D, d_ff),
          };
        });
        if (left.size) throw new Error(`the file has ${left.keys().next().value}, for which the structure has no place`);

        let end = n_bytes;
        const room = (n) => {
          const start = Math.ceil(end / 16) * 16;
          end = start + 4 * n;
          return start;
        };
        const widest = Math.max(D, d_ff);
        this.at = {
          rounded: room((AT_ONCE * widest) / 2), // 16 bits each
          scales: room((AT_ONCE * widest * 4) / BLOCK),
          query: room(AT_ONCE * D), mixed: room(AT_ONCE * D), hidden: room(AT_ONCE * d_ff), gate: room(AT_ONCE * d_ff), out: room(AT_ONCE * D),
          scores: room(this.context_length), logits: room(this.vocab_size),
          keys: room(this.n_layers * this.context_length * d_kv), values: room(this.n_layers * this.context_length * d_kv),
        };
        this.memory.reserve(end);
        this.kernel = new WebAssembly.Instance(kernel, { page: { memory: this.memory.memory } }).exports;
        const view = (name, n) => this.memory.floats(this.at[name], n);
        this.rounded = new Int16Array(this.memory.memory.buffer, this.at.rounded, AT_ONCE * widest);
        this.scales = view("scales", (AT_ONCE * widest * 4) / BLOCK);
        for (const norm of [this.final_norm, ...this.blocks.flatMap(({ norms }) => norms)]) norm.weight = this.memory.floats(norm.start, D);
        this.angles = Float64Array.from({ length: this.d_head / 2 }, (_, i) => this.base ** ((-2 * i) / this.d_head));
      }

      /** Whether all numbers are finite; of blocks, what their codes are multiplied by and what is added. */
      isFinite({ start, rows, columns, n_blocks, bytes, second }) {
        if (!bytes) return this.memory.floats(start, columns).every(Number.isFinite);
        const all = new Uint8Array(this.memory.memory.buffer, start, rows * n_blocks * bytes);
        const is_none = (at) => (all[at + 1] & 0x7c) === 0x7c; // all bits of a half's exponent are set
        for (let at = 0; at < all.length; at += bytes) if (is_none(at) || (second && is_none(at + second))) return false;
        return true;
      }

      /** T vectors of n numbers in the memory. */
      vectors(start, T, n) {
        return Array.from({ length: T }, (_, t) => this.memory.floats(start + 4 * t * n, n));
      }

      /** Row `id` of the table, the only weights that become floats again. */
      embed(id) {
        const { start, n_blocks, bytes, bits, second, factor } = this.table, x = new Float32Array(this.d_model);
        const view = new DataView(this.memory.memory.buffer, start + id * n_blocks * bytes, n_blocks * bytes);
        const half = (at) => {
          const all = view.getUint16(at, true), exponent = (all >> 10) & 31, fraction = all & 1023;
          return (all & 0x8000 ? -1 : 1) * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : (fraction / 1024) * 2 ** -14);
        };
        for (let block = 0; block < n_blocks; block += 1) {
          const at = block * bytes, d = half(at), codes = at + bytes - (bits === 4 ? 16 : 32);
          const m = bits === 4 ? factor * half(at + second) : 0;
          for (let i = 0; i < BLOCK; i += 1) {
            const code = bits === 8 ? view.getInt8(codes + i) : (view.getUint8(codes + (i % 16)) >> (i < 16 ? 0 : 4)) & 15;
            x[block * BLOCK + i] = d * code + m;
          }
        }
        return x;
      }

      /** Bring each vector to mean square 1, times learned weights. */
      norm(xs, { weight }) {
        return xs.map((x) => {
          let sum = 0;
          for (let i = 0; i < x.length; i += 1) sum += x[i] * x[i];
          const scale = 1 / Math.sqrt(sum / x.length + this.eps), y = new Float32Array(x.length);
          for (let i = 0; i < x.length; i += 1) y[i] = x[i] * scale * weight[i];
          return y;
        });
      }

      /** Round vectors by blocks of 32 to whole numbers from -127 to 127, in the order in which the kernel meets the codes. */
      round(xs, bits) {
        const order = bits === 8 ? IN_ORDER : BY_HALVES;
        xs.forEach((x, t) => {
          for (let block = 0; block < x.length; block += BLOCK) {
            let most = 0, sum = 0;
            for (let i = 0; i < BLOCK; i += 1) most = Math.max(most, Math.abs(x[block + i]));
            const scale = Math.fround(most / 127), place = t * x.length + block;
            for (let i = 0; i < BLOCK; i += 1) {
              const p = scale ? Math.floor(x[block + i] / scale + 0.5) : 0;
              sum += p;
              this.rounded[place + order[i]] = p;
            }
            this.scales[place / 8] = scale;
            this.scales[place / 8 + 1] = scale * sum;
          }
        });
      }

      /** Products of matrices with the same vectors, each to its place; there, vectors stand one behind the other. */
      linear(xs, ...targets) {
        const at_once = xs.length === 1 ? Infinity : 64; // so many rows stay in the processor's cache while all vectors pass
        let rounded_for = 0;
        for (const [{ bits, bytes, second, factor, start, rows, columns, n_blocks }, out] of targets) {
          if (bits !== rounded_for) this.round(xs, (rounded_for = bits));
          for (let row = 0; row < rows; row += at_once) {
            const n = Math.min(at_once, rows - row), first = start + row * n_blocks * bytes;
            for (let t = 0; t < xs.length; t += 1) {
              const p = this.at.rounded + 2 * t * columns, scales = this.at.scales + (t * columns) / 2, y = out + 4 * (t * rows + row);
              if (bits === 8) this.kernel.rows_of_eight_bits(first, n, n_blocks, p, scales, y);
              else this.kernel.rows_of_four_bits(first, n, n_blocks, bytes, second, factor, p, scales, y);
            }
          }
        }
      }

      /** Turn neighbours 2i and 2i + 1 of each head by the position times base^(-2i/K): the file's order of rows. */
      rotate(x, position) {
        const { angles, d_head } = this;
        angles.forEach((angle, i) => {
          const cos = Math.cos(position * angle), sin = Math.sin(position * angle);
          for (let a = 2 * i; a < x.length; a += d_head) {
            const first = x[a], second = x[a + 1];
            x[a] = first * cos - second * sin;
            x[a + 1] = second * cos + first * sin;
          }
        });
      }

      /** Scores of n keys become weights that sum to one, in place. */
      softmax(scores) {
        const scale = 1 / Math.sqrt(this.d_head);
        let most = -Infinity, sum = 0;
        for (let s = 0; s < scores.length; s += 1) most = Math.max(most, scores[s]);
        for (let s = 0; s < scores.length; s += 1) sum += scores[s] = Math.exp((scores[s] - most) * scale);
        for (let s = 0; s < scores.length; s += 1) scores[s] /= sum;
      }

      /** Multi-head attention of the newest positions to all so far; weights for `trace`, [head][asks][answers]. */
      attention(xs, layer, offset, trace) {
        const { query, key, value, output } = this.blocks[layer], { at, d_head, d_kv, d_model, n_heads, kernel: run } = this;
        const of_layer = 4 * layer * this.context_length * d_kv, stride = 4 * d_kv, here = of_layer + offset * stride;
        this.linear(xs, [query, at.query], [key, at.keys + here], [value, at.values + here]);
        this.vectors(at.query, xs.length, d_model).forEach((x, t) => this.rotate(x, offset + t));
        this.vectors(at.keys + here, xs.length, d_kv).forEach((x, t) => this.rotate(x, offset + t));
        const mixed = this.vectors(at.mixed, xs.length, d_model);
        mixed.forEach((out, t) => {
          const n = offset + t + 1, scores = this.memory.floats(at.scores, n);
          out.fill(0);
          for (let head = 0; head < n_heads; head += 1) {
            const group = Math.floor((head * this.n_kv_heads) / n_heads) * d_head * 4 + of_layer; // heads share keys
            const place = 4 * (t * d_model + head * d_head);
            run.scores(at.query + place, at.keys + group, n, stride, d_head, at.scores);
            this.softmax(scores);
            run.mix(at.scores, at.values + group, n, stride, d_head, at.mixed + place);
            trace?.[head].push(scores.slice());
          }
        });
        this.linear(mixed, [output, at.out]);
      }

      feedForward(xs, layer) {
        const { expand, gate, contract } = this.blocks[layer], { at, d_ff } = this;
        this.linear(xs, [expand, at.hidden], [gate, at.gate]);
        const gates = this.vectors(at.gate, xs.length, d_ff), hidden = this.vectors(at.hidden, xs.length, d_ff);
        hidden.forEach((x, t) => {
          for (let i = 0; i < d_ff; i += 1) x[i] = (x[i] / (1 + Math.exp(-x[i]))) * gates[t][i];
        });
        this.linear(hidden, [contract, at.out]);
      }

      /** Read up to AT_ONCE tokens behind `offset` others, whose keys and values are kept; return the last one's vector. */
      encode(ids, offset, traces) {
        const xs = ids.map((id) => this.embed(id)), outs = this.vectors(this.at.out, xs.length, this.d_model);
        const add = () => xs.forEach((x, t) => { for (let i = 0; i < x.length; i += 1) x[i] += outs[t][i]; });
        this.blocks.forEach(({ norms }, layer) => {
          this.attention(this.norm(xs, norms[0]), layer, offset, traces?.[layer]);
          add();
          this.feedForward(this.norm(xs, norms[1]), layer);
          add();
        });
        return this.norm(xs.slice(-1), this.final_norm);
      }

      /** Read a text, from where it parts from what was read last; return the last token's vector. */
      read(ids, traces = null) {
        if (ids.length > this.context_length) throw new Error(`the text has ${ids.length} tokens; in this page the context ends at ${this.context_length}`);
        let start = 0, last = null;
        const n_known = traces ? 0 : Math.min(this.ids.length, ids.length - 1);
        while (start < n_known && ids[start] === this.ids[start]) start += 1;
        for (; start < ids.length; start += AT_ONCE) last = this.encode(ids.slice(start, start + AT_ONCE), start, traces);
        this.ids = ids;
        return last;
      }

      // ---- what a figure may ask

      /** Logits of the token after a text. */
      nextLogits(ids) {
        this.linear(this.read(ids), [this.head, this.at.logits]);
        return this.memory.floats(this.at.logits, this.vocab_size).slice();
      }

      /** Read a text and answer nothing: a long one comes in parts, and a reader can stop between them. */
      prepare(ids) {
        this.read(ids);
        return null;
      }

      /** The attention weights: [layer][head][the token that asks][the token that answers], a row summing to one. */
      attentionWeights(ids) {
        const traces = Array.from({ length: this.n_layers }, () => Array.from({ length: this.n_heads }, () => []));
        this.read(ids, traces);
        for (const heads of traces) for (const rows of heads) {
          rows.forEach((row, t) => { (rows[t] = new Float32Array(ids.length)).set(row); }); // what follows is hidden
        }
        return traces;
      }
    }

    // ---- one question a message

    let model = null;

    async function open(source, progress) {
      model = null;
      const memory = new Memory(), n_bytes = await readInto(memory, source, progress);
      const sha256 = await digest(new Uint8Array(memory.memory.buffer, 0, n_bytes));
      const header = new Header(memory.memory.buffer, n_bytes);
      const tokenizer = tokenizerOf(header.fields);
      model = new Llama(memory, header, n_bytes);
      const { n_layers, n_heads, context_length } = model;
      return { sha256, n_bytes, tokenizer, n_layers, n_heads, context_length, template: header.fields["tokenizer.chat_template"] ?? "", megabytes: memory.size / MEGABYTE };
    }

    scope.onmessage = async ({ data: { number, method, given } }) => {
      try {
        const progress = (n, of) => scope.postMessage({ progress: { n, of } });
        scope.postMessage({ number, answer: method === "open" ? await open(given[0], progress) : model[method](...given) });
      } catch (error) {
        scope.postMessage({ number, error: error.message });
      }
    };
  }

  // ---- the page's side

  /** ChatML, the only template that the page knows; in it stands what a model hears that was told nothing. */
  const CHATML = [
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n",
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
  ];

  /** What a template says first, or null if it is another one. Spaces inside {{ }} mean nothing. */
  function systemOf(template) {
    const plain = (text) => text.replaceAll("{{ ", "{{").replaceAll(" }}", "}}");
    const [head, tail] = CHATML.map(plain), text = plain(template);
    const system = text.slice(head.length, text.length - tail.length);
    return text === head + system + tail && !/['\\{}]/.test(system) ? system : null;
  }

  /** A published model in its worker. */
  class PublishedModel extends lm.WorkerModel {
    constructor(name, source, told) {
      super(source);
      this.onprogress = told;
      Object.assign(this, { name, kind: "gpt", first: [] });
    }

    async open(source) {
      const { tokenizer, template, ...about } = await this.ask("open", source);
      Object.assign(this, about, { tokenizer: new (lm.engine().Tokenizer)(tokenizer), ends: tokenizer.ends });
      this.system = systemOf(template);
    }

    /** The ids of a conversation by the template, up to where the model is to answer; nobody can write a special token. */
    conversation(messages) {
      const { special } = this.tokenizer, [start, end] = [special["<|im_start|>"], special["<|im_end|>"]];
      const encode = (text) => this.tokenizer.encode(text), line = encode("\n");
      const turns = messages.flatMap(({ role, content }) => [start, ...encode(`${role}\n`), ...encode(content), end, ...line]);
      return [start, ...encode(`system\n${this.system}`), end, ...line, ...turns, start, ...encode("assistant\n")];
    }
  }

  const kernelBytes = () => Uint8Array.from(atob(lm.KERNEL), (character) => character.charCodeAt(0));

  /** Whether this browser can run the kernel. */
  const hasSIMD = () => typeof WebAssembly === "object" && WebAssembly.validate(kernelBytes());

  /** Open a model's file: {file}, which a reader chose, or {url, size}. `told` hears how much has been read. */
  async function openPublished(name, source, told) {
    if (!hasSIMD()) throw new Error("this browser's WebAssembly has no SIMD, the instructions that multiply several numbers at once");
    const script = `(${machine})(self, new WebAssembly.Module(new Uint8Array([${kernelBytes()}])));`;
    const model = new PublishedModel(name, script, told);
    try {
      await model.open(source);
      return model;
    } catch (error) {
      model.worker.terminate(); // and with it the memory
      throw error;
    }
  }

  Object.assign(lm, { openPublished, hasSIMD });
})();
