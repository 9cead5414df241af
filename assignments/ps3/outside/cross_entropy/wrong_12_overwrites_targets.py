# wrong: writes 0 over the ignored targets, in the caller's own tensor, to be able to look them up; breaks "Do not change your arguments"
# shows: targets = torch.tensor([1, -100]); after the call they are [1, 0]
import torch


def cross_entropy(logits, targets, ignore_index):
    counts = targets != ignore_index
    targets[~counts] = 0
    shifted = logits - logits.max(dim=1, keepdim=True).values
    surprise = shifted.exp().sum(dim=1).log() - shifted[torch.arange(len(targets)), targets]
    return torch.where(counts, surprise, 0).sum() / counts.sum().clamp(min=1)
