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
        hint="The ids of your pairs always differ. Where both are the same id, a run of three has "
        "room for one merge, and many go wrong just there: try such a pair, too.",
    ),
    mistake(
        "Both ids of every pair are the same.",
        replace={"pairs = (1, 1), (1, 2)": "pairs = (1, 1), (2, 2)"},
        hint="Both ids of your pairs are always the same. Whoever merges a pair turned round as "
        "well is right for those: try pairs of two different ids.",
    ),
    mistake(
        "The lists are too short.",
        replace={"range(5)": "range(3)"},
        hint="Your lists are short: two ids have room for one pair, and say nothing of what comes "
        "after a merge, or of a second one. Try all lists of three and four.",
    ),
    mistake(
        "The order of the result is not looked at.",
        replace={
            "implementation(*call) == merge_pair(*call)": (
                "sorted(implementation(*call)) == sorted(merge_pair(*call))"
            )
        },
        hint="Your test does not see in which order the ids of the result stand. Who merges from "
        "the right has the same ids, at other places: compare the lists.",
    ),
    mistake(
        "The merged id is always a new one.",
        replace={"(9, 1)": "(9, 8)"},
        hint="The id that stands for the pair never occurs in your lists or pairs. The contract "
        "lets it, and whoever merges again what has been merged is wrong only then.",
    ),
    mistake(
        "One call that agrees is enough.",
        replace={"all(impl": "any(impl"},
        hint="Your test accepts what is right in one call. An implementation is wrong if it is "
        "wrong anywhere: every call must agree.",
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
