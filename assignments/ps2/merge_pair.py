"""The task "merge a pair"."""

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from course_pkg.text.tokenizers import merges as learning

from .inputs import (
    Generator,
    uneven,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_merges(rng: Generator) -> list[Case]:
    """A pair of two different ids, in lists that hold it several times."""
    cases = []
    for name, n_kinds, size in [("5 ids", 2, 5), ("9 ids", 3, 9), ("31 ids", 4, 31)]:
        ids = uneven(rng, size, n_kinds)
        pairs = list(dict.fromkeys(pairwise(ids)))
        cases.append(Case(name, {"questions": [(ids, pair, 300) for pair in pairs]}))
    pieces = [[b"d", b"\x00", b"ab", b"c"][i] for i in uneven(rng, 17, 4)]
    question = (pieces, (pieces[0], pieces[1]), pieces[0] + pieces[1] + b"+")
    cases.append(Case("17 bytes objects", {"questions": [question]}))
    inside = [b"a", b"", b"aa", b"a", b"aa", b"", b"a", b"aa"]
    pairs = [(b"a", b"aa"), (b"", b"a"), (b"aa", b"aa")]
    inputs = {"questions": [(inside, pair, b"?") for pair in pairs]}
    cases.append(Case("bytes objects inside others", inputs))
    # The merged id may be an id of the pair, or stand in the list already.
    ids = [5, 0, 5, 0, 7]
    inputs = {"questions": [(ids, pair, new) for pair in [(5, 0), (0, 5)] for new in (0, 5, 7)]}
    inputs["questions"] += [([1, 2, 2, 1, 2, 2, 2], (1, 2), 1), ([12, 1, 2, 1, 21, 1], (2, 1), 7)]
    cases.append(Case("a merged id that is known", inputs))
    long = [0, 1] * 3 + [2] * 3000 + [0, 1]
    return [*cases, Case("thousands of ids", {"questions": [(long, (0, 1), 5)]})]


def draw_merge_runs(rng: Generator) -> list[Case]:
    """A pair of twice the same id, in runs."""
    first, second = (1 + int(i) for i in rng.permutation(5)[:2])
    runs = [[first] * 3, [first] * 4, [second, *[first] * 7, second, first, first]]
    runs += [[0] * 5, [first] * 2 + [second] * 3 + [first] * 6 + [0]]
    return [
        Case(f"runs among {len(ids)} ids", {"questions": [(ids, (ids[-2], ids[-2]), 7)]})
        for ids in runs
    ]


def draw_merge_edges(rng: Generator) -> list[Case]:
    """Nothing to merge, or a pair at the very start or end."""
    a, b, c = (int(i) for i in rng.permutation(5)[:3])
    lists = [[a, b], [b, c, a, b], [a, b, c], [], [a], [b], [b, a], [a, c, b], [c, b, a]]
    name = "lists of 0 to 4 ids"
    return [Case(name, {"questions": [(ids, (a, b), 9) for ids in lists]})]


def draw_all(rng: Generator) -> list[Case]:
    """Lists of all kinds."""
    return [*draw_merges(rng), *draw_merge_runs(rng), *draw_merge_edges(rng)]


# -- probes ----------------------------------------------------------------------------------------


def merge_all(implementation, inputs):
    """Return one list a question."""
    return [implementation(*question) for question in inputs["questions"]]


def merge_and_change(implementation, inputs):
    """Return the results, and the arguments after the results have been changed."""
    copies = []
    for question in inputs["questions"]:
        try:
            result = implementation(*question)
            copies.append(list(result))
            result.append(7)
        except Exception:
            copies.append(None)  # whether there is a result is the business of other parts
    return copies, inputs["questions"]


# -- the reference version -------------------------------------------------------------------------


def merge_pair(
    ids: Sequence[Hashable], pair: tuple[Hashable, Hashable], merged: Hashable
) -> list[Hashable]:
    """Merge with the package."""
    tokens = list(dict.fromkeys([*ids, *pair, merged]))
    number = {token: i for i, token in enumerate(tokens)}
    numbered = learning.merge_pair(
        [number[i] for i in ids], (number[pair[0]], number[pair[1]]), number[merged]
    )
    return [tokens[i] for i in numbered]


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "Every occurrence of the pair becomes one token, and all others stay.",
        draw_merges,
        merge_all,
        weight=5,
    ),
    Part(
        "runs",
        "In a run of equal ids the merges go from left to right and never overlap.",
        draw_merge_runs,
        merge_all,
        weight=2.5,
    ),
    Part(
        "edges",
        "The first and the last id are treated like all others, and short lists work.",
        draw_merge_edges,
        merge_all,
        weight=1.5,
    ),
    nothing_else_changes(
        "The list that was given stays as it was, even when the result changes later.",
        draw_all,
        merge_and_change,
        says=("the ids change, with the call or with its result",),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, pair, merged):
    """The answer that the mistakes start from."""
    result = []
    place = 0
    while place < len(ids):
        if tuple(ids[place : place + 2]) == pair:
            result.append(merged)
            place += 2
        else:
            result.append(ids[place])
            place += 1
    return result


@mistake(
    hint="Nearly right. But in a run of three equal ids the first two should be merged, and you "
    "merge the last two. Look at the direction of your loop.",
)
def merge_from_the_right(ids, pair, merged):
    """The merges go from right to left."""
    result = []
    place = len(ids) - 1
    while place >= 0:
        if place > 0 and (ids[place - 1], ids[place]) == pair:
            result.insert(0, merged)
            place -= 2
        else:
            result.insert(0, ids[place])
            place -= 1
    return result


@mistake(
    hint="The first occurrence is merged well, but then you stop. A pair may occur several "
    "times: go on after the merge.",
)
def merge_first_only(ids, pair, merged):
    """Only the first occurrence is merged."""
    for place in range(len(ids) - 1):
        if (ids[place], ids[place + 1]) == pair:
            return [*ids[:place], merged, *ids[place + 2 :]]
    return list(ids)


@mistake(
    hint="The result is right, but you have changed the list of the caller. Write the result into "
    "a new list.",
)
def merge_in_place(ids, pair, merged):
    """The caller's list is changed."""
    place = 0
    while place < len(ids) - 1:
        if (ids[place], ids[place + 1]) == pair:
            ids[place : place + 2] = [merged]
        place += 1
    return ids


@mistake(
    hint="In a run of three equal ids you merge twice, and use the one in the middle both times. "
    "An id that is merged is used up.",
)
def merge_overlaps(ids, pair, merged):
    """An id is used for two merges."""
    result = []
    used = False
    for place in range(len(ids)):
        if tuple(ids[place : place + 2]) == pair:
            result.append(merged)
            used = True
        elif used:
            used = False
        else:
            result.append(ids[place])
    return result


@mistake(
    hint="You compare with the end of your result, which may itself be a merge. An id that comes "
    "of a merge is not merged again in the same walk: compare the ids that you were given."
)
def merge_merges(ids, pair, merged):
    """What has been merged is merged again."""
    result = []
    for id_ in ids:
        result.append(id_)
        if tuple(result[-2:]) == pair:
            result[-2:] = [merged]
    return result


@mistake(
    hint="You look at the places 0 and 1, then 2 and 3. But a pair may also be at 1 and 2. "
    "Move by two only after a merge.",
)
def step_by_two(ids, pair, merged):
    """The list is cut into blocks of two."""
    result = []
    for place in range(0, len(ids), 2):
        block = list(ids[place : place + 2])
        result += [merged] if tuple(block) == pair else block
    return result


MISTAKES = mistakes(
    right_answer,
    merge_from_the_right,
    merge_first_only,
    merge_in_place,
    mistake(
        "The second id of a merged pair stays.",
        replace={"place += 2": "place += 1"},
        hint="Two ids become one, but in your result the second of the two is still there. After "
        "a merge you must move on by two places.",
        keeps=0.5,
    ),
    mistake(
        "The last id is lost if it is in no pair.",
        replace={"while place < len(ids):": "while place < len(ids) - 1:"},
        hint="If the last id is in no pair, your result lacks it. Your loop ends one place too "
        "early for ids that have no right neighbour.",
        keeps=0.5,
    ),
    mistake(
        "At the last id a right neighbour is looked up that does not exist.",
        replace={
            "tuple(ids[place : place + 2]) == pair": (
                "ids[place] == pair[0] and ids[place + 1] == pair[1]"
            ),
        },
        hint="You ask for the right neighbour of the last id, and there is none. What should you "
        "check before you look there? A slice would not complain.",
        keeps=0.5,
    ),
    merge_overlaps,
    mistake(
        "The reverse of the pair is merged as well.",
        replace={
            "tuple(ids[place : place + 2]) == pair": (
                "sorted(ids[place : place + 2]) == sorted(pair)"
            ),
        },
        hint="You merge the pair and its reverse. Compare the left id with the first of the pair, "
        "and the right one with the second.",
    ),
    mistake(
        "Only the first id of the pair is compared.",
        replace={
            "tuple(ids[place : place + 2]) == pair": (
                "ids[place] == pair[0] and place + 1 < len(ids)"
            ),
        },
        hint="You merge wherever the first id of the pair stands, whatever comes after it. Both "
        "ids must agree.",
    ),
    mistake(
        "Ids that are not merged are left out.",
        replace={"result.append(ids[place])": ""},
        hint="Your result holds the merges and nothing else. Ids that are in no pair must be "
        "copied; look at the branch in which nothing is merged.",
    ),
    step_by_two,
    merge_merges,
    mistake(
        "Where nothing is to be merged, the caller's own list is returned.",
        replace={"return result": "return result if len(result) < len(ids) else ids"},
        hint="The result is right. But where nothing is merged you give back the very list that "
        "you were given. If the caller changes one, the other changes with it: copy it.",
    ),
)

Merge = Callable[[list, tuple, object], list]

# Where callers keep lists of their own, as they must, and a merge is a new id, these do no harm.
_HARMLESS = (
    "What has been merged is merged again.",
    "The caller's list is changed.",
    "Where nothing is to be merged, the caller's own list is returned.",
)

WRONG_MERGES: tuple[Merge, ...] = tuple(
    mistake.implementation for mistake in MISTAKES if mistake.name not in _HARMLESS
)

"""What the inputs of later items must distinguish from a right merge."""


CHECK = Check(
    item="ps2_merge_pair",
    points=12,
    target="merge_pair",
    reference=merge_pair,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
