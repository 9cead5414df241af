# wrong: updates with the gradient of the piece before (update stands before backward from the second piece on), once more at the end.
# shows: the order of the calls; losses with a learning rate.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses, waiting = [], None
    for inputs, targets in pieces:
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        if waiting is not None:
            waiting.backward()
            update()
        waiting = loss
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    if waiting is not None:
        waiting.backward()
        update()
    return losses, state
