import torch


def stream_pieces(ids: torch.Tensor, batch_size: int, length: int) -> list:
    text = ids.tolist()
    n = (len(text) - 1) // batch_size
    rows = [(text[b * n : (b + 1) * n], text[b * n + 1 : (b + 1) * n + 1]) for b in range(batch_size)]
    pieces, t = [], 0
    while t < n:
        pieces.append(tuple(torch.tensor([row[k][t : t + length] for row in rows]) for k in (0, 1)))
        t += length
    return pieces
