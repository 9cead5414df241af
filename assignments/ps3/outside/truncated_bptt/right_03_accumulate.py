import torch
import itertools


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        cut = tuple(map(torch.Tensor.detach, state))
        states = list(itertools.accumulate(inputs.T, lambda s, ids: step(ids, s), initial=cut))
        loss = loss_of(torch.cat([s[0].unsqueeze(1) for s in states[1:]], dim=1), targets)
        loss.backward()
        losses.append(loss.item())
        update()
        state = states[-1]
    return losses, tuple(map(torch.Tensor.detach, state))
