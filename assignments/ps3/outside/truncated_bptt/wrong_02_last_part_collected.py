# wrong: collects the LAST part of the state (the memory), not the first: right for a state of one part.
# shows: a state of two parts.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[-1])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state
