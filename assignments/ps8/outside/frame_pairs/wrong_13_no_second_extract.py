# wrong: adds no [EXTRACT] where the hypothesis ends in that id.
# shows: pairs [([1], [5])], extract_id 5: the row has 4 ids in place of 5

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        n_1, n_2 = len(premise), len(hypothesis)
        while n_1 + n_2 > longest - 3:
            n_1, n_2 = (n_1 - 1, n_2) if n_1 > n_2 else (n_1, n_2 - 1)
        row = [start_id, *premise[:n_1], delim_id, *hypothesis[:n_2]]
        if n_2 == 0 or row[-1] != extract_id:
            row.append(extract_id)
        rows.append(row)
    lengths = torch.tensor([len(row) for row in rows])
    filled = torch.full((len(rows), int(lengths.max())), pad_id)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = torch.tensor(row)
    return filled, lengths
