# wrong: the biases of keys and values have D numbers, though there are fewer heads.
# shows: n_kv_heads < n_heads with has_bias True.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    kv = D // c["n_heads"] * c["n_kv_heads"]
    b = c["has_bias"]
    attention = 2 * D * D + 2 * D * kv + 4 * D * b
    ff = D * F_ * (3 if c["activation"] == "swiglu" else 2) + b * (F_ * (2 if c["activation"] == "swiglu" else 1) + D)
    norm = 2 * D if c["norm"] == "layer" and b else D
    total = V * D * (2 - c["is_tied"]) + c["n_layers"] * (attention + ff + 2 * norm) + norm
    return total + (c["context_length"] * D if c["positions"] == "learned" else 0)
