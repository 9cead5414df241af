import torch


def dot_attention(query, keys, values):
    scores = torch.einsum("bk,bsk->bs", query, keys)
    weights = torch.softmax(scores, dim=1)
    return scores, weights, torch.einsum("bs,bsm->bm", weights, values)
