"""The task "a batch of windows"."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes
from autograder.authoring.rules import not_allowed

from ..contracts import Contract
from ..tensors import Generator, any_layout, call, cost_case, tensor_case
from .inputs import LARGE, exact, keeps_ids

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("N; -; B")


def _stream(rng: Generator, n: int) -> Tensor:
    """Draw ids that come again, none of which is one more than the id before it."""
    ids = 3 * torch.from_numpy(rng.permutation(n)) % (2 * n)
    ids[ids == 4] = 70_000
    ids[rng.integers(n)] = LARGE
    return ids


def _case(
    rng: Generator, n: int, length: int, uniforms: Sequence[float], take: int | None, what: str = ""
) -> Case:
    label = f"{n} ids, windows of {length}, {len(uniforms)} of them{what}"
    numbers = torch.tensor(uniforms, dtype=torch.float64)
    return tensor_case(label, "int64", _stream(rng, n), length, numbers, take=take)


def _middles(rng: Generator, n: int, length: int, n_rows: int) -> list[float]:
    """Draw numbers in the middle of unlike windows, the last window among them, not the first."""
    places = 1 + rng.permutation(n - length - 1)[:n_rows]
    places[0] = n - length - 1
    return [(place + 0.5) / (n - length) for place in rng.permutation(places).tolist()]


def _draw_batches(rng: Generator, take: int) -> list[Case]:
    sizes = [(8, 3, 2), (12, 4, 3), (40, 7, 5), (30, 5, 5), (300, 2, 6), (50, 1, 4)]
    return [_case(rng, n, length, _middles(rng, n, length, b), take) for n, length, b in sizes]


def draw_inputs(rng: Generator) -> list[Case]:
    """Batches whose inputs are looked at."""
    return _draw_batches(rng, 0)


def draw_targets(rng: Generator) -> list[Case]:
    """Batches whose targets are looked at."""
    return _draw_batches(rng, 1)


def draw_every_window(rng: Generator) -> list[Case]:
    """A number in every window, from the first to the last."""
    cases = []
    for n, length in [(7, 2), (2, 1), (9, 8), (23, 5)]:
        numbers = [(place + 0.5) / (n - length) for place in range(n - length)]
        cases.append(_case(rng, n, length, rng.permutation(numbers).tolist(), None, ": each once"))
    return cases


def draw_borders(rng: Generator) -> list[Case]:
    """Numbers at the borders between windows, and as little beside them as float64 can show."""
    below = np.nextafter(1.0, 0.0)
    return [
        _case(rng, 8, 4, [0.0, 0.25, 0.5, 0.75, below], 0, " on the borders"),
        _case(rng, 13, 3, [0.7 - 1e-10, 0.7 + 1e-10, 0.1 - 1e-10, 0.9 + 1e-10], 0, " beside them"),
        _case(rng, 100, 3, [below, 0.0, 1e-300, 0.5], 0, " at both ends"),
        _case(rng, 1027, 3, [k / 1024 - 1e-12 for k in (1, 5, 77, 1023)], 0, " just below them"),
        # Multiplied by 1024 nothing is rounded: it stays 2e-12 below a whole number.
        _case(rng, 1027, 3, [k / 1024 - 2**-49 for k in (1, 77, 1023)], 0, " a hair below them"),
        _case(rng, 70_000, 8, [(k + 0.5) / 69_992 for k in (69_991, 7, 40_000)], 0, ", long"),
    ]


def draw_rows(rng: Generator) -> list[Case]:
    """One row, equal rows, as many rows as ids, more than there are windows."""
    return [
        _case(rng, 10, 4, [0.6], None, ": a single one"),
        _case(rng, 10, 4, [0.4, 0.4, 0.4], None, ", all the same"),
        _case(rng, 6, 6 - 1, [0.1, 0.9, 0.5, 0.3, 0.7, 0.2], None),
        _case(rng, 4, 2, [0.8, 0.2] * 15, None),
    ]


def draw_layouts(rng: Generator) -> list[Case]:
    """Some batches."""
    return [*_draw_batches(rng, 0)[1:3], *_draw_batches(rng, 1)[3:5]]


def draw_all(rng: Generator) -> list[Case]:
    """Cases of all kinds."""
    every = [*draw_every_window(rng), *draw_borders(rng), *draw_rows(rng)]
    return [Case(case.label, {**case.inputs, "take": None}) for case in every]


def draw_long(rng: Generator) -> list[Case]:
    """A few windows and 400 more; windows of 3 ids and of 403."""
    ids, few = _stream(rng, 900), torch.tensor([0.1, 0.9, 0.4], dtype=torch.float64)
    many = torch.from_numpy(rng.random(403))
    return [
        cost_case("3 and 403 windows", [ids, 5, few], [ids, 5, many], 400),
        cost_case("windows of 3 and of 403 ids", [ids, 3, few], [ids, 403, few], 400),
    ]


# -- the reference version -------------------------------------------------------------------------


def window_batch(ids: Tensor, length: int, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """Let NumPy multiply, round down, and slide a window over the stream."""
    starts = np.floor(uniforms.numpy() * (len(ids) - length)).astype(int)
    windows = np.lib.stride_tricks.sliding_window_view(ids.numpy(), length + 1)[starts]
    return torch.from_numpy(windows[:, :-1].copy()), torch.from_numpy(windows[:, 1:].copy())


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "inputs",
        "Each row is the window that begins at the place which its number says.",
        draw_inputs,
        call,
        judge=exact,
        weight=3,
    ),
    Part(
        "targets",
        "The targets are the ids one place further on in the stream.",
        draw_targets,
        call,
        judge=exact,
        weight=3,
    ),
    Part(
        "every window",
        "There are N - length windows, and each has an equal share of the numbers.",
        draw_every_window,
        call,
        judge=exact,
        weight=2,
    ),
    Part(
        "borders",
        "The product is rounded down, and computed in float64.",
        draw_borders,
        call,
        judge=exact,
        weight=1,
    ),
    Part(
        "rows",
        "One row will do, and so will equal rows, or more rows than windows.",
        draw_rows,
        call,
        judge=exact,
        weight=0.5,
    ),
    any_layout(draw_layouts, 0.5, CONTRACT, exact),
    *keeps_ids(draw_all),
    not_allowed(longer=draw_long),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, length, uniforms):
    """The answer that the mistakes start from."""
    n_windows = len(ids) - length
    starts = torch.floor(uniforms * n_windows).long()
    places = starts[:, None] + torch.arange(length)
    inputs, targets = ids[places], ids[places + 1]
    return inputs, targets


@mistake(
    hint="Your windows are right, but they are cut piece by piece, in a loop. A matrix of places, "
    "beginnings plus `torch.arange(length)`, indexes the stream once for all rows."
)
def window_by_window(ids, length, uniforms):
    """A loop goes from window to window."""
    inputs, targets = [], []
    for u in uniforms.tolist():
        start = int(u * (len(ids) - length))
        inputs.append(ids[start : start + length])
        targets.append(ids[start + 1 : start + length + 1])
    return torch.stack(inputs), torch.stack(targets)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "One place too many is drawn from.",
        replace={"len(ids) - length": "len(ids) - length + 1"},
        hint="You draw from N - length + 1 places. A window that begins at the last of them has no "
        "target for its last id: the stream ends there.",
        keeps=0.5,
    ),
    mistake(
        "The last window is never drawn.",
        replace={"len(ids) - length": "len(ids) - length - 1"},
        hint="You draw from N - length - 1 places, so the last window never comes. The last target "
        "may be the last id of the stream.",
        keeps=0.5,
    ),
    mistake(
        "The targets are the inputs themselves.",
        replace={"ids[places + 1]": "ids[places]"},
        hint="Your targets are the inputs. A model that repeats what it has read would be perfect: "
        "what is to be predicted is the id *after* each one.",
    ),
    mistake(
        "The targets are the ids plus one.",
        replace={"ids[places + 1]": "ids[places] + 1"},
        hint="You add 1 to the ids. What is one further on is the *place* in the stream: the "
        "target of an id is the id that comes after it.",
    ),
    mistake(
        "The targets are the ids before the inputs.",
        replace={"ids[places + 1]": "ids[places - 1]"},
        hint="You shift to the wrong side: your targets are the ids that come before. A language "
        "model predicts what comes after.",
    ),
    mistake(
        "The targets are two places further on.",
        replace={"ids[places + 1]": "ids[(places + 2) % len(ids)]"},
        hint="Your targets are two places after the inputs. Each id is to predict its very "
        "next neighbour.",
    ),
    mistake(
        "Inputs and targets are swapped.",
        replace={"ids[places], ids[places + 1]": "ids[places + 1], ids[places]"},
        hint="You return the targets first. The order is that of reading: inputs, and then what "
        "follows them.",
        keeps=0.5,
    ),
    mistake(
        "The places are rounded to the nearest.",
        replace={
            "torch.floor(uniforms * n_windows).long()": (
                "torch.round(uniforms * n_windows).long().clamp(max=n_windows - 1)"
            )
        },
        hint="You round to the nearest place, so the first window has half a share, and the last "
        "one and a half. Round down.",
        keeps=0.5,
    ),
    mistake(
        "The places are rounded up.",
        replace={
            "torch.floor(uniforms * n_windows).long()": (
                "torch.ceil(uniforms * n_windows).long().clamp(max=n_windows - 1)"
            )
        },
        hint="You round up, so the first window is hardly ever drawn. Round down: `floor`, or "
        "`long` for numbers that are not negative.",
        keeps=0.5,
    ),
    mistake(
        "The product is computed in float32.",
        replace={
            "torch.floor(uniforms * n_windows).long()": (
                "torch.floor(uniforms.float() * n_windows).long().clamp(max=n_windows - 1)"
            )
        },
        hint="You go over to float32, whose rounding moves a number near a border into the next "
        "window. The random numbers are float64: stay there.",
    ),
    mistake(
        "The stream is cut into windows that do not overlap.",
        replace={
            "torch.floor(uniforms * n_windows).long()": (
                "torch.floor(uniforms * (n_windows // length)).long() * length"
            )
        },
        hint="You let windows begin at multiples of the length only. A window may begin anywhere: "
        "so a text that is read often is not always cut at the same places.",
    ),
    mistake(
        "All rows begin where the first begins.",
        replace={"starts[:, None]": "starts[:1, None].expand(len(starts), 1)"},
        hint="All your rows are the same window. Each row has a random number of its own.",
    ),
    mistake(
        "Places take turns along the batch.",
        replace={
            "ids[places], ids[places + 1]": (
                "(ids[places.T.reshape(len(starts), length) + shift] for shift in (0, 1))"
            )
        },
        hint="Your rows mix several windows. A row is one window: ids that stand side by side in "
        "the stream.",
    ),
    mistake(
        "The windows are sorted by their places.",
        replace={
            "torch.floor(uniforms * n_windows).long()": (
                "torch.floor(uniforms * n_windows).long().sort().values"
            )
        },
        hint="You sort the windows by the places where they begin. Row b of the result belongs to "
        "random number b, in whatever order the numbers come.",
    ),
    mistake(
        "Random numbers of its own are drawn.",
        replace={
            "torch.floor(uniforms * n_windows).long()": (
                "torch.randint(n_windows, (len(uniforms),))"
            )
        },
        hint="You draw random numbers yourself. Use those that you are given: then a run can be "
        "repeated exactly.",
    ),
    mistake(
        "A window has one id less.",
        replace={"torch.arange(length)": "torch.arange(max(length - 1, 1))"},
        hint="Your rows have length - 1 ids. A window has `length` inputs and as many targets, so "
        "it needs one id more of the stream.",
        keeps=0.5,
    ),
    mistake(
        "The ids are int32.",
        replace={"ids[places], ids[places + 1]": "ids[places].int(), ids[places + 1].int()"},
        hint="Your ids are right, but int32. The contract says int64, which torch's embeddings and "
        "losses expect: leave the dtype as it is.",
    ),
    mistake(
        "The ids pass through float32.",
        replace={
            "ids[places], ids[places + 1]": (
                "ids.float()[places].long(), ids.float()[places + 1].long()"
            )
        },
        hint="Your ids pass through float32, which cannot tell large whole numbers apart. Index "
        "the stream itself.",
        keeps=0.5,
    ),
    window_by_window,
)

CHECK = Check(
    item="ps6_window_batch",
    points=10,
    target="window_batch",
    reference=window_batch,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
