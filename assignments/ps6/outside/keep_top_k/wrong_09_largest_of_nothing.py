# wrong: shortens k to what the fullest row needs: the largest of nothing.
# shows: logits of shape (0, 5): RuntimeError; right otherwise.

import math


def keep_top_k(logits, k):
    finite = int(logits.isfinite().sum(dim=-1).max())
    n = max(1, min(k, finite))
    limit = logits.topk(n, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf)
