"""The task "padding and order in one mask"."""

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from autograder.authoring.compare import agree
from course_pkg.layers import attention

from ..tensors import Generator

# -- inputs ----------------------------------------------------------------------------------------

PAD = 9
"""Stands in the patterns below for the id of padding; 0 stands for some other id."""


def _case(rng: Generator, label: str, pattern: list[list[int]], pad_id: int) -> Case:
    """Fill a pattern with other ids of 0 to 5; the first token is 0 unless that is padding."""
    marks = torch.tensor(pattern)
    ids = torch.from_numpy(rng.choice([i for i in range(6) if i != pad_id], marks.shape))
    first = marks.ne(PAD).nonzero()
    if len(first) and pad_id != 0:
        ids[tuple(first[0].tolist())] = 0
    return Case(
        f"{label}, pad_id {pad_id}", {"arguments": [ids.where(marks != PAD, pad_id), pad_id]}
    )


def draw_unpadded(rng: Generator) -> list[Case]:
    """Texts without any padding."""
    shapes = [(1, 1), (1, 3), (2, 4), (3, 3)]
    return [_case(rng, f"{B} by {T}", [[0] * T] * B, 0) for B, T in shapes]


def draw_right(rng: Generator) -> list[Case]:
    """Texts that are filled up on the right."""
    texts = [[0, 0, 0, PAD], [0, 0, 0, 0], [0, PAD, PAD, PAD], [0, 0, PAD, PAD]]
    return [
        _case(rng, "1 by 3", [[0, 0, PAD]], 0),
        _case(rng, "2 by 4, 1 short", [[0, 0, 0, 0], [0, 0, PAD, PAD]], 0),
        _case(rng, "4 by 4", texts, 0),
    ]


def draw_anywhere(rng: Generator) -> list[Case]:
    """Padding on the left, in the middle, everywhere."""
    return [
        _case(rng, "1 by 3, on the left", [[PAD, 0, 0]], 0),
        _case(rng, "1 by 4, in the middle", [[0, PAD, 0, 0]], 0),
        _case(rng, "2 by 4, on both sides", [[PAD, PAD, 0, 0], [0, 0, PAD, PAD]], 0),
        _case(rng, "2 by 3, one text empty", [[0, 0, PAD], [PAD, PAD, PAD]], 0),
        _case(rng, "1 by 1, nothing but padding", [[PAD]], 0),
    ]


def draw_pad_ids(rng: Generator) -> list[Case]:
    """Padding of another id than 0, which is a token then."""
    rows = [[0, 0, 0, PAD], [0, 0, 0, 0], [0, 0, PAD, PAD]]
    cases = [_case(rng, "3 by 4", rows, pad_id) for pad_id in (1, 5, -1, -100)]
    # Ids that are the same in 8 bits, as numbers of float32, or but for their sign.
    large = (9, [265, 0, 521]), (2**24 + 1, [2**24, 2**24 + 2, 3])
    for pad_id, others in (*large, (-100, [100, 0, 1])):
        ids = torch.tensor([[*others, pad_id], [pad_id, *others]])
        cases.append(
            Case(
                f"2 by 4 with ids such as {others[0]}, pad_id {pad_id}",
                {"arguments": [ids, pad_id]},
            )
        )
    return cases


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [*draw_right(rng)[1:2], *draw_anywhere(rng)[1:3], *draw_pad_ids(rng)[:2]]


# -- probes ----------------------------------------------------------------------------------------


def make(implementation, inputs):
    """Return the mask."""
    return implementation(*inputs["arguments"])


def make_twice(implementation, inputs):
    """Return the mask for ids in another layout, a second mask, and what else may have changed."""
    import torch

    ids, pad_id = inputs["arguments"]
    turned = ids.T.contiguous().T
    mask = implementation(turned, pad_id)
    again = implementation(ids, pad_id)
    return mask, ids, torch.equal(turned, ids) and torch.equal(mask, again)


# -- the reference version -------------------------------------------------------------------------


def decoder_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Combine the package's causal mask with what is no padding."""
    is_real = (ids != pad_id)[:, None, None, :]
    return is_real & attention.causal_mask(ids.shape[1])


# -- parts -----------------------------------------------------------------------------------------

_same = agree(exact_dtype=True)
PARTS = (
    Part(
        "order",
        "Without padding, each place of each text sees itself and all before it.",
        draw_unpadded,
        make,
        judge=_same,
        weight=2,
    ),
    Part(
        "padding",
        "No query of a text sees the padding on its right, whichever text it is.",
        draw_right,
        make,
        judge=_same,
        weight=3,
    ),
    Part(
        "anywhere",
        "Padding may stand anywhere; a query that is padding looks where all others may.",
        draw_anywhere,
        make,
        judge=_same,
        weight=2,
    ),
    Part(
        "pad id",
        "Padding is what has pad_id, and any other id, also 0, is a token.",
        draw_pad_ids,
        make,
        judge=_same,
        weight=1.5,
    ),
    nothing_else_changes(
        "The ids stay as they were, in whatever order they stand in memory.",
        draw_all,
        make_twice,
        _same,
        says=(
            "the call changes the ids",
            "a second call, or other order in memory, gives something else, or the ids change",
        ),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, pad_id):
    """The answer that the mistakes start from."""
    n_places = ids.shape[1]
    causal = torch.ones(n_places, n_places, dtype=torch.bool).tril()
    is_real = ids != pad_id
    mask = causal & is_real[:, None, None, :]
    return mask


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Rows of padding are hidden, not columns.",
        replace={"is_real[:, None, None, :]": "is_real[:, None, :, None]"},
        hint="You hide the rows of padding. Rows are the queries, that is, who looks; what must "
        "not be seen are the columns, the keys.",
        keeps=0.5,
    ),
    mistake(
        "Both rows and columns of padding are hidden.",
        replace={
            "is_real[:, None, None, :]": "is_real[:, None, None, :] & is_real[:, None, :, None]"
        },
        hint="You hide padding as a key, which is right, and its own rows too. A query that is "
        "padding may look where all others may: nobody reads what it finds.",
    ),
    mistake(
        "What is to come is not hidden.",
        replace={".tril()": ""},
        hint="You hide the padding but not what is to come. Each place may see itself and what "
        "comes before it.",
    ),
    mistake(
        "Padding is not hidden.",
        replace={"is_real[:, None, None, :]": "(is_real | ~is_real)[:, None, None, :]"},
        hint="You hide what is to come but not the padding. A key that has pad_id must not be seen "
        "by any query.",
    ),
    mistake(
        "The two masks are joined by or.",
        replace={"causal & is_real": "causal | is_real"},
        hint="You join the two masks by or, so a place may be seen if only one of them allows it. "
        "Both must allow it.",
        keeps=0.3,
    ),
    mistake(
        "Padding has the id 0.",
        replace={"ids != pad_id": "ids != 0"},
        hint="You take the id 0 for padding. It may be an ordinary token: compare with pad_id.",
    ),
    mistake(
        "Every negative id, or 0, is padding.",
        replace={"ids != pad_id": "(ids > 0) & (ids != pad_id)"},
        hint="You hide the id 0 as well as pad_id. Only pad_id is padding, and 0 is an ordinary "
        "token elsewhere.",
    ),
    mistake(
        "The number of tokens is used as the place where they end.",
        replace={
            "ids != pad_id": "torch.arange(n_places) < (ids != pad_id).sum(dim=1, keepdim=True)"
        },
        hint="You count the tokens of a text and allow so many places from the left. That is right "
        "only if all padding is on the right: compare each id.",
    ),
    mistake(
        "Everything after the first padding is hidden.",
        replace={"ids != pad_id": "(ids == pad_id).cumsum(dim=1) == 0"},
        hint="You hide everything from the first padding on. Padding may be on the left or in "
        "the middle: only the places that have pad_id are hidden.",
    ),
    mistake(
        "The axis of the heads is missing.",
        replace={"is_real[:, None, None, :]": "is_real[:, None, :]"},
        hint="Your mask has three axes. It is laid over scores of shape (B, H, T, T), so an axis "
        "of length 1 for the heads belongs after the batch.",
        keeps=0.5,
    ),
    mistake(
        "The batch and the heads are exchanged.",
        replace={"is_real[:, None, None, :]": "is_real[None, :, None, :]"},
        hint="Your texts are on the second axis, where the heads belong. The batch comes first: "
        "(B, 1, T, T).",
        keeps=0.3,
    ),
    mistake(
        "True stands where a query may not look.",
        replace={"return mask": "return ~mask"},
        hint="Your mask is True where a query must not look. In this course True means: may look.",
        keeps=0.5,
    ),
    mistake(
        "A place does not see itself.",
        replace={".tril()": ".tril(diagonal=-1)"},
        hint="In your mask no place sees itself. Each place knows its own token; it is the next "
        "one that has to be predicted.",
        keeps=0.5,
    ),
    mistake(
        "Every place sees itself, padding too.",
        replace={
            "return mask": "return mask | torch.eye(n_places, dtype=torch.bool)",
        },
        hint="You let every place see itself, padding too, perhaps so that no row is empty. The "
        "contract allows empty rows: attend gives zeros there.",
    ),
    mistake(
        "The future is seen and the past is hidden.",
        replace={".tril()": ".triu()"},
        hint="Your triangle is the upper one: each place sees what comes after it. A row is a "
        "query, and it may look to the left.",
        keeps=0.3,
    ),
    mistake(
        "All texts have the padding of the first.",
        replace={
            "is_real[:, None, None, :]": "is_real[:1, None, None, :].expand(len(ids), 1, 1, -1)"
        },
        hint="You use the padding of the first text for all texts. Each has its own.",
    ),
    mistake(
        "The mask holds numbers.",
        replace={"return mask": "return mask.long()"},
        hint="Your mask holds 1 and 0. Numbers could also mean that they are added to scores: "
        "return a tensor of dtype bool.",
        keeps=0.5,
    ),
    mistake(
        "The ids are changed.",
        replace={"is_real = ids != pad_id": "is_real = ids != pad_id\nids[~is_real] = 0"},
        hint="You write into the ids that you were given. The caller still has to look up their "
        "embeddings: make a new tensor.",
    ),
)

CHECK = Check(
    item="ps4_decoder_mask",
    points=8,
    target="decoder_mask",
    reference=decoder_mask,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
