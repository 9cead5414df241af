# wrong: lays the heads over the memory of x from its first number on, though x may be a part of a larger tensor; breaks "Head h has the numbers hK to (h + 1)K - 1 of every place" with "tensors whose numbers stand in memory in another order"
# shows: x = torch.arange(16.0).view(2, 2, 4)[1]: the heads hold 0 to 7 in place of 8 to 15
import torch


def split_heads(x, n_heads):
    width = x.shape[-1] // n_heads
    *lead, step, one = x.stride()
    size = (*x.shape[:-2], n_heads, x.shape[-2], width)
    return torch.as_strided(x, size, (*lead, width * one, step, one), 0)
