# wrong: if all stay, the argument itself comes back: not new.
# shows: k >= V: the result shares memory with logits.

import math


def keep_top_k(logits, k):
    if k >= logits.shape[-1]:
        return logits
    limit = logits.topk(k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf)
