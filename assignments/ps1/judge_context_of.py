"""The task "judge the assistant": tell right implementations of context_of from wrong ones."""

import itertools

from autograder.authoring.checks import Check, mistake, mistakes
from autograder.authoring.judging import CHANCE, implementations

from . import context_of as judged
from .context_of import right_answer as context_of

# -- parts -----------------------------------------------------------------------------------------

PARTS = implementations(
    judged.CHECK,
    right=[
        "Slices, then looks for the wall from the right.",
        "Walks forward and starts again at every wall.",
        "window then wall",
        "deque with clear",
        "largest start",
    ],
    wrong=[
        "The history is one token too long.",
        "A slice from minus zero takes everything.",
        "The model looks into the document before.",
        "The last eos is cut off as well.",
        "The history is in reverse order.",
        "Short histories are filled up with eos.",
        "The history is a list, which no dictionary accepts as a key.",
        "The cut is made at the first eos, not at the last.",
        "The first tokens are taken instead of the last.",
    ],
    setup="from collections import deque",
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(implementation):
    """The answer that the mistakes start from."""
    texts = [list(text) for n in range(4) for text in itertools.product((0, 1, 2), repeat=n)]
    calls = [(text, order, 0) for text in texts for order in (1, 2, 3)]
    try:
        return all(implementation(*call) == context_of(*call) for call in calls)
    except Exception:
        return False


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Order 1 is not tried.",
        replace={"(1, 2, 3)": "(2, 3)"},
        hint="An implementation that is wrong only at order 1, where nothing is seen, passes your "
        "test. The contract allows that order, and a slice may go wrong just there: try it.",
    ),
    mistake(
        "There is no wall in any text.",
        replace={"product((0, 1, 2)": "product((1, 2, 3)"},
        hint="Implementations that treat walls wrongly pass your test. Half of the contract is "
        "about walls: try one at the beginning, in the middle, at the end, and two.",
    ),
    mistake(
        "A list is as good as a tuple.",
        replace={
            "implementation(*call) == context_of(*call)": (
                "list(implementation(*call)) == list(context_of(*call))"
            )
        },
        hint="An implementation that returns a list passes your test. The contract asks for a "
        "tuple, as a dictionary does: `==` tells the two apart unless you convert them.",
    ),
    mistake(
        "Only the length of the history is looked at.",
        replace={
            "implementation(*call) == context_of(*call)": (
                "len(implementation(*call)) == len(context_of(*call))"
            )
        },
        hint="The right number of tokens passes your test, in reverse order, from the wrong end, "
        "or in a list. Compare the whole result with the right one.",
    ),
    mistake(
        "Texts are shorter than the history.",
        replace={"(1, 2, 3)": "(5, 6)"},
        hint="An answer that returns a token too many, everything, or the first tokens instead of "
        "the last, passes your test. That shows only where a text is longer than its history: try "
        "such texts.",
    ),
    mistake(
        "What is right is refused.",
        replace={"== context": "!= context", "all(impl": "any(impl", "return False": "return True"},
        hint="Your test says True of what is wrong, and False of what is right. True is for an "
        "implementation that agrees with the right answer in every call.",
    ),
)

CHECK = Check(
    item="ps1_judge_context_of",
    points=6,
    target="judge_context_of",
    reference=right_answer,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    chance=CHANCE,
)
