# exact fractions in place of whole numbers, turned into an int at the end

from fractions import Fraction


def count_parameters(config):
    c = {k: Fraction(v) if type(v) is int else v for k, v in config.items()}
    D, b = c["d_model"], Fraction(1 if c["has_bias"] else 0)
    kv = D * c["n_kv_heads"] / c["n_heads"]
    rows = [D, kv, kv, D, c["d_ff"]]
    if c["activation"] == "swiglu":
        rows.append(c["d_ff"])
    block = sum((D + b) * m for m in rows) + (c["d_ff"] + b) * D
    norm = D + (D * b if c["norm"] == "layer" else 0)
    total = c["n_layers"] * (block + norm + norm) + norm
    total += c["vocab_size"] * D
    total += 0 if c["is_tied"] else c["vocab_size"] * D
    total += c["context_length"] * D if c["positions"] == "learned" else 0
    assert total.denominator == 1
    return int(total)
