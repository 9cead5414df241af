# right: the other way round: hands out the room one token at a time, to the shorter text first, the premise if equal.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        p = h = 0
        for _ in range(longest - 3):
            if p < len(premise) and (p <= h or h == len(hypothesis)):
                p += 1
            elif h < len(hypothesis):
                h += 1
            else:
                break
        rows.append(
            [start_id] + list(premise)[:p] + [delim_id] + list(hypothesis)[:h] + [extract_id]
        )
    T = max(map(len, rows))
    lengths = torch.tensor([len(row) for row in rows])
    for row in rows:
        row.extend(pad_id for _ in range(T - len(row)))
    return torch.tensor(rows), lengths
