"""Feedback goes back through nbgrader's own exchange: its real steps around our `grade`."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import (
    ExchangeCollect,
    ExchangeFetchAssignment,
    ExchangeFetchFeedback,
    ExchangeReleaseAssignment,
    ExchangeReleaseFeedback,
    ExchangeSubmit,
)
from traitlets.config import Config

from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run.outputs import write_pages
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.store.journal import Journal

STUDENTS = ("ada", "bo", "eve")


@pytest.fixture
def exchange(tmp_path, monkeypatch):
    """Run one of nbgrader's steps, as an instructor or from a student's own folder."""
    root = tmp_path / "exchange"
    root.mkdir()
    root.chmod(0o777)  # as nbgrader demands
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def run(step, student="*", course=tmp_path / "teacher"):
        config = Config()
        config.Exchange.root = str(root)
        config.Exchange.cache = str(tmp_path / f"cache of {student}")
        config.Exchange.timezone = "Europe/Berlin"  # it then writes CEST or CET
        config.CourseDirectory.root = str(course)
        config.CourseDirectory.course_id, config.CourseDirectory.assignment_id = "lm", "toy"
        config.CourseDirectory.student_id = student
        if student != "*":
            (tmp_path / student).mkdir(exist_ok=True)
            monkeypatch.chdir(tmp_path / student)
        step(
            coursedir=CourseDirectory(config=config),
            authenticator=Authenticator(config=config),
            config=config,
        ).start()

    return run


@pytest.mark.usefixtures("without_sandbox")
@pytest.mark.parametrize("way", ["inbound", "collected"])
def test_feedback_goes_back_through_nbgrader_s_exchange(
    toy_course, toys, tmp_path, exchange, monkeypatch, way
):
    (toy_course.folder / "course.toml").write_text('time_zone = "Europe/Berlin"')
    released, out = ReleasedSet(toy_course, "toy"), tmp_path / "class"
    release = tmp_path / "teacher" / "release" / "toy"
    release.mkdir(parents=True)
    (release / "toy.ipynb").write_text(as_text(released.notebooks.student))
    exchange(ExchangeReleaseAssignment)
    for student in STUDENTS:
        exchange(ExchangeFetchAssignment, student)
        notebook = toys.answer(toy_course, double=toys.double if student == "ada" else toys.square)
        (tmp_path / student / "toy" / "toy.ipynb").write_text(as_text(notebook))
        exchange(ExchangeSubmit, student)
    inbound = tmp_path / "exchange" / "lm" / "inbound"
    (hers,) = inbound.glob("eve+*")  # what stands beside her notebook is hers to write
    (hers / "timestamp.txt").write_bytes(b"\xff0001-01-01 00:00:00 +1400")
    (hers / "submission_secret.txt").write_bytes(b"\xff/../../ada")
    exchange(ExchangeCollect)
    handed_in = inbound if way == "inbound" else tmp_path / "teacher" / "submitted"

    result = grade_class(released, handed_in, Settings(out))
    assert all(grade.timing.submitted for grade in result.grades if grade.student != "eve")
    exchange(ExchangeReleaseFeedback, course=out)
    for student in ("ada", "bo"):
        exchange(ExchangeFetchFeedback, student)
        (fetched,) = (tmp_path / student / "toy" / "feedback").glob("*/toy.html")
        assert fetched.read_bytes() == (out / "feedback" / student / "toy/toy.html").read_bytes()
    exchange(ExchangeFetchFeedback, "eve")
    assert not [*(tmp_path / "eve" / "toy").glob("feedback/*/*")]

    # Pages that are made again, from the records alone, are released under the same names.
    before = _names(tmp_path / "exchange" / "lm" / "feedback")
    shutil.rmtree(out / "feedback")
    write_pages([released], Settings(out))
    exchange(ExchangeReleaseFeedback, course=out)
    assert _names(tmp_path / "exchange" / "lm" / "feedback") == before


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("without_sandbox")
def test_secret_of_a_student_stands_in_no_page_and_no_message(toy_course, toys, tmp_path, capsys):
    place = tmp_path / "submitted" / "ada" / "toy"
    place.mkdir(parents=True)
    (place / "toy.ipynb").write_text(as_text(toys.answer(toy_course)))
    (place / "submission_secret.txt").write_text("0123456789abcdef")
    result = grade_class(ReleasedSet(toy_course, "toy"), place.parents[1], Settings(tmp_path / "o"))
    record = Journal(tmp_path / "o", "toy").read("ada")
    assert record.origin.secret == "0123456789abcdef"
    assert record.origin.secret not in f"{record!r}{result!r}{capsys.readouterr()}"
    pages = [*(tmp_path / "o").rglob("*.html")]
    assert pages and not any("0123456789abcdef" in page.read_text() for page in pages)
