import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets.ne(ignore_index)
    z = logits[keep] - logits[keep].detach().amax(dim=-1, keepdim=True) if keep.any() else logits[keep]
    surprise = torch.log(torch.exp(z).sum(-1)) - z.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return surprise.sum() / max(int(keep.sum()), 1)
