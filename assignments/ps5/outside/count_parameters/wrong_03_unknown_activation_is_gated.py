# wrong: only "gelu" and "relu" have two matrices, everything else three; the contract says ALL others have two.
# shows: activation "silu" or "tanh".

def count_parameters(config):
    c = config
    D, V = c["d_model"], c["vocab_size"]
    kv = c["n_kv_heads"] * (D // c["n_heads"])
    def lin(n, m):
        return n * m + (m if c["has_bias"] else 0)
    norm = 2 * D if c["norm"] == "layer" and c["has_bias"] else D
    n_in = 1 if c["activation"] in ("gelu", "relu") else 2
    block = 2 * lin(D, D) + 2 * lin(D, kv) + n_in * lin(D, c["d_ff"]) + lin(c["d_ff"], D) + 2 * norm
    total = V * D + c["n_layers"] * block + norm
    if c["positions"] == "learned":
        total += c["context_length"] * D
    return total if c["is_tied"] else total + V * D
