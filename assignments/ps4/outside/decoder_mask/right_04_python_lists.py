import torch


def decoder_mask(ids, pad_id):
    rows = ids.tolist()
    B, T = ids.shape
    cells = [[[[s <= t and row[s] != pad_id for s in range(T)] for t in range(T)]] for row in rows]
    return torch.tensor(cells, dtype=torch.bool).reshape(B, 1, T, T)
