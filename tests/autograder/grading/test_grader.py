import dataclasses
import sys

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.authoring.checks import Check, Part, ProblemSet
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.grading import grader
from autograder.grading.grader import Confinement, Grader, Task, libraries_for
from autograder.records import CellResult, State, Submission


def probe_with_torch(implementation, inputs):
    import torch

    return implementation(torch.ones(3))


def probe(implementation, inputs):
    return implementation(inputs)


def problem_set(asks):
    part = Part("values", "It is right.", lambda rng: [], asks)
    return ProblemSet("toy", "Toy", (Check("toy_item", 1.0, "f", None, (part,)),))


def notebook(*code):
    return new_notebook(cells=[new_markdown_cell("torch"), *map(new_code_cell, code)])


@pytest.mark.parametrize(
    ("code", "libraries"),
    [
        ("import math", ()),
        ("from torch import nn", ("torch",)),
        ("opt = torch.optim.Adam(ws)", ("torch", "torch.optim")),
        ("import matplotlib.pyplot as plt", ("matplotlib.pyplot",)),
        ("%matplotlib inline", ()),
    ],
)
def test_libraries_are_those_that_the_released_code_names(code, libraries):
    assert libraries_for(problem_set(probe), notebook(code)) == libraries


def test_libraries_of_a_probe_are_held_ready():
    assert libraries_for(problem_set(probe_with_torch), notebook("import math")) == ("torch",)


def test_libraries_of_cells_that_are_not_run_are_not_held_ready():
    released = notebook("import torch")
    released.cells[1].metadata["tags"] = ["workshop"]
    assert libraries_for(problem_set(probe), released) == ()


def test_probe_without_a_source_stops_nothing():
    (check,) = problem_set(probe).checks
    broken = dataclasses.replace(check.parts[0], probe=len)
    faulty = dataclasses.replace(check, parts=(broken,))
    assert libraries_for(ProblemSet("toy", "Toy", (faulty,)), notebook("import torch")) == (
        "torch",
    )


@pytest.mark.parametrize(("tampered", "state"), [(False, State.GRADED), (True, State.TAMPERED)])
def test_tampering_with_messages_is_a_state_of_its_own(
    toy_course, toys, without_sandbox, monkeypatch, tampered, state
):
    run = grader.Sandbox.run
    monkeypatch.setattr(
        grader.Sandbox, "run", lambda *given: dataclasses.replace(run(*given), tampered=tampered)
    )
    data = as_text(toys.answer(toy_course, double=toys.double, mean=toys.mean)).encode()
    with Grader(ReleasedSet(toy_course, "toy"), Confinement()) as opened:
        grade = opened.grade(Task(Submission("ada", "toy", data, "digest"), "key", 7)).grade
    assert (grade.state, grade.points) == (state, 90)


def test_of_what_cells_print_as_much_is_recorded_as_somebody_reads(
    toy_course, toys, without_sandbox, monkeypatch
):
    """64 MB of it stood in the record, which every command and page loads."""
    run = grader.Sandbox.run

    def printing(*given):
        done = run(*given)
        more = [CellResult(9 + n, f"{n}:" + "x" * 50_000, "y" * 50_000) for n in range(50)]
        return dataclasses.replace(done, cells=(CellResult(0, "short\n"), *more))

    monkeypatch.setattr(grader.Sandbox, "run", printing)
    data = as_text(toys.answer(toy_course, double=toys.double, mean=toys.mean)).encode()
    with Grader(ReleasedSet(toy_course, "toy"), Confinement()) as opened:
        grade = opened.grade(Task(Submission("ada", "toy", data, "digest"), "key", 7)).grade
    short, first, *_, last = grade.cells
    assert (short.output, short.error, len(grade.cells)) == ("short\n", None, 51)
    assert first.output.startswith("0:xxx") and last.output.endswith(
        " more characters are not kept]"
    )
    assert len(repr(grade)) < 350_000 and last.error == "y" * 2_000


@pytest.fixture
def given_reference(monkeypatch, tmp_path, toys, toy_course):
    """The toy course with a reference in a package that its released notebook imports."""
    package = tmp_path / "packages/given_reference"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(toys.double)
    monkeypatch.syspath_prepend(package.parent)
    checks, source = (toy_course.folder / "toy" / n for n in ("problem_set.py", "notebook.py"))
    text = checks.read_text().replace("reference=_double", "reference=given_double")
    checks.write_text("from given_reference import double as given_double\n" + text)
    source.write_text(source.read_text().replace("import math", "import math, given_reference", 1))
    yield toy_course
    sys.modules.pop("given_reference", None)


@pytest.mark.parametrize(
    "cell", ["from given_reference import double", "double = given_reference.double"]
)
def test_reference_that_is_imported_earns_nothing_and_is_noticed(
    given_reference, toys, without_sandbox, cell
):
    released = ReleasedSet(given_reference, "toy")
    with Grader(released, Confinement()) as opened:
        for double, points in ((cell, 30), (toys.double, 90)):
            data = as_text(toys.answer(given_reference, double=double, mean=toys.mean)).encode()
            grade = opened.grade(Task(Submission("ada", "toy", data, "digest"), "key", 7)).grade
            assert grade.points == points
            assert grade.reasons == (
                ("double is imported from where the answer stands: it earns nothing",)
                if points == 30
                else ()
            )
    assert "it is imported from where the answer stands" not in str(grade.verdicts)


@pytest.mark.sandbox
def test_reference_that_is_hidden_cannot_be_imported_and_the_try_is_noticed(toy_course, toys):
    cell = "from course_pkg.layers import attention as double"
    data = as_text(toys.answer(toy_course, double=cell, mean=toys.mean)).encode()
    with Grader(ReleasedSet(toy_course, "toy"), Confinement()) as opened:
        grade = opened.grade(Task(Submission("ada", "toy", data, "digest"), "key", 7)).grade
    assert grade.points == 30
    assert "a cell imports course_pkg, which holds answers" in " ".join(grade.reasons)
