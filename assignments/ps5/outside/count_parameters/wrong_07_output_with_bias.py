# wrong: an output of its own has a bias where has_bias is True; the contract says without.
# shows: is_tied False with has_bias True.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    kv = D // c["n_heads"] * c["n_kv_heads"]
    lin = lambda n, m: n * m + (m if c["has_bias"] else 0)
    norm = 2 * D if c["norm"] == "layer" and c["has_bias"] else D
    block = 2 * lin(D, D) + 2 * lin(D, kv) + (2 if c["activation"] == "swiglu" else 1) * lin(D, F_) + lin(F_, D) + 2 * norm
    total = V * D + c["n_layers"] * block + norm + (0 if c["is_tied"] else lin(D, V))
    return total + (c["context_length"] * D if c["positions"] == "learned" else 0)
