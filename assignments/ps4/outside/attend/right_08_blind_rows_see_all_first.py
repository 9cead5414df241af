# right: who may look nowhere may look everywhere for the softmax with -inf, and is multiplied by 0 afterwards; the scale goes to the query
import torch


def attend(query, key, value, mask=None):
    scores = (query * query.shape[-1] ** -0.5).matmul(key.mT)
    if mask is None:
        return scores.softmax(-1).matmul(value)
    sees = mask.any(dim=-1, keepdim=True)
    weights = scores.where(mask | ~sees, float("-inf")).softmax(-1)
    return weights.where(sees, 0.0).matmul(value)
