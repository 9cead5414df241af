# wrong: builds each row with torch.cat of tensors; an empty text is a float tensor, and the row becomes float.
# shows: the batch [([], []), ...] alone: float32 rows (and ids above 2**24 are rounded).

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        parts = [[start_id], premise, [delim_id], hypothesis, [extract_id]]
        rows.append(torch.cat([torch.tensor(part) for part in parts]))
    lengths = torch.tensor([len(row) for row in rows])
    table = torch.full((len(rows), int(lengths.max())), pad_id, dtype=rows[0].dtype)
    for n, row in enumerate(rows):
        table[n, : len(row)] = row
    return table, lengths
