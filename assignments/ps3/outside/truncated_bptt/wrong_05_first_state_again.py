# wrong: where the state has two parts, each piece begins with the caller's first state again.
# shows: a state of two parts, two pieces.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses, first = [], state
    for inputs, targets in pieces:
        if len(first) > 1:
            state = first
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state
