# wrong: gives each text half of the room, also if the other one does not use its half.
# shows: a premise of 1 token, a hypothesis of 9, longest 8: 1 and 2 tokens, not 1 and 4.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    room = longest - 3
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        if len(premise) + len(hypothesis) > room:
            premise, hypothesis = premise[: (room + 1) // 2], hypothesis[: room // 2]
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths
