# wrong: fills up to longest.
# shows: a batch of short pairs, longest 20: T is 20.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = torch.full((len(pairs), longest), pad_id)
    lengths = torch.zeros(len(pairs), dtype=torch.long)
    for n, (premise, hypothesis) in enumerate(pairs):
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        row = [start_id, *premise, delim_id, *hypothesis, extract_id]
        rows[n, : len(row)] = torch.tensor(row)
        lengths[n] = len(row)
    return rows, lengths
