import torch


def _read(step, state, inputs):
    states = [state]
    for ids in inputs.unbind(dim=1):
        states.append(step(ids, states[-1]))
    return torch.stack([s[0] for s in states[1:]], dim=1), states[-1]


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        hidden, after = _read(step, tuple(p.detach() for p in state), inputs)
        loss = loss_of(hidden, targets)
        loss.backward()
        update()
        losses.append(float(loss.detach()))
        state = after
    return losses, tuple(p.detach() for p in state)
