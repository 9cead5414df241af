# wrong: shortens by recursion, one call for each token.
# shows: texts of 5000 tokens, longest 10: RecursionError.

import torch


def shorten(premise, hypothesis, room):
    if len(premise) + len(hypothesis) <= room:
        return list(premise), list(hypothesis)
    if len(premise) > len(hypothesis):
        return shorten(premise[:-1], hypothesis, room)
    return shorten(premise, hypothesis[:-1], room)


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = shorten(premise, hypothesis, longest - 3)
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths
