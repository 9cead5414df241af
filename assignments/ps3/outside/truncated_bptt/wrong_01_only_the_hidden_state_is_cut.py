# wrong: only the first part of the state is detached: the memory of an LSTM carries its graph into the next piece.
# shows: a state of two parts: "backward a second time", or a gradient that reaches too far. One part is fine.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward(retain_graph=len(state) > 1)
        update()
        losses.append(loss.item())
        state = (state[0].detach(), *state[1:])
    return losses, state
