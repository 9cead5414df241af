"""The vocabulary in which a course says what a right answer is.

A graded item has one `Check`. A check has parts; each part is one property, worth a share of
the item's points, and consists of three pure functions:

    draw(rng)                            cases   made by the judge, fresh for every student
    probe(implementation, inputs)        value   runs on the student's object inside the sandbox,
                                                 and on the reference version in the judge
    judge(observed, expected, inputs)    None if the property holds, else what is wrong, in words

The reference version is the first submission, every `Mistake` must be caught and every
`Alternative` accepted; `python -m autograder check` proves all three.

A probe travels into the sandbox as source text. It must therefore stand alone: it imports what
it needs inside its body (the standard library, numpy or torch), reads no global, and returns
plain data: None, bool, int, float, str, bytes, list, tuple, dict, set, NumPy arrays, tensors.
"""

import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.authoring.compare import agree

Inputs = dict[str, Any]
Judge = Callable[[Any, Any, Inputs], str | None]


@dataclass(frozen=True)
class Case:
    """One set of inputs. `size` names it for the student ("order 3, two documents")."""

    size: str
    inputs: Inputs


def counted(n: int, noun: str) -> str:
    """Name a size for a `Case`: "1 row", "3 rows"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


@dataclass(frozen=True)
class Part:
    """One property of a right answer.

    Attributes:
        says: the property in the student's words, shown when it does not hold.
        draw: makes the cases, smallest first, so that the first that fails is the smallest.
        weight: share of the item's points, relative to the other parts.
        judge: by default `agree()`: same structure, shapes, kinds and values as the reference.
    """

    name: str
    says: str
    draw: Callable[[np.random.Generator], Sequence[Case]]
    probe: Callable[[Any, Inputs], Any]
    judge: Judge = field(default_factory=agree)
    weight: float = 1.0

    @property
    def probe_source(self) -> str:
        """The probe's text, as it is sent into the sandbox."""
        return textwrap.dedent(inspect.getsource(self.probe))


@dataclass(frozen=True)
class Mistake:
    """A typical wrong answer. A student whose observations equal its own reads `hint`.

    Attributes:
        endless: it does not end in at least one case, and is therefore stopped there.
    """

    name: str
    hint: str
    implementation: Any
    endless: bool = False


@dataclass(frozen=True)
class Alternative:
    """A right answer written differently."""

    name: str
    implementation: Any


@dataclass(frozen=True)
class Check:
    """What is asked of one graded item.

    Attributes:
        item: the `grade_id` of the item's test cell.
        target: the function or class that the student defines.
        reference: the version of `course_pkg` (or one built from it) with the same contract.
        seconds: wall time that one probe may take.
    """

    item: str
    points: float
    target: str
    reference: Any
    parts: tuple[Part, ...]
    mistakes: tuple[Mistake, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    seconds: float = 10.0


@dataclass(frozen=True)
class ProblemSet:
    """All checks of one set."""

    name: str
    title: str
    checks: tuple[Check, ...]

    def check(self, item: str) -> Check:
        """Return the check of a graded item.

        Raises:
            KeyError: if the set has no such item; the message lists those it has.
        """
        for check in self.checks:
            if check.item == item:
                return check
        raise KeyError(f"no item {item!r} in {self.name}; it has {[c.item for c in self.checks]}")
