import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.authoring import lint, release
from autograder.authoring.fingerprints import is_as_released
from autograder.authoring.late_policy import read_policy
from autograder.authoring.notebooks import as_text, grading
from autograder.authoring.release import ReleasedSet
from autograder.records import GraderError


@pytest.fixture
def toy(toy_course):
    return ReleasedSet(toy_course, "toy").notebooks


def _linted(course, old, new):
    path = course.source("toy")
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    try:
        released = ReleasedSet(course, "toy")
        return lint.lint(released.notebooks, released.problem_set)
    except GraderError as error:
        return (str(error),)


def test_student_notebook_shows_stubs_and_visible_tests_only(toy):
    text = as_text(toy.student)
    assert "raise NotImplementedError()" in text
    assert "double every number" in text
    for secret in ("2 * number", "model answer", "nbgrader_cell", "HIDDEN", "SOLUTION"):
        assert secret not in text, secret
    assert lint.leaks(toy) == ()


def test_solution_notebook_answers_without_hidden_tests(toy):
    text = as_text(toy.solution)
    assert "2 * number" in text
    assert "model answer" in text
    for secret in ("nbgrader_cell", "HIDDEN", "SOLUTION"):
        assert secret not in text, secret


def test_recorded_notebook_keeps_the_hidden_tests_for_the_gradebook(toy):
    call = '__import__("autograder.lms.nbgrader_cell").lms.nbgrader_cell.score'
    calls = [
        line for cell in toy.recorded.cells for line in cell.source.split("\n") if call in line
    ]
    assert calls == [f'{call}("toy", "{item}", globals())' for item in ("toy_double", "toy_mean")]
    assert "2 * number" not in as_text(toy.recorded)


def test_builds_are_equal_and_cell_ids_come_from_grade_ids(toy_course, toy):
    assert as_text(ReleasedSet(toy_course, "toy").notebooks.student) == as_text(toy.student)
    ids = [cell.id for cell in toy.student.cells]
    assert len(set(ids)) == len(ids)
    assert all(cell.id == grading(cell).get("grade_id", cell.id) for cell in toy.student.cells)
    nbformat.validate(toy.student)


def test_tasks_are_numbered_in_their_order_and_so_is_what_names_them(toy_course):
    path = toy_course.source("toy")
    text = path.read_text()
    for old, new in {
        "Write two functions.": "Write two; {task:mean} is short.",
        "1. Double": "{task}. Double",
        "2. Mean": "{task}. Mean",
        "3. Why?": "{task}. Why?",
        "# `mean(": "# Unlike task {task:double}: `mean(",
    }.items():
        text = text.replace(old, new)
    path.write_text(text)
    first = [cell.source.split("\n") for cell in release.read_source(path).cells]
    headings = [lines[0] for lines in first if lines[0].startswith("## ")]
    assert headings == [
        "## 1. Double",
        "## 2. Mean",
        "## 3. Why? (10 points)",
    ]
    assert first[0][2] == "Write two; 2 is short."
    double, mean, why = (text.index(f"# %% [markdown]\n# ## {{task}}. {name}") for name in "DMW")
    path.write_text(text[:double] + text[mean:why] + text[double:mean] + text[why:])
    moved = "\n".join(cell.source for cell in release.read_source(path).cells)
    assert moved.index("## 1. Mean") < moved.index("task 2: `mean(") < moved.index("## 2. Double")
    path.write_text(text.replace("{task:mean}", "{task:median}"))
    with pytest.raises(GraderError, match=r"\{task:median\} names no task; there are \['double', "):
        release.read_source(path)


def test_written_release_holds_one_file_in_each_version(toy, tmp_path):
    paths = release.write(toy, tmp_path / "out")
    assert sorted(paths) == ["release", "solution", "source"]
    for path in paths.values():
        assert [other.name for other in path.parent.iterdir()] == ["toy.ipynb"]


@pytest.mark.slow
def test_student_notebook_matches_nbgrader_byte_for_byte(toy, tmp_path):
    paths = release.write(toy, tmp_path)
    ours = paths["release"].read_bytes()
    paths["release"].unlink()
    paths["release"].parent.rmdir()
    programs = Path(sys.executable).parent  # nbgrader calls alembic by its bare name
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run(
        [programs / "nbgrader", "generate_assignment", "toy", f"--course-dir={tmp_path}"],
        check=True,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
    )
    assert paths["release"].read_bytes() == ours


def test_lint_is_content_with_a_sound_source(toy_course, toy):
    assert lint.lint(toy, toy_course.problem_set("toy")) == ()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"points": 60', '"points": 50', "sum to 90; they must sum to 100"),
        ('"points": 60', '"points": 50', "toy_double: 50 points in the notebook, 60 in its check"),
        ('"points": 60', '"points": -60', "toy_double: points are -60"),
        (
            '"toy_imports", "locked": true',
            '"toy_imports", "points": 1, "locked": true',
            "toy_imports: has points but is not graded",
        ),
        ('"toy_mean_answer"', '"toy_double_answer"', "two cells have this grade_id"),
        ('"toy_mean_answer"', '"toy-mean"', "toy-mean: a grade_id consists of letters"),
        ('"toy_mean"', '"toy_average"', "toy_average: the notebook grades it, but there is no"),
        ('"toy_mean"', '"toy_average"', "toy_mean: there is a check, but the notebook has no"),
        ('"toy_mean_answer"', '"toy_mean_code"', "toy_mean: there is no answer cell"),
        (
            '"toy_imports", "locked": true',
            '"toy_imports", "locked": false',
            "this combination of grade, solution, locked and task has no meaning",
        ),
        (
            '"grade_id": "toy_essay", "locked": false',
            '"grade_id": "toy_essay", "locked": true',
            "toy_essay: this combination",
        ),
        ("def mean(", "def average(", "toy_mean_answer: the stub does not define mean"),
        (
            'assert mean([1, 3]) == 2, "',
            '### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS\nassert mean([1, 3]) == 2, "',
            "toy_mean: HIDDEN TESTS are written by the release",
        ),
        (
            "# ### BEGIN SOLUTION\n# Because the model answer says so.\n# ### END SOLUTION",
            "# An answer.",
            "toy_essay: an answer without a solution",
        ),
        (
            '"toy_imports", "locked": true, "schema_version": 3',
            '"toy_imports", "locked": true, "schema_version": 2',
            "toy_imports: schema_version is 2",
        ),
        ("import math\n", 'import math\n"### END SOLUTION"\n', "must take turns"),
    ],
)
def test_lint_reports_what_would_go_wrong(toy_course, old, new, complaint):
    assert any(complaint in line for line in _linted(toy_course, old, new))


def test_leaks_finds_a_solution_line_a_hidden_test_and_an_output(toy):
    student = copy.deepcopy(toy.student)
    cells = {cell.id: cell for cell in student.cells}
    cells["toy_double_answer"].source += "\n    return [2 * number for number in numbers]"
    cells["toy_mean"].source += '\n__import__("autograder.lms.nbgrader_cell")'
    cells["toy_imports"].outputs = [nbformat.v4.new_output("stream", text="42")]
    leaky = release.Release("toy", toy.source, toy.recorded, student, toy.solution)
    found = "\n".join(lint.leaks(leaky))
    assert "toy_double_answer: the student version shows 'return [2 * number" in found
    assert "names the grader" in found
    assert "toy_imports: the student version has outputs" in found


def test_build_rejects_a_source_that_nbgrader_refuses(toy_course):
    path = toy_course.source("toy")
    path.write_text(path.read_text().replace("import math", "import math\n### BEGIN MARK SCHEME"))
    with pytest.raises(GraderError, match=r"notebook\.py: RuntimeError: No end mark scheme"):
        release.build(path)


def test_notebook_file_is_json_of_the_current_format(toy):
    loaded = json.loads(as_text(toy.student))
    assert (loaded["nbformat"], loaded["nbformat_minor"]) == (4, 5)
    assert loaded["metadata"]["kernelspec"]["name"] == "python3"


def test_cell_that_installs_is_told_the_course_s_address(toy_course):
    path, settings = toy_course.source("toy"), toy_course.folder / "course.toml"
    path.write_text(path.read_text() + '\n# %% tags=["workshop"]\nADDRESS = ""\n')

    def last_cell():
        return release.build(path).student.cells[-1].source

    assert last_cell() == 'ADDRESS = ""'
    settings.write_text('[package]\naddress = "lm @ git+https://host/a.git"\n')
    assert last_cell() == 'ADDRESS = "lm @ git+https://host/a.git"'
    assert read_policy(toy_course, "toy").due is None  # the same file, read for another purpose
    for wrong in ("7", '"two\\nlines"', "[]"):
        settings.write_text(f"[package]\naddress = {wrong}\n")
        with pytest.raises(GraderError, match=r"package\.address is .*; it must be a line of text"):
            last_cell()


def test_opening_words_say_what_assistants_may_do_as_the_course_has_it(toy_course):
    path, settings = toy_course.source("toy"), toy_course.folder / "course.toml"
    path.write_text(path.read_text() + "\n# %% [markdown]\n# - **Assistants:** {assistants}\n")

    def last_cell():
        return release.build(path).student.cells[-1]

    default = last_cell()
    assert default.source.startswith("- **Assistants:** Let one explain")
    assert is_as_released(default)
    settings.write_text('[assistants]\nrule = "Ask nobody."\n')
    assert last_cell().source == "- **Assistants:** Ask nobody."
    assert is_as_released(last_cell())  # the workspace must not take it for a student's own words
    settings.write_text('[assistants]\nrule = "Ask nobody."\ntoy = "Ask all."\n')
    assert last_cell().source == "- **Assistants:** Ask all."
    assert read_policy(toy_course, "toy").due is None  # the same file, read for another purpose
    for wrong in ("7", '"two\\nlines"', '" "'):
        settings.write_text(f"[assistants]\nrule = {wrong}\n")
        with pytest.raises(GraderError, match=r"assistants\.rule is .*; it must be a sentence"):
            last_cell()
    settings.write_text('[assistants]\nrul = "Ask nobody."\n')
    with pytest.raises(GraderError, match=r"assistants\.rul"):
        read_policy(toy_course, "toy")


@pytest.mark.parametrize("old", ["## 3. Why? (10 points)", "# Toy set"])
def test_heading_and_cells_cannot_differ_in_points(toy_course, old):
    """A heading counts all below it, up to the next that is no smaller."""
    words = f"{old.split(' (')[0].lstrip('# ')} (12 points, hard)"
    (complaint,) = _linted(toy_course, old, f"{old.split(' ')[0]} {words}")
    given = 100 if "Toy" in old else 10
    assert complaint == f"the heading {words!r} says 12 points, its cells give {given}"
