# right: gather and arithmetic.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    nxt = torch.arange(1, T + 1).clamp(max=T - 1).expand(B, T)
    after = torch.arange(1, T + 1) - prompt_lengths.reshape(B, 1)
    is_reply = ((after >= 0) * (after < (lengths - prompt_lengths).reshape(B, 1))).long()
    return ids.gather(1, nxt) * is_reply - 100 * (1 - is_reply)
