"""The task "two texts, one sequence"."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from autograder.authoring.checks import Case, Check, mistake, mistakes
from course_pkg.text.batches.formatting import shorten

from ..token_ids import Generator, case, dtype_part, keeps, part, taking

# -- inputs ----------------------------------------------------------------------------------------

Texts = Sequence[tuple[Sequence[int], Sequence[int]]]


def _case(
    rng: Generator,
    sizes: list[tuple[int, int]],
    longest: int,
    specials: tuple[int, int, int, int] = (90, 91, 92, 93),
    *,
    ordinary: tuple[int, ...] = tuple(range(10, 60)),
    what: str = "",
    kinds: tuple[type, type] = (list, list),
) -> Case:
    """Draw pairs of these sizes; `specials` are [START], [DELIM], [EXTRACT] and the padding."""
    pairs = [
        tuple(
            kind(int(i) for i in rng.choice(ordinary, size))
            for kind, size in zip(kinds, both, strict=True)
        )
        for both in sizes
    ]
    label = f"texts of {', '.join(f'{n} and {m}' for n, m in sizes)} ids, longest {longest}{what}"
    return case(label, pairs, *specials, longest)


def draw_whole(rng: Generator) -> list[Case]:
    """Nothing has to be shortened; the rows are of one length, and of several."""
    return [
        _case(rng, [(2, 1)], 12),
        _case(rng, [(1, 3), (2, 2)], 20),
        _case(rng, [(3, 1), (1, 1), (2, 6)], 30, (7, 3, 5, 0)),
        _case(rng, [(2, 3), (4, 2)], 9, what=", just as many as fit"),
        _case(rng, [(1, 2), (5, 4), (3, 3), (2, 1)], 12, (4, 9, 2, 1)),
    ]


def draw_cut(rng: Generator) -> list[Case]:
    """One of the texts is shortened, and stays the longer one, or becomes as long."""
    return [
        _case(rng, [(6, 2)], 9),
        _case(rng, [(2, 7)], 9),
        _case(rng, [(9, 1), (1, 9), (2, 2)], 8),
        _case(rng, [(6, 3), (3, 6)], 9),
        _case(rng, [(5, 0), (0, 5)], 6, what=", one is empty"),
        _case(rng, [(4, 3), (3, 3)], 9, what=", one id too many"),
    ]


def draw_even(rng: Generator) -> list[Case]:
    """Both texts are shortened; rows with much and with little to cut."""
    return [
        _case(rng, [(4, 4)], 10),
        _case(rng, [(5, 5), (7, 4)], 8),
        _case(rng, [(4, 9), (9, 4), (1, 1)], 7),
        _case(rng, [(2, 2)], 4, what=", room for one"),
        _case(rng, [(3, 5), (5, 3)], 5, what=", room for two"),
    ]


def draw_edges(rng: Generator) -> list[Case]:
    """Empty texts, tuples, any id; no room; long texts."""
    alike = tuple(range(4))
    return [
        _case(rng, [(0, 0)], 9),
        _case(rng, [(0, 2), (3, 0)], 9),
        _case(rng, [(3, 2), (1, 4)], 3, what=", no room for texts"),
        _case(rng, [(2, 3), (1, 1)], 9, what=", tuples", kinds=(tuple, tuple)),
        _case(rng, [(4, 5), (1, 2)], 8, what=", a list and a tuple", kinds=(list, tuple)),
        _case(rng, [(3, 2), (1, 1)], 9, (1, 2, 3, 0), ordinary=alike, what=", ids of special ones"),
        _case(rng, [(2, 2), (2, 0)], 9, (8, 9, 6, 6), what=", padding like [EXTRACT]"),
        _case(
            rng,
            [(2, 3), (1, 1)],
            9,
            (2**24 + 1, 2**31 + 1, 2**40, 2**31),
            ordinary=(2**24 + 3, 2**33 + 1),
            what=", large ids",
        ),
        _case(rng, [(3000, 2900), (4, 2500)], 12, what=", long texts"),
        _case(rng, [(2600, 3)], 5000, what=", a long row"),
        case("texts that end in [EXTRACT]", [([11], [12, 92]), ([92], [92])], 90, 91, 92, 93, 9),
        case(
            "texts that begin with [START]", [([90, 5], [91, 90]), ([90], [90])], 90, 91, 92, 93, 9
        ),
        case("equal pairs", [([5, 6], [7]), ([8], [9]), ([5, 6], [7])], 90, 91, 92, 93, 9),
    ]


def draw_same(rng: Generator) -> list[Case]:
    """One list that stands in several places, where it is shortened in different ways."""
    cases = []
    for size, other, longest in ((4, 2, 8), (7, 3, 9), (3, 9, 8)):
        text, second = (rng.choice(50, n).tolist() for n in (size, other))
        inputs = {"texts": [text, second], "longest": longest}
        cases.append(Case(f"texts of {size} and {other} ids, longest {longest}", inputs))
    return cases


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [*draw_whole(rng)[1:4], *draw_cut(rng)[2:5], *draw_even(rng)[:2], *draw_edges(rng)[:7]]


# -- probes ----------------------------------------------------------------------------------------


def call_with_same(implementation, inputs):
    """Return the results for pairs that share their lists."""
    text, other = inputs["texts"]
    pairs = [(text, text), (text, other), (other, text), (other, other)]
    return tuple(implementation(pairs, 90, 91, 92, 93, inputs["longest"]))


# -- the reference version -------------------------------------------------------------------------


def frame_pairs(
    pairs: Texts, start_id: int, delim_id: int, extract_id: int, pad_id: int, longest: int
) -> tuple[Tensor, Tensor]:
    """Let the package shorten the texts; its own format wants different ids, this task any."""
    rows = []
    for pair in pairs:
        premise, hypothesis = shorten(pair, longest - 3)
        rows.append(torch.tensor([start_id, *premise, delim_id, *hypothesis, extract_id]))
    filled = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)
    return filled, torch.tensor([len(row) for row in rows])


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    part(
        "whole texts",
        "Where there is room, nothing is cut: [START] premise [DELIM] hypothesis [EXTRACT].",
        taking(draw_whole, 0),
        3.5,
    ),
    part(
        "lengths",
        "The lengths are those of the rows before they are filled up.",
        taking(lambda rng: [*draw_whole(rng), *draw_cut(rng)], 1),
        2,
    ),
    part(
        "one is cut",
        "The longer text loses its last tokens, no more than it must.",
        taking(draw_cut, 0),
        3,
    ),
    part(
        "both are cut",
        "Where both are equally long by then, the hypothesis loses a token.",
        taking(draw_even, 0),
        2,
    ),
    part(
        "edges",
        "Texts may be empty, tuples or long, have any ids, and there may be no room for them.",
        draw_edges,
        1.5,
    ),
    part(
        "the same list",
        "The same list may stand in several places.",
        draw_same,
        0.5,
        call_with_same,
    ),
    dtype_part(draw_all),
    keeps(draw_all),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(pairs, start_id, delim_id, extract_id, pad_id, longest):
    """The answer that the mistakes start from."""
    rows = []
    for first, second in pairs:
        n, m = len(first), len(second)
        while n + m > longest - 3:
            if n > m:
                n -= 1
            else:
                m -= 1
        rows.append([start_id, *first[:n], delim_id, *second[:m], extract_id])
    lengths = [len(row) for row in rows]
    width = max(lengths)
    filled = [row + [pad_id] * (width - len(row)) for row in rows]
    return torch.tensor(filled), torch.tensor(lengths)


@mistake(
    hint="You cut the finished row, so its end is missing, and with it [EXTRACT], which the head "
    "is to read. Shorten the texts before you join them."
)
def cut_the_row(pairs, start_id, delim_id, extract_id, pad_id, longest):
    """The finished row is cut at its end."""
    rows = [[start_id, *first, delim_id, *second, extract_id][:longest] for first, second in pairs]
    lengths = [len(row) for row in rows]
    filled = [row + [pad_id] * (max(lengths) - len(row)) for row in rows]
    return torch.tensor(filled), torch.tensor(lengths)


@mistake(
    hint="Your rows are right, but you shorten the caller's own lists. `pop` and `del` change the "
    "list itself, so make copies first."
)
def shortens_the_callers(pairs, start_id, delim_id, extract_id, pad_id, longest):
    """The caller's texts are shortened."""
    rows = []
    for first, second in pairs:
        one = first if isinstance(first, list) else list(first)
        two = second if isinstance(second, list) else list(second)
        while len(one) + len(two) + 3 > longest:
            (one if len(one) > len(two) else two).pop()
        rows.append([start_id, *one, delim_id, *two, extract_id])
    lengths = [len(row) for row in rows]
    filled = [row + [pad_id] * (max(lengths) - len(row)) for row in rows]
    return torch.tensor(filled), torch.tensor(lengths)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Of equally long texts the premise loses a token.",
        replace={"n > m:": "n >= m:"},
        hint="Where both texts are equally long, you shorten the premise. The rule says: then the "
        "hypothesis loses a token.",
    ),
    mistake(
        "The shorter text is cut.",
        replace={"n > m:": "m == 0 or 0 < n <= m:"},
        hint="You shorten the shorter text, so that nothing may be left of it. It is the longer "
        "one that loses a token, as long as it is the longer one.",
    ),
    mistake(
        "Only the hypothesis is cut.",
        replace={"n > m:": "m == 0:"},
        hint="You shorten the hypothesis until nothing is left of it. Each time the longer of the "
        "two loses a token, and that may be the premise.",
    ),
    mistake(
        "Only the premise is cut.",
        replace={"n > m:": "n > 0:"},
        hint="You shorten the premise until nothing is left of it. Each time the longer of the two "
        "loses a token, and that may be the hypothesis.",
    ),
    mistake(
        "Texts lose their first tokens.",
        replace={
            "*first[:n]": "*first[len(first) - n :]",
            "*second[:m]": "*second[len(second) - m :]",
        },
        hint="You take tokens from the beginning of the texts. They lose their last ones: keep the "
        "first so many of each.",
    ),
    mistake(
        "Special tokens are not counted.",
        replace={"longest - 3": "longest"},
        hint="Your rows are up to three ids too long: the special tokens take room, too, so only "
        "`longest` minus 3 is left for the texts.",
        keeps=0.5,
    ),
    mistake(
        "One token too many is cut.",
        replace={"longest - 3": "longest - 4"},
        hint="Your rows are shorter than they must be: one that has exactly `longest` ids fits. "
        "Shorten only while the row is longer than that.",
        keeps=0.5,
    ),
    mistake(
        "[DELIM] is missing.",
        replace={"delim_id, *second": "*second"},
        hint="You join the two texts without anything between them. [DELIM] stands there: else the "
        "model cannot know where the hypothesis begins.",
        keeps=0.5,
    ),
    mistake(
        "The hypothesis comes first.",
        replace={"*first[:n], delim_id, *second[:m]": "*second[:m], delim_id, *first[:n]"},
        hint="You write the hypothesis before the premise. A hypothesis may follow from a premise "
        "that does not follow from it, so the order counts.",
        keeps=0.5,
    ),
    mistake(
        "All rows are as long as is allowed.",
        replace={"max(lengths)": "longest"},
        hint="You fill the rows up to `longest`. They need to be as long as the longest row of "
        "this batch and no more: padding costs computing time.",
    ),
    mistake(
        "Padding comes first.",
        replace={"row + [pad_id] * (width - len(row))": "[pad_id] * (width - len(row)) + row"},
        hint="You fill rows up at their beginning. Padding comes last here: so the positions of "
        "the text count from 0, as in pretraining.",
        keeps=0.5,
    ),
    mistake(
        "Lengths count the padding.",
        replace={"torch.tensor(lengths)": "torch.tensor([width for row in rows])"},
        hint="Your lengths are those of the rows after they were filled up. They are to say where "
        "the padding begins.",
    ),
    mistake(
        "Lengths leave out the special tokens.",
        replace={"torch.tensor(lengths)": "torch.tensor(lengths) - 3"},
        hint="Your lengths count the ids of the two texts alone. [START], [DELIM] and [EXTRACT] "
        "are part of the row, and of its length.",
    ),
    mistake(
        "Lengths count what is not the padding's id.",
        replace={"torch.tensor(lengths)": "(torch.tensor(filled) != pad_id).sum(dim=1)"},
        hint="You count the ids that differ from `pad_id`. A token of the text may have the same "
        "id as the padding: take the length of the row before you fill it up.",
    ),
    mistake(
        "Ids are rounded to float32.",
        replace={"torch.tensor(filled)": "torch.tensor(filled, dtype=torch.float32).long()"},
        hint="Your ids go through float32, which knows whole numbers up to about sixteen million "
        "only. Make int64 tensors of them at once.",
    ),
    mistake(
        "Ids are int32.",
        replace={"torch.tensor(filled)": "torch.tensor(filled).int()"},
        hint="Your rows are int32. The contract says int64, which is what `torch.tensor` makes of "
        "a list of whole numbers.",
    ),
    cut_the_row,
    shortens_the_callers,
)

CHECK = Check(
    item="ps8_frame_pairs",
    points=11,
    target="frame_pairs",
    reference=frame_pairs,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
