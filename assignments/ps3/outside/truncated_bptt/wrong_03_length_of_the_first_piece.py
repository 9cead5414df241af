# wrong: every piece is read in as many steps as the first one: a shorter last piece is an error (a longer one is cut).
# shows: pieces of different lengths.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses, n_steps = [], None
    for inputs, targets in pieces:
        n_steps = n_steps or inputs.shape[1]
        hidden = []
        for t in range(n_steps):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets[:, :n_steps])
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state
