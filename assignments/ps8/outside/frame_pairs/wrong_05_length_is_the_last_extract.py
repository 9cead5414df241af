# wrong: reads the lengths off the filled rows, as the place after the last [EXTRACT].
# shows: pad_id equal to extract_id, two pairs of different lengths: both lengths are T.

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
    places = torch.arange(1, T + 1)
    return rows, ((rows == extract_id) * places).amax(dim=1)
