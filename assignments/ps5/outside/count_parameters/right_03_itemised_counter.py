from collections import Counter


def count_parameters(config: dict) -> int:
    def get(*names):
        return [config[name] for name in names]

    V, D, n_layers, F_ = get("vocab_size", "d_model", "n_layers", "d_ff")
    bias = 1 if config["has_bias"] else 0
    head = D // config["n_heads"]
    kv = head * config["n_kv_heads"]
    items = Counter()
    items["tokens"] = V * D
    items["positions"] = config["context_length"] * D if config["positions"] == "learned" else 0
    items["output"] = 0 if config["is_tied"] else V * D
    for width in (D, kv, kv, D):
        items["attention"] += n_layers * width * (D + bias)
    items["up"] = n_layers * F_ * (D + bias) * (2 if config["activation"] == "swiglu" else 1)
    items["down"] = n_layers * D * (F_ + bias)
    items["norms"] = (2 * n_layers + 1) * D * (1 + (bias if config["norm"] == "layer" else 0))
    return sum(items.values())
