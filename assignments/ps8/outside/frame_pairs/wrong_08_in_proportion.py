# wrong: shortens both texts in proportion to their lengths.
# shows: 9 and 2 tokens, longest 7: 3 and 1 tokens, not 2 and 2.

import math

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows, room = [], longest - 3
    for premise, hypothesis in pairs:
        p, h = len(premise), len(hypothesis)
        if p + h > room:
            p = min(p, math.ceil(room * p / (p + h)))
            h = room - p
        rows.append([start_id, *premise[:p], delim_id, *hypothesis[:h], extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths
