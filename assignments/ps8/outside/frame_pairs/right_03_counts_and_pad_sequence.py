# right: shortens two counts, not lists; pad_sequence fills up.

import torch
from torch.nn.utils.rnn import pad_sequence


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    made = []
    for one, two in pairs:
        n = [len(one), len(two)]
        while sum(n) > longest - 3:
            n[0 if n[0] > n[1] else 1] -= 1
        text = (start_id,) + tuple(one[: n[0]]) + (delim_id,) + tuple(two[: n[1]]) + (extract_id,)
        made.append(torch.tensor(text, dtype=torch.long))
    lengths = torch.tensor([len(row) for row in made], dtype=torch.long)
    return pad_sequence(made, batch_first=True, padding_value=pad_id), lengths
