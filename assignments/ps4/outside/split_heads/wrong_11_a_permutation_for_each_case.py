# wrong: writes the order of axes down for none, one and two leading axes, and takes the last one for more; breaks "There may be no leading axis, one, or several."
# shows: x of shape (2, 2, 2, 3, 4), two heads: an error, or other numbers
import torch


def split_heads(x, n_heads):
    cut = x.unflatten(-1, (n_heads, x.shape[-1] // n_heads))
    if x.dim() == 2:
        return cut.permute(1, 0, 2)
    if x.dim() == 3:
        return cut.permute(0, 2, 1, 3)
    return cut.permute(0, 1, 3, 2, 4)
