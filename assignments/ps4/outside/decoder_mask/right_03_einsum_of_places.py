import torch


def decoder_mask(ids, pad_id):
    places = torch.arange(ids.shape[1])
    before = places[:, None] >= places[None, :]
    hidden = (ids == pad_id).unsqueeze(1).unsqueeze(1)
    return torch.logical_and(before, hidden.logical_not())
