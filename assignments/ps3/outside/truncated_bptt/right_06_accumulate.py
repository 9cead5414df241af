# right: itertools.accumulate runs the steps of a piece; the states are cut before each piece and once more at the end
from itertools import accumulate

import torch


def _cut(state):
    return tuple(part.detach() for part in state)


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        states = list(
            accumulate(inputs.unbind(1), lambda so_far, ids: step(ids, so_far), initial=_cut(state))
        )
        hidden = torch.cat([shown[0].unsqueeze(1) for shown in states[1:]], dim=1)
        loss = loss_of(hidden, targets)
        loss.backward()
        losses.append(float(loss))
        update()
        state = states[-1]
    return losses, _cut(state)
