# wrong: with has_bias True an RMSNorm gets a bias too ("if has_bias, everything has one").
# shows: norm "rms" with has_bias True.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    b = c["has_bias"]
    kv = c["n_kv_heads"] * (D // c["n_heads"])
    norm = D + D * b
    lin = lambda n, m: (n + b) * m
    block = 2 * lin(D, D) + 2 * lin(D, kv) + lin(F_, D) + lin(D, F_) * (1 + (c["activation"] == "swiglu")) + 2 * norm
    return V * D * (2 - c["is_tied"]) + (c["positions"] == "learned") * c["context_length"] * D + c["n_layers"] * block + norm
