import torch


def stream_pieces(ids, batch_size, length):
    steps = (ids.shape[0] - 1) // batch_size
    starts = torch.arange(batch_size).unsqueeze(1) * steps
    pieces = []
    for begin in range(0, steps, length):
        end = min(begin + length, steps)
        places = starts + torch.arange(begin, end)
        pieces.append((ids[places], ids[places + 1]))
    return pieces
