# wrong: detach_() at the start cuts the CALLER's state tensors in place.
# shows: a first state with a graph: state[0].requires_grad after the call.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        for part in state:
            part.detach_()
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
    return losses, tuple(part.detach() for part in state)
