# wrong: builds the tensors (on the meta device, so without memory); "do not build the model", and sizes above 2**63 fail.
# shows: by reading; d_model of 10**10.

import torch
from torch import nn


def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    kv = D // c["n_heads"] * c["n_kv_heads"]
    with torch.device("meta"):
        lin = lambda n, m: sum(p.numel() for p in nn.Linear(n, m, bias=c["has_bias"]).parameters())
        norm = D * (2 if c["norm"] == "layer" and c["has_bias"] else 1)
        block = 2 * lin(D, D) + 2 * lin(D, kv) + (2 if c["activation"] == "swiglu" else 1) * lin(D, F_) + lin(F_, D) + 2 * norm
        total = nn.Embedding(V, D).weight.numel() * (1 if c["is_tied"] else 2)
    total += c["n_layers"] * block + norm
    return total + (c["context_length"] * D if c["positions"] == "learned" else 0)
