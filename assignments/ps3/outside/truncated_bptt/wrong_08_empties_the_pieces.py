# wrong: pops the pieces from the caller's list.
# shows: pieces after the call (a second epoch reads nothing).

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    while pieces:
        inputs, targets = pieces.pop(0)
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
