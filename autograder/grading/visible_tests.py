"""What a student's function gives where the notebook itself says what is right.

The visible test of an item stands in the released notebook, so its inputs and its right answers are
no secret, and a picture of the first difference helps more than words. It is found by running these
tests before any hidden input has entered the sandbox: whatever student code could remember, it
could only show what everybody can read.
"""

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from nbformat import NotebookNode

from autograder.authoring.notebooks import grading, is_autograded
from autograder.grading.wording import exception_name
from autograder.inside.messages import Failure, ProbeRequest
from autograder.records import Difference, Observation

VISIBLE = "visible tests"
"""Stands for an item and its one part in what is asked.

Requests of one item share a process; and once a case of a part hangs, the later ones fail at once,
so that no visible test is left to be run after something hidden.
"""
_SECONDS = 2.0
_MOST_NUMBERS = 64
_MOST_CHARACTERS = 300

_PROBE = '''
def first_difference(implementation, inputs):
    """Run a visible test up to its first claim that does not hold; True if there is none.

    Of a claim, say its expression and its message; where it compares two values, both of them.
    """
    import ast

    def sides(test):
        """The two expressions that a claim compares: a == b, close(a, b), abs(a - b) < c."""
        if isinstance(test, ast.Call) and len(test.args) >= 2:
            return test.args[:2]
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left = test.left
            if isinstance(test.ops[0], ast.Eq):
                return left, test.comparators[0]
            if isinstance(left, ast.Call) and getattr(left.func, "id", "") == "abs":
                inner = left.args[0]
                if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
                    return inner.left, inner.right
        return None

    def plain(value):
        """Numbers as numbers, all else as Python shows it."""
        if hasattr(value, "detach"):
            value = value.detach().cpu().numpy()
        if isinstance(value, (list, tuple)) and value and all(type(x) is float for x in value):
            import numpy

            value = numpy.array(value)
        if hasattr(value, "dtype") and value.dtype.kind in "fiub":
            if value.size <= inputs["most_numbers"]:
                return value.astype("float64")
        return repr(value)[: inputs["most_characters"]]

    def failed(error):
        """The claim that does not hold, and whether its names can be read here; None if the
        answer itself has raised the error."""
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        if trace.tb_frame.f_code.co_filename != "<visible test>":
            return None
        is_outside = trace.tb_frame.f_globals is trace.tb_frame.f_locals
        claims = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
        for claim in claims:
            if claim.lineno <= trace.tb_lineno <= claim.end_lineno:
                return claim.test, is_outside
        return None

    target = inputs["target"]
    namespace = dict(getattr(implementation, "__globals__", {}))
    namespace[target] = implementation
    tree = ast.parse(inputs["test"])
    try:
        exec(compile(tree, "<visible test>", "exec"), namespace)
    except AssertionError as error:
        claim = failed(error)
        if claim is None:
            raise
        test, is_outside = claim
        says = str(error)[: inputs["most_characters"]]
        pair = sides(test) if is_outside else None
        if pair is None:
            return ast.unparse(test), "", "", says
        found, right = (
            plain(eval(compile(ast.Expression(side), "<side>", "eval"), namespace))
            for side in pair
        )
        return ast.unparse(pair[0]), found, right, says
    return True
'''


def visible_tests(released: NotebookNode) -> dict[str, str]:
    """Return the source of each item's visible test."""
    return {
        grading(cell)["grade_id"]: cell.source for cell in released.cells if is_autograded(cell)
    }


def visible_requests(
    tests: Mapping[str, str], targets: Mapping[str, str], items: Sequence[str]
) -> tuple[ProbeRequest, ...]:
    """Ask what the visible tests of some items find; to be asked before anything hidden."""
    limits = {"most_numbers": _MOST_NUMBERS, "most_characters": _MOST_CHARACTERS}
    return tuple(
        ProbeRequest(
            VISIBLE,
            VISIBLE,
            place,
            targets[item],
            _PROBE,
            {"item": item, "test": tests[item], "target": targets[item], **limits},
            _SECONDS,
        )
        for place, item in enumerate(items)
        if item in tests and _compiles(tests[item])
    )


def raised(observations: Iterable[Observation], asked: Iterable[ProbeRequest]) -> dict[str, str]:
    """Return the name of the exception with which the visible test of an item ends, if it does.

    Args:
        asked: what `visible_requests` returned.
    """
    items = _items(asked)
    return {
        items[seen.case]: exception_name(seen.value)
        for seen in observations
        if seen.item == VISIBLE and isinstance(seen.value, Failure)
    }


def passed(observations: Iterable[Observation], asked: Iterable[ProbeRequest]) -> dict[str, bool]:
    """Return for each item whose visible test was run whether it passes.

    Args:
        asked: what `visible_requests` returned.
    """
    items = _items(asked)
    return {items[seen.case]: seen.value is True for seen in observations if seen.item == VISIBLE}


def _items(asked: Iterable[ProbeRequest]) -> dict[int, str]:
    return {request.case: request.inputs["item"] for request in asked}


def differences(
    observations: Iterable[Observation], asked: Iterable[ProbeRequest]
) -> tuple[Difference, ...]:
    """Read what came out of the sandbox; whatever has another form is left out.

    Args:
        asked: what `visible_requests` returned.

    Returns:
        At most one difference for each item: the claim that does not hold, or the error with which
        the test stops.
    """
    seen_differences, items = [], _items(asked)
    for seen in observations:
        if seen.item != VISIBLE:
            continue
        if isinstance(seen.value, Failure):
            if exception_name(seen.value):
                stopped = seen.value.message[:_MOST_CHARACTERS]
                seen_differences.append(Difference(items[seen.case], "", "", "", stopped))
            continue
        if type(seen.value) is not tuple or len(seen.value) != 4:
            continue
        claim, given, right, says = seen.value
        shown, expected = _plain(given), _plain(right)
        if type(claim) is type(says) is str and shown is not None and expected is not None:
            texts = claim[:_MOST_CHARACTERS], shown, expected, says[:_MOST_CHARACTERS]
            seen_differences.append(Difference(items[seen.case], *texts))
    return tuple(seen_differences)


def _compiles(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False  # an IPython magic: the test is for the notebook alone
    return True


def _plain(value: Any) -> str | tuple[float, ...] | None:
    if type(value) is str:
        return value[:_MOST_CHARACTERS]
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size <= _MOST_NUMBERS:
        numbers = [float(x) for x in value.ravel()]
        if value.ndim == 1 and len(numbers) > 1 and all(map(math.isfinite, numbers)):
            return tuple(numbers)
        return np.array2string(value, precision=4, threshold=_MOST_NUMBERS)
    return None
