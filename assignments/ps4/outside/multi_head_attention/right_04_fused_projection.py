import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    fused = torch.cat([weights["query"], weights["key"], weights["value"]])
    q, k, v = (x @ fused.T).unflatten(-1, (3, n_heads, -1)).permute(2, 0, 3, 1, 4)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    return (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2) @ weights["output"].mT
