# wrong: SwiGLU's matrices never have biases (as in LLaMA); the contract: all linear layers have them if has_bias.
# shows: activation "swiglu" with has_bias True.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    kv = D // c["n_heads"] * c["n_kv_heads"]
    lin = lambda n, m: n * m + (m if c["has_bias"] else 0)
    norm = 2 * D if c["norm"] == "layer" and c["has_bias"] else D
    ff = 3 * D * F_ if c["activation"] == "swiglu" else lin(D, F_) + lin(F_, D)
    total = V * D * (1 if c["is_tied"] else 2) + c["n_layers"] * (2 * lin(D, D) + 2 * lin(D, kv) + ff + 2 * norm) + norm
    return total + (c["context_length"] * D if c["positions"] == "learned" else 0)
