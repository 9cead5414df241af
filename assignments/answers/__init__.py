"""Right and wrong answers to every graded item, one file each: what the checks are tried on.

A function's docstring names it: a mistake's says what is misunderstood, and students may read it,
with the hint beside it; an alternative's says how it differs from the model answer. The code uses
only what the notebook imports, so that it can stand there under the name that the task asks for.
"""

from collections.abc import Callable
from typing import Any

from autograder.authoring.checks import Alternative, Mistake


def mistakes(*rows: tuple[Callable[..., Any], str]) -> tuple[Mistake, ...]:
    """Make mistakes of (implementation, hint), named by their docstrings."""
    return tuple(Mistake(_name(wrong), hint, wrong) for wrong, hint in rows)


def alternatives(*implementations: Callable[..., Any]) -> tuple[Alternative, ...]:
    """Make alternatives, named by their docstrings."""
    return tuple(Alternative(_name(right), right) for right in implementations)


def _name(implementation: Callable[..., Any]) -> str:
    if not implementation.__doc__:
        raise ValueError(f"{implementation.__name__} has no docstring; it names the answer")
    return implementation.__doc__.strip()
