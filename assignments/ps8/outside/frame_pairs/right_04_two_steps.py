# right: first the longer text down to the shorter, then what is still too much from both; chain and zip_longest.

from itertools import chain, zip_longest

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        p, h = len(premise), len(hypothesis)
        over = max(0, p + h + 3 - longest)
        step = min(over, abs(p - h))
        p, h = (p - step, h) if p > h else (p, h - step)
        over -= step
        p, h = p - over // 2, h - (over + 1) // 2
        rows.append([*chain([start_id], premise[:p], [delim_id], hypothesis[:h], [extract_id])])
    columns = zip_longest(*rows, fillvalue=pad_id)
    return (
        torch.tensor([*columns], dtype=torch.int64).T.contiguous(),
        torch.tensor([*map(len, rows)], dtype=torch.int64),
    )
