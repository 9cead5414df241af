# wrong: clamps the scores to +-1e4 before the softmax.
# shows: two places with scores above 10000 (say 20000 and 30000) get equal weights; scores may be very large.

import torch


def dot_attention(query, keys, values):
    scores = torch.einsum("bk,bsk->bs", query, keys)
    weights = torch.softmax(scores.clamp(-1e4, 1e4), dim=-1)
    return scores, weights, torch.einsum("bs,bsm->bm", weights, values)
