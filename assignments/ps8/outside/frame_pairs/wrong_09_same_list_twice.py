# wrong: keeps its copies under the identity of the list; a list that stands twice is shortened twice.
# shows: text = [1, 2, 3, 4]; the pair (text, text), longest 8: both parts are the same copy (2 and 2 tokens, not 3 and 2).

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    copies = {}
    for pair in pairs:
        for text in pair:
            copies[id(text)] = list(text)
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = copies[id(premise)], copies[id(hypothesis)]
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths
