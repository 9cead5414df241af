import torch


def stream_pieces(ids, batch_size, length):
    n = (ids.numel() - 1) // batch_size
    both = torch.stack([ids[:-1], ids[1:]])[:, : n * batch_size].unflatten(1, (batch_size, n))
    return [(piece[0], piece[1]) for piece in both.split(length, dim=2)]
