"""The benchmark's own class and course: what it measures must be what it says."""

import hashlib
import json
import os

import pytest

from autograder.authoring.lint import lint
from autograder.authoring.release import ReleasedSet
from autograder.grading.judge import ItemJudge
from autograder.inside.probe import probe_or_failure
from autograder.intake.repair import repair
from autograder.records import Observation, SubmissionRefused
from benchmarks.grader import grading_throughput as benchmark
from benchmarks.grader.grading_commands import Growth

JUDGE = ItemJudge()

COURSE = benchmark.SETS["attention"]


def _points(check, implementation, seed=3):
    seen = [
        Observation(
            ask.item, ask.part, ask.case, probe_or_failure(ask, {check.target: implementation})
        )
        for ask in JUDGE.requests(check, seed)
    ]
    return JUDGE.verdict(check, seed, seen)


@pytest.mark.parametrize("check", COURSE.problem_set("attention").checks, ids=lambda c: c.item)
def test_small_course_tells_right_from_wrong(check):
    (right,) = ReleasedSet(COURSE, "attention").answers[check.target]
    assert _points(check, right.run_in({})[check.target]).points == check.points
    for wrong in check.mistakes:
        verdict = _points(check, wrong.implementation)
        assert verdict.points < check.points and verdict.misconception.name == wrong.name


def test_small_course_is_a_sound_release():
    released = ReleasedSet(COURSE, "attention")
    assert lint(released.notebooks, released.problem_set) == ()


def test_class_is_the_same_twice_and_of_every_kind(tmp_path):
    digests = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        benchmark.write_class(COURSE, "attention", folder, 150)
        data = [path.read_bytes() for path in sorted(folder.iterdir())]
        digests.append(hashlib.sha256(b"".join(data)).hexdigest())
    assert digests[0] == digests[1] and len(data) == 150
    released = ReleasedSet(COURSE, "attention")
    refused = 0
    for text in data:
        try:
            repair(text, released)
        except SubmissionRefused:
            refused += 1
    assert refused == 2 and b"os._exit" in data[149]


def test_class_with_broken_and_hostile_students_has_each_kind(tmp_path):
    n = 5 * 17
    benchmark.write_class(COURSE, "attention", tmp_path / "class", n, broken=5)
    names = sorted(os.fsencode(path.name) for path in (tmp_path / "class").iterdir())
    assert len(names) == n
    for part in (b"\xff", b"<img", b"\x1b[2J", b".zip"):
        assert sum(part in name for name in names) == 1
    data = [path.read_bytes() for path in (tmp_path / "class").iterdir()]
    released = ReleasedSet(COURSE, "attention")
    hostile = sum(
        as_json(source).encode() in text for source in benchmark._HOSTILE for text in data
    )
    assert hostile == len(benchmark._HOSTILE)
    refused = 0
    for text in data:
        try:
            repair(text, released)
        except SubmissionRefused:
            refused += 1
    assert refused == 5  # with the zip file; one of the others is read, what is no text replaced


def as_json(source):
    """The last line of a source, as it stands in a notebook."""
    return json.dumps(source.splitlines()[-1])


def test_stages_count_no_time_twice():
    stages = benchmark.Stages()
    with stages.measure("outer"):
        sum(range(200_000))
        with stages.measure("inner"):
            sum(range(2_000_000))
    assert 0 < stages.seconds["outer"] < stages.seconds["inner"]


def test_what_is_measured_is_there_to_be_measured():
    stages = benchmark.Stages()
    before = [getattr(owner, function) for owner, function, _ in benchmark._STAGES]
    for take_away in [stages.around(*stage) for stage in benchmark._STAGES]:
        take_away()
    assert before == [getattr(owner, function) for owner, function, _ in benchmark._STAGES]
    assert callable(benchmark.Session.end)


@pytest.mark.exhaustive
@pytest.mark.sandbox
def test_hundreds_of_submissions_are_each_graded_once_in_flat_memory(tmp_path):
    found = benchmark.soak("attention", 300, 0, 2, tmp_path)
    assert sum(found["states"].values()) == 300 and "grader fault" not in found["states"]
    assert found["states"]["refused"] == 4  # of six damaged files, two only end their process
    more = found["kilobytes_more_per_submission"]
    assert len(more["main process"]) == 1 and len(more["worker"]) == 2
    assert max(more["main process"] + more["worker"]) < 50  # a submission itself has about that
    assert max(more["server in the sandbox"]) < 5  # nothing of one is left for the next


def test_growth_is_a_slope_once_caches_are_full():
    cache = {done: 5000 * min(done, 400) for done in range(0, 1000, 10)}
    leak = {done: held + 300 * done for done, held in cache.items()}
    assert Growth("worker", cache).slope(1000) == pytest.approx(0)
    assert Growth("worker", leak).slope(1000) == pytest.approx(300)
    filling = {done: held for done, held in leak.items() if done < 400}
    assert Growth("worker", filling).slope(400) == pytest.approx(5300)


def test_growth_says_nothing_of_a_process_that_was_hardly_there():
    ended = {done: 300 * done for done in range(0, 600, 10)}
    begun = {done: 300 * done for done in range(900, 1000, 10)}
    assert Growth("worker", ended).slope(1000) is Growth("worker", begun).slope(1000) is None
    assert Growth("worker", {}).slope(1000) is None
