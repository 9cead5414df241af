# right: copies both texts, takes the last token of the longer one until it fits.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) + 3 > longest:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = [len(row) for row in rows]
    wide = max(lengths)
    filled = [row + [pad_id] * (wide - len(row)) for row in rows]
    return torch.tensor(filled, dtype=torch.int64), torch.tensor(lengths, dtype=torch.int64)
