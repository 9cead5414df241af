import torch


def truncated_bptt(step, loss_of, state: tuple, pieces: list, update) -> tuple[list[float], tuple]:
    def train_on(inputs, targets, before):
        outputs, after = [], before
        for t in range(inputs.size(1)):
            after = step(inputs.select(1, t), after)
            outputs += [after[0]]
        loss = loss_of(torch.stack(outputs, 1), targets)
        loss.backward()
        value = loss.item()
        update()
        return value, tuple(part.clone().detach() for part in after)

    losses: list[float] = []
    for piece in pieces:
        value, state = train_on(*piece, state)
        losses.append(value)
    return losses, tuple(part.detach() for part in state)
