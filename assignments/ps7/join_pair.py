"""The task "two texts in one row"."""

from collections.abc import Sequence

from autograder.authoring.checks import Case, Check, mistake, mistakes
from course_pkg.text.batches import masking

from ..token_ids import Generator, case, keeps, part, taking

# -- inputs ----------------------------------------------------------------------------------------


def _case(
    rng: Generator,
    n_first: int,
    n_second: int,
    longest: int,
    *,
    cls_id: int = 1,
    sep_id: int = 2,
    kind: type = list,
    repeat: int = 1,
    what: str = "",
) -> Case:
    first, second = (rng.permutation(90)[:n].tolist() * repeat for n in (n_first, n_second))
    first, second = ([10 + i for i in text] for text in (first, second))
    label = f"texts of {n_first} and {n_second}, longest {longest}{what}"
    return case(label, kind(first), kind(second), cls_id, sep_id, longest)


def draw_whole(rng: Generator) -> list[Case]:
    """Rows with more room than is needed."""
    sizes = [(1, 1, 9), (2, 3, 9), (4, 2, 12), (3, 3, 64), (5, 1, 30), (1, 7, 20)]
    return [_case(rng, *size) for size in sizes]


def draw_cut(rng: Generator) -> list[Case]:
    """One of the texts is too long; rows with just enough room."""
    sizes = [
        (4, 1, 7),
        (2, 3, 8),
        (4, 2, 9),
        (2, 6, 9),
        (9, 3, 12),
        (5, 8, 15),
        (30, 2, 9),
        (3, 40, 20),
    ]
    return [_case(rng, *size) for size in sizes]


def draw_even(rng: Generator) -> list[Case]:
    """Both texts lose tokens, in turn; what is left is even or odd."""
    sizes = [(3, 3, 8), (4, 3, 8), (3, 4, 7), (5, 5, 8), (9, 4, 9), (4, 9, 10), (20, 21, 16)]
    return [_case(rng, *size) for size in sizes]


def draw_edges(rng: Generator) -> list[Case]:
    """Empty texts, no room, other containers and other ids."""
    return [
        _case(rng, 0, 0, 3, what=", no text"),
        _case(rng, 0, 0, 12, what=", no text"),
        _case(rng, 0, 2, 9),
        _case(rng, 3, 0, 9),
        _case(rng, 0, 7, 6),
        _case(rng, 7, 0, 6),
        _case(rng, 2, 2, 3, what=", no room for text"),
        _case(rng, 2, 2, 4, what=", room for one token"),
        _case(rng, 1, 2, 4, what=", room for one token"),
        _case(rng, 4, 3, 8, kind=tuple, what=", tuples"),
        _case(rng, 2, 3, 12, kind=tuple, what=", tuples"),
        _case(rng, 4, 2, 8, cls_id=0, sep_id=99, what=", [CLS] is 0"),
        _case(rng, 2, 4, 8, cls_id=101, sep_id=0, what=", [SEP] is 0"),
        case("texts with the ids of [CLS] and [SEP]", [5, 2, 1, 2], [2, 2, 1], 1, 2, 9),
        case("texts that begin and end with these", [1, 5, 2], [2, 6, 1], 1, 2, 12),
        case("texts that begin with [CLS]", (1, 1, 5), (1, 2), 1, 2, 12),
        _case(rng, 60, 2, 3, repeat=50, what=", each 50 times, no room"),
        case("texts of equal ids", [4, 4, 4], [4, 4, 4, 4], 1, 4, 8),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [*draw_whole(rng)[:2], *draw_cut(rng)[:3], *draw_even(rng)[:3], *draw_edges(rng)[9:11]]


# -- the reference version -------------------------------------------------------------------------


def join_pair(
    first: Sequence[int], second: Sequence[int], cls_id: int, sep_id: int, longest: int
) -> tuple[list[int], list[int]]:
    """Hand the texts to the package as a pair."""
    pair = masking.SentencePair(first, second, is_next=True)
    return masking.join_pair(pair, cls_id=cls_id, sep_id=sep_id, longest=longest)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    part(
        "whole texts",
        "Where there is room, nothing is cut: [CLS] first [SEP] second [SEP].",
        taking(draw_whole, 0),
        3,
    ),
    part(
        "segments",
        "Segment 0 is [CLS], the first text and its [SEP], 1 is the second text and its [SEP].",
        taking(draw_whole, 1),
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
        "Where both are equally long by then, the second loses a token.",
        taking(draw_even, 0),
        2,
    ),
    part(
        "segments of cut texts",
        "There is one segment for each id that is left.",
        taking(lambda rng: [*draw_cut(rng), *draw_even(rng)], 1),
        1,
    ),
    part(
        "edges",
        "Texts may be empty, tuples, or contain any id, and there may be no room for them.",
        draw_edges,
        1.5,
    ),
    keeps(draw_all),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(first, second, cls_id, sep_id, longest):
    """The answer that the mistakes start from."""
    first = list(first)
    second = list(second)
    while len(first) + len(second) + 3 > longest:
        if len(first) > len(second):
            first.pop()
        else:
            second.pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return ids, segments


@mistake(
    hint="You cut the finished row, so its end is missing: the last [SEP], and perhaps the whole "
    "second text. Shorten the texts before you join them."
)
def cut_the_row(first, second, cls_id, sep_id, longest):
    """The finished row is cut at its end."""
    ids = [cls_id, *first, sep_id, *second, sep_id]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return ids[:longest], segments[:longest]


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Of equally long texts the first loses a token.",
        replace={"len(first) > len(second)": "len(first) >= len(second)"},
        hint="Where both texts are equally long, you cut the first. The rule says: then the second "
        "loses one.",
    ),
    mistake(
        "The shorter text is cut.",
        replace={"len(first) > len(second)": "0 < len(first) <= len(second) or not second"},
        hint="You cut the shorter text, so that nothing may be left of it. Only the longer one "
        "loses a token, and only while it is the longer one.",
    ),
    mistake(
        "Only the second text is cut.",
        replace={"len(first) > len(second)": "not second"},
        hint="You cut the second text until nothing is left of it. Each time the longer of the two "
        "loses a token, and that may be the first.",
    ),
    mistake(
        "Only the first text is cut.",
        replace={"len(first) > len(second)": "first"},
        hint="You cut the first text until nothing is left of it. Each time the longer of the two "
        "loses a token, and that may be the second.",
    ),
    mistake(
        "Texts lose their first tokens.",
        replace={"first.pop()": "first.pop(0)", "second.pop()": "second.pop(0)"},
        hint="You take tokens from the beginning of the texts. They lose their last ones: `pop()` "
        "without a number takes the last.",
    ),
    mistake(
        "Special tokens are not counted.",
        replace={"len(second) + 3 > longest": "len(second) > longest"},
        hint="Your rows are up to three ids too long: [CLS] and both [SEP] take room, too, so only "
        "`longest` minus 3 is left for the texts.",
        keeps=0.5,
    ),
    mistake(
        "One token too many is cut.",
        replace={"+ 3 > longest": "+ 3 >= longest"},
        hint="Your rows are shorter than they must be: one that has exactly `longest` ids fits. "
        "Cut only while the row is longer than that.",
        keeps=0.5,
    ),
    mistake(
        "The last [SEP] is missing.",
        replace={
            "*second, sep_id]": "*second]",
            "[1] * (len(second) + 1)": "[1] * len(second)",
        },
        hint="Your row ends with the second text. A [SEP] comes after each of the two, also at "
        "the very end.",
        keeps=0.5,
    ),
    mistake(
        "The first [SEP] belongs to segment 1.",
        replace={"(len(first) + 2)": "(len(first) + 1)", "(len(second) + 1)": "(len(second) + 2)"},
        hint="Your segment 1 begins with the first [SEP]. That one still belongs to the first "
        "text: segment 0 is [CLS], the first text and the [SEP] after it.",
    ),
    mistake(
        "Segments count from 1.",
        replace={"[0] * (": "[1] * (", "[1] * (": "[2] * ("},
        hint="Your segments are 1 and 2. They are the rows of a table with two rows, so they count "
        "from 0.",
    ),
    mistake(
        "All positions are of segment 0.",
        replace={"[1] * (len(second) + 1)": "[0] * (len(second) + 1)"},
        hint="All your segments are 0. The second text and the [SEP] after it are segment 1: else "
        "the model could not tell the two sides apart.",
    ),
    mistake(
        "A second [CLS] stands before the second text.",
        replace={
            "sep_id, *second": "sep_id, cls_id, *second",
            "[1] * (len(second) + 1)": "[1] * (len(second) + 2)",
        },
        hint="You put a [CLS] before the second text as well. There is one in a row, at its very "
        "beginning; what divides the texts is [SEP].",
        keeps=0.5,
    ),
    mistake(
        "The caller's texts are shortened.",
        replace={
            "first = list(first)": "first = first if isinstance(first, list) else list(first)",
            "second = list(second)": (
                "second = second if isinstance(second, list) else list(second)"
            ),
        },
        hint="Your rows are right, but you shorten the caller's own lists. `pop` and `del` change "
        "the list itself, so make copies first.",
    ),
    mistake(
        "The segments fit the texts before they were cut.",
        replace={
            "first = list(first)": """
                n_first, n_second = len(first), len(second)
                first = list(first)
            """,
            "(len(first) + 2)": "(n_first + 2)",
            "(len(second) + 1)": "(n_second + 1)",
        },
        hint="Your segments count the texts as they were before you cut them. There is one segment "
        "for each id of the row that you return.",
    ),
    mistake(
        "The segments are those of the uncut texts, cut at the end.",
        replace={
            "first = list(first)": """
                n_first, n_second = len(first), len(second)
                first = list(first)
            """,
            "[0] * (len(first) + 2) + [1] * (len(second) + 1)": (
                "([0] * (n_first + 2) + [1] * (n_second + 1))[:len(ids)]"
            ),
        },
        hint="There are as many segments as ids, but they change where the first text ended before "
        "you cut it. Count what is left of each.",
    ),
    mistake(
        "Segment 1 begins behind the first id of [SEP], wherever that stands.",
        replace={
            "[0] * (len(first) + 2) + [1] * (len(second) + 1)": (
                "[0] * (ids.index(sep_id) + 1) + [1] * (len(ids) - ids.index(sep_id) - 1)"
            ),
        },
        hint="You look for the first [SEP] in the row. The first text may hold this id itself, and "
        "then its end is not where you find it: count the tokens of the text.",
    ),
    cut_the_row,
)

CHECK = Check(
    item="ps7_join_pair",
    points=10,
    target="join_pair",
    reference=join_pair,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
