"""Answers to the task "truncated backpropagation through time"."""

import torch

from assignments.answers import alternatives, mistakes


def state_not_detached(step, loss_of, state, pieces, update):
    """The state is carried with its graph."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
    return losses, tuple(part.detach() for part in state)


def graph_retained(step, loss_of, state, pieces, update):
    """The graph is kept, so that gradients flow through all pieces before."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward(retain_graph=True)
        update()
        losses.append(loss.item())
    return losses, tuple(part.detach() for part in state)


def only_first_part_detached(step, loss_of, state, pieces, update):
    """Only the hidden state is cut from its graph, not the memory."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = (state[0].detach(), *state[1:])
    return losses, state


def only_first_part_carried(step, loss_of, state, pieces, update):
    """Only the hidden state is carried; the memory starts from zeros in each piece."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = (state[0].detach(), *(torch.zeros_like(part) for part in state[1:]))
    return losses, state


def start_anew_in_each_piece(step, loss_of, state, pieces, update):
    """Each piece starts from the first state again."""
    losses, after = [], state
    for ids, targets in pieces:
        after, outputs = state, []
        for t in range(ids.shape[1]):
            after = step(ids[:, t], after)
            outputs.append(after[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
    return losses, tuple(part.detach() for part in after)


def start_from_zeros(step, loss_of, state, pieces, update):
    """The state that is given is replaced by zeros."""
    state = tuple(torch.zeros_like(part) for part in state)
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state


def cut_at_every_step(step, loss_of, state, pieces, update):
    """The graph is cut after every step, not after every piece."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], tuple(part.detach() for part in state))
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
    return losses, tuple(part.detach() for part in state)


def update_at_the_end(step, loss_of, state, pieces, update):
    """All pieces are read before the only update."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    update()
    return losses, state


def update_before_backward(step, loss_of, state, pieces, update):
    """The update comes before the gradient, and so uses that of the piece before."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        update()
        loss.backward()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state


def last_loss_only(step, loss_of, state, pieces, update):
    """Only the last step of each piece has a loss."""
    losses = []
    for ids, targets in pieces:
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
        loss = loss_of(state[0].unsqueeze(1), targets[:, -1:])
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state


def states_before_the_step(step, loss_of, state, pieces, update):
    """The states before each step are scored, not those after it."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            outputs.append(state[0])
            state = step(ids[:, t], state)
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        if loss.requires_grad:
            loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state


def time_before_batch(step, loss_of, state, pieces, update):
    """The hidden states are stacked with time as the first axis."""
    losses = []
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    return losses, state


def returned_with_its_graph(step, loss_of, state, pieces, update):
    """The state that is returned still carries its graph."""
    losses = []
    for ids, targets in pieces:
        state = tuple(part.detach() for part in state)
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
    return losses, state


def remember_between_calls(step, loss_of, state, pieces, update, carried={}):  # noqa: B006
    """The state leaks from one call into the next one."""
    losses = []
    state = carried.get("state", state)
    for ids, targets in pieces:
        outputs = []
        for t in range(ids.shape[1]):
            state = step(ids[:, t], state)
            outputs.append(state[0])
        loss = loss_of(torch.stack(outputs, dim=1), targets)
        loss.backward()
        update()
        losses.append(loss.item())
        state = tuple(part.detach() for part in state)
    if len({part.shape for part in state}) == 1:
        carried["state"] = state
    return losses, state


def by_unroller(step, loss_of, state, pieces, update):
    """Unrolls a piece in a function of its own, and cuts before each piece."""

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


def by_recursion(step, loss_of, state, pieces, update):
    """Does the first piece, and calls itself for the others."""
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
    losses, after = by_recursion(step, loss_of, cut, rest, update)
    return [loss.item(), *losses], after


def by_accumulate(step, loss_of, state, pieces, update):
    """Lets the standard library carry the state from step to step."""
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


def by_writing_into_a_tensor(step, loss_of, state, pieces, update):
    """Writes the hidden states into one tensor made in advance."""
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


MISTAKES = mistakes(
    (
        state_not_detached,
        "You carry the state into the next piece together with its graph, and torch is asked to go "
        "back through it twice. Cut it at the end of each piece: detach every part.",
    ),
    (
        graph_retained,
        "With retain_graph torch no longer complains, but the gradient now flows through all "
        "earlier pieces, and memory grows without end. Detach the state instead.",
    ),
    (
        only_first_part_detached,
        "You detach the hidden state, but a state may have a second part, the memory. The gradient "
        "finds its way through that one: detach every part.",
    ),
    (
        only_first_part_carried,
        "You carry the hidden state, but put zeros in the place of the second part, the memory. "
        "Every part goes on with its value.",
    ),
    (
        start_anew_in_each_piece,
        "Each of your pieces starts from the first state. So the network forgets everything at "
        "every border: carry the state's value on, and cut only its graph.",
    ),
    (
        start_from_zeros,
        "You replace the state that you are given by zeros. The caller decides what stands before "
        "the first piece: start from it.",
    ),
    (
        cut_at_every_step,
        "You cut the graph after every step, so no step learns from the next one. Inside a piece "
        "the gradient must flow: cut only at its end.",
    ),
    (
        update_at_the_end,
        "You update once, after all pieces. In a long text that is far too rare: update after each "
        "piece.",
    ),
    (
        update_before_backward,
        "You update before you go backward, so the weights move by an old gradient, or by none. "
        "First backward, then update.",
    ),
    (
        last_loss_only,
        "You score only the last step of each piece. Every step predicts an id: collect all hidden "
        "states, and give them to loss_of together.",
    ),
    (
        states_before_the_step,
        "You collect each hidden state before its step, so a prediction never sees the newest id. "
        "Step first, then collect.",
    ),
    (
        time_before_batch,
        "You stack the hidden states with time as the first axis, so they meet the wrong targets. "
        "The shape is (B, t, R): stack along axis 1.",
    ),
    (
        returned_with_its_graph,
        "The training is right. But the state that you return still carries its graph, and whoever "
        "goes on from it would go backward twice: detach it too.",
    ),
    (
        remember_between_calls,
        "You keep the state somewhere between two calls, so a second text starts in the memory of "
        "the first. Everything that you need is in the arguments.",
    ),
)

ALTERNATIVES = alternatives(by_unroller, by_recursion, by_accumulate, by_writing_into_a_tensor)
