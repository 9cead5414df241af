"""Judges that several problem sets share."""

from typing import Any

from autograder.authoring.checks import Inputs, Judge
from autograder.authoring.compare import agree


def changes_nothing_else(judge: Judge | None = None) -> Judge:
    """Return a judge of tuples: the answer, then everything else that the probe has looked at.

    Args:
        judge: compares answers, and whatever stands beside them; by default `agree()`.
    """
    same = judge or agree()

    def judge_all(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if type(observed) is not tuple:
            return same(observed, expected, inputs)
        wrong = same(observed[0], expected[0], inputs)
        if wrong is None and same(observed, expected, inputs) is not None:
            return "the answer is right, but the call changes something else"
        return wrong

    return judge_all
