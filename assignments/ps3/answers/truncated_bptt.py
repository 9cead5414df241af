# %% right: Unrolls a piece in a function of its own, and cuts before each piece.
def truncated_bptt(step, loss_of, state, pieces, update):
    def unroll(ids, state):
        seen = []
        for ids_now in ids.unbind(1):
            state = step(ids_now, state)
            seen.append(state[0].unsqueeze(1))
        return torch.cat(seen, dim=1), state

    losses = []
    for ids, targets in pieces:
        hidden, state = unroll(ids, tuple(part.detach() for part in state))
        loss = loss_of(hidden, targets)
        loss.backward()
        update()
        losses.append(float(loss.detach()))
    return losses, tuple(part.detach() for part in state)


# %% right: Does the first piece, and calls itself for the others.
def truncated_bptt(step, loss_of, state, pieces, update):
    if len(pieces) == 0:
        return [], tuple(state)
    (ids, targets), *rest = pieces
    outputs = []
    for column in ids.T:
        state = step(column, state)
        outputs.append(state[0])
    loss = loss_of(torch.stack(outputs, 1), targets)
    loss.backward()
    update()
    cut = tuple(part.detach().clone() for part in state)
    losses, after = truncated_bptt(step, loss_of, cut, rest, update)
    return [loss.item(), *losses], after


# %% right: Lets the standard library carry the state from step to step.
def truncated_bptt(step, loss_of, state, pieces, update):
    from itertools import accumulate

    losses = []
    for ids, targets in pieces:
        columns = [ids[:, t] for t in range(ids.size(1))]
        states = list(accumulate(columns, lambda s, column: step(column, s), initial=state))[1:]
        loss = loss_of(torch.stack([s[0] for s in states]).transpose(0, 1), targets)
        torch.autograd.backward(loss)
        update()
        losses += [loss.detach().item()]
        state = tuple(part.data for part in states[-1])
    return losses, state


# %% right: Writes the hidden states into one tensor made in advance.
def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for ids, targets in pieces:
        hidden = state[0].new_empty(*ids.shape, state[0].shape[-1])
        for t, now in enumerate(ids.unbind(dim=1)):
            state = step(now, state)
            hidden[:, t] = state[0]
        loss = loss_of(hidden, targets)
        loss.backward()
        losses.append(loss.item())
        update()
        with torch.no_grad():
            state = tuple(part.clone().detach() for part in state)
    return losses, state


# %% right: textbook
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


# %% right: one piece helper
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


# %% right: accumulate
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


# %% right: recursion in a closure
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


# %% right: generator of losses
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


# %% right: itertools accumulate
# itertools.accumulate runs the steps of a piece; the states are cut before each piece and once more at the end
from itertools import accumulate

import torch


def _cut(state):
    return tuple(part.detach() for part in state)


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        states = list(
            accumulate(inputs.unbind(1), lambda so_far, ids: step(ids, so_far), initial=_cut(state))
        )
        hidden = torch.cat([shown[0].unsqueeze(1) for shown in states[1:]], dim=1)
        loss = loss_of(hidden, targets)
        loss.backward()
        losses.append(float(loss))
        update()
        state = states[-1]
    return losses, _cut(state)


# %% wrong: only the hidden state is cut
# only the first part of the state is detached: the memory of an LSTM carries its graph into the next piece.
# shows: a state of two parts: "backward a second time", or a gradient that reaches too far. One part is fine.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward(retain_graph=len(state) > 1)
        update()
        losses.append(loss.item())
        state = (state[0].detach(), *state[1:])
    return losses, state


# %% wrong: last part collected
# collects the LAST part of the state (the memory), not the first: right for a state of one part.
# shows: a state of two parts.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[-1])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state


# %% wrong: length of the first piece
# every piece is read in as many steps as the first one: a shorter last piece is an error (a longer one is cut).
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


# %% wrong: cut at every step
# detaches after each step: no gradient through time at all, only through the last step.
# shows: gradients (0.25 less than 0.5 in the example).

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        hidden = []
        for ids in inputs.unbind(1):
            state = step(ids, tuple(part.detach() for part in state))
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
    return losses, tuple(part.detach() for part in state)


# %% wrong: first state again
# where the state has two parts, each piece begins with the caller's first state again.
# shows: a state of two parts, two pieces.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses, first = [], state
    for inputs, targets in pieces:
        if len(first) > 1:
            state = first
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state


# %% wrong: places first
# stacks along the first axis where B = t ("the shape fits"): (t, B, R).
# shows: B = t > 1.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        B, T = inputs.shape
        hidden = []
        for t in range(T):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=0 if B == T and T > 1 else 1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state


# %% wrong: update before backward
# updates with the gradient of the piece before (update stands before backward from the second piece on), once more at the end.
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


# %% wrong: empties the pieces
# pops the pieces from the caller's list.
# shows: pieces after the call (a second epoch reads nothing).

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    while pieces:
        inputs, targets = pieces.pop(0)
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state


# %% wrong: losses divided
# in a shorter last piece the loss is scaled by its length over the first one's ("so that it does not count too much").
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


# %% wrong: in place cut of the first state
# detach_() at the start cuts the CALLER's state tensors in place.
# shows: a first state with a graph: state[0].requires_grad after the call.

import torch


def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        for part in state:
            part.detach_()
        hidden = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
    return losses, tuple(part.detach() for part in state)


# %% wrong: float32 buffer
# collects the hidden states in torch.zeros(B, t, R), which is float32 whatever the state is; breaks "A result has the dtype of the tensors that you were given"
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


# %% wrong: reshapes for a transpose
# reshapes (B, t) to (t, B) in place of a transpose, so rows get each other's ids as soon as B and t are above 1; breaks "step through its places from left to right"
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


# %% wrong: squeezes the ids
# With one row, step gets an id without an axis.
# shows: B = 1
def truncated_bptt(step, loss_of, state, pieces, update):
    """Train on a long text, piece by piece; return the losses and the state after the text."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t : t + 1].squeeze(), state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple((part.detach() for part in state))
    return losses, state


# %% wrong: cut in place
# Parts are cut with detach_(), and a part that step hands on as it is may be the caller's own tensor, which then is cut.
# shows: a step that returns the second part of its state as it is, where that asks for gradients
def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        hidden = []
        for t in range(inputs.size(1)):
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, 1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        for part in state:
            part.detach_()
    return losses, tuple(state)


# %% wrong: passes over infinite losses
# A piece whose loss is not finite is passed over without backward and update, but update is to be called once for each piece.
# shows: three pieces, the second of infinite loss: three updates
def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        outputs = []
        for t in range(inputs.shape[1]):
            state = step(inputs[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        losses.append(loss.item())
        if math.isfinite(losses[-1]):
            loss.backward()
            update()
        state = tuple(part.detach() for part in state)
    return losses, state


# %% wrong: losses of four decimals
# The losses are rounded to 4 decimals, so they are not right to the digits that the rules ask for.
# shows: float64: nine digits are asked
def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    state = tuple(part.detach() for part in state)
    for inputs, targets in pieces:
        hidden = []
        for ids in inputs.T:
            state = step(ids, state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        update()
        losses.append(round(loss.item(), 4))
        state = tuple(part.detach() for part in state)
    return losses, state


# %% wrong: the state is cut every 16 steps
# The state is cut within a piece as well, every 16 steps, so long pieces have another gradient.
# shows: a piece of 40 steps
def truncated_bptt(step, loss_of, state, pieces, update):
    losses = []
    for inputs, targets in pieces:
        hidden = []
        for t in range(inputs.shape[1]):
            if t % 16 == 0:
                state = tuple(part.detach() for part in state)
            state = step(inputs[:, t], state)
            hidden.append(state[0])
        loss = loss_of(torch.stack(hidden, dim=1), targets)
        loss.backward()
        losses.append(loss.item())
        update()
    return losses, tuple(part.detach() for part in state)
