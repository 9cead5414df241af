"""A published model in plain NumPy, each operation rounded as in the page (lm-gguf.js, kernel.wat).

What the page adds in float32, this adds in float32 and in the same order; what JavaScript computes
in its own numbers and then stores, this computes in float64 and then rounds. So the two agree to
the bit, unless an exponential differs in its last one.
"""

from pathlib import Path

import numpy as np

BYTES = {"Q4_0": 18, "Q4_1": 20, "Q8_0": 34}
LANES = np.argsort([16 * (i & 1) + 8 * (i >> 4) + ((i & 15) >> 1) for i in range(32)])
"""Which of 32 codes of four bits the kernel meets first, second, and so on."""


class PlainGGUF:
    """Logits of the token after a text, of a GGUF file of LLaMA's structure."""

    def __init__(self, path: Path) -> None:
        import gguf

        reader = gguf.GGUFReader(path)
        self.arrays = {array.name: array for array in reader.tensors}
        fields = {name: field.contents() for name, field in reader.fields.items()}
        self.n_layers = fields["llama.block_count"]
        self.n_heads = fields["llama.attention.head_count"]
        self.n_kv_heads = fields["llama.attention.head_count_kv"]
        self.eps = fields["llama.attention.layer_norm_rms_epsilon"]
        self.d_head = fields["llama.embedding_length"] // self.n_heads
        pairs = np.arange(self.d_head // 2)
        self.angles = fields["llama.rope.freq_base"] ** (-2 * pairs / self.d_head)
        table = self.arrays["token_embd.weight"]
        self.embed = lambda ids: gguf.dequantize(table.data[ids], table.tensor_type)

    def linear(self, xs: np.ndarray, name: str) -> np.ndarray:
        """Multiply vectors (T, D), rounded to 8 bits by blocks, with a matrix in blocks."""
        array = self.arrays[f"{name}.weight"]
        kind = array.tensor_type.name
        blocks = np.ascontiguousarray(array.data).reshape(array.data.shape[0], -1, BYTES[kind])
        d = blocks[..., :2].copy().view(np.float16)[..., 0].astype(np.float32)
        if kind == "Q8_0":
            codes, m, order = blocks[..., 2:].view(np.int8), np.zeros_like(d), np.arange(32)
        else:
            packed = blocks[..., -16:]
            codes, order = np.concatenate([packed & 15, packed >> 4], axis=-1), LANES
            m = (
                d
                if kind == "Q4_0"
                else blocks[..., 2:4].copy().view(np.float16)[..., 0].astype(np.float32)
            )
        codes = codes[..., order].astype(np.int32)
        factor = np.float32(-8 if kind == "Q4_0" else 1)
        return np.stack([self._row(x, codes, d, m, order, factor) for x in xs])

    @staticmethod
    def _row(x, codes, d, m, order, factor) -> np.ndarray:
        parts = x.astype(np.float64).reshape(-1, 32)
        e = (np.abs(parts).max(axis=1) / 127).astype(np.float32)
        divisor = np.where(e == 0, 1, e).astype(np.float64)[:, None]
        p = np.floor(parts / divisor + 0.5).astype(np.int32)
        e_sum = (e.astype(np.float64) * p.sum(axis=1)).astype(np.float32)
        # A product of neighbours goes to one of four sums; four such quarters make a block.
        products = (codes * p[:, order]).reshape(len(codes), -1, 4, 4, 2).sum(axis=(2, 4))
        sums, offsets = np.zeros((len(codes), 4), np.float32), np.zeros(len(codes), np.float32)
        for block in range(len(p)):
            sums += (e[block] * d[:, block])[:, None] * products[:, block].astype(np.float32)
            offsets += e_sum[block] * m[:, block]
        return _across(sums) + factor * offsets

    def norm(self, xs: np.ndarray, name: str) -> np.ndarray:
        wide = xs.astype(np.float64)
        scale = 1 / np.sqrt((wide**2).mean(axis=1, keepdims=True) + self.eps)
        return (wide * scale * self.arrays[f"{name}.weight"].data).astype(np.float32)

    def rotate(self, xs: np.ndarray) -> np.ndarray:
        """Turn neighbours of each head, whose rows stand in the file's order."""
        pairs = xs.astype(np.float64).reshape(len(xs), -1, self.d_head // 2, 2)
        angle = np.arange(len(xs))[:, None, None] * self.angles
        first, second = pairs[..., 0], pairs[..., 1]
        turned = [
            first * np.cos(angle) - second * np.sin(angle),
            second * np.cos(angle) + first * np.sin(angle),
        ]
        return np.stack(turned, axis=-1).astype(np.float32).reshape(len(xs), -1, self.d_head)

    def attention(self, xs: np.ndarray, layer: int) -> np.ndarray:
        query, key, value = (self.linear(xs, f"blk.{layer}.attn_{part}") for part in "qkv")
        query, key = self.rotate(query), self.rotate(key)
        value = value.reshape(len(xs), -1, self.d_head)
        mixed = np.zeros_like(query)
        for t in range(len(xs)):
            for head in range(self.n_heads):
                group = head * self.n_kv_heads // self.n_heads
                fits = np.zeros((t + 1, 4), np.float32)
                for i in range(0, self.d_head, 4):
                    fits += query[t, head, i : i + 4] * key[: t + 1, group, i : i + 4]
                scores = _across(fits).astype(np.float64)
                weights = np.exp((scores - scores.max()) / np.sqrt(self.d_head))
                weights = (weights.astype(np.float32) / weights.sum()).astype(np.float32)
                for s in range(t + 1):
                    mixed[t, head] += weights[s] * value[s, group]
        return self.linear(mixed.reshape(len(xs), -1), f"blk.{layer}.attn_output")

    def feed_forward(self, xs: np.ndarray, layer: int) -> np.ndarray:
        units = self.linear(xs, f"blk.{layer}.ffn_gate").astype(np.float64)
        gate = self.linear(xs, f"blk.{layer}.ffn_up")
        hidden = (units / (1 + np.exp(-units)) * gate).astype(np.float32)
        return self.linear(hidden, f"blk.{layer}.ffn_down")

    def logits(self, ids: list[int]) -> np.ndarray:
        xs = self.embed(ids)
        for layer in range(self.n_layers):
            xs = xs + self.attention(self.norm(xs, f"blk.{layer}.attn_norm"), layer)
            xs = xs + self.feed_forward(self.norm(xs, f"blk.{layer}.ffn_norm"), layer)
        head = "output" if "output.weight" in self.arrays else "token_embd"
        return self.linear(self.norm(xs[-1:], "output_norm"), head)[0]


def _across(sums: np.ndarray) -> np.ndarray:
    return (sums[:, 0] + sums[:, 1]) + (sums[:, 2] + sums[:, 3])
