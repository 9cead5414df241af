"""The task "truncated backpropagation through time"."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from autograder.authoring.checks import (
    Case,
    Check,
    counted,
    mistake,
    mistakes,
    nothing_else_changes,
)
from autograder.authoring.compare import agree, saying
from course_pkg.layers.recurrent import ElmanCell, LSTMCell, State
from course_pkg.models import recurrent as models

from ..contracts import LAYOUTS
from ..tensors import Generator, near, near_part, normal
from .inputs import whole

# -- inputs ----------------------------------------------------------------------------------------


def _draw_training(
    rng: Generator,
    sizes: Sequence[tuple[int, Sequence[int], int, str]],
    take: str,
    rates: Sequence[float] = (0.5, 0.0),
) -> list[Case]:
    cases = []
    for number, (batch_size, lengths, n_parts, dtype) in enumerate(sizes):
        vocab_size, d_hidden = 7, (3, 5)[number % 2]
        inputs = {
            "dtype": dtype,
            "take": take,
            "weights": [
                normal(rng, dtype, vocab_size, d_hidden),
                normal(rng, dtype, d_hidden, d_hidden, scale=0.8),
                normal(rng, dtype, d_hidden, vocab_size),
            ],
            "state": tuple(normal(rng, dtype, batch_size, d_hidden) for _ in range(n_parts)),
            "pieces": [
                tuple(whole(rng, vocab_size, batch_size, length) for _ in range(2))
                for length in lengths
            ],
            "rate": rates[number % len(rates)],
        }
        pieces, rows = counted(len(lengths), "piece"), counted(batch_size, "row")
        size = f"{pieces} of {', '.join(map(str, lengths))} steps, {rows}, {dtype}"
        cases.append(Case(size, inputs))
    return cases


def draw_one_piece(rng: Generator) -> list[Case]:
    """A stream that is one piece: there is nothing to carry."""
    sizes = [(1, [1], 1, "float64"), (2, [4], 1, "float64"), (3, [5], 1, "float32")]
    return _draw_training(rng, sizes, "training")


def draw_many_pieces(rng: Generator) -> list[Case]:
    """Pieces of unequal lengths; the weights move between them, or stay."""
    sizes = [
        (1, [2, 2], 1, "float64"),
        (2, [3, 3, 1], 1, "float64"),
        (3, [4, 4, 4, 2], 1, "float32"),
        (2, [1, 5, 2], 1, "float64"),
        (1, [1] * 12, 1, "float64"),
        (2, [40, 3], 1, "float64"),
    ]
    cases = _draw_training(rng, sizes, "training")
    plain = _draw_training(rng, [(2, [2, 1, 2], 1, "float64")], "training")[0]
    inputs = {**plain.inputs, "infinite": 1}
    return [*cases, Case(f"{plain.label}, the second loss infinite", inputs)]


def draw_two_parts(rng: Generator) -> list[Case]:
    """States of two parts, as an LSTM has them."""
    sizes = [(1, [2, 2], 2, "float64"), (2, [3, 4, 1], 2, "float64"), (3, [2, 3], 2, "float32")]
    return _draw_training(rng, sizes, "training", rates=(0.0, 0.5))


def draw_losses(rng: Generator) -> list[Case]:
    """Pieces in float64, with weights that stay, of which the losses alone are looked at."""
    return _draw_training(rng, [(2, [3, 1], 1, "float64")], "losses", rates=(0.0,))


def draw_returned_states(rng: Generator) -> list[Case]:
    """Streams whose last state is looked at."""
    sizes = [(1, [3], 1, "float64"), (3, [2], 1, "float64"), (2, [1, 2], 1, "float32")]
    cases = _draw_training(rng, sizes, "state")
    cut = _draw_training(rng, [(2, [2], 1, "float64")], "state")[0]
    return [*cases, Case(f"{cut.label}, {LAYOUTS['gaps']}", {**cut.inputs, "gaps": True})]


def draw_repeated(rng: Generator) -> list[Case]:
    """Streams that are read twice, with weights that stay."""
    sizes = [(1, [3], 1, "float64"), (2, [2], 2, "float64"), (3, [2, 1], 1, "float32")]
    cases = _draw_training(rng, sizes, "everything", rates=(0.0,))
    kept = _draw_training(rng, [(2, [2, 1], 2, "float64")], "everything", rates=(0.0,))[0]
    inputs = {**kept.inputs, "hands_on": True}
    return [*cases, Case(f"{kept.label}, a part that stays as it is", inputs)]


# -- probes ----------------------------------------------------------------------------------------


def train(implementation, inputs):
    """Train a tiny network on a stream; return the losses and the gradients before each update."""
    import torch

    state, pieces = tuple(part.clone() for part in inputs["state"]), inputs["pieces"]

    def with_gaps(x):  # as pieces of one text have them, but no view: that is not to be detached
        return torch.empty_strided(x.shape, (2 * x.shape[1] + 1, 2), dtype=x.dtype).copy_(x)

    if "gaps" in inputs:
        state, *pieces = (tuple(map(with_gaps, part)) for part in (state, *pieces))
    params = [weight.requires_grad_() for weight in inputs["weights"]]
    vectors, recurrent, output = params
    seen = []
    if inputs["take"] == "everything":
        state = tuple(part.requires_grad_() for part in state)  # as if it were learned as well

    def step(ids, state):
        if ids.dim() != 1:
            raise ValueError("one id of each row is expected, (B,)")
        mixed = torch.tanh(vectors[ids] + state[0] @ recurrent)
        if len(state) == 1:
            return (mixed,)
        if "hands_on" in inputs:
            return mixed, state[1]
        memory = 0.75 * state[1] + mixed
        return torch.sin(memory), memory

    def loss_of(hidden, targets):
        if hidden.dim() != 3 or targets.dim() != 2:
            raise ValueError("(B, t, R) and (B, t) are expected")
        logits = hidden @ output
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss + float("inf") if inputs.get("infinite") == len(seen) else loss

    def update():
        seen.append([None if param.grad is None else param.grad.clone() for param in params])
        with torch.no_grad():
            for param in params:
                if inputs["rate"] and param.grad is not None:
                    param -= inputs["rate"] * param.grad
                param.grad = None

    def run():
        losses, after = implementation(step, loss_of, state, pieces, update)
        return [float(x.detach() if torch.is_tensor(x) else x) for x in losses], after

    if inputs["take"] == "everything":
        try:
            # The rate is 0 and the weights have not moved, so a second pass must repeat the first.
            first, second = run()[0], run()[0]
        except Exception:
            first, second = None, None  # whether there is a result is the business of other parts
        kept = [part.requires_grad for part in state]
        return first, first == second, [part.detach() for part in state], kept, pieces
    losses, after = run()
    if inputs["take"] == "losses":
        return losses
    if inputs["take"] == "training":
        return losses, seen
    return tuple(part.detach() for part in after), [part.requires_grad for part in after]


# -- the reference version -------------------------------------------------------------------------

Step = Callable[[Tensor, State], State]


Loss = Callable[[Tensor, Tensor], Tensor]


class _Given(models.RecurrentLM):
    """A model of the package that steps, and measures its loss, as it is told."""

    def __init__(self, step: Step, loss_of: Loss, n_parts: int, d_hidden: int) -> None:
        cell = ElmanCell if n_parts == 1 else LSTMCell
        super().__init__(1, 1, d_hidden, cell=cell)
        self.given_step, self.loss_of = step, loss_of

    def forward_from(
        self, state: State | None, ids: Tensor, targets: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None, State]:
        """Do what the package's model does; its states have a dimension more, for the layers."""
        assert state is not None and targets is not None
        plain = tuple(part[0] for part in state)
        outputs = []
        for position in ids.unbind(1):
            plain = self.given_step(position, plain)
            outputs.append(plain[0])
        hidden = torch.stack(outputs, dim=1)
        return hidden, self.loss_of(hidden, targets), tuple(part[None] for part in plain)


def truncated_bptt(
    step: Step,
    loss_of: Loss,
    state: State,
    pieces: Iterable[tuple[Tensor, Tensor]],
    update: Callable[[], None],
) -> tuple[list[float], State]:
    """Let the package carry the state and cut its graph."""
    batch_size, d_hidden = state[0].shape
    with torch.random.fork_rng(devices=[]):  # making a model draws weights, which nobody uses
        model = _Given(step, loss_of, len(state), d_hidden)
    reader = models.TruncatedBPTT(model, batch_size).to(state[0].dtype)
    for name, part in zip(reader.names, state, strict=True):
        getattr(reader, name).copy_(part.detach()[None])
    losses = []
    for ids, targets in pieces:
        _, loss = reader(ids, targets)
        loss.backward()
        update()
        losses.append(loss.item())
    return losses, tuple(getattr(reader, name)[0] for name in reader.names)


# -- parts -----------------------------------------------------------------------------------------

_LOSSES = saying("{} in the losses", "{} in the gradients", judge=near)

PARTS = (
    near_part(
        "one piece",
        "In a single piece, the loss and all gradients are those of the whole unrolling.",
        draw_one_piece,
        train,
        4,
        _LOSSES,
    ),
    near_part(
        "many pieces",
        "Each piece starts from the state of the last one, and gradients end at its start.",
        draw_many_pieces,
        train,
        4,
        _LOSSES,
    ),
    near_part(
        "two parts",
        "A state may have two parts, as an LSTM's; both are carried, both are cut.",
        draw_two_parts,
        train,
        1.5,
        _LOSSES,
    ),
    near_part(
        "state",
        "The state after the last step is returned, cut from its graph.",
        draw_returned_states,
        train,
        1.5,
        saying("the state has other values", "the state is not cut from its graph", judge=near),
    ),
    near_part(
        "accuracy",
        "The losses keep all digits that their dtype has.",
        draw_losses,
        train,
        0.5,
        agree(),
    ),
    nothing_else_changes(
        "A second call starts anew; the state and the pieces stay as they were.",
        draw_repeated,
        train,
        says=(
            "a second call gives something else",
            "the call changes the state",
            "the state that was given no longer asks for gradients",
            "the call changes the pieces",
        ),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(step, loss_of, state, pieces, update):
    """The answer that the mistakes start from."""
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


@mistake(
    hint="You keep the state somewhere between two calls, so a second text starts in the memory "
    "of the first. Everything that you need is in the arguments.",
)
def remember_between_calls(step, loss_of, state, pieces, update, carried={}):  # noqa: B006
    """The state leaks from one call into the next one."""
    losses = []
    # Of one training only: the checks ask about others in this process, in any order.
    state = carried.get(step, state)
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
    carried[step] = state
    return losses, state


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The state is carried with its graph.",
        replace={
            "state = tuple(part.detach() for part in state)": "",
            "losses, state": "losses, tuple(part.detach() for part in state)",
        },
        hint="You carry the state into the next piece together with its graph, and torch is asked "
        "to go back through it twice. Cut it at the end of each piece: detach every part.",
    ),
    mistake(
        "The graph is kept, so that gradients flow through all pieces before.",
        replace={
            "loss.backward()": "loss.backward(retain_graph=True)",
            "state = tuple(part.detach() for part in state)": "",
            "losses, state": "losses, tuple(part.detach() for part in state)",
        },
        hint="With retain_graph torch no longer complains, but the gradient now flows through all "
        "earlier pieces, and memory grows without end. Detach the state instead.",
    ),
    mistake(
        "Only the hidden state is detached from its graph, not the memory.",
        replace={"tuple(part.detach() for part in state)": "(state[0].detach(), *state[1:])"},
        hint="You detach the hidden state, but a state may have a second part, the memory. The "
        "gradient finds its way through that one: detach every part.",
    ),
    mistake(
        "Only the hidden state is carried; the memory starts from zeros in each piece.",
        replace={
            "tuple(part.detach() for part in state)": (
                "(state[0].detach(), *(torch.zeros_like(part) for part in state[1:]))"
            ),
        },
        hint="You carry the hidden state, but put zeros in the place of the second part, the "
        "memory. Every part goes on with its value.",
    ),
    mistake(
        "Each piece starts from the first state again.",
        replace={
            "losses = []": "losses, first = [], state",
            "outputs = []": "state, outputs = first, []",
        },
        hint="Each of your pieces starts from the first state. So the network forgets everything "
        "at every border: carry the state's value on, and cut only its graph.",
    ),
    mistake(
        "The state that is given is replaced by zeros.",
        replace={
            "losses = []": "state = tuple(torch.zeros_like(part) for part in state)\nlosses = []",
        },
        hint="You replace the state that you are given by zeros. The caller decides what stands "
        "before the first piece: start from it.",
    ),
    mistake(
        "The graph is cut after every step, not after every piece.",
        replace={
            "step(ids[:, t], state)": "step(ids[:, t], tuple(part.detach() for part in state))",
        },
        hint="You cut the graph after every step, so no step learns from the next one. Inside a "
        "piece the gradient must flow: cut only at its end.",
    ),
    mistake(
        "All pieces are read before the only update.",
        replace={"update()": "", "return losses, state": "update()\nreturn losses, state"},
        hint="You update once, after all pieces. In a long text that is far too rare: update "
        "after each piece.",
    ),
    mistake(
        "The update comes before the gradient, and so uses that of the piece before.",
        replace={"loss.backward()": "update()\nloss.backward()", "update()": ""},
        hint="You update before you go backward, so the weights move by an old gradient, or by "
        "none. First backward, then update.",
        keeps=0.3,
    ),
    mistake(
        "Only the last step of each piece has a loss.",
        replace={"torch.stack(outputs, dim=1), targets": "state[0].unsqueeze(1), targets[:, -1:]"},
        hint="You score only the last step of each piece. Every step predicts an id: collect all "
        "hidden states, and give them to loss_of together.",
    ),
    mistake(
        "The states before each step are scored, not those after it.",
        replace={
            "outputs.append(state[0])": "",
            "state = step(ids[:, t], state)": """
                outputs.append(state[0])
                state = step(ids[:, t], state)
            """,
            "loss.backward()": "if loss.requires_grad:\n    loss.backward()",
        },
        hint="You collect each hidden state before its step, so a prediction never sees the "
        "newest id. Step first, then collect.",
        keeps=0.3,
    ),
    mistake(
        "The state that is given is cut in place.",
        replace={
            "losses = []": "for part in state:\n    part.detach_()\nlosses = []",
        },
        hint="You cut the state that is given with detach_, in place, so the caller's own tensors "
        "lose their graph. Write detach, which leaves them as they are.",
    ),
    mistake(
        "The hidden states are stacked with time as the first axis.",
        replace={", dim=1": ""},
        hint="You stack the hidden states with time as the first axis, so they meet the wrong "
        "targets. The shape is (B, t, R): stack along axis 1.",
        keeps=0.5,
    ),
    mistake(
        "The state that is returned still carries its graph.",
        replace={
            "outputs = []": "outputs = []\nstate = tuple(part.detach() for part in state)",
            "state = tuple(part.detach() for part in state)": "",
        },
        hint="The training is right. But the state that you return still carries its graph, and "
        "whoever goes on from it would go backward twice: detach it too.",
    ),
    remember_between_calls,
)

CHECK = Check(
    item="ps3_truncated_bptt",
    points=12,
    target="truncated_bptt",
    reference=truncated_bptt,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
