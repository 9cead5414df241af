# wrong: adds the texts with +, which works only if both are lists or both are tuples.
# shows: the pair ([1, 2], (3,)): TypeError.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        kind = type(premise)
        while len(premise) + len(hypothesis) + 3 > longest:
            if len(premise) > len(hypothesis):
                premise = premise[:-1]
            else:
                hypothesis = hypothesis[:-1]
        row = kind([start_id]) + premise + kind([delim_id]) + hypothesis + kind([extract_id])
        rows.append(list(row))
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths
