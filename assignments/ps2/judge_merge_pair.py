"""The task "judge the assistant": tell right implementations of merge_pair from wrong ones."""

import itertools

from autograder.authoring.checks import Check, mistake, mistakes
from autograder.authoring.judging import CHANCE, implementations

from . import merge_pair as judged
from .merge_pair import right_answer as merge_pair

# -- parts -----------------------------------------------------------------------------------------

PARTS = implementations(
    judged.CHECK,
    right=[
        "Walks over all places and skips the one after a merge.",
        "Looks back at what was written last.",
        "iterator",
        "starts first",
        "one id held back",
    ],
    wrong=[
        "The merges go from right to left.",
        "Only the first occurrence is merged.",
        "An id is used for two merges.",
        "The list is cut into blocks of two.",
        "The second id of a merged pair stays.",
        "The last id is lost if it is in no pair.",
        "At the last id a right neighbour is looked up that does not exist.",
        "The reverse of the pair is merged as well.",
        "Only the first id of the pair is compared.",
        "Ids that are not merged are left out.",
        "What has been merged is merged again.",
    ],
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(implementation):
    """The answer that the mistakes start from."""
    pairs = (1, 1), (1, 2)
    lists = [list(ids) for n in range(5) for ids in itertools.product((1, 2), repeat=n)]
    calls = [(ids, pair, merged) for ids in lists for pair in pairs for merged in (9, 1)]
    try:
        return all(implementation(*call) == merge_pair(*call) for call in calls)
    except Exception:
        return False


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Both ids of every pair differ.",
        replace={"pairs = (1, 1), (1, 2)": "pairs = (2, 1), (1, 2)"},
        hint="An answer that merges from right to left, or uses an id for two merges, passes your "
        "test. Both show where the two ids of the pair are the same and three of them come in a "
        "row: try that.",
    ),
    mistake(
        "Both ids of every pair are the same.",
        replace={"pairs = (1, 1), (1, 2)": "pairs = (1, 1), (2, 2)"},
        hint="An answer that merges the pair turned round as well passes your test. That shows "
        "only where its two ids differ: try lists in which they come in both orders.",
    ),
    mistake(
        "The lists are too short.",
        replace={"range(5)": "range(3)"},
        hint="Five implementations that are right in lists of two ids pass your test. They go "
        "wrong at what comes after a merge, or at a second one: try all lists of three and four.",
    ),
    mistake(
        "The order of the result is not looked at.",
        replace={
            "implementation(*call) == merge_pair(*call)": (
                "sorted(implementation(*call)) == sorted(merge_pair(*call))"
            )
        },
        hint="An answer that merges from right to left passes your test. Its result has the right "
        "ids at other places: try a run of three, and compare the whole lists.",
    ),
    mistake(
        "The merged id is always a new one.",
        replace={"(9, 1)": "(9, 8)"},
        hint="An answer that merges again what has just been merged passes your test. That shows "
        "only where the merged id is one of the pair's own, and the contract lets it be: try that.",
    ),
    mistake(
        "One call that agrees is enough.",
        replace={"all(impl": "any(impl"},
        hint="Your test accepts all implementations, the wrong ones as well. One is wrong if it is "
        "wrong anywhere: each of your calls must give the right list.",
    ),
)

CHECK = Check(
    item="ps2_judge_merge_pair",
    points=6,
    target="judge_merge_pair",
    reference=right_answer,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    chance=CHANCE,
)
