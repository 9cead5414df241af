import dataclasses
import json
import subprocess
import sys

import pytest

from autograder.records import (
    CellResult,
    Difference,
    Grade,
    GraderError,
    Misconception,
    PartVerdict,
    State,
    Timing,
    Verdict,
)
from autograder.store.journal import Journal, Record, file_name

GRADE = Grade(
    student="ada",
    problem_set="toy",
    state=State.GRADED_WITH_PROBLEMS,
    sha256="ab" * 32,
    seed=1 << 62,
    verdicts=(
        Verdict(
            "toy_double",
            20.0,
            60.0,
            (PartVerdict("values", False, 2.0, "wrong", "inputs"), PartVerdict("empty", True, 1.0)),
            Misconception("squares", "Twice is not squared."),
            second=Misconception("minus", "Look at the sign."),
            kept=True,
        ),
        Verdict("toy_mean", 30.0, 30.0, (PartVerdict("values", True, 1.0),)),
    ),
    reasons=("the locked cell toy_mean was moved; it was put back",),
    isolation="none",
    seconds=0.25,
    differences=(Difference("toy_double", "double([1])", (1.0, 2.5), "[2]"),),
    timing=Timing("2027-01-02T03:04:05+00:00", "a list", penalty=10.0),
    cells=(CellResult(0, "ü\ud800\x1b[0m", None), CellResult(1, "", "NameError: x")),
)


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "out", "toy")


def test_record_round_trips(journal):
    record = Record("key", GRADE, {"submission": "ab"})
    journal.write(record)
    assert journal.read("ada") == record
    assert journal.students() == ("ada",)


def test_later_record_takes_the_place_of_the_earlier(journal):
    journal.write(Record("old", GRADE))
    journal.write(Record("new", dataclasses.replace(GRADE, seed=7)))
    assert journal.read("ada").key == "new"
    assert journal.read("ada").grade.seed == 7


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"key": "k", "grade": {"student": "ada"}}'])
def test_record_that_cannot_be_read_counts_as_absent(journal, text):
    journal.write(Record("key", GRADE))
    (path,) = journal.folder.glob("records/toy/*.json")
    path.write_text(text)
    assert journal.read("ada") is None


def test_submission_is_kept_under_its_content(journal):
    digest = journal.keep(b"notebook")
    assert journal.keep(b"notebook") == digest
    kept = journal.submission("ada", digest)
    assert (kept.notebook, kept.sha256, kept.problem_set) == (b"notebook", digest, "toy")


def test_submission_rejects_a_copy_that_was_changed_or_is_gone(journal):
    digest = journal.keep(b"notebook")
    (path,) = journal.folder.glob("received/*")
    path.write_bytes(b"forged")
    with pytest.raises(GraderError, match=f"was changed: {digest}"):
        journal.submission("ada", digest)
    path.unlink()
    with pytest.raises(GraderError, match="ada's notebook is gone"):
        journal.submission("ada", digest)


def test_salt_is_secret_and_stays(journal, tmp_path):
    assert journal.salt() == ""
    other = Journal(tmp_path / "other", "toy")
    for folder in (journal, other):
        folder.make_salt()
    before = journal.salt()
    journal.make_salt()
    assert journal.salt() == before != other.salt()
    assert len(before) == 32


def test_changes_are_listed_once_and_survive_a_line_that_was_cut_off(journal):
    up, down = ({"student": "ada", "before": b, "after": a} for b, a in ((50, 90), (90, 50)))
    journal.note({"at": "1", **up})
    journal.note({"at": "2", **up})  # what a run notes that was killed before it wrote the record
    with open(journal.folder / "records" / "toy.changes.jsonl", "a") as file:
        file.write('{"at": "3", "student')
    journal.note({"at": "4", **down})
    journal.note({"at": "5", **up})
    assert [change["at"] for change in journal.changes()] == ["1", "4", "5"]
    assert Journal(journal.folder, "other").changes() == ()


def test_only_writer_rejects_a_second_grader(journal):
    code = (
        "import sys; from pathlib import Path; from autograder.store.journal import Journal\n"
        "with Journal(Path(sys.argv[1]), 'toy').only_writer(): pass"
    )
    command = [sys.executable, "-c", code, str(journal.folder)]
    with journal.only_writer():
        second = subprocess.run(command, capture_output=True, text=True)
        assert "another grader is at work" in second.stderr
    assert subprocess.run(command).returncode == 0


def test_only_writer_lets_go_when_its_holder_is_killed(journal):
    code = (
        "import os, sys; from pathlib import Path; from autograder.store.journal import Journal\n"
        "with Journal(Path(sys.argv[1]), 'toy').only_writer(): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(journal.folder)]).returncode == -9
    with journal.only_writer():
        pass


@pytest.mark.parametrize("student", ["ada", "Ana María", "../../etc", "a/b", ".", "x" * 300, "ß\n"])
def test_file_name_is_plain_and_short(student):
    name = file_name(student)
    assert "/" not in name and not name.startswith(".") and len(name) <= 120


def test_file_name_tells_students_apart():
    students = ["a", "A", "a.b", "a b", "a%2Eb", "x" * 300, "x" * 301, "é", "e"]
    assert len({file_name(student) for student in students}) == len(students)


def test_record_file_is_plain_json(journal):
    journal.write(Record("key", GRADE))
    (path,) = journal.folder.glob("records/toy/*.json")
    assert json.loads(path.read_text())["grade"]["state"] == "graded with problems"
