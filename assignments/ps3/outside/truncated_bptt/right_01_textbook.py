import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    state = tuple(part.detach() for part in state)
    for inputs, targets in pieces:
        outputs = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state
