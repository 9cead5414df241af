"""The task "judge the assistant": tell right implementations of join_pair from wrong ones."""

from autograder.authoring.checks import Check, mistake, mistakes
from autograder.authoring.judging import CHANCE, implementations

from . import join_pair as judged
from .join_pair import right_answer as join_pair

# -- parts -----------------------------------------------------------------------------------------

PARTS = implementations(
    judged.CHECK,
    right=[
        "Counts how much of each text is left, and cuts once.",
        "Cuts as many times as tokens are too many.",
        "Counts how many tokens are too many, and takes the difference of lengths off first.",
        "formula",
        "grows",
    ],
    wrong=[
        "Of equally long texts the first loses a token.",
        "The shorter text is cut.",
        "Only the first text is cut.",
        "Texts lose their first tokens.",
        "Special tokens are not counted.",
        "One token too many is cut.",
        "The last [SEP] is missing.",
        "The first [SEP] belongs to segment 1.",
        "All positions are of segment 0.",
        "The finished row is cut at its end.",
        "The segments fit the texts before they were cut.",
        "The segments are those of the uncut texts, cut at the end.",
        "Segment 1 begins behind the first id of [SEP], wherever that stands.",
    ],
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(implementation):
    """The answer that the mistakes start from."""
    texts = [[], [7], [2, 8], [7, 8, 9]]
    calls = [(one, two, 1, 2, n) for one in texts for two in texts for n in (3, 5, 6)]
    try:
        return all(implementation(*call) == join_pair(*call) for call in calls)
    except Exception:
        return False


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Nothing has to be cut.",
        replace={"(3, 5, 6)": "(9, 10)"},
        hint="Eight implementations that go wrong where something must be cut pass your test. Most "
        "of what can go wrong goes wrong there: make longest smaller than the whole row.",
    ),
    mistake(
        "The segments are not looked at.",
        replace={"(*call) == join_pair(*call)": "(*call)[0] == join_pair(*call)[0]"},
        hint="Implementations whose segments are wrong pass your test. Ids and segments are both "
        "returned, and each may be wrong while the other is right: compare both.",
    ),
    mistake(
        "The segments are counted, and not looked at.",
        replace={
            "implementation(*call) == join_pair(*call)": (
                "implementation(*call)[0] == join_pair(*call)[0]"
                " and len(implementation(*call)[1]) == len(join_pair(*call)[1])"
            )
        },
        hint="Implementations that return the right number of segments, but wrong ones, pass your "
        "test. They may change at the wrong place: compare them.",
    ),
    mistake(
        "No text holds the id of [SEP].",
        replace={"[2, 8]": "[6, 8]"},
        hint="An answer that takes the first id of [SEP] for the end of the first text passes your "
        "test. The contract lets a text hold this id, and that shows only there: try it.",
    ),
    mistake(
        "All tokens are alike.",
        replace={"[2, 8], [7, 8, 9]": "[2, 2], [7, 7, 7]"},
        hint="An answer that cuts off a text's first tokens instead of its last passes your test. "
        "That shows only where the tokens of a text differ: let each be another one.",
    ),
    mistake(
        "Only the lengths of both lists are looked at.",
        replace={
            "implementation(*call) == join_pair(*call)": (
                "[*map(len, implementation(*call))] == [*map(len, join_pair(*call))]"
            )
        },
        hint="Rows and segments of the right length pass your test, whatever stands in them. The "
        "tokens may be the wrong ones: compare both lists with the right ones.",
    ),
    mistake(
        "What is right is refused.",
        replace={"== join": "!= join", "all(impl": "any(impl", "return False": "return True"},
        hint="Your test says True of what is wrong, and False of what is right. True is for an "
        "implementation that agrees with the right answer in every call.",
    ),
)

CHECK = Check(
    item="ps7_judge_join_pair",
    points=6,
    target="judge_join_pair",
    reference=right_answer,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    chance=CHANCE,
)
