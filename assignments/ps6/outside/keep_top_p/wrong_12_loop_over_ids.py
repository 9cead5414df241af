# wrong: a loop over rows and ids, which the rules forbid (the values are right).
# shows: the source.

import torch


def keep_top_p(probs, p):
    rows = probs.reshape(-1, probs.shape[-1])
    out = torch.zeros_like(rows)
    for b in range(len(rows)):
        total = 0.0
        for i in rows[b].sort(descending=True, stable=True).indices.tolist():
            out[b, i] = rows[b, i]
            total += rows[b, i].item()
            if total >= p and p < 1:
                break
        out[b] /= out[b].sum()
    return out.reshape(probs.shape)
