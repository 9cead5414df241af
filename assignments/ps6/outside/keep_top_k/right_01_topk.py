# right: the limit from topk.

import math


def keep_top_k(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf)
