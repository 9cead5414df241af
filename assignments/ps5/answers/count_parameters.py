# %% right: Lists the shapes of all weights of a block, and multiplies them out.
def count_parameters(config):
    D, F = config["d_model"], config["d_ff"]
    G = config["n_kv_heads"] * (D // config["n_heads"])
    matrices = [(D, D), (G, D), (G, D), (D, D), (F, D), (D, F)]
    if config["activation"] == "swiglu":
        matrices.append((F, D))
    vectors = [(rows,) for rows, _ in matrices] if config["has_bias"] else []
    norm = [(D,), (D,)] if config["norm"] == "layer" and config["has_bias"] else [(D,)]
    tables = [(config["vocab_size"], D)]
    if not config["is_tied"]:
        tables.append(tables[0])
    if config["positions"] == "learned":
        tables.append((config["context_length"], D))
    block = sum(map(math.prod, matrices + vectors + norm + norm))
    return sum(map(math.prod, tables + norm)) + config["n_layers"] * block


# %% right: A function counts one linear layer.
def count_parameters(config):
    def linear(n_in, n_out):
        return n_out * (n_in + config["has_bias"])

    D, F = config["d_model"], config["d_ff"]
    d_head = D // config["n_heads"]
    width = d_head * config["n_kv_heads"]
    attention = linear(D, D) + linear(D, width) + linear(D, width) + linear(D, D)
    feed_forward = linear(D, F) + linear(F, D)
    if config["activation"] == "swiglu":
        feed_forward += linear(D, F)
    norm = 2 * D if config["norm"] == "layer" and config["has_bias"] else D
    total = config["vocab_size"] * D + norm
    if not config["is_tied"]:
        total += config["vocab_size"] * D
    if config["positions"] == "learned":
        total += config["context_length"] * D
    return total + config["n_layers"] * (attention + feed_forward + 2 * norm)


# %% right: Counts how many outputs a block has, and how many numbers each of them reads.
def count_parameters(config):
    D, F, bias = config["d_model"], config["d_ff"], config["has_bias"]
    G = D // config["n_heads"] * config["n_kv_heads"]
    n_wide = 2 if config["activation"] == "swiglu" else 1
    outputs = {"of the stream": 2 * (D + G) + n_wide * F, "of the hidden layer": D}
    reads = {"of the stream": D, "of the hidden layer": F}
    block = sum(n * (reads[place] + bias) for place, n in outputs.items())
    norm = D + D * (bias and config["norm"] != "rms")
    rows = [config["vocab_size"]] * (2 - config["is_tied"])
    rows += [config["context_length"]] * (config["positions"] == "learned")
    return sum(rows) * D + config["n_layers"] * (block + 2 * norm) + norm


# %% right: A dict from the name of each weight to its size; names of a block count n_layers times.
def count_parameters(config):
    D, F = config["d_model"], config["d_ff"]
    G = D * config["n_kv_heads"] // config["n_heads"]
    widths = {"query": (D, D), "key": (D, G), "value": (D, G), "output": (D, D)}
    widths |= {"expand": (D, F), "contract": (F, D)}
    if config["activation"] == "swiglu":
        widths["gate"] = (D, F)
    sizes = {f"block.{name}.weight": a * b for name, (a, b) in widths.items()}
    if config["has_bias"]:
        sizes |= {f"block.{name}.bias": b for name, (_, b) in widths.items()}
    for name in ("block.norm_1", "block.norm_2", "norm"):
        sizes[f"{name}.weight"] = D
        if config["norm"] == "layer" and config["has_bias"]:
            sizes[f"{name}.bias"] = D
    sizes["embedding"] = config["vocab_size"] * D
    sizes["unembedding"] = 0 if config["is_tied"] else config["vocab_size"] * D
    sizes["positions"] = config["context_length"] * D if config["positions"] == "learned" else 0
    times = {True: config["n_layers"], False: 1}
    return sum(size * times[name.startswith("block.")] for name, size in sizes.items())


# %% right: Counts what one entry of the residual path costs, and multiplies by their number.
def count_parameters(config):
    D, F, has_bias = config["d_model"], config["d_ff"], config["has_bias"]
    G = D // config["n_heads"] * config["n_kv_heads"]
    gates = 1 + (config["activation"] == "swiglu")
    scale = 1 + (has_bias and config["norm"] == "layer")
    of_entry = 2 * (D + G) + (gates + 1) * F + 2 * scale + 3 * has_bias
    of_block = D * of_entry + has_bias * (2 * G + gates * F)
    tables = (2 - config["is_tied"]) * config["vocab_size"]
    if config["positions"] == "learned":
        tables += config["context_length"]
    return D * (tables + scale) + config["n_layers"] * of_block


# %% right: Starts from GPT-2's formula, and corrects it choice by choice.
def count_parameters(config):
    V, D, F = (config[name] for name in ("vocab_size", "d_model", "d_ff"))
    n_layers, shared = config["n_layers"], config["n_heads"] - config["n_kv_heads"]
    total = V * D + config["context_length"] * D + 2 * D
    total += n_layers * (4 * D * D + 2 * D * F + 9 * D + F)
    narrower = 2 * shared * (D // config["n_heads"])
    total -= n_layers * narrower * (D + 1)
    if config["activation"] == "swiglu":
        total += n_layers * (D + 1) * F
    if not config["is_tied"]:
        total += V * D
    if config["positions"] != "learned":
        total -= config["context_length"] * D
    if not config["has_bias"]:
        gated = config["activation"] == "swiglu"
        total -= n_layers * (5 * D - narrower + F * (1 + gated))
    if config["norm"] == "rms" or not config["has_bias"]:
        total -= (2 * n_layers + 1) * D
    return total


# %% right: helper linear
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


# %% right: list of shapes
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


# %% right: itemised counter
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


# %% right: unpacked arguments
def _count(*, vocab_size, context_length, d_model, n_layers, n_heads, n_kv_heads, d_ff, positions, norm, activation, has_bias, is_tied):
    gated = activation == "swiglu"
    width = d_model // n_heads
    matrices = 2 * d_model * d_model + 2 * d_model * width * n_kv_heads + (2 + gated) * d_model * d_ff
    biases = has_bias * (2 * d_model + 2 * width * n_kv_heads + (1 + gated) * d_ff + d_model)
    norms = d_model * (1 + (has_bias and norm == "layer"))
    embeddings = d_model * (vocab_size * (2 - is_tied) + context_length * (positions == "learned"))
    return int(embeddings + n_layers * (matrices + biases + 2 * norms) + norms)


def count_parameters(config):
    return _count(**config)


# %% right: fractions
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


# %% wrong: layernorm keeps its bias
# a LayerNorm is given a bias even where has_bias is False.
# shows: norm "layer" with has_bias False.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    b = int(c["has_bias"])
    kv = c["n_kv_heads"] * (D // c["n_heads"])
    norm = 2 * D if c["norm"] == "layer" else D
    lin = lambda n, m: n * m + b * m
    attention = 2 * lin(D, D) + 2 * lin(D, kv)
    ff = lin(D, F_) * (2 if c["activation"] == "swiglu" else 1) + lin(F_, D)
    n = V * D + c["n_layers"] * (attention + ff + 2 * norm) + norm
    n += c["context_length"] * D if c["positions"] == "learned" else 0
    return n if c["is_tied"] else n + V * D


# %% wrong: rmsnorm gets a bias
# with has_bias True an RMSNorm gets a bias too ("if has_bias, everything has one").
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


# %% wrong: unknown activation is gated
# only "gelu" and "relu" have two matrices, everything else three; the contract says ALL others have two.
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


# %% wrong: numpy int64
# numpy's int64 overflows, without a word, above 9.2e18.
# shows: d_model = 4_000_000_000 (D * D = 1.6e19); "configs may be far larger than a float can count".

import numpy as np


def count_parameters(config):
    c = config
    D, F_, V = np.int64(c["d_model"]), np.int64(c["d_ff"]), np.int64(c["vocab_size"])
    kv = D // c["n_heads"] * c["n_kv_heads"]
    b = np.int64(c["has_bias"])
    with np.errstate(all="ignore"):
        lin = lambda n, m: n * m + b * m
        norm = D * (2 if c["norm"] == "layer" and b else 1)
        block = 2 * lin(D, D) + 2 * lin(D, kv) + (2 if c["activation"] == "swiglu" else 1) * lin(D, F_) + lin(F_, D) + 2 * norm
        total = V * D * (1 if c["is_tied"] else 2) + c["n_layers"] * block + norm
        if c["positions"] == "learned":
            total = total + c["context_length"] * D
    return int(total)


# %% wrong: float width
# the width of a head is int(D / n_heads), by floats: wrong by some where D is above 2**53.
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


# %% wrong: everything but rotary
# a table of positions for everything but "rotary" (also for "sinusoidal" and "none").
# shows: positions "sinusoidal" or "none".

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    kv = D // c["n_heads"] * c["n_kv_heads"]
    lin = lambda n, m: n * m + (m if c["has_bias"] else 0)
    norm = 2 * D if c["norm"] == "layer" and c["has_bias"] else D
    block = 2 * lin(D, D) + 2 * lin(D, kv) + (2 if c["activation"] == "swiglu" else 1) * lin(D, F_) + lin(F_, D) + 2 * norm
    total = V * D * (1 if c["is_tied"] else 2) + c["n_layers"] * block + norm
    return total + (c["context_length"] * D if c["positions"] != "rotary" else 0)


# %% wrong: output with bias
# an output of its own has a bias where has_bias is True; the contract says without.
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


# %% wrong: kv bias of full width
# the biases of keys and values have D numbers, though there are fewer heads.
# shows: n_kv_heads < n_heads with has_bias True.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    kv = D // c["n_heads"] * c["n_kv_heads"]
    b = c["has_bias"]
    attention = 2 * D * D + 2 * D * kv + 4 * D * b
    ff = D * F_ * (3 if c["activation"] == "swiglu" else 2) + b * (F_ * (2 if c["activation"] == "swiglu" else 1) + D)
    norm = 2 * D if c["norm"] == "layer" and b else D
    total = V * D * (2 - c["is_tied"]) + c["n_layers"] * (attention + ff + 2 * norm) + norm
    return total + (c["context_length"] * D if c["positions"] == "learned" else 0)


# %% wrong: swiglu without biases
# SwiGLU's matrices never have biases (as in LLaMA); the contract: all linear layers have them if has_bias.
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


# %% wrong: pops the config
# takes the keys out of the caller's dict.
# shows: the config after the call.

def count_parameters(config):
    c = config
    D, F_, V = c["d_model"], c["d_ff"], c["vocab_size"]
    kv = D // c["n_heads"] * c["n_kv_heads"]
    b = c.pop("has_bias")
    lin = lambda n, m: n * m + (m if b else 0)
    norm = 2 * D if c["norm"] == "layer" and b else D
    block = 2 * lin(D, D) + 2 * lin(D, kv) + (2 if c["activation"] == "swiglu" else 1) * lin(D, F_) + lin(F_, D) + 2 * norm
    total = V * D * (1 if c["is_tied"] else 2) + c["n_layers"] * block + norm
    return total + (c["context_length"] * D if c["positions"] == "learned" else 0)


# %% wrong: builds on meta
# builds the tensors (on the meta device, so without memory); "do not build the model", and sizes above 2**63 fail.
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


# %% wrong: any name with glu in it
# Every activation with "glu" in its name gets three matrices, but by the contract only "swiglu" has a gate and all others have two.
# shows: activation "not_a_glu"
def count_parameters(config):
    D, d_ff, bias = config["d_model"], config["d_ff"], int(config["has_bias"])
    kv = D // config["n_heads"] * config["n_kv_heads"]

    def linear(n, m):
        return n * m + bias * m

    norm = D + (D if bias and config["norm"] == "layer" else 0)
    is_gated = "glu" in config["activation"]
    block = 2 * norm + 2 * linear(D, D) + 2 * linear(D, kv)
    block += (1 + is_gated) * linear(D, d_ff) + linear(d_ff, D)
    tables = config["vocab_size"] * (1 if config["is_tied"] else 2)
    if config["positions"] == "learned":
        tables += config["context_length"]
    return tables * D + config["n_layers"] * block + norm
