"""The task "cut a history"."""

from collections.abc import Sequence

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from course_pkg.models import ngram

from .inputs import (
    KEEPS,
    Generator,
    History,
    Ids,
    Token,
    alphabet,
    text,
)

# -- inputs ----------------------------------------------------------------------------------------


_LENGTHS = {
    "words": (3, 2),
    "numbers": (5, 1, 4),
    "ids": (4, 4),
    "pairs": (2, 0, 6, 3),
    "alike": (7, 3, 5),
}


def draw_histories(rng: Generator) -> list[Case]:
    """Texts with walls in them, each asked at several orders."""
    cases = []
    for kind, lengths in _LENGTHS.items():
        tokens, eos = alphabet(kind, 4)
        stream = [t for document in text(rng, tokens, lengths) for t in (eos, *document)]
        texts = [stream, stream[:-1], [*stream, eos], stream[1:3], tuple(stream), [], [tokens[0]]]
        a, b, c = tokens[:3]
        texts += [[a, c, b], [eos], [eos, eos], (a, eos, eos), [a] * 9, [eos, a, a, eos, a]]
        texts += [(eos, *([a, b] * 40)), [*([a, b] * 40), eos, c]]
        questions = [(seen, order) for seen in texts for order in (2, 3, 4, 7, 90)]
        cases.append(Case(f"tokens that are {kind}", {"questions": questions, "eos": eos}))
    return cases


def draw_first_order(rng: Generator) -> list[Case]:
    """The same texts at order 1, behind one question of order 3."""
    cases = draw_histories(rng)
    for case in cases:
        seen = [tokens for tokens, _ in case.inputs["questions"][::5]]
        case.inputs["questions"] = [(seen[-1], 3), *((tokens, 1) for tokens in seen)]
    return cases


# -- probes ----------------------------------------------------------------------------------------


def cut(implementation, inputs):
    """Return one history a question."""
    return [implementation(tokens, order, inputs["eos"]) for tokens, order in inputs["questions"]]


def cut_and_keep(implementation, inputs):
    """Return the histories, and the texts after all of them."""
    seen, questions = [], inputs["questions"]
    for tokens, order in [*questions, *((tokens, 1) for tokens, _ in questions)]:
        try:
            seen.append(implementation(tokens, order, inputs["eos"]))
        except Exception:
            seen.append(None)  # whether there is a result is the business of other parts
    return seen, questions


# -- the reference version -------------------------------------------------------------------------


def context_of(tokens: Sequence[Token], order: int, eos: Token) -> History:
    """Cut with the package."""
    ids = Ids()
    seen = ngram.context_of(ids.of(tokens), order, ids[eos])
    return tuple(list(ids)[i] for i in seen)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "The last order - 1 tokens are returned as a tuple, none from before the last eos.",
        draw_histories,
        cut,
        weight=6,
    ),
    Part(
        "order 1",
        "A model of order 1 sees nothing, however long the text is.",
        draw_first_order,
        cut,
        weight=3,
    ),
    nothing_else_changes(
        KEEPS, draw_histories, cut_and_keep, says=("the call changes its tokens",)
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(tokens, order, eos):
    """The answer that the mistakes start from."""
    history = []
    for token in list(tokens)[::-1][: order - 1]:
        history.insert(0, token)
        if token == eos:
            break
    return tuple(history)


@mistake(
    hint="There may be more than one eos in sight. Only the last one counts. Which one does "
    "list.index find?",
)
def see_from_first_eos(tokens, order, eos):
    """The cut is made at the first eos, not at the last."""
    history = list(tokens[max(0, len(tokens) - order + 1) :])
    if eos in history:
        history = history[history.index(eos) :]
    return tuple(history)


@mistake(
    hint="The history is what stands right before the next token. You return the beginning of the "
    "document instead of its end.",
)
def see_the_beginning(tokens, order, eos):
    """The first tokens are taken instead of the last."""
    start = 0
    for place, token in enumerate(tokens):
        if token == eos:
            start = place
    return tuple(tokens[start:][: order - 1])


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The history is one token too long.",
        replace={"order - 1": "order"},
        hint="The order counts the target too. So a history has one token less than the order "
        "says.",
        keeps=0.5,
    ),
    mistake(
        "A slice from minus zero takes everything.",
        replace={"list(tokens)[::-1][: order - 1]": "list(tokens)[-(order - 1) :][::-1]"},
        hint="You are caught by a slice: minus zero is zero, so tokens[-0:] is the whole list. "
        "Look at what your slice does at order 1.",
    ),
    mistake(
        "The model looks into the document before.",
        replace={"if token == eos:": "", "break": ""},
        hint="The length is right, but eos is a wall. Look for the last eos among the tokens you "
        "keep; nothing before it may remain.",
    ),
    mistake(
        "The last eos is cut off as well.",
        replace={
            "history.insert(0, token)": "if token == eos:\n    break\nhistory.insert(0, token)",
        },
        hint="You stop at the wall, as you should, but the eos itself belongs to the history. It "
        "tells the model that a document has just begun.",
        keeps=0.5,
    ),
    see_from_first_eos,
    see_the_beginning,
    mistake(
        "The history is in reverse order.",
        replace={"insert(0, token)": "append(token)"},
        hint="You walk from the end to the front, which is a good idea. But the history must read "
        "from left to right again when you return it.",
        keeps=0.5,
    ),
    mistake(
        "Short histories are filled up with eos.",
        replace={
            "return tuple(history)": "return (eos,) * (order - 1 - len(history)) + tuple(history)",
        },
        hint="A short history stays short: count_ngrams does not pad either. Return the tokens "
        "there are.",
    ),
    mistake(
        "The history is a list, which no dictionary accepts as a key.",
        replace={"tuple(history)": "history"},
        hint="The tokens are right, but this is a list. The counts are a dictionary, and its keys "
        "are tuples.",
        keeps=0.5,
    ),
)

CHECK = Check(
    item="ps1_context_of",
    points=8,
    target="context_of",
    reference=context_of,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
