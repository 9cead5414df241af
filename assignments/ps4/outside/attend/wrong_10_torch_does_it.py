# wrong: torch's own scaled_dot_product_attention, which the contract does not allow.
# shows: by reading, or if the grader takes that function away.

import torch
from torch.nn import functional as F


def attend(query, key, value, mask=None):
    return torch.nan_to_num(F.scaled_dot_product_attention(query, key, value, attn_mask=mask))
