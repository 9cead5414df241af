# wrong: flattens with `view`, which cannot deal with gaps in memory.
# shows: ids and draws that are x.T of a (3, 2) tensor: RuntimeError.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.tensor(list(special_ids), dtype=ids.dtype)
    flat = (draws.view(-1) < rate) & ~torch.isin(ids.view(-1), special)
    return flat.view(ids.shape)
