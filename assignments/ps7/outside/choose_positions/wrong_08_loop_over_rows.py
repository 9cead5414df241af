# wrong: a loop over rows and positions, which the rules forbid (the result is right).
# shows: the source.

import torch


def choose_positions(ids, draws, rate, special_ids):
    chosen = torch.zeros(ids.shape, dtype=torch.bool)
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1]):
            chosen[b, t] = bool(draws[b, t] < rate) and int(ids[b, t]) not in special_ids
    return chosen
