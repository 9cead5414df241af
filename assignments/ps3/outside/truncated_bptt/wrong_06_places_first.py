# wrong: stacks along the first axis where B = t ("the shape fits"): (t, B, R).
# shows: B = t > 1.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        B, T = inputs.shape
        hidden = []
        for t in range(T):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=0 if B == T and T > 1 else 1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state
