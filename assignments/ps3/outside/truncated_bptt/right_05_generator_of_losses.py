import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    carried = [part.detach() for part in state]

    def run():
        for inputs, targets in pieces:
            now, seen = tuple(carried), []
            for k in range(inputs.shape[-1]):
                now = step(inputs[..., k], now)
                seen.append(now[0])
            loss = loss_of(torch.stack(seen, dim=-2), targets)
            loss.backward()
            update()
            carried[:] = [part.detach() for part in now]
            yield loss.item()

    losses = list(run())
    return losses, tuple(carried)
