# wrong: ids are compared with ignore_index as bytes (mod 256), so that too many rows are ignored in a large vocabulary.
# shows: ignore_index = 5 and a target 261 in a vocabulary of 300.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = (targets >= 0) & (targets.to(torch.uint8) != ignore_index % 256 if ignore_index >= 0 else targets >= 0)
    if not keep.any():
        return logits.sum() * 0
    z = logits[keep]
    z = z - z.amax(1, keepdim=True).detach()
    return (z.exp().sum(1).log() - z[torch.arange(len(z)), targets[keep]]).mean()
