# right: compares in float64, so that float32 0.7 (0.69999999) is below the rate 0.7.
# shows: float32 draws with torch.tensor(0.7), rate 0.7: torch's own comparison says not below.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    return (draws.double() < rate) & ~special
