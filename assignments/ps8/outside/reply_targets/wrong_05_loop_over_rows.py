# wrong: a loop over the rows, which the rules forbid (the targets are right).
# shows: the source.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    targets = torch.full_like(ids, -100)
    for row, (begin, end) in enumerate(zip(prompt_lengths.tolist(), lengths.tolist(), strict=True)):
        targets[row, begin - 1 : end - 1] = ids[row, begin:end]
    return targets
