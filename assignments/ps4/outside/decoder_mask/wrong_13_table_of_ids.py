# wrong: looks ids up in a table of what is padding, where a negative pad_id marks a place from the END, that of an ordinary id; breaks "pad_id ... may be 0 or negative" / "A query may look at a key if ... is no padding"
# shows: decoder_mask(torch.tensor([[3, 1, -1]]), -1): the id 3, the largest, is hidden as well
import torch


def decoder_mask(ids, pad_id):
    n_ids = max(int(ids.max()), abs(pad_id)) + 1
    real = torch.ones(n_ids, dtype=torch.bool)
    real[pad_id] = False
    keys = real[ids].unsqueeze(1).unsqueeze(1)
    n = ids.shape[1]
    return keys & torch.ones(n, n, dtype=torch.bool).tril()
