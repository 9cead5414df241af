# wrong: takes the maximum k times.
# shows: the source; k = V = 50,000 is slow.

import math


def keep_top_k(logits, k):
    left = logits.clone()
    for _ in range(min(k, logits.shape[-1])):
        limit, place = left.max(dim=-1, keepdim=True)
        left = left.scatter(-1, place, -math.inf)
    return logits.masked_fill(logits < limit, -math.inf)
