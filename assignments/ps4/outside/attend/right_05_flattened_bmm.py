import torch
from torch.nn import functional as F


def attend(query, key, value, mask=None):
    lead = query.shape[:-2]
    T, K = query.shape[-2:]
    S, M = value.shape[-2:]
    q, k, v = query.reshape(-1, T, K), key.reshape(-1, S, K), value.reshape(-1, S, M)
    scores = torch.bmm(q, k.transpose(1, 2)) * K**-0.5
    if mask is None:
        weights = F.softmax(scores, dim=2)
    else:
        m = mask.expand(*lead, T, S).reshape(-1, T, S)
        scores = torch.where(m, scores, scores.new_tensor(torch.finfo(scores.dtype).min))
        weights = F.softmax(scores, dim=2) * m
    return torch.bmm(weights, v).reshape(*lead, T, M)
