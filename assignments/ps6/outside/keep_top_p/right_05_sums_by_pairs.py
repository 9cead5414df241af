# right: for each id the probability of all that come before it, by comparing all pairs.

import torch


def keep_top_p(probs, p):
    n = probs.shape[-1]
    mine, other = probs.unsqueeze(-1), probs.unsqueeze(-2)
    earlier = torch.ones(n, n, dtype=torch.bool).tril(-1)  # the other id is smaller
    first = (other > mine) | ((other == mine) & earlier)
    before = (first * other.double()).sum(-1)
    kept = probs if p == 1 else torch.where(before < p, probs, 0.0)
    return (kept / kept.sum(-1, keepdim=True)).to(probs.dtype)
