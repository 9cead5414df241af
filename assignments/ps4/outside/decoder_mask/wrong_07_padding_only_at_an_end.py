# wrong: takes everything from the first to the last real id for real: padding in between is seen.
# shows: [5, 9, 7].

import torch


def decoder_mask(ids, pad_id):
    real = (ids != pad_id).long()
    begun = real.cumsum(dim=1) > 0
    not_over = real.flip(1).cumsum(dim=1).flip(1) > 0
    T = ids.shape[1]
    return (begun & not_over)[:, None, None, :] & torch.ones(T, T, dtype=torch.bool).tril()
