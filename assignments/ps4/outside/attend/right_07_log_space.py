import torch


def attend(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2)) / (key.size(-1) ** 0.5)
    visible = torch.tensor(True) if mask is None else mask
    low = torch.finfo(scores.dtype).min
    scores = scores.where(visible, torch.full_like(scores, low))
    weights = torch.log_softmax(scores, dim=-1).exp().where(visible, torch.zeros_like(scores))
    return torch.matmul(weights, value)
