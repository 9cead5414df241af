"""The task "hide spans behind sentinels"."""

from collections.abc import Sequence
from typing import Any

import torch

from autograder.authoring.checks import Case, Check, Inputs, Part, mistake, mistakes
from course_pkg.text.batches.masking import spans_to_sentinels

from ..token_ids import Generator, case, keeps, part, taking

# -- inputs ----------------------------------------------------------------------------------------

SENTINELS = [99, 98, 97, 96, 95, 94]


def _case(
    rng: Generator,
    pattern: str,
    *,
    sentinel_ids: Sequence[int] = SENTINELS,
    ids: Sequence[int] = range(3, 60),
    what: str = "",
) -> Case:
    """Hide the tokens where the pattern has an "x"."""
    # Unlike tokens, as far as there are enough: equal ones have cases of their own.
    repeats = len(ids) < len(pattern)
    text = rng.choice(list(ids), size=len(pattern), replace=repeats).tolist()
    hidden = [letter == "x" for letter in pattern]
    return case(f"{pattern or 'nothing'}{what}", text, hidden, list(sentinel_ids))


def draw_values(rng: Generator) -> list[Case]:
    """Spans of one token and of several, none of them at an edge."""
    return [
        _case(rng, ".x."),
        _case(rng, "..xx.."),
        _case(rng, ".x.xx..x."),
        _case(rng, ".xxx.x.xx...xxxx."),
    ]


def draw_edges(rng: Generator) -> list[Case]:
    """Spans at the beginning and at the end; nothing hidden, everything hidden, nothing there."""
    patterns = ["xx.x", "x..xx", "...", ".", "xxx", "x", "", ".x", "x."]
    return [_case(rng, pattern) for pattern in patterns]


def long_cases(rng: Generator) -> list[Case]:
    """A text of 2,400 tokens with 300 spans."""
    drawn = _case(rng, "..x...xx" * 150 + "." * 1200, sentinel_ids=range(999, 599, -1))
    return [Case("a text of 2,400 tokens with 300 spans", drawn.inputs)]


def draw_hard_ids(rng: Generator) -> list[Case]:
    """Equal tokens, tokens that are 0, sentinels in any order, and just enough of them."""
    word = int(rng.integers(3, 60))
    return [
        _case(rng, "xx.x.xx", ids=[word], what=", all tokens equal"),
        _case(rng, ".x.xx", ids=[0], what=", all tokens 0"),
        _case(rng, "x.x.", ids=[0, 1], what=", tokens that are like False and True"),
        _case(rng, ".x.xx.x", sentinel_ids=[70, 90, 60, 80], what=", sentinels in any order"),
        _case(rng, "x.xx.", sentinel_ids=[0, 2, 1], what=", sentinels from 0 on"),
        _case(rng, ".x.x", sentinel_ids=[70, 71, 72], what=", just enough sentinels"),
        _case(rng, "..", sentinel_ids=[88], what=", one sentinel"),
        _case(rng, "", sentinel_ids=[88], what=", one sentinel"),
        *long_cases(rng),
    ]


def draw_too_few(rng: Generator) -> list[Case]:
    """Too few sentinels, by one or more; just enough."""
    shortages = {".x.": 1, "x.x.xx": 3, "xxx": 1, ".x.x": 1, "..": 0, "": 0}
    cases = [
        _case(rng, pattern, sentinel_ids=SENTINELS[:n], what=f", {n} of the sentinels")
        for pattern, n in shortages.items()
    ]
    return [*cases, _case(rng, "x.x", sentinel_ids=SENTINELS[:3], what=", just enough")]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [*draw_values(rng)[1:], *draw_edges(rng)[:4], *draw_hard_ids(rng)[3:6]]


# -- probes ----------------------------------------------------------------------------------------


def complain(implementation, inputs):
    """Return whether a ValueError is raised, or that there is a result."""
    try:
        implementation(*inputs["arguments"])
    except ValueError:
        return "a ValueError"
    except Exception:
        return "another error"
    return "a result"


def judge_complaint(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Say what there is instead of what should be."""
    if observed == expected:
        return None
    found = observed if observed in ("a ValueError", "a result") else "another error"
    return f"there is {found} where {expected} is expected"


# -- the reference version -------------------------------------------------------------------------


def hide_spans(
    ids: Sequence[int], hidden: Sequence[bool], sentinel_ids: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Hand the mask to the package as a tensor."""
    return spans_to_sentinels(ids, torch.tensor(hidden, dtype=torch.bool), sentinel_ids)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    part(
        "inputs",
        "The encoder reads the text with one sentinel in place of each span.",
        taking(draw_values, 0),
        3,
    ),
    part(
        "targets",
        "The decoder writes each sentinel with what it hides, and one more sentinel at the end.",
        taking(draw_values, 1),
        3,
    ),
    part(
        "edges",
        "Spans may touch both ends; nothing, everything, or no token at all may be hidden.",
        draw_edges,
        2,
    ),
    part(
        "hard ids",
        "Tokens may be equal or 0, sentinels have any order, and both may be many.",
        draw_hard_ids,
        2,
    ),
    Part(
        "too few sentinels",
        "Fewer sentinels than spans plus one raise a ValueError, and no others do.",
        draw_too_few,
        complain,
        judge=judge_complaint,
        weight=1,
    ),
    keeps(draw_all),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, hidden, sentinel_ids):
    """The answer that the mistakes start from."""
    inputs, targets = [], []
    n_spans = 0
    was_hidden = False
    for token, is_hidden in zip(ids, hidden, strict=True):
        if is_hidden and not was_hidden:
            if n_spans == len(sentinel_ids):
                raise ValueError("too few sentinels")
            inputs.append(sentinel_ids[n_spans])
            targets.append(sentinel_ids[n_spans])
            n_spans += 1
        if is_hidden:
            targets.append(token)
        else:
            inputs.append(token)
        was_hidden = is_hidden
    if n_spans == len(sentinel_ids):
        raise ValueError("no sentinel for the end")
    last = sentinel_ids[n_spans]
    return inputs, [*targets, last]


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Each hidden token has a sentinel of its own.",
        replace={"is_hidden and not was_hidden": "is_hidden"},
        hint="You use a new sentinel for each hidden token. Neighbours that are hidden are one "
        "span, and a span has one sentinel, however long it is.",
        keeps=0.3,
    ),
    mistake(
        "The targets lack the last sentinel.",
        replace={"[*targets, last]": "targets"},
        hint="Your targets end with the last span. One more sentinel comes after it: how else "
        "would the decoder say that it has finished?",
    ),
    mistake(
        "The targets lack the sentinels of their spans.",
        replace={"targets.append(sentinel_ids[n_spans])": ""},
        hint="Your targets hold the hidden tokens without their sentinels. So nobody can tell "
        "where one span ends and the next begins: write the sentinel before each.",
    ),
    mistake(
        "The sentinel stands behind its span in the targets.",
        replace={
            "targets.append(sentinel_ids[n_spans])": (
                "targets += [sentinel_ids[n_spans - 1]] if n_spans else []"
            ),
            "last = sentinel_ids[n_spans]": ("last = sentinel_ids[max(n_spans - 1, 0)]"),
        },
        hint="Your targets name each span after its tokens. The sentinel comes first, and then "
        "what it stands for; the one at the end stands for nothing.",
    ),
    mistake(
        "The encoder reads no sentinels.",
        replace={"inputs.append(sentinel_ids[n_spans])": ""},
        hint="You leave hidden spans out of the inputs and put nothing in their place. The encoder "
        "has to see that something is missing there: a sentinel.",
    ),
    mistake(
        "The encoder reads the hidden tokens, too.",
        replace={
            """
            else:
                inputs.append(token)
            """: "inputs.append(token)"
        },
        hint="Your inputs still hold the hidden tokens, so the answer is in the question. Only "
        "the sentinel takes their place there.",
    ),
    mistake(
        "The same sentinel stands for all spans.",
        replace={
            "inputs.append(sentinel_ids[n_spans])": "inputs.append(sentinel_ids[0])",
            "targets.append(sentinel_ids[n_spans])": "targets.append(sentinel_ids[0])",
        },
        hint="You use the first sentinel for every span. Each span has the next one in order: else "
        "nobody could say which gap is meant.",
        keeps=0.3,
    ),
    mistake(
        "The targets end with the sentinel of the last span.",
        replace={"last = sentinel_ids[n_spans]": "last = sentinel_ids[max(n_spans - 1, 0)]"},
        hint="You end the targets with the sentinel that the last span already has. The end is "
        "marked by the next one in order, which stands for no span.",
    ),
    mistake(
        "The targets end with the last sentinel of the list.",
        replace={"last = sentinel_ids[n_spans]": "last = sentinel_ids[-1]"},
        hint="You end the targets with the last sentinel of the list. The end is marked by the "
        "next one in order, directly after that of the last span.",
    ),
    mistake(
        "The sentinels are used in the order of their numbers.",
        replace={
            "inputs, targets = [], []": "inputs, targets, sentinel_ids = "
            "[], [], sorted(sentinel_ids)"
        },
        hint="You sort the sentinels. They are used in the order of the list, which need not be "
        "sorted; in T5 they count downwards.",
        keeps=0.5,
    ),
    mistake(
        "Sentinels are counted down from the first one.",
        replace={
            "inputs.append(sentinel_ids[n_spans])": "inputs.append(sentinel_ids[0] - n_spans)",
            "targets.append(sentinel_ids[n_spans])": "targets.append(sentinel_ids[0] - n_spans)",
            "last = sentinel_ids[n_spans]": "last = sentinel_ids[0] - n_spans",
        },
        hint="You compute each sentinel from the first by counting down. Their ids may be any: "
        "look each up in the list.",
    ),
    mistake(
        "A span at the very beginning is not seen.",
        replace={"was_hidden = False": "was_hidden = True"},
        hint="Where the first token is hidden, you begin no span. There is nothing before it, so "
        "nothing hidden either: start your loop with that.",
    ),
    mistake(
        "Tokens that equal the one before do not continue a span.",
        replace={
            "was_hidden = is_hidden": "was_hidden = is_hidden and inputs[-1:] != [token]",
            "is_hidden and not was_hidden": (
                "is_hidden and (not was_hidden or targets[-1] == token)"
            ),
        },
        hint="You seem to look at the ids to find out where a span begins. Two equal tokens side "
        "by side may be hidden together: only `hidden` says what belongs to a span.",
    ),
    mistake(
        "No error where the sentinels are just used up.",
        replace={
            """
            if n_spans == len(sentinel_ids):
                raise ValueError("no sentinel for the end")
            """: "",
            "last = sentinel_ids[n_spans]": "last = sentinel_ids[n_spans : n_spans + 1]",
            "[*targets, last]": "[*targets, *last]",
        },
        hint="Where there are as many sentinels as spans, you raise no error. The end of the "
        "targets needs one more: spans plus one.",
    ),
    mistake(
        "A sentinel must be left over.",
        replace={
            "last = sentinel_ids[n_spans]": """
                last = sentinel_ids[n_spans]
                if n_spans + 1 == len(sentinel_ids):
                    raise ValueError("no sentinel is left")
            """
        },
        hint="You raise an error although there are enough sentinels. As many as spans plus one "
        "will do: none has to be left over.",
    ),
    mistake(
        "Another error than a ValueError is raised.",
        replace={
            'ValueError("too few': 'IndexError("too few',
            'ValueError("no': 'IndexError("no',
        },
        hint="Where there are too few sentinels, you let another error through, such as the "
        "IndexError of a list. Look at the numbers first, and raise a ValueError.",
    ),
    mistake(
        "What is kept is hidden, and what is hidden is kept.",
        replace={"zip(ids, hidden,": "zip(ids, [not h for h in hidden],"},
        hint="You hide the tokens that are to be kept. In `hidden`, True means: this token is to "
        "be hidden.",
        keeps=0.5,
    ),
    mistake(
        "A sentinel is taken out of the caller's list.",
        replace={
            "last = sentinel_ids[n_spans]": "last = sentinel_ids.pop(n_spans)",
        },
        hint="Your results are right, but a sentinel is missing from the caller's list afterwards. "
        "The next text needs it, too: read the list without taking anything out.",
    ),
)

CHECK = Check(
    item="ps7_hide_spans",
    points=9,
    target="hide_spans",
    reference=hide_spans,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "for token, is_hidden, is_start in zip(ids, hidden, starts, strict=True):  →  "
        "for token, is_hidden, is_start in zip(ids, hidden, starts, strict=False):": (
            "All three are equally long."
        ),
    },
)
