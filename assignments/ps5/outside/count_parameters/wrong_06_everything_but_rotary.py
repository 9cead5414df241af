# wrong: a table of positions for everything but "rotary" (also for "sinusoidal" and "none").
# shows: positions "sinusoidal" or "none".

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    kv = D // c["n_heads"] * c["n_kv_heads"]
    lin = lambda n, m: n * m + (m if c["has_bias"] else 0)
    norm = 2 * D if c["norm"] == "layer" and c["has_bias"] else D
    block = 2 * lin(D, D) + 2 * lin(D, kv) + (2 if c["activation"] == "swiglu" else 1) * lin(D, F_) + lin(F_, D) + 2 * norm
    total = V * D * (1 if c["is_tied"] else 2) + c["n_layers"] * block + norm
    return total + (c["context_length"] * D if c["positions"] != "rotary" else 0)
