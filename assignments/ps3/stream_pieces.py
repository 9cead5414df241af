"""The task "pieces of a stream"."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import (
    Case,
    Check,
    Inputs,
    Part,
    mistake,
    mistakes,
    nothing_else_changes,
)
from autograder.authoring.compare import agree
from course_pkg.text.batches import stream_batches

from ..tensors import Generator
from .inputs import whole

# -- inputs ----------------------------------------------------------------------------------------


def _inputs(
    ids: Tensor, batch_size: int, length: int, *, has_gaps: bool = False, first_id: int = 0
) -> Inputs:
    arguments = [ids, batch_size, length]
    return {"arguments": arguments, "has_gaps": has_gaps, "first_id": first_id}


def _draw_streams(rng: Generator, sizes: Sequence[tuple[str, int, int, int]]) -> list[Case]:
    return [
        Case(
            size,
            {
                "arguments": [whole(rng, 90, n_ids), batch_size, length],
                "has_gaps": False,
                "first_id": 0,
            },
        )
        for size, n_ids, batch_size, length in sizes
    ]


def draw_streams(rng: Generator) -> list[Case]:
    """Streams that come out even: nothing is left over, and every piece is full."""
    sizes = [
        ("1 stream, 2 pieces of 3", 7, 1, 3),
        ("2 streams, 2 pieces of 3", 13, 2, 3),
        ("3 streams, 4 pieces of 5", 61, 3, 5),
        ("5 streams, 3 pieces of 2", 31, 5, 2),
        ("4 streams, 4 pieces of 4", 65, 4, 4),
    ]
    return _draw_streams(rng, sizes)


def draw_uneven_streams(rng: Generator) -> list[Case]:
    """Streams with a shorter last piece, with ids left over, or shorter than one piece."""
    sizes = [
        ("1 stream of 7 steps in pieces of 3", 8, 1, 3),
        ("2 streams of 4 steps in pieces of 3", 9, 2, 3),
        ("3 streams, 2 ids left over", 3 * 7 + 3, 3, 7),
        ("2 streams, 1 id left over, the last piece shorter", 2 * 8 + 2, 2, 5),
        ("4 streams of 3 steps in pieces of 9", 4 * 3 + 2, 4, 9),
        ("5 streams of 1 step in pieces of 1", 6, 5, 1),
        ("1 stream of 1 step in pieces of 99", 2, 1, 99),
        ("3 streams of 7 steps in pieces of 1", 3 * 7 + 1, 3, 1),
        ("4 streams, 4 left over, so that no target is missing", 4 * 5, 4, 3),
        ("8 streams, 8 left over, so that no target is missing", 8 * 3, 8, 2),
    ]
    return _draw_streams(rng, sizes)


def draw_repeated_ids(rng: Generator) -> list[Case]:
    """Ids that occur many times, in a row and far apart, so that no value says where it stood."""
    cases = []
    for n_ids, batch_size, length in [(23, 2, 4), (40, 3, 5)]:
        # The pattern is fixed, so that no wrong place holds a right id by luck; what is drawn is
        # which of the two ids is 0.
        ids = (whole(np.random.default_rng(4), 2, n_ids) + int(rng.integers(2))) % 2
        label, rest = f"{n_ids} ids of two kinds, {batch_size} streams", (ids, batch_size, length)
        cases += [
            Case(label, _inputs(*rest)),
            Case(f"{label}, every other id of a tensor", _inputs(*rest, has_gaps=True)),
            Case(f"{label}, beyond 32 bits", _inputs(*rest, first_id=2**40)),
        ]
    zeros = torch.tensor([5, 6, 0, 0, 0, 0])
    return [*cases, Case("6 ids, zeros at the end", _inputs(zeros, 1, 2))]


# -- probes ----------------------------------------------------------------------------------------


def cut_inputs(implementation, inputs):
    """Return what is read, piece by piece."""
    return [piece[0] for piece in implementation(*inputs["arguments"])]


def cut_targets(implementation, inputs):
    """Return what is predicted, piece by piece."""
    return [piece[1] for piece in implementation(*inputs["arguments"])]


def cut(implementation, inputs):
    """Return all pieces."""
    import torch

    ids, batch_size, length = inputs["arguments"]
    ids = ids + inputs["first_id"]
    if inputs["has_gaps"]:
        ids = torch.stack([ids, torch.full_like(ids, 7)], dim=1)[:, 0]
    return [tuple(piece) for piece in implementation(ids, batch_size, length)]


def cut_and_keep(implementation, inputs):
    """Return all pieces after a second call, and the arguments after both."""
    ids, batch_size, length = inputs["arguments"]
    first = implementation(ids, batch_size, length)
    implementation(ids.flip(0), 1, length + 1)
    return [tuple(piece) for piece in first], ids


# -- the reference version -------------------------------------------------------------------------


def stream_pieces(ids: Tensor, batch_size: int, length: int) -> list[tuple[Tensor, Tensor]]:
    """Cut with the package, after dropping what would make its streams unequal."""
    n_steps = (len(ids) - 1) // batch_size
    batches = stream_batches(ids[: n_steps * batch_size + 1], length, batch_size)
    return [(batch["ids"], batch["targets"]) for batch in batches]


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "inputs",
        "Each row reads its own stretch of the text, and goes on in the next piece.",
        draw_streams,
        cut_inputs,
        weight=3,
    ),
    Part(
        "targets",
        "The target of each place is the id that comes after it in the text.",
        draw_streams,
        cut_targets,
        weight=3,
    ),
    Part(
        "ends",
        "The last piece may be shorter, and ids that fill no whole step are left out.",
        draw_uneven_streams,
        cut,
        weight=2.5,
    ),
    Part(
        "repeated ids",
        "Ids may repeat, and may stand with gaps in memory.",
        draw_repeated_ids,
        cut,
        weight=0.5,
    ),
    nothing_else_changes(
        "The ids stay as they were, and a second call leaves the first answer alone.",
        draw_uneven_streams,
        cut_and_keep,
        agree(exact_dtype=True),
        says=("the call changes the ids",),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, batch_size, length):
    """The answer that the mistakes start from."""
    n_steps = (len(ids) - 1) // batch_size
    n_inputs = n_steps * batch_size
    inputs = ids[:n_inputs].reshape(batch_size, n_steps)
    targets = ids[1 : n_inputs + 1].reshape(batch_size, n_steps)
    starts = range(0, n_steps, length)
    return [(inputs[:, i : i + length], targets[:, i : i + length]) for i in starts]


@mistake(
    hint="You cut the text into pieces first, and each piece into rows. Then row 0 of the next "
    "piece does not go on where row 0 ended. Make the rows first, and cut them together.",
)
def rows_follow_each_other(ids, batch_size, length):
    """Row after row is filled within a piece, so that no row goes on in the next piece."""
    n_steps = (len(ids) - 1) // batch_size
    pieces = []
    for start in range(0, n_steps, length):
        width = min(length, n_steps - start)
        first = start * batch_size
        last = first + width * batch_size
        inputs = ids[first:last].reshape(batch_size, width)
        pieces.append((inputs, ids[first + 1 : last + 1].reshape(batch_size, width)))
    return pieces


@mistake(
    hint="You divide the number of ids among the rows. But a step needs a target, and the last id "
    "has none: divide the number of targets, which is one less.",
    keeps=0.5,
)
def count_ids_not_steps(ids, batch_size, length):
    """The number of steps is taken from the number of ids, not of targets."""
    n_steps = len(ids) // batch_size
    rows = ids[: n_steps * batch_size].reshape(batch_size, n_steps)
    starts = range(0, n_steps - 1, length)
    return [
        (rows[:, i : min(i + length, n_steps - 1)], rows[:, i + 1 : i + 1 + length]) for i in starts
    ]


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The targets are not shifted.",
        replace={"ids[1 : n_inputs + 1]": "ids[:n_inputs]"},
        hint="Your targets are the inputs themselves. A model that copies would win. The target "
        "of a place is the id after it: shift the text by one before you cut it.",
    ),
    mistake(
        "The target is the id plus one, not the id one place on.",
        replace={"ids[1 : n_inputs + 1].reshape(batch_size, n_steps)": "inputs + 1"},
        hint="You add 1 to the id. But ids are names, not quantities: the target is the id that "
        "comes one place later in the text.",
    ),
    mistake(
        "The targets are shifted by two places.",
        replace={"ids[1 : n_inputs + 1]": "torch.cat([ids[2:], ids[:2]])[:n_inputs]"},
        hint="Your targets are two places ahead of the inputs. Did you shift twice, perhaps once "
        "in the slice and once more where you cut it?",
    ),
    mistake(
        "The last target of each row is the first input of the same row.",
        replace={"ids[1 : n_inputs + 1].reshape(batch_size, n_steps)": "inputs.roll(-1, dims=1)"},
        hint="Inside a row your targets are right. But the last target of a row is not its own "
        "first id: it is the next id of the text, which is the first input of the next row.",
    ),
    mistake(
        "The last piece is lost if it is shorter than the others.",
        replace={"range(0, n_steps, length)": "range(0, n_steps - length + 1, length)"},
        hint="You leave out the last piece if it is not full. These steps would never be learned: "
        "let the last piece be shorter.",
    ),
    mistake(
        "Neighbouring ids are dealt out to different rows.",
        replace={
            "[:n_inputs].reshape(batch_size, n_steps)": (
                "[:n_inputs].reshape(n_steps, batch_size).T"
            ),
            "+ 1].reshape(batch_size, n_steps)": "+ 1].reshape(n_steps, batch_size).T",
        },
        hint="You deal out the ids to the rows like cards, so that neighbours in the text are in "
        "different rows. Each row must be one stretch of the text.",
    ),
    rows_follow_each_other,
    mistake(
        "Each piece begins with the last place of the piece before.",
        replace={"range(0, n_steps, length)": "range(0, n_steps, max(length - 1, 1))"},
        hint="Your pieces share one place. As inputs and targets are two tensors, nothing is lost "
        "at a border: the next piece begins where the last one ended.",
        keeps=0.5,
    ),
    count_ids_not_steps,
    mistake(
        "Time is the first axis, and the rows are the second.",
        replace={
            "inputs[:, i : i + length]": "inputs.T[i : i + length]",
            "targets[:, i : i + length]": "targets.T[i : i + length]",
        },
        hint="All numbers are right, but you return time as the first axis. The contract asks for "
        "rows of the batch first, then time.",
        keeps=0.5,
    ),
    mistake(
        "Where the pieces come out even, there is an empty one at the end.",
        replace={"range(0, n_steps, length)": "range(0, n_steps + 1, length)"},
        hint="Where the pieces come out even, your list ends with a piece without any step. Its "
        "loss would be 0 / 0. Where does your range end?",
        keeps=0.5,
    ),
)

CHECK = Check(
    item="ps3_stream_pieces",
    points=10,
    target="stream_pieces",
    reference=stream_pieces,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
