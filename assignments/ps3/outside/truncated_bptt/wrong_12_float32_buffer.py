# wrong: collects the hidden states in torch.zeros(B, t, R), which is float32 whatever the state is; breaks "A result has the dtype of the tensors that you were given"
# shows: a state of float64: loss_of is given float32, and the losses are off by 1e-8
import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        outputs = torch.zeros(*inputs.shape, state[0].shape[-1])
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            outputs[:, t] = state[0]
        loss = loss_of(outputs, targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state
