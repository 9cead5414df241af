import torch


def cross_entropy(logits, targets, ignore_index):
    real = targets != ignore_index
    safe = torch.where(real[:, None], logits, torch.zeros_like(logits))
    ids = torch.where(real, targets, torch.zeros_like(targets))
    top = torch.max(safe, dim=1).values.unsqueeze(1)
    log_z = torch.log(torch.sum(torch.exp(safe - top), dim=1)) + top.squeeze(1)
    surprise = torch.where(real, log_z - safe.take_along_dim(ids[:, None], dim=1).squeeze(1), safe.new_zeros(()))
    return surprise.sum() / real.sum().clamp(min=1)
