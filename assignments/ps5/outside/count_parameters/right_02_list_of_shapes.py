import math


def count_parameters(config):
    V, P, D, L, F_ = (config[k] for k in ("vocab_size", "context_length", "d_model", "n_layers", "d_ff"))
    kv = config["n_kv_heads"] * (D // config["n_heads"])
    linears = [(D, D), (D, kv), (D, kv), (D, D), (D, F_), (F_, D)]
    linears += [(D, F_)] * (config["activation"] == "swiglu")
    shapes = [(V, D)]
    shapes += [(P, D)] if config["positions"] == "learned" else []
    shapes += [] if config["is_tied"] else [(V, D)]
    once, block = shapes, [(n, m) for n, m in linears]
    norm = [(D,)] + [(D,)] * (config["norm"] == "layer" and config["has_bias"])
    block += norm * 2
    if config["has_bias"]:
        block += [(m,) for _, m in linears]
    return sum(map(math.prod, once)) + L * sum(map(math.prod, block)) + sum(map(math.prod, norm))
