import torch


def attend(query, key, value, mask=None):
    T, S = query.shape[-2], key.shape[-2]
    if mask is None:
        mask = query.new_ones(T, S, dtype=torch.bool)
    mask = mask.expand(*query.shape[:-2], T, S)
    if query.dim() > 2:
        parts = [attend(*part) for part in zip(query, key, value, mask)]
        return torch.stack(parts)
    scores = query @ key.T / query.shape[1] ** 0.5
    low = torch.finfo(scores.dtype).min
    return (torch.where(mask, scores, low).softmax(1) * mask) @ value
