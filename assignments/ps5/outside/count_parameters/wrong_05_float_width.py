# wrong: the width of a head is int(D / n_heads), by floats: wrong by some where D is above 2**53.
# shows: d_model = 3 * (2**60 + 1) with 3 heads.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    width = int(D / c["n_heads"])
    kv = width * c["n_kv_heads"]
    lin = lambda n, m: n * m + (m if c["has_bias"] else 0)
    norm = 2 * D if c["norm"] == "layer" and c["has_bias"] else D
    block = 2 * lin(D, D) + 2 * lin(D, kv) + (2 if c["activation"] == "swiglu" else 1) * lin(D, F_) + lin(F_, D) + 2 * norm
    total = V * D * (1 if c["is_tied"] else 2) + c["n_layers"] * block + norm
    return total + (c["context_length"] * D if c["positions"] == "learned" else 0)
