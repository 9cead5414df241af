# wrong: a LayerNorm is given a bias even where has_bias is False.
# shows: norm "layer" with has_bias False.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    b = int(c["has_bias"])
    kv = c["n_kv_heads"] * (D // c["n_heads"])
    norm = 2 * D if c["norm"] == "layer" else D
    lin = lambda n, m: n * m + b * m
    attention = 2 * lin(D, D) + 2 * lin(D, kv)
    ff = lin(D, F_) * (2 if c["activation"] == "swiglu" else 1) + lin(F_, D)
    n = V * D + c["n_layers"] * (attention + ff + 2 * norm) + norm
    n += c["context_length"] * D if c["positions"] == "learned" else 0
    return n if c["is_tied"] else n + V * D
