"""In which order a submission is asked, told by a session that only writes down what it is sent."""

import os
import socket
import time
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.inside import framing, wire
from autograder.inside.messages import MOST_CHARACTERS, Failure, ProbeRequest
from autograder.inside.process_limits import Limits
from autograder.sandbox import submission_run
from autograder.sandbox.session import DiedError, Session
from autograder.sandbox.submission_run import SubmissionRun

VISIBLE = [ProbeRequest("visible", "visible", n, "f", "", {}, 1.0) for n in range(3)]
HIDDEN = [
    ProbeRequest(item, part, n, "f", "", {}, 1.0) for item in "ab" for part in "pq" for n in (0, 1)
]


class FakeSession:
    """Answers 1 to everything but one request, which ends in a way of its own.

    Attributes:
        asked: every message that was sent, as pairs of item and part.
    """

    def __init__(self, ending, at, asked):
        self.ending, self.at, self.asked = ending, at, asked
        self.answers_memory = 0
        self._answers = []

    def take_output(self):
        return "printed"

    def send(self, message, deadline):
        if "cell" in message:
            self._answers = [("error", None)]
            return
        asked = [wire.decode(request) for request in message["requests"]]
        self.asked.append([(one["item"], one["part"], one["case"]) for one in asked])
        self._answers = [("value", 1) for _ in asked]
        if self.at in self.asked[-1]:
            place = self.asked[-1].index(self.at)
            self._answers[place:] = [self.ending]
        else:
            self._answers.append(("done", None))

    def receive(self, deadline):
        answer = self._answers.pop(0)
        if isinstance(answer, DiedError):
            raise answer
        return answer


ENDINGS = [
    *(("died", [kind, "x"]) for kind in ("timeout", "waiting", "crash", "memory")),
    *(DiedError(kind, "x") for kind in ("timeout", "crash", "memory", "refused")),
]


@pytest.mark.parametrize("ending", ENDINGS, ids=str)
@pytest.mark.parametrize("at", [("visible", "visible", n) for n in range(3)])
def test_every_visible_test_has_ended_before_anything_hidden_is_sent(ending, at):
    progress = SubmissionRun(["f = 1"], [*VISIBLE, *HIDDEN], Limits(), time.monotonic())
    asked = []
    for _ in range(3):
        progress.advance(FakeSession(ending, at, asked))
    first_hidden = next(n for n, batch in enumerate(asked) if batch[0][0] != "visible")
    assert all(item == "visible" for batch in asked[:first_hidden] for item, *_ in batch)
    assert all(item != "visible" for batch in asked[first_hidden:] for item, *_ in batch)
    assert progress.is_complete
    hangs = isinstance(progress.observations[at[2]].value, Failure) and (
        progress.observations[at[2]].value.kind in ("timeout", "waiting")
    )
    later = [progress.observations[n].value for n in range(at[2] + 1, 3)]
    assert all(isinstance(value, Failure) == hangs for value in later)


def test_what_a_cell_printed_before_anything_hidden_was_sent_stands():
    progress = SubmissionRun(["f = 1"], HIDDEN, Limits(), time.monotonic())
    progress.advance(FakeSession(DiedError("crash", "x"), HIDDEN[0].item, []))
    printed = FakeSession(None, None, [])
    printed.take_output = lambda: "found"
    printed.receive = lambda deadline: (_ for _ in ()).throw(DiedError("crash", "x"))
    progress.observations.clear()
    progress.advance(printed)  # in this process the cell itself ends it
    assert progress.results[0].output == "printed"


def test_cell_that_ends_a_later_process_is_not_named_once_something_hidden_was_asked():
    """Which one it is, the submission could choose by what it has seen."""
    progress = SubmissionRun(["f = 1", "g = 2"], HIDDEN, Limits(), time.monotonic())
    progress.advance(FakeSession(DiedError("crash", "x"), ("a", "p", 0), []))
    again = FakeSession(None, None, [])
    again.receive = lambda deadline: (_ for _ in ()).throw(DiedError("crash", "x"))
    progress.advance(again)
    assert progress.problems == []
    first = SubmissionRun(["f = 1"], HIDDEN, Limits(), time.monotonic())
    first.advance(again)
    assert first.problems == ["cell 0 was left out: x"]


@pytest.mark.parametrize("length", [MOST_CHARACTERS, MOST_CHARACTERS + 1, 1 << 20])
def test_error_of_a_cell_is_kept_only_where_a_worker_may_have_sent_it(length):
    session = FakeSession(None, None, [])
    session.receive = lambda deadline: ("error", "x" * length)
    progress = SubmissionRun(["f = 1"], [], Limits(), time.monotonic())
    progress.advance(session)
    assert progress.tampered == (length > MOST_CHARACTERS)
    assert len(progress.results[0].error) <= MOST_CHARACTERS


def test_answers_that_would_fill_the_graders_memory_are_not_kept():
    """Each may be as large as a message; a hundred of them are kept until all are judged."""
    progress = SubmissionRun([], [*VISIBLE, *HIDDEN], Limits(), time.monotonic())
    large = FakeSession(("died", ["crash", "x"]), VISIBLE[-1], [])
    receive = large.receive

    def grow(deadline):
        large.answers_memory += 1 << 28
        return receive(deadline)

    large.receive = grow
    progress.advance(large)
    values = [progress.observations[n].value for n in range(len(progress.observations))]
    assert values[:3] == [1] * 3  # as many as fit, with the word that the item is done
    assert {value.message for value in values[3:]} == {"its answers are too large together"}
    assert len(values) == len([*VISIBLE, *HIDDEN])


def test_known_answers_take_nothing_and_others_what_they_say():
    ours, theirs = socket.socketpair()
    with ours, theirs, open(os.devnull) as nothing:
        session = Session(ours, os.dup(nothing.fileno()), -1, theirs, 10, {wire.encode(5): "five"})
        for value in (5, {"value": np.zeros(1000)}):
            theirs.sendall(wire.encode(value))
        deadline = time.monotonic() + 60
        assert session._meaning(framing.receive(ours, deadline)) == "five"
        assert session.answers_memory == 0
        assert session.receive(deadline)[0] == "value"
        assert session.answers_memory > 8000


@pytest.mark.parametrize(("share", "n_notes"), [(0.1, 1), (0.003, 0)], ids=["computes", "sleeps"])
@pytest.mark.parametrize("seconds", [13, 150, 301], ids=["call", "cell", "submission"])
def test_clock_that_ends_what_computes_is_noted_and_not_where_it_sleeps(
    monkeypatch, share, n_notes, seconds
):
    """A machine that gives student code a tenth of a core: nothing may be lost without a word."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(submission_run, "time", SimpleNamespace(monotonic=lambda: clock.now))

    class Starved(FakeSession):
        def receive(self, deadline):
            clock.now += seconds
            return super().receive(deadline)

    cpu_clock = lambda: share * clock.now  # noqa: E731
    progress = SubmissionRun(["f = 1"], HIDDEN[:1], Limits(), 0.0, cpu_clock)
    at = ("a", "p", 0) if seconds == 13 else None
    progress.advance(Starved(("died", ["waiting", "x"]), at, []))
    assert sum("grade --again" in each for each in progress.close(0.0).problems) == n_notes


def test_time_that_is_not_up_is_no_reason_for_a_note():
    progress = SubmissionRun(["f = 1"], HIDDEN, Limits(), time.monotonic(), time.monotonic)
    progress.advance(FakeSession(("died", ["timeout", "x"]), ("a", "p", 0), []))
    assert progress.close(0.0).problems == ()
