# wrong: in a shorter last piece the loss is scaled by its length over the first one's ("so that it does not count too much").
# shows: pieces of different lengths.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    longest = max((inputs.shape[1] for inputs, _ in pieces), default=1)
    for inputs, targets in pieces:
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets) * (inputs.shape[1] / longest)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state
