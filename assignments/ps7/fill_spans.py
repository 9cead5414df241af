"""The task "fill the gaps again"."""

from collections.abc import Mapping, Sequence

from autograder.authoring.checks import Case, Check, mistake, mistakes
from course_pkg.text.batches.masking import fill_sentinels

from ..token_ids import Generator, case, keeps, part

# -- inputs ----------------------------------------------------------------------------------------

SENTINELS = {"A": 99, "B": 98, "C": 97, "D": 96}


def _case(
    rng: Generator,
    inputs: str,
    targets: str,
    *,
    what: str = "",
    sentinels: Mapping[str, int] = SENTINELS,
    are_equal: bool = False,
) -> Case:
    """Put sentinels where capitals stand, and a token for each dot, all different or all equal."""
    tokens = iter((10 + rng.permutation(70)).tolist())
    word = next(tokens)

    def ids(pattern: str) -> list[int]:
        return [sentinels.get(c, word if are_equal else next(tokens)) for c in pattern]

    label = f"{inputs or 'nothing'} and {targets or 'nothing'}{what}"
    return case(label, ids(inputs), ids(targets), list(sentinels.values()))


def draw_values(rng: Generator) -> list[Case]:
    """What hide_spans makes."""
    return [
        _case(rng, "...", "A"),
        _case(rng, ".A.", "A.B"),
        _case(rng, "..A.B.", "A..B.C"),
        _case(rng, ".A..B.C...", "A...B.C....D"),
        _case(rng, "A..B", "A..B.C"),
        _case(rng, "A", "A...B"),
    ]


def draw_orders(rng: Generator) -> list[Case]:
    """Sentinels in another order than in the text; no end."""
    return [
        _case(rng, ".A..B.", "B..A."),
        _case(rng, ".A.B.C", "C.A..B...D"),
        _case(rng, ".B.A.", "A..B.C"),
        _case(rng, ".A.B", "A.B.."),
    ]


def draw_gaps(rng: Generator) -> list[Case]:
    """Sentinels that the targets lack, or behind which nothing stands."""
    return [
        _case(rng, ".A.B.", "A..C"),
        _case(rng, ".A.B.", "B..C"),
        _case(rng, ".A.B.C.", "AB..CD"),
        _case(rng, ".A.B", ""),
        _case(rng, "AB", "AB."),
        _case(rng, "", "A..B"),
        _case(rng, "", ""),
    ]


def draw_too_much(rng: Generator) -> list[Case]:
    """Tokens that belong nowhere, and sentinels that come several times."""
    return [
        _case(rng, ".A.B.", "..A.B..C"),
        _case(rng, ".A.B.", "A.B..C...."),
        _case(rng, ".A.C.", "A..B...C."),
        _case(rng, ".A.B.", "A.B..A.C"),
        _case(rng, ".A.B.", "A..A.B"),
        _case(rng, ".A.B.", "A.AB.B"),
        _case(rng, ".A.", "...."),
        _case(rng, ".A.B", "..B.D..A.B."),
    ]


def draw_hard_ids(rng: Generator) -> list[Case]:
    """Sentinels of any ids in any order, 0 among them; equal tokens."""
    mixed = {"A": 5, "B": 90, "C": 0, "D": 88}
    return [
        _case(rng, ".A.C.B", "A.B..C.D", sentinels=mixed, what=", sentinels in any order"),
        _case(rng, ".C.", "C..A", sentinels=mixed, what=", the sentinel 0"),
        _case(rng, ".A.B.", "A..B...C", are_equal=True, what=", all tokens equal"),
        _case(rng, ".A.B.", "A.B", sentinels={"A": 9, "B": 300}, what=", two sentinels"),
        case("tokens of 0 and 1", [0, 99, 1], [99, 1, 0, 98], [99, 98]),
        _case(rng, ".A.", "A", sentinels={"A": 9}, what=", a single sentinel"),
        _case(rng, ".A.B.", "B..A.C", sentinels={"A": 3, "B": 0, "C": 2}, what=", small sentinels"),
        case(
            "a text of 2,400 tokens",
            [*[5, 6] * 700, 99, *[7] * 999],
            [99, *[8, 9] * 500, 98],
            [99, 98],
        ),
        _case(rng, ".C.", "..A..B", sentinels=mixed, what=", the targets lack the sentinel 0"),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    kinds = (draw_values, draw_orders, draw_gaps, draw_too_much)
    return [*(drawn for kind in kinds for drawn in kind(rng)[:3]), draw_gaps(rng)[-1]]


# -- the reference version -------------------------------------------------------------------------


def fill_spans(
    inputs: Sequence[int], targets: Sequence[int], sentinel_ids: Sequence[int]
) -> list[int]:
    """Ask the package."""
    return fill_sentinels(inputs, targets, sentinel_ids)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    part(
        "values",
        "What hide_spans has made becomes the text again.",
        draw_values,
        5,
    ),
    part(
        "orders",
        "A span goes where its own sentinel stands, in whatever order the targets have them.",
        draw_orders,
        1.5,
    ),
    part(
        "what is missing",
        "A sentinel without a span disappears, also if nothing at all was written.",
        draw_gaps,
        1.5,
    ),
    part(
        "what is too much",
        "Tokens that belong to no sentinel of the text are dropped, and repeated spans are joined.",
        draw_too_much,
        1.5,
    ),
    part(
        "hard ids",
        "Sentinels are the ids of the list, tokens may be equal, and texts may be long.",
        draw_hard_ids,
        1,
    ),
    keeps(draw_all),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(inputs, targets, sentinel_ids):
    """The answer that the mistakes start from."""
    spans = {sentinel: [] for sentinel in sentinel_ids}
    current = None
    for token in targets:
        if token in sentinel_ids:
            current = token
        elif current is not None:
            spans[current].append(token)
    filled = []
    for token in inputs:
        if token in spans:
            filled.extend(spans[token])
        else:
            filled.append(token)
    return filled


@mistake(
    hint="You fill the gaps with the spans in the order in which they were written. Each span "
    "belongs to the sentinel before it, and the order may be another one."
)
def in_order(inputs, targets, sentinel_ids):
    """The first gap gets the first span, and so on, whatever the sentinels are."""
    spans = []
    for token in targets:
        if token in sentinel_ids:
            spans.append([])
        elif spans:
            spans[-1].append(token)
    filled = []
    for token in inputs:
        if token not in sentinel_ids:
            filled.append(token)
        elif spans:
            filled += spans.pop(0)
    return filled


MISTAKES = mistakes(
    right_answer,
    in_order,
    mistake(
        "The last span that a sentinel has replaces those before.",
        replace={"current = token": "current, spans[token] = token, []"},
        hint="Where a sentinel comes several times, you keep its last span only. All of its spans "
        "are joined, in their order.",
    ),
    mistake(
        "Only the first span that a sentinel has counts.",
        replace={"current = token": "current = token if not spans[token] else None"},
        hint="Where a sentinel comes several times, you keep its first span only. All of its spans "
        "are joined, in their order.",
    ),
    mistake(
        "A sentinel that nothing fills stays in the text.",
        replace={"if token in spans:": "if spans.get(token):"},
        hint="A sentinel without a span is still in your result. It is filled with nothing: no "
        "sentinel is left.",
    ),
    mistake(
        "The sentinels stay in the text, before their spans.",
        replace={"filled.extend(spans[token])": "filled.extend([token, *spans[token]])"},
        hint="Your result still has the sentinels, each before its span. They only mark a place: "
        "the span takes it, and the sentinel is gone.",
        keeps=0.5,
    ),
    mistake(
        "What stands before the first sentinel goes to the first gap.",
        replace={"current = None": "current = sentinel_ids[0]"},
        hint="You put tokens that come before any sentinel into the first gap. They belong to "
        "none, and are dropped.",
    ),
    mistake(
        "A sentinel that the text does not have does not end a span.",
        replace={
            "if token in sentinel_ids:": "if token in sentinel_ids and token in inputs:",
            "elif current is not None:": "elif current is not None and token not in sentinel_ids:",
        },
        hint="You step over sentinels that the text does not have, and so their spans join the one "
        "before. Every sentinel ends a span, whether the text has it or not.",
    ),
    mistake(
        "A span stops after its first token.",
        replace={
            "spans[current].append(token)": """
                spans[current].append(token)
                current = None
            """
        },
        hint="You put in one token for each sentinel. A span goes on until the next sentinel, or "
        "to the end.",
        keeps=0.3,
    ),
    mistake(
        "A token that was used already is not put in again.",
        replace={
            "elif current is not None:": (
                "elif current is not None and token not in spans[current]:"
            )
        },
        hint="You leave out tokens that the span already has. A word may well occur twice: take "
        "every token that is there.",
    ),
    mistake(
        "The sentinel 0 is not seen.",
        replace={"elif current is not None:": "elif current:"},
        hint="You ask whether the current sentinel is true, and the id 0 is not. Any id may be "
        "that of a sentinel: ask whether there is one.",
    ),
    mistake(
        "Sentinels are all ids from the smallest one on.",
        replace={
            "token in sentinel_ids": "token >= min(sentinel_ids)",
            "spans[current].append": "spans.setdefault(current, []).append",
        },
        hint="You take every large id for a sentinel. Sentinels are the ids of the list, and "
        "ordinary tokens may lie between them.",
    ),
    mistake(
        "The last span is lost if no sentinel ends it.",
        replace={
            "filled = []": """
                if current is not None:
                    spans[current] = []
                filled = []
            """
        },
        hint="The span at the very end of the targets is missing from your result. It also ends "
        "where the targets end, without a sentinel after it.",
    ),
    mistake(
        "The spans are put at the end of the text.",
        replace={
            "filled.extend(spans[token])": "continue",
            "return filled": ("return filled + [t for s in inputs for t in spans.get(s, [])]"),
        },
        hint="You put the spans after the text. Each belongs exactly where its sentinel stands.",
    ),
    mistake(
        "The caller's text is changed.",
        replace={
            "return filled": """
                inputs[:] = filled
                return filled
            """
        },
        hint="Your result is right, but it is also in the caller's `inputs`. The text with its "
        "gaps is still needed: build a new list.",
    ),
)

CHECK = Check(
    item="ps7_fill_spans",
    points=9,
    target="fill_spans",
    reference=fill_spans,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
