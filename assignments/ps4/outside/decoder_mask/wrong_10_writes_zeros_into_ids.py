# wrong: replaces padding in the caller's ids by -1, in place (and then pad_id -1 would be seen as before: right result, changed argument).
# shows: ids before and after.

import torch


def decoder_mask(ids, pad_id):
    ids[ids == pad_id] = -1
    T = ids.shape[1]
    return (ids != -1)[:, None, None, :] & torch.ones(T, T, dtype=torch.bool).tril()
