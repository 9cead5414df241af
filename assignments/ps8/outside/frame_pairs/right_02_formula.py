# right: both lengths by a formula, slices; rows are written into a full tensor.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    room = longest - 3
    sizes = []
    for premise, hypothesis in pairs:
        p, h = len(premise), len(hypothesis)
        if p + h > room:
            p = min(p, max(room - room // 2, room - h))
            h = room - p
        sizes.append((p, h))
    lengths = torch.tensor([p + h + 3 for p, h in sizes])
    rows = torch.full((len(pairs), int(lengths.max())), pad_id)
    for row, (premise, hypothesis), (p, h) in zip(rows, pairs, sizes, strict=True):
        row[0] = start_id
        row[1 : p + 1] = torch.tensor(premise[:p], dtype=torch.int64)
        row[p + 1] = delim_id
        row[p + 2 : p + h + 2] = torch.tensor(hypothesis[:h], dtype=torch.int64)
        row[p + h + 2] = extract_id
    return rows, lengths
