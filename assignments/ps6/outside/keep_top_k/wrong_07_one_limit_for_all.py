# wrong: one limit for all rows, the smallest of theirs.
# shows: rows (5, 4) and (1, 0), k = 1: the 4 stays.

import math


def keep_top_k(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values.min()
    return logits.masked_fill(logits < limit, -math.inf)
