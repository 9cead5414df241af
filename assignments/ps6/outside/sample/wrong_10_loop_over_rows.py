# wrong: a loop over the rows, which the rules forbid (the ids are right).
# shows: the source.

import torch


def sample(probs, uniforms):
    drawn = torch.zeros(len(probs), dtype=torch.int64)
    for b in range(len(probs)):
        over = (probs[b].double().cumsum(0) > uniforms[b]).nonzero()
        drawn[b] = over[0] if len(over) else probs[b].nonzero()[-1]
    return drawn
