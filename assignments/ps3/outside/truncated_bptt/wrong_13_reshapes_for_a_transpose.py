# wrong: reshapes (B, t) to (t, B) in place of a transpose, so rows get each other's ids as soon as B and t are above 1; breaks "step through its places from left to right"
# shows: inputs [[1, 2, 3], [4, 5, 6]]: step is given [1, 2] first in place of [1, 4]
import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        n_rows, n_steps = inputs.shape
        outputs = []
        for ids in inputs.reshape(n_steps, n_rows):
            state = step(ids, state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state
