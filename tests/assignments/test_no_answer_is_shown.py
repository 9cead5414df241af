"""No function that stands in a released notebook is, under another name, the answer to a task.

The visible test of a task that judges implementations makes them of the student's own function.

Every function that a student reads, at whatever depth, is taken out alone and handed in for each
task of its set that calls for as many arguments. What it may call is what a student has who has
solved all the others.
"""

import ast
import contextlib
import inspect
import io
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from autograder.authoring.checks import Check
from autograder.authoring.release import ReleasedSet
from autograder.inside.messages import Failure, WireError
from autograder.records import Observation
from tests.assignments.notebooks import COURSE, JUDGE, ask, run_cells

MOST = 0.5
"""Share of what the parts weigh. Not none: who returns an argument as it is changes nothing and
keeps its dtype, and that counts in some tasks. To accept everything has half of a judge's parts."""
SEED = 11


@cache
def released(name: str) -> ReleasedSet:
    """Return the set of this name; what is made of it, is made once."""
    return ReleasedSet(COURSE, name)


def functions(source: str) -> Iterator[tuple[str, str]]:
    """Yield name and source of each function and lambda in a cell."""
    lines = source.splitlines()
    code = "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
            yield node.name, ast.unparse(node)
        elif isinstance(node, ast.Lambda):
            yield "shown", f"shown = {ast.unparse(node)}"


JUDGED = [n for n in COURSE.sets() if any(c.chance for c in COURSE.problem_set(n).checks)]


def namespaces(name: str) -> tuple[Check, Check, dict[str, Any]]:
    """Return the judging item, the item that it judges, and the names of a solved notebook."""
    checks = released(name).problem_set.checks
    (judging,) = (check for check in checks if check.chance)
    target = judging.target.removeprefix("judge_")
    (judged,) = (check for check in checks if check.target == target)
    return judging, judged, run_cells(released(name).notebooks.solution)[1]


def copied(name: str, source: str, check: Check, solved: dict[str, Any]) -> Any:
    """Make the function under its new name; None if it cannot be called with the arguments."""
    namespace = {key: value for key, value in solved.items() if key != check.target}
    try:
        exec(compile(source, "<shown>", "exec"), namespace)
        function = namespace[name]
        n_arguments = len(inspect.signature(check.reference).parameters)
        inspect.signature(function).bind(*range(n_arguments))
    except (NameError, TypeError):  # a default that the cell makes elsewhere, or other arguments
        return None
    return function


def gives_away(check: Check, function: Any) -> bool:
    """Whether a copy passes parts that weigh more than half; asks no more than tells."""
    left = sum(part.weight for part in check.parts)
    least, weights, failed = left * MOST, {part.name: part.weight for part in check.parts}, set()
    for request in JUDGE.requests(check, SEED):
        if request.part not in failed:
            try:
                value = ask(request, function)
            except WireError as error:
                value = Failure("answer", str(error))
            seen = Observation(request.item, request.part, request.case, value)
            if JUDGE.what_is_wrong(check, SEED, seen) is not None:
                failed.add(request.part)
                left -= weights[request.part]
                if left < least + 1e-9:
                    return False
    return True


def copies(name: str) -> Iterator[tuple[str, str, bool]]:
    """Yield function and item, and whether it gives that away, for each that a student reads."""
    solved = run_cells(released(name).notebooks.solution)[1]
    for cell in released(name).notebooks.student.cells:
        if cell.cell_type == "code":
            for shown, source in functions(cell.source):
                for check in released(name).problem_set.checks:
                    function = copied(shown, source, check, solved)
                    if check.target != shown and function is not None:
                        yield shown, check.item, gives_away(check, function)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.exhaustive_but("ps1")
@pytest.mark.parametrize("name", COURSE.sets())
def test_no_function_that_students_read_answers_a_task(name):
    tried = list(copies(name))
    assert len(tried) > 3
    assert [found for found in tried if found[2]] == []


SLICE = '''
def by_a_slice(tokens, order, eos):
    """Right, in another style."""
    seen = list(tokens)[max(0, len(tokens) - order + 1) :]
    walls = [place for place, token in enumerate(seen) if token == eos]
    return tuple(seen[walls[-1] :] if walls else seen)
'''


def test_answer_that_is_shown_is_found(monkeypatch):
    """As one once stood in the visible test of the task that judges implementations."""
    (cell,) = (c for c in released("ps1").notebooks.student.cells if c.id == "ps1_judge_context_of")
    monkeypatch.setitem(cell, "source", cell.source + SLICE)
    assert ("by_a_slice", "ps1_context_of", True) in list(copies("ps1"))


def said(cell: str, names: dict[str, Any]) -> str:
    """Run the visible test; return what it prints, or the claim that does not hold."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(cell, "<visible test>", "exec"), dict(names))
    except AssertionError as error:
        return str(error)
    return printed.getvalue().strip()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", JUDGED)
def test_wrong_function_of_ones_own_stops_no_right_judge(name):
    """In plain nbgrader an exception of the visible test would cost all points of the task."""
    judging, judged, solved = namespaces(name)
    (cell,) = (c for c in released(name).notebooks.student.cells if c.id == judging.item)
    own = {one.name: one.implementation for one in judged.mistakes if not one.endless}
    own |= {"stub": run_cells(released(name).notebooks.student)[1][judged.target]}
    own |= {"None": lambda *_, **__: None}
    answers = {judging.target: judging.reference}
    found = {key: said(cell.source, solved | answers | {judged.target: own[key]}) for key in own}
    without = f"Your {judged.target} does not do yet"
    refused = f"Your test refuses your own {judged.target}: one of the two is wrong"
    done = "All visible tests passed."
    strange = [one for one in found.items() if not one[1].startswith((without, refused, done))]
    assert strange == []
    assert found["stub"].startswith(without) and found["None"].startswith(without)


@pytest.mark.parametrize("name", JUDGED)
def test_visible_test_of_a_judge_tells_who_says_always_the_same(name):
    judging, judged, solved = namespaces(name)
    (cell,) = (c for c in released(name).notebooks.student.cells if c.id == judging.item)
    judges = judging.reference, lambda _: True, lambda _: None, lambda _: False
    right, yes, none, no = (said(cell.source, solved | {judging.target: one}) for one in judges)
    assert right == "All visible tests passed."
    assert yes.endswith("is wrong; your test accepts it")
    assert none == "return True or False, not NoneType"
    assert no.startswith(f"Your test refuses your own {judged.target}: one of the two is wrong.")
