# wrong: compares probabilities, which underflow: ids far below the best all become equal.
# shows: logits (0, -200, -300) in float32, k = 2: all three stay.

import math


def keep_top_k(logits, k):
    probs = logits.softmax(dim=-1)
    limit = probs.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(probs < limit, -math.inf)
