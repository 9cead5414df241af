"""Watching with a clock of our own: no test waits."""

import json
import os
import tracemalloc
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.plan import plan
from autograder.class_run.settings import Settings
from autograder.cli import class_commands, options
from autograder.cli import main as cli
from autograder.intake import archives, collection
from autograder.intake.collection import collect
from autograder.intake.watch import Patience, _wait, rounds

PATIENCE = Patience(settle=2, unreadable=10, pause=1)


class Clock:
    """Time passes only in `sleep`; what is to happen at a moment happens then; then Ctrl-C."""

    def __init__(self, last, **events):
        self.now = 0
        self._last = last
        self._events = {int(name.removeprefix("at_")): event for name, event in events.items()}

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        if self.now > self._last:
            raise KeyboardInterrupt
        self._events.pop(self.now, lambda: None)()


def _rounds(folder, clock, patience=PATIENCE):
    """For each round, the second and the names of the files that may be read."""
    seen = []
    files = lambda: {p for p in folder.rglob("*.ipynb")}  # noqa: E731
    try:
        look = lambda: collect(folder, "toy")  # noqa: E731
        for held in rounds(look, patience, clock.monotonic, clock.sleep):
            seen.append((clock.now, sorted(p.stem for p in files() if p not in held)))
    except KeyboardInterrupt:
        return seen


def test_files_are_taken_when_they_have_been_left_alone(hand_in):
    folder = hand_in("ada")
    clock = Clock(20, at_6=lambda: hand_in("bo"), at_12=lambda: hand_in("ada", double="pass"))
    assert _rounds(folder, clock) == [(2, ["ada"]), (8, ["ada", "bo"]), (14, ["ada", "bo"])]


def test_folder_may_be_empty_at_first(hand_in, tmp_path):
    folder = tmp_path / "class"
    assert _rounds(folder, Clock(8, at_3=lambda: hand_in("ada"))) == [(5, ["ada"])]


def test_why_nothing_is_found_is_said_once_and_the_watch_goes_on(hand_in, tmp_path, monkeypatch):
    """One account can fill a shared folder, and nobody was graded, without a word."""
    monkeypatch.setattr(archives, "_MAX_ENTRIES", 3)
    folder, said, taken = hand_in("ada"), [], []
    junk = [folder / f"junk-{n}" for n in range(3)]
    make, clear = lambda: [p.touch() for p in junk], lambda: [p.unlink() for p in junk]
    clock = Clock(30, at_5=make, at_12=lambda: hand_in("bo"), at_20=clear, at_25=make)
    look = lambda: collect(folder, "toy")  # noqa: E731
    with pytest.raises(KeyboardInterrupt):
        for _ in rounds(look, PATIENCE, clock.monotonic, clock.sleep, warned=said.extend):
            taken.append(clock.now)
    assert taken == [2, 22]
    full = f"{folder} holds more than 3 files and folders"
    assert said == [f"{full}; until that is put right, nothing is graded"] * 2


def test_copies_are_read_into_once_however_often_the_folder_is_looked_at(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(collection, "_has_answers", lambda data: asked.append(data) or True)
    (tmp_path / "ada").mkdir()
    for name in ("toy.ipynb", "toy (1).ipynb"):
        (tmp_path / "ada" / name).write_text(f'{{"cells": [], "metadata": {{"{name}": 1}}}}')
    for _ in range(5):
        collect(tmp_path, "toy")
    assert len(asked) == 2


def test_quiet_folder_is_graded_once(hand_in):
    assert len(_rounds(hand_in("ada"), Clock(50))) == 1


def test_file_that_is_still_growing_waits_and_holds_up_nobody(toys, toy_course, hand_in):
    text = as_text(toys.answer(toy_course, toys.double)).encode()
    folder = hand_in("ada")
    events = {f"at_{second}": _grow(hand_in, text, second) for second in range(1, 8)}
    assert _rounds(folder, Clock(20, **events)) == [(2, ["ada"]), (9, ["ada", "slow"])]


def _grow(hand_in, text, second):
    return lambda: hand_in("slow", text[: len(text) * second // 7])


def test_file_that_stays_broken_is_taken_in_the_end(hand_in):
    folder = hand_in("broken", b'{"cells": [')
    assert _rounds(folder, Clock(20)) == [(10, ["broken"])]


def test_file_of_lists_without_end_is_not_built_up_to_be_looked_at(tmp_path):
    (tmp_path / "ada.ipynb").write_bytes(b"[" + b"[]," * 4_000_000 + b"[]]")
    (found,) = collect(tmp_path, "toy")
    tracemalloc.start()
    try:
        assert _wait(found, PATIENCE) == PATIENCE.settle
        assert tracemalloc.get_traced_memory()[1] < 100 << 20  # built, its lists take 280 MB
    finally:
        tracemalloc.stop()


def test_file_that_changes_between_look_and_reading_is_held(hand_in):
    folder, clock = hand_in("ada"), Clock(5)
    held = next(rounds(lambda: collect(folder, "toy"), PATIENCE, clock.monotonic, clock.sleep))
    path = folder / "ada.ipynb"
    assert path not in held
    path.write_bytes(b"{")
    assert path in held
    assert folder / "unknown.ipynb" in held


def test_held_student_keeps_the_earlier_grade(toys, toy_course, hand_in, tmp_path, without_sandbox):
    hand_in("bo", double=toys.double)
    folder = hand_in("ada", double=toys.double, mean=toys.mean)
    settings = Settings(tmp_path / "out")
    grade_class(ReleasedSet(toy_course, "toy"), folder, settings)
    hand_in("ada", b"{")
    hand_in("cy", b"{")
    held = {folder / "ada.ipynb", folder / "cy.ipynb"}
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, settings, held=held)
    assert [(grade.student, grade.points) for grade in result.grades] == [("ada", 90), ("bo", 60)]
    assert result.changes == ()


# ------------------------------------------------------------------ on the command line
@pytest.fixture
def run(toy_course, tmp_path, without_sandbox):
    def invoke(*words, expect=0):
        where = ["--submissions", tmp_path / "class", "--out", tmp_path / "out"]
        words = [f"--course={toy_course.folder}", "grade", "toy", *where, *words]
        result = CliRunner().invoke(cli.main, list(map(str, words)))
        assert result.exit_code == expect, f"{result.output}\n{result.exception!r}"
        return result

    return invoke


def test_watch_grades_what_arrives_and_ends_cleanly(run, toys, hand_in, monkeypatch):
    hand_in("ada", double=toys.double, mean=toys.mean)
    clock = Clock(9, at_4=lambda: hand_in("bo", double=toys.square, mean=toys.mean))
    namespace = SimpleNamespace(monotonic=clock.monotonic, sleep=clock.sleep)
    monkeypatch.setattr(class_commands, "time", namespace)
    result = run("--watch", "--json")
    first, second = map(json.loads, result.stdout.splitlines())
    assert [grade["student"] for grade in first["grades"]] == ["ada"]
    assert [(grade["student"], grade["points"]) for grade in second["grades"]] == [
        ("ada", 90),
        ("bo", 50),
    ]
    assert second["reused"] == 1
    assert result.stderr.rstrip().endswith("note: stopped")


def test_watch_rejects_what_it_cannot_watch(run, tmp_path):
    assert "is not a folder" in run("--watch", expect=options.ERROR).stderr
    assert "neither --dry-run nor --again" in run("--watch", "--again", expect=2).stderr


def test_dry_run_says_what_would_be_done_and_writes_nothing(
    run, toys, toy_course, hand_in, tmp_path, monkeypatch
):
    hand_in("ada", double=toys.double)
    hand_in("bo", double=toys.double)
    run()
    hand_in("bo", double=toys.square)
    hand_in("cy", b"{")
    hand_in("dee", double="open('/tmp/never', 'w')")
    before = _contents(tmp_path / "out")
    monkeypatch.setattr("autograder.class_run.workers.Grader", None)
    shown = json.loads(run("--dry-run", "--json", expect=options.FINDINGS).stdout)
    assert {one["student"]: (one["action"], one["reason"].partition("(")[0]) for one in shown} == {
        "ada": ("take over", "nothing has changed"),
        "bo": ("grade", "changed since it was graded: submission"),
        "cy": ("refuse", "the file is not JSON: Expecting property name enclosed in double "
               "quotes: line 1 column 2 "),
        "dee": ("grade", "it is new"),
    }  # fmt: skip
    assert _contents(tmp_path / "out") == before
    words = run("--dry-run", expect=options.FINDINGS).stdout
    assert "4 received = 2 to grade + 1 to take over + 1 to refuse" in words


def test_dry_run_of_a_first_run_makes_no_folder(toy_course, hand_in, tmp_path):
    (planned,) = plan(
        ReleasedSet(toy_course, "toy"), hand_in("ada"), Settings(tmp_path / "nowhere")
    )
    assert planned.action == "grade"
    assert not (tmp_path / "nowhere").exists()


def test_dry_run_says_that_a_fault_is_tried_again_and_what_is_asked_for(
    toys, toy_course, hand_in, tmp_path, monkeypatch, without_sandbox
):
    from autograder.grading.grader import Grader

    def fails(self, *args):
        raise RuntimeError

    folder, settings = hand_in("ada", double=toys.double), Settings(tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(Grader, "judge", fails)
        grade_class(ReleasedSet(toy_course, "toy"), folder, settings)
    assert (
        plan(ReleasedSet(toy_course, "toy"), folder, settings)[0].reason == "the grader had failed"
    )
    grade_class(ReleasedSet(toy_course, "toy"), folder, settings)
    again = Settings(tmp_path / "out", resume=False)
    assert plan(ReleasedSet(toy_course, "toy"), folder, again)[0].reason == "asked to grade again"


def _contents(folder):
    return {
        os.path.join(place, name): os.stat(os.path.join(place, name)).st_mtime_ns
        for place, _, names in os.walk(folder)
        for name in names
    }
