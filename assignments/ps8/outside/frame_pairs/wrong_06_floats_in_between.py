# wrong: makes the rows as float32 and casts at the end.
# shows: the id 16,777,217 becomes 16,777,216.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = [len(row) for row in rows]
    table = torch.ones(len(rows), max(lengths)) * pad_id
    for n, row in enumerate(rows):
        table[n, : len(row)] = torch.tensor(row)
    return table.long(), torch.tensor(lengths)
