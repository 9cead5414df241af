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
        hint="In all your calls the row has room for both texts. Most of what can go wrong goes "
        "wrong where something must be cut: make longest smaller.",
    ),
    mistake(
        "The segments are not looked at.",
        replace={"(*call) == join_pair(*call)": "(*call)[0] == join_pair(*call)[0]"},
        hint="Your test looks at the ids and not at the segments. Both are returned, and each may "
        "be wrong while the other is right.",
    ),
    mistake(
        "The segments are counted, and not looked at.",
        replace={
            "implementation(*call) == join_pair(*call)": (
                "implementation(*call)[0] == join_pair(*call)[0]"
                " and len(implementation(*call)[1]) == len(join_pair(*call)[1])"
            )
        },
        hint="Your test asks how many segments there are, and not which. They may change at the "
        "wrong place: compare them.",
    ),
    mistake(
        "No text holds the id of [SEP].",
        replace={"[2, 8]": "[6, 8]"},
        hint="None of your texts holds the id of [SEP]. The contract lets them, and whoever looks "
        "for the end of the first text by this id is wrong only then.",
    ),
    mistake(
        "All tokens are alike.",
        replace={"[2, 8], [7, 8, 9]": "[2, 2], [7, 7, 7]"},
        hint="All tokens of your texts are the same. Then nobody sees which of them was cut: let "
        "each token differ from each other.",
    ),
    mistake(
        "Only the lengths of both lists are looked at.",
        replace={
            "implementation(*call) == join_pair(*call)": (
                "[*map(len, implementation(*call))] == [*map(len, join_pair(*call))]"
            )
        },
        hint="Your test looks at how many ids and segments there are. A row of the right length "
        "may hold the wrong tokens: compare what stands in it.",
    ),
    mistake(
        "What is right is refused.",
        replace={"== join": "!= join", "all(impl": "any(impl", "return False": "return True"},
        hint="Your test says True of what is wrong. It should say True where the implementation "
        "agrees with the right answer in every call.",
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
