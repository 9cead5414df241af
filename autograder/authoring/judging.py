"""Items in which students write the test: a function that says whether an implementation is right.

    PARTS = implementations(
        attend.CHECK,                       # the item whose function is judged
        right=["Goes query by query."],     # of its right answers, in `answers/attend.py`
        wrong=["The scale is missing."],    # of its mistakes
        setup="import torch",               # what those need that do not import it themselves
    )

Each implementation is a part. The student's function calls it across the wall (`sandbox.partner`):
arguments and results travel as plain values, so it never meets any code. Both kinds weigh the same
in all, however many there are of each, and a `Check` with `chance=CHANCE` gives for them

    the share of the wrong ones that are refused − the share of the right ones that are refused,

which is twice the balanced accuracy less one (Youden's J): nothing for always saying the same. Less
than 0 counts as 0, so a coin earns a tenth of the points on average.

A test that lets an exception of the implementation through has refused it, as one for pytest would
have. An exception of the test's own is no verdict, whatever the implementation is.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from autograder.authoring.answers import read_file
from autograder.authoring.checks import Case, Check, Inputs, Part, as_answer

CHANCE = 0.5
LEAST = 12
"""Implementations that an item has at least."""
RIGHT = "A right implementation is accepted."
WRONG = "A wrong implementation is refused."


def ask(question: Any) -> Any:
    """Stand here for what a probe finds under this name: it sends a value out, and waits."""
    raise NotImplementedError


def tell(implementation: "Callable[..., Any]", inputs: "Inputs") -> "Any":
    """Run the student's test on an implementation that it never meets."""
    import builtins
    import contextlib

    n_left = 200
    raised: Exception | None = None

    def hidden(*arguments: "Any", **keywords: "Any") -> "Any":
        nonlocal n_left, raised
        if n_left == 0:
            raise RuntimeError("a test may call the implementation 200 times")
        n_left -= 1
        has_raised, value = ask((arguments, keywords))
        if not has_raised:
            return value
        kind = getattr(builtins, value, None)
        raised = RuntimeError("the implementation raises")
        if isinstance(kind, type) and issubclass(kind, Exception):
            with contextlib.suppress(TypeError):  # some cannot do without arguments
                raised = kind()
        raise raised

    try:
        said = implementation(hidden)
    except Exception as error:
        # The very exception that it was given, and none of its own that is like it. Whoever forged
        # this would gain nothing: a test may return False at any time.
        if error is raised:
            return False
        raise
    # What torch and NumPy say of two values is a bool of theirs.
    return said.item() if getattr(said, "shape", None) == () else said


def told(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Compare what the student's test says with what is known of the implementation."""
    if type(observed) is not bool:
        return "your test returns neither True nor False"
    if observed is expected:
        return None
    return "your test accepts it" if observed else "your test refuses it"


def _only(case: Case, rng: np.random.Generator) -> list[Case]:
    return [case]


def implementations(
    judged: Check, *, right: Sequence[str], wrong: Sequence[str], setup: str = ""
) -> tuple[Part, ...]:
    """Make a part of each implementation.

    Args:
        judged: the item that asks for the function that is to be judged.
        right: names of its right answers.
        wrong: names of its mistakes; a student whose test accepts one reads its name.
        setup: source that runs before each.

    Raises:
        KeyError: if the item has no such answer.
        ValueError: if they are too few.
    """
    if len(right) + len(wrong) < LEAST:
        n_given = len(right) + len(wrong)
        raise ValueError(f"{judged.item}: {n_given} implementations to judge; at least {LEAST}")
    folder = Path(inspect.getfile(judged.reference)).parent
    answers = read_file(folder / "answers" / f"{judged.target}.py")
    known = {answer.name: answer.source for answer in answers if answer.is_right}
    parts: list[tuple[str, str, Case, str, int]] = []
    for number, name in enumerate(right, 1):
        case = Case("one in a style of its own", {})
        parts.append((f"right {number}", RIGHT, case, known[name], len(right)))
    for number, name in enumerate(wrong, 1):
        case = Case(f"one of which this is true (“{name}”)", {})
        source = as_answer(judged, judged.mistake(name).implementation)
        parts.append((f"wrong {number}", WRONG, case, source, len(wrong)))
    return tuple(
        Part(
            name,
            requirement,
            partial(_only, case),
            tell,
            judge=told,
            weight=1 / n,
            partner=f"{setup}\n{source}\npartner = {judged.target}\n",
        )
        for name, requirement, case, source, n in parts
    )
