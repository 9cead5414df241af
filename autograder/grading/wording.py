"""What a verdict says in words: to the student in a closed vocabulary, to staff in full."""

import builtins
import math
import re
import reprlib
from typing import Any

from autograder.authoring.checks import Check, Part
from autograder.inside.messages import Failure


def exception_name(failure: Failure) -> str:
    """Return the name of the exception that a failure is about; empty if it is about none."""
    kinds = ("exception", "unusable")
    return failure.message.partition(":")[0] if failure.kind in kinds else ""


def raised_exception(name: str, seen: str) -> str:
    """Name an exception of a hidden test where that tells the student nothing new.

    Which of the fifty of Python's own exceptions is raised, student code may choose by a hidden
    input, and it could choose a word of its own for the name of another.

    Args:
        seen: the one that a visible test of the same item has raised; empty for none.
    """
    is_one = isinstance(getattr(builtins, name, None), type) and name.endswith(
        ("Error", "Exception", "Exit", "Interrupt", "Iteration")
    )
    return name if is_one and name == seen else "an exception"


def describe_failure(check: Check, failure: Failure, seen: str = "") -> str:
    """Say what came instead of a value. The failure's own text is the student code's: not shown.

    It could carry the hidden inputs or the probe's source into the feedback.

    Args:
        seen: the exception that a visible test of the same item has raised; empty for none.
    """
    raises = f"raises {raised_exception(exception_name(failure), seen)}"
    return {
        "missing": f"{check.target} is not defined",
        "exception": f"{check.target} {raises}",
        "unusable": f"calling {check.target} as the task says, or using what it gives, {raises}",
        "timeout": f"there is no result after {check.seconds:g} seconds of computing",
        "waiting": "there is no result after a long time, most of which it does not compute",
        "late": "the time for the whole notebook is used up before this call",
        "memory": "it needs more memory than is allowed",
        "crash": "the Python process ends before there is a result",
        "imported": f"{check.target} is not yours: it is imported from where the answer stands",
        "refused": "the result holds something that is not plain data, or too much of it",
    }.get(failure.kind, "there is no result")


_DTYPE = re.compile(r"\b(?:bfloat|float|complex|u?int)(?:8|16|32|64|128)\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LONGEST = 300


def without_echo(said: str, announced: str) -> str:
    """Return what a judge says of an answer, unless the answer may be speaking through it.

    Args:
        announced: what the student is told in any case; other numbers than its own could be
            what the answer has read in a hidden input.
    """
    strange = set(_NUMBER.findall(_DTYPE.sub("", said))) - set(_NUMBER.findall(announced))
    if strange or len(said) > _LONGEST or not said.isprintable():
        return "the result is not as expected"
    return said


def explain_fault(check: Check, part: Part, doing: str, error: Exception) -> str:
    """Say where a check broke, and on what."""
    what = f"{type(error).__name__}: {error}"[:500]
    return f"the check {check.item}, part {part.name!r}, broke while {doing}: {what}"


_MOST_NUMBERS = 1000


class _Repr(reprlib.Repr):
    def repr_ndarray(self, array: Any, level: int) -> str:
        """Show the first numbers: NumPy and torch format all, which takes longer than judging."""
        # Of many they leave out most themselves; and of none, `tolist` may make 2^31 empty lists.
        if not 0 < math.prod(array.shape) <= _MOST_NUMBERS:
            return self.repr_instance(array, level)
        return f"{self.repr1(array.tolist(), level)} {array.dtype} of shape {(*array.shape,)}"

    repr_Tensor = repr_ndarray  # noqa: N815 (called by the name of the type)


_repr = _Repr()
_repr.maxlevel = 8
_repr.maxdict = _repr.maxlist = _repr.maxtuple = _repr.maxset = 12
_repr.maxstring = _repr.maxother = _repr.maxlong = 400


def shorten(value: Any) -> str:
    """Show a value to staff, whatever its size."""
    text = _repr.repr(value)
    return text if len(text) <= 1500 else f"{text[:1500]} ..."
