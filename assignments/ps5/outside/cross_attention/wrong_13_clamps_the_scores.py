# wrong: keeps scores between -500 and 500, so two that are beyond become equal.
# shows: scores 1000 and 1010: the weights are 1/2 and 1/2

import math

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    B, T, D = x.shape
    S, K = memory.shape[1], D // n_heads
    query = (x @ weights["query"].T).reshape(B, T, n_heads, K).transpose(1, 2)
    key = (memory @ weights["key"].T).reshape(B, S, n_heads, K).transpose(1, 2)
    value = (memory @ weights["value"].T).reshape(B, S, n_heads, K).transpose(1, 2)
    scores = (query @ key.mT / math.sqrt(K)).clamp(-500, 500)
    hidden = ~memory_mask[:, None, None, :]
    attention = scores.masked_fill(hidden, -2000.0).softmax(dim=-1).masked_fill(hidden, 0)
    return (attention @ value).transpose(1, 2).reshape(B, T, D) @ weights["output"].T
