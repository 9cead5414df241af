# masked_fill hands back a gradient of 0 wherever it has filled, so -inf and nan_to_num are right here, in numbers and in gradients
# (the hint says that the gradient becomes nan; it does only if -inf is ADDED).

import math
import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.nan_to_num(torch.softmax(scores, dim=-1)) @ value
