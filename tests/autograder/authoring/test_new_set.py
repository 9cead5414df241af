import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder import files
from autograder.authoring.course import SETTINGS, Course
from autograder.authoring.late_policy import read_policy
from autograder.authoring.lint import leaks, lint
from autograder.authoring.new_set import explain_settings, new_set
from autograder.authoring.release import ReleasedSet, build
from autograder.authoring.syllabus import read_syllabus
from autograder.cli.main import main
from autograder.records import GraderError
from autograder.validation.check_set import check_set

ROOT = Path(__file__).parents[3]
OF_EVERY_SET = [
    f"tests/assignments/test_{what}.py" for what in ("sets", "same_grade", "process_state")
]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = Course(tmp_path_factory.mktemp("course"))
    new_set(course, "ps9")
    return course


def test_new_set_is_found_and_can_be_released(course):
    assert course.sets() == ("ps9",)
    release = build(course.source("ps9"))
    assert lint(release, course.problem_set("ps9")) == ()
    assert leaks(release) == ()
    assert not any(re.search(r"\bSET", path.read_text()) for path in course.folder.rglob("*.py"))


def test_new_set_judges_well(course):
    released = ReleasedSet(course, "ps9")
    report = check_set(
        released.problem_set, released.notebooks, answers=released.answers, with_unseen=True
    )
    assert report.problems == ()
    assert report.survivors == []
    assert set(report.points) == {"ps9_count_words", "ps9_most_frequent"}


@pytest.mark.slow
def test_new_set_passes_the_tests_of_every_set_and_its_own(tmp_path):
    """In a course of its own, so that its folder is all that there is."""
    folder = new_set(Course(tmp_path / "assignments"), "ps9")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not sandbox"]
    done = subprocess.run(
        [*command, *OF_EVERY_SET, str(folder / "test_ps9.py")],
        cwd=ROOT,
        env=os.environ | {"AUTOGRADER_COURSE": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout and "failed" not in done.stdout


@pytest.mark.parametrize("name", ["Ps9", "ps 9", "9", "../ps9", "ps_9", ""])
def test_new_set_rejects_a_name_that_is_none(tmp_path, name):
    with pytest.raises(GraderError, match="it must be lower-case letters and digits"):
        new_set(Course(tmp_path), name)
    assert list(tmp_path.iterdir()) == []


def _known(course, table, key="nobody"):
    """Settings that the readers of a table know, as they say themselves of one that they do not."""
    header, _, other = table.rpartition("\n")
    lines = [header] * bool(header) + [f"[{other}]"] * bool(other) + [f"{key} = 1"]
    (course.folder / SETTINGS).write_text("\n".join(lines) + "\n")
    with pytest.raises(GraderError, match=key) as refused:
        read_policy(course, "ps9")
        read_syllabus(course, "term")
    return set(re.search(r"known (?:here:|are) (.+)", str(refused.value))[1].split(", "))


def test_settings_explained_are_those_that_can_be_set(tmp_path):
    course = Course(tmp_path / "assignments")
    new_set(course, "ps9")
    path = explain_settings(course, "ps9")
    text = path.read_text()
    assert tomllib.loads(text) == {} and explain_settings(course, "ps9") is None
    nothing = read_policy(course, "ps9"), course.assistants("ps9"), course.package_address()

    path.write_text(re.sub(r"^#(?! )", "", text, flags=re.M))
    every = tomllib.loads(path.read_text())
    policy = read_policy(course, "ps9")
    assert read_syllabus(course, "term").doubts == ()
    assert course.leaderboard() == ((), {"ada": "Countess"})
    assert course.edition() == {tmp_path / "data": "data"}
    assert nothing[1:] == (course.assistants("ps9"), course.package_address())
    dates = {"due": policy.due, "released": policy.released, "extensions": policy.extensions}
    assert all(dates.values()) and replace(nothing[0], **dates) == policy

    assert set(every) == _known(course, "") and set(every["book"]) == {"address"}
    for table in ("package", "assistants", "leaderboard", "defaults", "syllabus"):
        assert set(every[table]) | {"ps9"} == _known(course, table) | {"ps9"}, table
    assert set(every["sets"]["ps9"]) | set(every["defaults"]) == _known(course, "sets.ps9")


@pytest.mark.parametrize("begin", [True, False])
def test_command_writes_settings_only_where_there_are_none(tmp_path, begin):
    own = tmp_path / SETTINGS
    if begin:
        own.write_text("late_days = 2\n")
    done = CliRunner().invoke(main, ["--course", str(tmp_path), "new", "ps9"])
    assert done.exit_code == 0, done.output
    assert (own.read_text() == "late_days = 2\n") == begin
    assert ("explains what can be set" in done.stderr) != begin


def test_command_says_what_to_do_next_and_overwrites_nothing(tmp_path):
    def run():
        return CliRunner().invoke(main, ["--course", str(tmp_path), "new", "ps9"])

    assert "autograder check ps9" in run().output
    (tmp_path / "ps9" / "notebook.py").write_text("mine")
    again = run()
    assert again.exit_code != 0 and "exists already" in again.output
    assert (tmp_path / "ps9" / "notebook.py").read_text() == "mine"


def test_a_set_is_whole_or_absent_and_replaces_nothing(tmp_path, monkeypatch):
    course, written, write = Course(tmp_path), [], files.write_atomically

    def full(path, data):
        written.append(path)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        write(path, data)

    monkeypatch.setattr(files, "write_atomically", full)
    with pytest.raises(GraderError, match="ps9 cannot be written: No space left on device"):
        new_set(course, "ps9")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    (tmp_path / "ps9").mkdir()
    with pytest.raises(GraderError, match="ps9 exists already"):
        new_set(course, "ps9")
    assert list((tmp_path / "ps9").iterdir()) == []
