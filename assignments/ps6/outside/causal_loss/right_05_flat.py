# right: everything flat; the flat places of what counts.

import torch


def causal_loss(logits, ids, lengths):
    n_rows, n_places, n_ids = logits.shape
    flat = torch.arange(n_rows * n_places)
    flat = flat[flat % n_places < (lengths - 1).repeat_interleave(n_places)]
    rows = logits.reshape(-1, n_ids).index_select(0, flat)
    rows = rows.double() if rows.dtype == torch.float64 else rows.float()
    right = rows.gather(1, ids.reshape(-1)[flat + 1][:, None]).squeeze(1)
    surprise = torch.logsumexp(rows, dim=1) - right
    return surprise.sum() / max(len(flat), 1)
