# wrong: in a row with padding it goes back from the end over equal ids, instead of by lengths.
# shows: lengths 5, ids 4 5 6 9 9 | 9 9: the reply has two 9 at its end, the second is lost.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    places = torch.arange(T)
    differs = ids != ids[:, -1:]
    last = (differs * places).amax(dim=1)
    ends = torch.where(lengths < T, torch.minimum(last + 2, lengths), lengths)
    following = torch.cat([ids[:, 1:], torch.full((B, 1), -100)], dim=1)
    keep = (places + 1 >= prompt_lengths[:, None]) & (places + 1 < ends[:, None])
    return torch.where(keep, following, -100)
