# wrong: numpy's int64 overflows, without a word, above 9.2e18.
# shows: d_model = 4_000_000_000 (D * D = 1.6e19); "configs may be far larger than a float can count".

import numpy as np


def count_parameters(config):
    c = config
    D, F_, V = np.int64(c["d_model"]), np.int64(c["d_ff"]), np.int64(c["vocab_size"])
    kv = D // c["n_heads"] * c["n_kv_heads"]
    b = np.int64(c["has_bias"])
    with np.errstate(all="ignore"):
        lin = lambda n, m: n * m + b * m
        norm = D * (2 if c["norm"] == "layer" and b else 1)
        block = 2 * lin(D, D) + 2 * lin(D, kv) + (2 if c["activation"] == "swiglu" else 1) * lin(D, F_) + lin(F_, D) + 2 * norm
        total = V * D * (1 if c["is_tied"] else 2) + c["n_layers"] * block + norm
        if c["positions"] == "learned":
            total = total + c["context_length"] * D
    return int(total)
