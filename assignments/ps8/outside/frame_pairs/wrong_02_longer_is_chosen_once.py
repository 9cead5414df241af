# wrong: decides once which text is the longer, and takes everything from that one.
# shows: 6 and 4 tokens, longest 8: 1 and 4 tokens, not 3 and 2.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        over = max(0, len(premise) + len(hypothesis) + 3 - longest)
        if len(premise) > len(hypothesis):
            loser, other = premise, hypothesis
        else:
            loser, other = hypothesis, premise
        for _ in range(over):
            (loser or other).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths
