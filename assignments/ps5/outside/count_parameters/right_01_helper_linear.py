def count_parameters(config):
    D, F_width = config["d_model"], config["d_ff"]

    def linear(n, m):
        return n * m + (m if config["has_bias"] else 0)

    norm = D * (2 if config["norm"] == "layer" and config["has_bias"] else 1)
    kv = D // config["n_heads"] * config["n_kv_heads"]
    attention = 2 * linear(D, D) + 2 * linear(D, kv)
    n_in = 2 if config["activation"] == "swiglu" else 1
    feed = n_in * linear(D, F_width) + linear(F_width, D)
    tables = config["vocab_size"] * (1 if config["is_tied"] else 2)
    if config["positions"] == "learned":
        tables += config["context_length"]
    return tables * D + config["n_layers"] * (attention + feed + 2 * norm) + norm
