# wrong: counts the ids that are not padding.
# shows: pad_id equal to a token of a text: the length is too small.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    T = max(map(len, rows))
    rows = torch.tensor([row + [pad_id] * (T - len(row)) for row in rows])
    return rows, (rows != pad_id).sum(dim=1)
