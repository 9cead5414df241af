"""Judge in a process of its own, which is ended where it takes too much.

A judge is the course's own code, but it meets values that students have chosen: keys that collide,
a text over which a regular expression never ends, a number to be raised to another. It may be
inside one call of C then, where neither an exception nor a signal reaches it. So it runs beside the
grader, in a `WatchedProcess`. That costs one item of one submission its judgement: another process
takes the place of the one that was ended.

One serves a whole class, and keeps what follows from a seed alone, as `ItemJudge` does. Of a
submission's answers it is told which are those of the reference version; the others are copied to
it: they are plain data, as they came through `wire`, so pickle, which is faster, meets no type that
a student has made.
"""

import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from autograder.authoring.checks import Check
from autograder.authoring.release import ReleasedSet
from autograder.grading.judge import SEEDS_KEPT, ItemJudge, ran_out_of_memory
from autograder.grading.watched_process import FORKS, Ended, JudgingLimits, WatchedProcess, send
from autograder.handed_out import Files, beside
from autograder.inside.messages import ProbeRequest
from autograder.records import CheckFault, GraderError, Observation, Verdict

LIMITS = JudgingLimits()
_REFUSED = "raised ValueError: "


class Unjudged(GraderError):
    """An item could not be judged; says what happened, for the instructor."""


@dataclass(frozen=True)
class Asked:
    """What follows from a check and a seed, as far as it is needed outside the judge's process.

    Attributes:
        known: what right answers look like on the wire, and what they mean.
        places: of their values in `known`, by the ids of these.
    """

    requests: tuple[ProbeRequest, ...]
    known: Mapping[bytes, Any]
    places: Mapping[int, int]


class JudgeProcess:
    """What an `ItemJudge` offers, within limits.

    Args:
        checks: all that it will be asked about, by default those of the set.
    """

    def __init__(
        self,
        judge: ItemJudge,
        released: ReleasedSet,
        limits: JudgingLimits,
        checks: Sequence[Check] = (),
    ) -> None:
        self._judge = judge
        self._released = released
        self._limits = limits
        self._checks = tuple(checks or released.problem_set.checks)
        self._asked: OrderedDict[tuple[int, int], Asked | str] = OrderedDict()
        self._left = 0.0
        self._process: WatchedProcess | None = None

    def knows(self, checks: Sequence[Check]) -> bool:
        """Whether it can be asked about these."""
        return {id(check) for check in checks} <= {id(check) for check in self._checks}

    def asked(self, check: Check, seed: int) -> Asked:
        """Return what to ask of a submission, and what right answers look like.

        Raises:
            CheckFault: if a draw fails or makes inputs that cannot travel.
            Unjudged: if it takes too much; it is not tried again.
        """
        key = seed, self._place(check)
        if key not in self._asked:
            try:
                self._asked[key] = self._ask_for(check, seed)
            except Unjudged as why:
                what = "drawing its cases and asking its reference version"
                self._asked[key] = f"{check.item} was not judged: {what} {why}"
        self._asked.move_to_end(key)
        if len(self._asked) > SEEDS_KEPT * len(self._checks):
            self._asked.popitem(last=False)
        known = self._asked[key]
        if isinstance(known, str):
            raise Unjudged(known)
        return known

    def begin(self) -> None:
        """Begin with another submission, which has all its time before it."""
        self._left = self._limits.submission_seconds

    def verdict(
        self, check: Check, seed: int, observations: Sequence[Observation], raised: str = ""
    ) -> Verdict:
        """Judge one item, as `ItemJudge.verdict` does.

        Raises:
            Unjudged: if it takes too much, or ends the process.
        """
        if self._left <= 0:
            taken = f"the others took {self._limits.submission_seconds:g} s of CPU"
            raise Unjudged(f"{check.item} was not judged: {taken}")
        places = self.asked(check, seed).places
        answers = []
        for seen in observations:
            place = places.get(id(seen.value))
            copied = seen.value if place is None else None
            answers.append((seen.part, seen.case, place, copied))
        question = "verdict", self._place(check), seed, answers, raised
        seconds = min(self._limits.item_seconds, self._left)
        try:
            verdict = self._ask(seconds, question)
        except Unjudged as why:
            raise Unjudged(
                f"{check.item} was not judged: on this answer its judge {why}. Repair the judge, "
                "or give the points by hand"
            ) from None
        assert isinstance(verdict, Verdict)
        return verdict

    def end(self) -> None:
        """End the process; the next question starts another."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _place(self, check: Check) -> int:
        return next(place for place, known in enumerate(self._checks) if known is check)

    def _ask_for(self, check: Check, seed: int) -> Asked:
        question = "asked", self._place(check), seed
        requests, known = self._ask(self._limits.item_seconds, question)
        places = {id(answer["value"]): place for place, answer in enumerate(known.values())}
        return Asked(requests, known, places)

    def _ask(self, seconds: float, question: tuple[object, ...]) -> Any:
        """Return an answer; a verdict's time is taken from that of the submission.

        What earlier answers have left in a process can be why it ends, or the machine that ran out
        of memory; so there is a second try.
        """
        is_verdict = question[0] == "verdict"
        for is_last in (False, True):
            if self._process is not None and self._process.is_at_work:
                self.end()  # somebody was interrupted, and nobody waits for what it would say
            if self._process is None:
                source = self._checks if FORKS else self._released
                files = self._released.given_in_sandbox
                self._process = WatchedProcess(self._limits, _serve, self._judge, source, files)
            try:
                (kind, answer), took = self._process.ask(seconds, question)
            except Ended as why:
                self.end()
                self._left -= is_verdict * (seconds if why.is_final else why.took)
                if is_last or why.is_final:
                    raise Unjudged(str(why)) from None
                continue
            self._left -= is_verdict * took
            if kind == "fault":
                raise CheckFault(answer)
            if kind != "value":
                raise Unjudged(answer)
            return answer


def within_limits(work: Callable[[], Any], limits: JudgingLimits) -> Any:
    """Do what the course does with values that students chose in a process of its own.

    Raises:
        ValueError: if the work raises it, with the same words.
        Unjudged: if it takes too much, or raises anything else.
    """
    process = WatchedProcess(limits, _do, work)
    try:
        (kind, answer), _ = process.ask(limits.item_seconds)
    except Ended as why:
        raise Unjudged(str(why)) from None
    finally:
        process.end()
    if kind == "value":
        return answer
    if answer.startswith(_REFUSED):
        raise ValueError(answer.removeprefix(_REFUSED))
    raise Unjudged(answer)


# ------------------------------------------------------------------ the other side
def _serve(
    pipe: "Connection[Any, Any]",
    judge: ItemJudge,
    source: Sequence[Check] | ReleasedSet,
    files: Files,
) -> None:
    """Answer questions until the other side hangs up."""
    checks = source.problem_set.checks if isinstance(source, ReleasedSet) else source
    with beside(files):
        while True:
            what, place, seed, *about = pickle.loads(pipe.recv_bytes())
            work = _drawn if what == "asked" else _verdict
            _reply(pipe, partial(work, judge, checks[place], seed, *about))


def _drawn(
    judge: ItemJudge, check: Check, seed: int
) -> tuple[tuple[ProbeRequest, ...], dict[bytes, Any]]:
    return judge.requests(check, seed), judge.known_answers(check, seed)


def _verdict(
    judge: ItemJudge,
    check: Check,
    seed: int,
    answers: Sequence[tuple[str, int, int | None, Any]],
    raised: str,
) -> Verdict:
    known = list(judge.known_answers(check, seed).values())
    observations = [
        Observation(check.item, part, case, copied if place is None else known[place]["value"])
        for part, case, place, copied in answers
    ]
    return judge.verdict(check, seed, observations, raised)


def _do(pipe: "Connection[Any, Any]", work: Callable[[], Any]) -> None:
    pipe.recv_bytes()
    _reply(pipe, work)


def _reply(pipe: "Connection[Any, Any]", work: Callable[[], Any]) -> None:
    """Do something and send what came of it."""
    try:
        answer: tuple[str, Any] = "value", work()
    except CheckFault as fault:
        answer = "fault", str(fault)
    except BaseException as error:
        words = f"raised {type(error).__name__}: {error}"
        answer = "failed", "ran out of memory" if ran_out_of_memory(error) else words
    send(pipe, answer)
