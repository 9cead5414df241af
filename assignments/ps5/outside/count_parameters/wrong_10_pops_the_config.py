# wrong: takes the keys out of the caller's dict.
# shows: the config after the call.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    kv = D // c["n_heads"] * c["n_kv_heads"]
    b = c.pop("has_bias")
    lin = lambda n, m: n * m + (m if b else 0)
    norm = 2 * D if c["norm"] == "layer" and b else D
    block = 2 * lin(D, D) + 2 * lin(D, kv) + (2 if c["activation"] == "swiglu" else 1) * lin(D, F_) + lin(F_, D) + 2 * norm
    total = V * D * (1 if c["is_tied"] else 2) + c["n_layers"] * block + norm
    return total + (c["context_length"] * D if c["positions"] == "learned" else 0)
