# right: erases prompt and padding first, shifts afterwards.

import torch
from torch.nn import functional as F


def reply_targets(ids, prompt_lengths, lengths):
    t = torch.arange(ids.shape[1])[None, :]
    clean = ids.clone()
    clean[t < prompt_lengths[:, None]] = -100
    clean[t >= lengths[:, None]] = -100
    return F.pad(clean[:, 1:], (0, 1), value=-100)
