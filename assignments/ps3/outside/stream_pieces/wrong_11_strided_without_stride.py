# wrong: lays rows over the memory with as_strided as if the ids stood next to each other; breaks "A tensor may be a view with gaps in memory"
# shows: stream_pieces(torch.arange(22)[::2], 2, 3): the first inputs are 0, 1, 2 in place of 0, 2, 4
import torch


def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = torch.as_strided(ids, (batch_size, n), (n, 1))
    targets = torch.as_strided(ids, (batch_size, n), (n, 1), ids.storage_offset() + 1)
    return [
        (inputs[:, i : i + length].clone(), targets[:, i : i + length].clone())
        for i in range(0, n, length)
    ]
