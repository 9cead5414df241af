# wrong: where both texts are equally long, the premise loses a token if the hypothesis has just lost one.
# shows: texts of 2 and 3 tokens, longest 6: 1 and 2 are left in place of 2 and 1

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        texts, turn = [list(premise), list(hypothesis)], 1
        while len(texts[0]) + len(texts[1]) > longest - 3:
            if len(texts[0]) != len(texts[1]):
                turn = int(len(texts[1]) > len(texts[0]))
            texts[turn].pop()
            turn = 1 - turn
        rows.append([start_id, *texts[0], delim_id, *texts[1], extract_id])
    lengths = [len(row) for row in rows]
    T = max(lengths)
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), torch.tensor(lengths)
