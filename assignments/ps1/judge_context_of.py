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
        hint="You never ask at order 1, where nothing is seen. The contract allows it, and a slice "
        "may go wrong just there.",
    ),
    mistake(
        "There is no wall in any text.",
        replace={"product((0, 1, 2)": "product((1, 2, 3)"},
        hint="None of your texts holds a wall. Half of the contract is about it: put one at the "
        "beginning, in the middle, at the end, and two.",
    ),
    mistake(
        "A list is as good as a tuple.",
        replace={
            "implementation(*call) == context_of(*call)": (
                "list(implementation(*call)) == list(context_of(*call))"
            )
        },
        hint="Your test makes a list of what it is given, and so does not see whether it is a "
        "tuple. The contract asks for one, as a dictionary does.",
    ),
    mistake(
        "Only the length of the history is looked at.",
        replace={
            "implementation(*call) == context_of(*call)": (
                "len(implementation(*call)) == len(context_of(*call))"
            )
        },
        hint="Your test looks at how many tokens are seen, and not at which. A history of the "
        "right length may hold others, or the same in another order.",
    ),
    mistake(
        "Texts are shorter than the history.",
        replace={"(1, 2, 3)": "(5, 6)"},
        hint="Your texts are so short that all of them is seen at every order that you try. Try "
        "texts that are longer than the history.",
    ),
    mistake(
        "What is right is refused.",
        replace={"== context": "!= context", "all(impl": "any(impl", "return False": "return True"},
        hint="Your test says True of what is wrong. It should say True where the implementation "
        "agrees with the right answer in every call.",
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
