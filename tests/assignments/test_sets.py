"""Every problem set of the course: the proof of its checks, the notebook as students meet it.

What only one set promises is tested in its own folder, in `test_<set>.py`.
"""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from assignments.sample_class import make
from autograder.authoring.checks import Challenge
from autograder.authoring.lint import leaks, lint, secret_lines
from autograder.authoring.notebooks import defines, is_autograded, is_ungraded_work
from autograder.authoring.release import ReleasedSet, build
from autograder.authoring.secrets import words_of
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.grading.cases import wrong_in
from autograder.inside.messages import Failure
from autograder.lms import nbgrader_cell
from autograder.validation import unseen_answers
from autograder.validation.check_set import check_set
from tests.assignments.notebooks import COURSE, JUDGE, ROOT, ask, parts_failed, run_cells

SETS = {name: COURSE.problem_set(name) for name in COURSE.sets()}
ITEMS = [(name, check) for name, problem_set in SETS.items() for check in problem_set.checks]

each_item = pytest.mark.parametrize(("name", "check"), ITEMS, ids=[c.item for _, c in ITEMS])


@pytest.fixture(scope="module", params=SETS)
def made(request):
    """A set's checks, its notebooks, and the answers to try on them."""
    released = ReleasedSet(COURSE, request.param)
    return SimpleNamespace(
        name=request.param,
        checks=released.problem_set,
        release=released.notebooks,
        answers=released.answers,
    )


@cache
def solutions(name):
    """The names that the cells of a set's solution make."""
    return run_cells(build(COURSE.source(name)).solution)[1]


# -- the checks ------------------------------------------------------------------------------------


def test_notebook_and_checks_agree_and_the_points_sum_to_100(made):
    assert lint(made.release, made.checks) == ()


def test_no_task_is_numbered_by_hand(made):
    text = COURSE.source(made.checks.name).read_text()
    assert not re.findall(r"^# ## \d.*|^#.*\b[Tt]asks? \d.*", text, re.MULTILINE)


@each_item
def test_right_answer_agrees_with_the_reference_in_many_draws(name, check):
    """Rare draws must not cost a student points: accents that two libraries cut differently did."""
    parts, solution = {part.name: part for part in check.parts}, solutions(name)[check.target]
    for seed in range(100, 103):
        for request in JUDGE.requests(check, seed):
            right = ask(request, solution)
            expected = ask(request, check.reference)
            assert not isinstance(expected, Failure), (request.part, request.inputs, expected)
            for answer in (right, expected):
                wrong = wrong_in(parts[request.part], answer, expected, request.inputs)
                assert wrong is None, (seed, request.part, request.inputs)


class _WithoutTry(ast.NodeTransformer):
    def visit_Try(self, node):
        return node.body


@pytest.mark.parametrize(
    "check", [check for _, check in ITEMS if check.chance], ids=lambda check: check.item
)
def test_test_that_lets_through_what_an_implementation_raises_earns_all(check):
    """As one for pytest would: nobody need know that the grader wants a `try` around each call."""
    source = ast.parse(inspect.getsource(check.reference))
    bare = ast.unparse(_WithoutTry().visit(source))
    assert "try" in inspect.getsource(check.reference) and "try" not in bare
    names = dict(vars(inspect.getmodule(check.reference)))
    exec(bare, names)
    assert not parts_failed(check, names[check.reference.__name__], 11)


@pytest.mark.exhaustive
def test_checks_judge_well(made, monkeypatch):
    """What is right gets full points, what is wrong fewer, and none is taken for another."""
    monkeypatch.setattr(unseen_answers, "FRESH_SEEDS", unseen_answers.FRESH_SEEDS[:1])
    # The first optimizer of a process imports it, for seconds: once here, not in each answer's.
    importlib.import_module("torch._dynamo")
    report = check_set(made.checks, made.release, made.answers, with_mutants=False)
    assert report.problems == ()
    assert {one.item for one in report.unseen} == set(report.points)


@pytest.mark.exhaustive
def test_mutants_are_caught(made):
    report = check_set(made.checks, made.release, with_mutants=True, seeds=(0,))
    assert report.survivors == []
    judging = {check.item for check in made.checks.checks if check.chance}
    assert all(report.of(item, "mutant") for item in report.points if item not in judging)


def test_challenge_is_answered_in_one_cell_that_only_defines_what_is_asked_for(made):
    challenge = made.checks.challenge
    if not isinstance(challenge, Challenge):
        pytest.skip(challenge or "this set has no challenge")
    target = challenge.check.target
    (cell,) = (c for c in made.release.student.cells if defines(c.source, target))
    namespace = {}
    exec(cell.source, namespace)  # no work: nothing that it would need is there
    assert is_ungraded_work(cell) and namespace["PSEUDONYM"] == "" and callable(namespace[target])
    for cell in made.release.student.cells:
        _, asked, what_is_done = cell.source.partition("\nif TAKE_PART:\n")
        assert not asked or "print(" in what_is_done, "whoever takes part is told what was measured"


@pytest.mark.skipif(COURSE.folder != ROOT / "assignments", reason="the guide is of another course")
def test_guide_counts_what_the_set_has(made):
    guide = (ROOT / "book" / "back" / "instructors.md").read_text(encoding="utf-8")
    checks = made.checks.checks
    counts = (
        len(checks),
        sum(len(check.mistakes) for check in checks),
        sum(answer.is_right for answers in made.answers.values() for answer in answers),
    )
    row = f"| {made.name} | {' | '.join(f'{count:,}' for count in counts)} |"
    assert row in guide, f"the table of book/back/instructors.md needs the row {row} ..."


def test_hints_are_for_students_to_read(made):
    """Whole sentences, in the second person where they speak of the answer, and no code block."""
    for check in made.checks.checks:
        hints = [mistake.hint for mistake in check.mistakes]
        assert len(set(hints)) == len(hints), check.item
        for hint in hints:
            assert hint[-1] in ".?", hint
            assert 60 < len(hint) < 260, hint
            assert "\n" not in hint and " = " not in hint.replace("k = 1", "").replace("u = 0", "")
        assert sum("you" in hint.lower() for hint in hints) > len(hints) / 2, check.item


def test_hints_name_what_was_seen(made):
    """Of a student's test, what it tells wrongly, for tests may go wrong there in many ways.

    Of a loop no axis, since the calls are counted, whichever axis grows.
    """
    for check in made.checks.checks:
        hints = [mistake.hint for mistake in check.mistakes]
        told = re.compile(r"your test (accepts|refuses|says|finds)|pass(es)? your test", re.I)
        assert not check.chance or all(map(told.search, hints)), check.item
        loops = [hint for hint in hints if "in a loop" in hint]
        assert all("piece by piece, in a loop" in hint for hint in loops), check.item


@each_item
def test_what_students_read_of_a_part_is_one_sentence(name, check):
    for part in check.parts:
        assert part.requirement[0].isupper() and part.requirement[-1] == ".", part.requirement
        assert len(part.requirement) < 110, part.requirement
        labels = [case.label for case in part.inputs(np.random.default_rng(1))]
        assert len(set(labels)) == len(labels), (part.name, labels)


@pytest.mark.exhaustive_but("ps3")
@pytest.mark.slow
@pytest.mark.sandbox
def test_plain_nbgrader_and_the_sandbox_give_the_same_points(made, tmp_path, monkeypatch):
    """To the same questions, in a notebook of right answers and typical mistakes.

    With fresh questions a part that leans on another one's mistake may hold by luck.
    """
    notebook = dict(make.students(COURSE, made.name))["typical-mistakes-2"]
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.ipynb").write_bytes(notebook)
    settings = Settings(tmp_path / "out")
    (grade,) = grade_class(ReleasedSet(COURSE, made.name), tmp_path / "class", settings).grades
    cells = nbformat.reads(notebook.decode(), 4)
    tests = {cell.id for cell in cells.cells if is_autograded(cell)}
    cells.cells = [cell for cell in cells.cells if cell.id not in tests]
    _, namespace = run_cells(cells)
    monkeypatch.setattr(nbgrader_cell, "submission_seed", lambda *_: grade.seed)
    plain = {}
    for verdict in grade.verdicts:
        try:
            plain[verdict.item] = nbgrader_cell.score(made.name, verdict.item, namespace)
        except AssertionError:  # how it says that no point was earned
            plain[verdict.item] = 0
    assert plain == {verdict.item: verdict.points for verdict in grade.verdicts}
    assert 0 < grade.points < sum(check.points for check in made.checks.checks)


# -- the notebook ----------------------------------------------------------------------------------


def test_student_notebook_leaks_nothing(made):
    assert leaks(made.release) == ()


def test_no_hint_and_no_visible_test_has_a_line_of_a_solution(made):
    """Hints name the function to use; a test that needs the answer calls the student's."""
    shown = [cell.source for cell in made.release.student.cells]
    lines = {line for cell in made.release.source.cells for line in secret_lines(cell.source)}
    telling = {line for line in lines if "=" in line or line.startswith("return ")}
    assert telling
    given = {line for line in telling if len(words_of(line)) > 4 and any(line in s for s in shown)}
    assert not given


def test_student_notebook_runs_and_only_its_visible_tests_fail(made):
    errors, _ = run_cells(made.release.student)
    graded = {cell.id for cell in made.release.source.cells if is_autograded(cell)}
    assert set(errors) == graded
    assert {type(error) for error in errors.values()} == {NotImplementedError}


def test_solution_notebook_passes_its_visible_tests(made):
    errors, _ = run_cells(made.release.solution)
    assert errors == {}


def test_every_visible_assertion_explains_itself(made):
    for cell in made.release.student.cells:
        if is_autograded(cell):
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Assert):
                    assert node.msg is not None, ast.unparse(node)


def test_every_task_says_why_what_how_long_and_how_hard(made):
    tasks = [
        c.source
        for c in made.release.student.cells
        if c.source.startswith("## ") and "**Why" in c.source
    ]
    assert len(tasks) == len(made.checks.checks)
    for task, check in zip(tasks, made.checks.checks, strict=True):
        assert f"({check.points:g} points, " in task, check.item
        for word in (
            "minutes, difficulty",
            "of 5)",
            "**Contract.**",
            "**returns**",
            "**By hand.**",
        ):
            assert word in task, (check.item, word)
        assert task.count("<details><summary>Hint</summary>") == task.count("</details>") == 1


def test_time_in_the_header_is_that_of_the_tasks_together(made):
    text = "\n".join(cell.source for cell in made.release.student.cells)
    (stated,) = re.findall(r"\*\*Time:\*\* about (.+?)\. Each task names its own share", text)
    hours = {"one": 60, "two": 120, "three": 180, "four": 240, "five": 300}
    parts = {"half": 30, "quarters": 45, "twenty": 20, "forty": 40}
    n_stated = sum(({**hours, **parts}).get(w, 0) for w in stated.replace("three q", "q").split())
    n_minutes = sum(map(int, re.findall(r"(\d+) minutes, difficulty", text)))
    assert abs(n_stated - n_minutes) <= 15, f"{stated} are {n_stated} minutes; tasks: {n_minutes}"


def test_tasks_work_without_grader_and_without_package(made, tmp_path):
    """As on a laptop without network, where nothing can be installed."""
    code = [cell for cell in made.release.solution.cells if cell.cell_type == "code"]
    install = f"{made.name}_install"
    cells = [c.source for c in code if c.id == install or not is_ungraded_work(c)]
    program = """
import subprocess, sys
sys.modules["autograder"] = sys.modules["course_pkg"] = None
subprocess.run = lambda command, check: type("Done", (), {"returncode": 1})
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n\n".join([program, *cells])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if install in {cell.id for cell in code}:
        assert "work without the course's package" in done.stdout
        assert "beside this notebook" in done.stdout


@pytest.mark.parametrize(
    ("files", "address", "taken"),
    [
        ((), "", None),
        ((), "a name @ git+https://host/x.git", "a name @ git+https://host/x.git"),
        (("0.1.0", "0.2.0"), "a name", "language_models_by_hand-0.2.0-py3-none-any.whl[course]"),
    ],
)
def test_package_is_taken_from_the_file_beside_the_notebook_else_from_the_address(
    made, tmp_path, monkeypatch, files, address, taken
):
    cells = [cell for cell in made.release.student.cells if cell.id == f"{made.name}_install"]
    if not cells:
        pytest.skip("this set needs no package")
    (source,) = (cell.source for cell in cells)
    monkeypatch.chdir(tmp_path)
    for number in files:
        Path(f"language_models_by_hand-{number}-py3-none-any.whl").touch()
    commands = []

    def run(command, check):
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    exec(re.sub(r"^ADDRESS = .*$", lambda _: f"ADDRESS = {address!r}", source, flags=re.M), {})
    assert [command[-1] for command in commands] == ([taken] if taken else [])


@pytest.mark.parametrize(
    ("address", "advice"),
    [
        ("", "put its file language_models_by_hand-...-any.whl"),
        ("a name @ git+https://host/x.git", 'run  %pip install "a name @ git+https://host/x.git"'),
    ],
)
def test_first_code_cell_says_in_one_sentence_what_to_run(
    made, address, advice, tmp_path, monkeypatch, capsys
):
    first = next(cell for cell in made.release.student.cells if cell.cell_type == "code")
    if f"{made.name}_install" not in {cell.id for cell in made.release.student.cells}:
        pytest.skip("this set needs no package")
    assert first.id == f"{made.name}_install"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 1))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    source = re.sub(r"^ADDRESS = .*$", lambda _: f"ADDRESS = {address!r}", first.source, flags=re.M)
    exec(source, {})
    (said,) = capsys.readouterr().out.splitlines()
    assert advice in said
    assert said.endswith(".") and ". " not in said.replace("-...-", "")


def test_grading_runs_no_cell_that_imports_the_package_or_installs_it(made):
    for cell in made.release.source.cells:
        if cell.cell_type == "code" and not is_ungraded_work(cell):
            assert "course_pkg" not in cell.source
            assert "subprocess" not in cell.source


@pytest.mark.exhaustive_but("ps3")
@pytest.mark.slow
def test_student_notebook_runs_whole_in_a_kernel(made):
    client = NotebookClient(
        made.release.student.copy(), timeout=600, kernel_name="python3", allow_errors=True
    )
    errors = {
        cell.id: output.ename
        for cell in client.execute().cells
        for output in cell.get("outputs", ())
        if output.output_type == "error"
    }
    graded = {cell.id for cell in made.release.source.cells if is_autograded(cell)}
    assert {name: errors[name] for name in graded} == dict.fromkeys(graded, "NotImplementedError")
