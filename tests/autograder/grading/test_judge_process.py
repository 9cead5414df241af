"""Judges that never end, or take what there is, on values that a student has chosen."""

import multiprocessing
import os
import re
import resource
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autograder.authoring.checks import Case, Check, Part, ProblemSet
from autograder.grading import watched_process
from autograder.grading.judge import ItemJudge
from autograder.grading.judge_process import JudgeProcess, Unjudged, within_limits
from autograder.grading.watched_process import JudgingLimits
from autograder.inside.messages import Failure
from autograder.records import CheckFault, Observation

LIMITS = JudgingLimits(item_seconds=0.1, submission_seconds=0.15, memory_bytes=64 << 20)
PRIME = (1 << 61) - 1  # by which Python takes whole numbers to make their hashes


class Released:
    """As much of a released set as a judge's process needs where it is a fork."""

    given_in_sandbox = ()

    def __init__(self, *checks):
        self.problem_set = ProblemSet("odd", "Odd", checks)


def _call(implementation, inputs):
    return implementation()


def _check(judge, item="odd", reference=lambda: "right", draw=lambda rng: [Case("none", {})]):
    part = Part("values", "It is right.", draw, _call, judge=judge)
    return Check(item, 10.0, item, reference, (part,))


def _observed(check, value):
    return [Observation(check.item, "values", 0, value)]


@pytest.fixture
def process_of():
    """Make processes that judge, and end them after the test."""
    made = []

    def make(*checks, limits=LIMITS):
        made.append(JudgeProcess(ItemJudge(), Released(*checks), limits))
        made[-1].begin()
        return made[-1]

    yield make
    for process in made:
        process.end()


def _power(observed, expected, inputs):
    return "wrong" if observed == expected else str(3**observed)


def _set(observed, expected, inputs):
    return f"{len(set(observed))} are different"


def _pattern(observed, expected, inputs):
    return None if re.fullmatch("(a+)+", observed) else "wrong"


def _sleep(observed, expected, inputs):
    return time.sleep(observed)


def _hoard(observed, expected, inputs):
    hoard = [bytearray(b"1") * (1 << 20) for _ in range(observed)]
    return f"{len(hoard)}"


def _too_much(observed, expected, inputs):
    return str(np.ones(1 << observed).sum())


def _crash(observed, expected, inputs):
    os.kill(os.getpid(), signal.SIGSEGV)


def _leave(observed, expected, inputs):
    sys.exit(observed)


# What never ends does so in one call of C, which holds the lock of Python.
ODD = {
    "power": (_power, 10**9, "did not end within 0.1 s of CPU"),
    "keys that collide": (_set, [PRIME * n for n in range(1 << 17)], "did not end within 0.1 s"),
    "pattern": (_pattern, "a" * 60 + "b", "did not end within 0.1 s of CPU"),
    "sleep": (_sleep, 1000, "did not end within 0.9 s, and waited"),
    "memory bit by bit": (_hoard, 1 << 20, "took more than 0.0625 GB of memory"),
    "memory at once": (_too_much, 30, "ran out of memory"),
    "crash": (_crash, 1, f"ended the process (signal {int(signal.SIGSEGV)})"),
    "exit": (_leave, 1, "raised SystemExit: 1"),
}


@pytest.mark.parametrize("judge, value, said", ODD.values(), ids=ODD)
def test_judge_that_takes_too_much_costs_one_item_its_judgement(process_of, judge, value, said):
    def judges(observed, expected, inputs):  # the reference's own answer is met by every judge
        return None if observed == expected else judge(observed, expected, inputs)

    odd, usual = _check(judges), _check(lambda *given: None, "usual")
    limits = replace(LIMITS, item_seconds=30.0, wall_factor=0.03) if judge is _sleep else LIMITS
    limits = replace(limits, item_seconds=30.0) if judge is _hoard else limits
    process = process_of(odd, usual, limits=replace(limits, submission_seconds=99))
    with pytest.raises(
        Unjudged, match=re.escape(f"odd was not judged: on this answer its judge {said}")
    ):
        process.verdict(odd, 1, _observed(odd, value))
    assert process.verdict(usual, 1, _observed(usual, value)).points == 10
    assert process.verdict(odd, 1, _observed(odd, "right")).points == 10


def test_verdicts_are_those_of_a_judge_in_this_process(process_of):
    check = _check(lambda observed, expected, inputs: None if observed == expected else "it is not")
    process = process_of(check)
    (known,) = process.asked(check, 1).known.values()
    for value in (known["value"], "right", "wrong", [1.5, "right"], Failure("timeout", "late")):
        seen = _observed(check, value)
        assert process.verdict(check, 1, seen) == ItemJudge().verdict(check, 1, seen)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64", "int64"])
def test_tensors_come_to_the_judge_as_they_are(process_of, dtype):
    torch = pytest.importorskip("torch")
    sent = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))

    def looks(observed, expected, inputs):
        if observed == expected:
            return None
        (tensor,), empty = observed
        return f"{tensor.dtype} {tuple(tensor.shape)} {tensor.tolist()} {tuple(empty.shape)}"

    check = _check(looks)
    (part,) = process_of(check).verdict(check, 1, _observed(check, ([sent], sent[:0]))).parts
    assert f"torch.{dtype} (2, 3) {sent.tolist()} (0, 3)" in part.staff_note


def test_all_items_of_a_submission_have_one_time_together(process_of):
    checks = [_check(_power, f"odd{n}", lambda: 1) for n in range(4)]
    process = process_of(*checks)
    ends = []
    for check in checks:
        with pytest.raises(Unjudged) as caught:
            process.verdict(check, 1, _observed(check, 10**9))
        ends.append(str(caught.value))
    assert "did not end within 0.1 s" in ends[0] and "did not end within 0.05 s" in ends[1]
    assert "the others took 0.15 s of CPU" in ends[2] and "the others took 0.15 s" in ends[3]
    process.begin()
    assert process.verdict(checks[3], 1, _observed(checks[3], 1)).points == 0


def test_reference_that_never_ends_is_asked_once(process_of, monkeypatch):
    check = _check(_power, reference=lambda: 3 ** (10**9))
    process = process_of(check)
    for _ in range(2):
        with pytest.raises(Unjudged, match=r"its reference version did not end within 0\.1 s"):
            process.asked(check, 1)
        monkeypatch.setattr(process, "_ask", None)


def test_fault_of_a_draw_crosses_as_it_is(process_of):
    check = _check(_power, draw=lambda rng: 1 / 0)
    with pytest.raises(CheckFault, match=r"drawing its cases.*ZeroDivisionError"):
        process_of(check).asked(check, 1)


def test_what_earlier_answers_left_in_the_process_is_nobody_elses_fault(process_of):
    """A judge that keeps all it sees: its process is replaced, and every answer is judged."""
    kept = []

    def keeps(observed, expected, inputs):
        kept.append(bytearray(b"1") * (40 << 20) if observed == "wrong" else b"")
        end = time.monotonic() + 0.2  # so that somebody looks
        while observed == "wrong" and time.monotonic() < end:
            pass
        return None if observed == expected else "it is not"

    check = _check(keeps)
    process = process_of(check, limits=replace(LIMITS, item_seconds=30, submission_seconds=99))
    for _ in range(4):
        assert process.verdict(check, 1, _observed(check, "wrong")).points == 0


def _unless_right(judge):
    """Judge all but the reference's own answer."""
    return lambda observed, expected, inputs: None if observed == expected else judge(observed)


def test_judge_that_breaks_off_takes_no_time_from_the_other_items(process_of):
    checks = [_check(_unless_right(sys.exit), f"odd{n}") for n in range(3)]
    process = process_of(*checks, limits=replace(LIMITS, item_seconds=10, submission_seconds=20))
    for check in checks:
        with pytest.raises(Unjudged, match="raised SystemExit"):
            process.verdict(check, 1, _observed(check, "wrong"))


def test_words_of_an_answer_are_no_lack_of_memory(process_of):
    check = _check(_unless_right(lambda observed: {}[observed]))
    answer = _observed(check, "[enforce fail at alloc_cpu] can't allocate memory")
    assert process_of(check).verdict(check, 1, answer).points == 0


def test_process_that_cannot_end_is_not_waited_for(process_of, monkeypatch):
    monkeypatch.setattr(watched_process, "_END_SECONDS", 0.05)
    leaves = _check(
        _unless_right(lambda _: threading.Thread(target=time.sleep, args=[1e6]).start())
    )
    process = process_of(leaves)
    process.verdict(leaves, 1, _observed(leaves, "wrong"))
    process.end()
    hangs_up = _check(_unless_right(lambda _: (os.closerange(3, 1000), time.sleep(1e6))))
    with pytest.raises(Unjudged, match="hung up and went on"):
        process_of(hangs_up).verdict(hangs_up, 1, _observed(hangs_up, "wrong"))


def test_answer_that_nobody_reads_is_judged_elsewhere(process_of, monkeypatch):
    """A thread that an earlier answer has left holds Python's lock; a pipe takes 200 kB."""
    monkeypatch.setattr(watched_process, "_END_SECONDS", 0.05)

    def leave(observed):
        power = threading.Timer(0.05, lambda: 3 ** (10**9))
        power.daemon = True
        power.start()

    leaves = _check(_unless_right(lambda observed: leave(observed) if observed == 1 else "wrong"))
    limits = JudgingLimits(item_seconds=30, submission_seconds=99, wall_factor=0.02)
    process = process_of(leaves, limits=limits)
    process.verdict(leaves, 1, _observed(leaves, 1))
    time.sleep(0.3)
    assert process.verdict(leaves, 1, _observed(leaves, "b" * (4 << 20))).points == 0


def test_answer_to_a_question_that_was_interrupted_is_nobody_elses(process_of, monkeypatch):
    def slowly(observed):
        time.sleep(0.2)
        return None if observed == "also right" else "wrong"

    def interrupt(*about):
        raise KeyboardInterrupt

    check = _check(_unless_right(slowly))
    process = process_of(check, limits=replace(LIMITS, item_seconds=30))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(watched_process.WatchedProcess, "_look", interrupt)
        process.verdict(check, 1, _observed(check, "also right"))
    assert process.verdict(check, 1, _observed(check, "wrong")).points == 0


def test_time_in_which_the_grader_itself_was_stopped_does_not_count(process_of, monkeypatch):
    check = _check(_unless_right(lambda observed: time.sleep(0.2)))
    process = process_of(check)
    process.asked(check, 1)
    clock = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(watched_process.time, "monotonic", lambda: float(next(clock)))
    assert process.verdict(check, 1, _observed(check, "also right")).points == 10


def test_file_that_a_set_has_opened_can_still_be_read(process_of, tmp_path):
    (tmp_path / "data").write_text("also right")
    with open(tmp_path / "data") as data:

        def read(observed):
            data.seek(0)
            return None if observed == data.read() else "wrong"

        check = _check(_unless_right(read))
        assert process_of(check).verdict(check, 1, _observed(check, "also right")).points == 10


def _judge_within(most, sender):
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    within = _unless_right(
        lambda _: None if resource.getrlimit(resource.RLIMIT_AS)[1] == most else "no"
    )
    check = _check(within)
    process = JudgeProcess(ItemJudge(), Released(check), JudgingLimits())
    process.begin()
    sender.send(process.verdict(check, 1, _observed(check, "wrong")).points)


def test_limit_of_memory_of_the_account_stays(process_of):
    """Only root could raise it, and everybody else's judges would not start."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    grader = context.Process(target=_judge_within, args=(1 << 40, sender))
    grader.start()
    sender.close()
    assert receiver.recv() == 10
    grader.join()


def _grade_for_ever(sender):
    check = _check(_power, reference=lambda: 1)
    process = JudgeProcess(ItemJudge(), Released(check), JudgingLimits())
    process.begin()
    process.asked(check, 1)
    sender.send(process._process._process.pid)
    process.verdict(check, 1, _observed(check, 10**9))


def test_process_ends_with_the_grader_that_is_killed():
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    grader = context.Process(target=_grade_for_ever, args=(sender,))
    grader.start()
    judge = receiver.recv()
    time.sleep(0.1)  # it is in the middle of its power by now, or will soon begin
    grader.kill()
    grader.join()
    deadline = time.monotonic() + 60
    while not _has_ended(judge):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _has_ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_process_holds_nothing_of_the_graders_open(process_of):
    """Else a sandbox would not end before the process that judges does."""
    check = _check(lambda *given: None)
    read, write = os.pipe()
    process = process_of(check)
    process.asked(check, 1)
    os.close(write)
    os.set_blocking(read, False)
    assert os.read(read, 1) == b""  # the end: nobody else can write
    os.close(read)


def test_work_within_limits_returns_its_value_or_says_why_there_is_none():
    def refuses():
        raise ValueError("no rank")

    assert within_limits(lambda: 1.5, LIMITS) == 1.5
    with pytest.raises(ValueError, match=r"^no rank$"):
        within_limits(refuses, LIMITS)
    with pytest.raises(Unjudged, match="raised ZeroDivisionError"):
        within_limits(lambda: 1 / 0, LIMITS)
    with pytest.raises(Unjudged, match=r"did not end within 0\.1 s of CPU"):
        within_limits(lambda: 3 ** (10**9), LIMITS)
