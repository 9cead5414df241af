"""Judge in a process of its own, which is ended where it takes too much.

A judge is the course's own code, but it meets values that students have chosen: keys that collide,
a text over which a regular expression never ends, a number to be raised to another. It may be
inside one call of C then, where neither an exception nor a signal reaches it. So it runs beside the
grader, which looks at its CPU time, at the clock and at its memory, and ends it. That costs one
item of one submission its judgement: another process takes the place of the one that was ended.

It is a fork of this process, made once for a whole class, so that nothing is loaded twice, and it
keeps what follows from a seed alone, as `ItemJudge` does. Of a submission's answers it is told
which are those of the reference version; the others are copied to it: they are plain data, as they
came through `wire`, so pickle, which is faster, meets no type that a student has made.
"""

import contextlib
import copyreg
import ctypes
import gc
import io
import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from autograder.authoring.checks import Check
from autograder.authoring.release import ReleasedSet
from autograder.grading.judge import SEEDS_KEPT, ItemJudge, ran_out_of_memory
from autograder.handed_out import Files, beside
from autograder.inside.messages import ProbeRequest
from autograder.records import CheckFault, GraderError, Observation, Verdict

# Elsewhere there is no fork, or one that may hang in the system's own libraries.
FORKS = sys.platform == "linux" and hasattr(os, "fork")
_END_SECONDS = 5.0
_LOOK_SECONDS = 0.05  # what a judge can take between two looks comes on top
_MOST_MEMORY = 2  # times what it may take: addresses, of which many are never filled
_COMPUTING = 0.02  # of the time that passes: what computes more does not wait
_PR_SET_PDEATHSIG = 1
_REFUSED = "raised ValueError: "


@dataclass(frozen=True)
class JudgingLimits:
    """What it may take to judge; an honest answer to our sets takes a hundredth of it.

    Attributes:
        item_seconds: of CPU time, for one item of a submission.
        submission_seconds: of CPU time, for all its items together.
        wall_factor: how often these may pass on the clock, for a judge that waits and computes
            nothing.
        memory_bytes: beyond what the process had when it started.
    """

    item_seconds: float = 60.0
    submission_seconds: float = 120.0
    wall_factor: float = 5.0
    memory_bytes: int = 3 << 30


LIMITS = JudgingLimits()


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
        self._process: _Process | None = None

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
            verdict, took = self._ask(seconds, question)
        except Unjudged as why:
            self._left -= seconds
            raise Unjudged(
                f"{check.item} was not judged: on this answer its judge {why}. Repair the judge, "
                "or give the points by hand"
            ) from None
        self._left -= took
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
        (requests, known), _ = self._ask(self._limits.item_seconds, question)
        places = {id(answer["value"]): place for place, answer in enumerate(known.values())}
        return Asked(requests, known, places)

    def _ask(self, seconds: float, question: tuple[object, ...]) -> tuple[Any, float]:
        """Return an answer and the CPU time that it took.

        What earlier answers have left in a process can be why it ends; so there is a second try.
        """
        while True:
            if self._process is None:
                source = self._checks if FORKS else self._released
                files = self._released.given_in_sandbox
                self._process = _Process(self._limits, _serve, self._judge, source, files)
            is_new, self._process.is_new = self._process.is_new, False
            try:
                (kind, answer), took = self._process.ask(seconds, question)
            except _Ended as why:
                self.end()
                if is_new or why.is_final:
                    raise Unjudged(str(why)) from None
                continue
            if kind == "fault":
                raise CheckFault(answer)
            if kind != "value":
                raise Unjudged(answer)
            return answer, took


def within_limits(work: Callable[[], Any], limits: JudgingLimits) -> Any:
    """Do what the course does with values that students chose in a process of its own.

    Raises:
        ValueError: if the work raises it, with the same words.
        Unjudged: if it takes too much, or raises anything else.
    """
    process = _Process(limits, _do, work)
    try:
        (kind, answer), _ = process.ask(limits.item_seconds)
    except _Ended as why:
        raise Unjudged(str(why)) from None
    finally:
        process.end()
    if kind == "value":
        return answer
    if answer.startswith(_REFUSED):
        raise ValueError(answer.removeprefix(_REFUSED))
    raise Unjudged(answer)


def _send(pipe: "Connection[Any, Any]", message: object) -> None:
    """Send plain data; a tensor as its array, since torch's own way takes ten times as long."""
    packed = io.BytesIO()
    pickler = pickle.Pickler(packed, pickle.HIGHEST_PROTOCOL)
    if torch := sys.modules.get("torch"):
        pickler.dispatch_table = {**copyreg.dispatch_table, torch.Tensor: _as_array}
    pickler.dump(message)
    pipe.send_bytes(packed.getbuffer())


def _as_array(tensor: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import torch

    plain = tensor.detach()
    if plain.dtype is torch.bfloat16:  # which NumPy does not know
        return _as_tensor, (plain.view(torch.int16).numpy(), True)
    return _as_tensor, (plain.numpy(), False)


def _as_tensor(array: Any, is_bfloat16: bool) -> Any:
    import torch

    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if is_bfloat16 else tensor


class _Ended(Exception):
    """A process that judges has ended, or had to be ended; says how.

    Attributes:
        is_final: another process would have to be ended, too.
    """

    def __init__(self, how: str, is_final: bool) -> None:
        super().__init__(how)
        self.is_final = is_final


class _Process:
    """This side of a process that is looked at while it works.

    Attributes:
        is_new: nothing has been asked of it.
    """

    def __init__(self, limits: JudgingLimits, serve: Callable[..., None], *args: object) -> None:
        context = multiprocessing.get_context("fork" if FORKS else "spawn")
        # The grading processes of a class are daemons, which may have no children otherwise.
        multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
        self.is_new, self._is_at_work = True, False
        self._limits = limits
        self._pipe, theirs = context.Pipe()
        work = (theirs, os.getpid(), limits.memory_bytes, serve, args)
        self._process = context.Process(target=_begin, args=work, daemon=True)  # type: ignore[attr-defined]
        self._process.start()
        theirs.close()
        self._memory = self._memory_now()

    def ask(self, seconds: float, question: object = None) -> tuple[Any, float]:
        """Send a question and wait for the answer; return it, and the CPU time that it took.

        Raises:
            _Ended: if the process ends, or takes more than it may.
        """
        started, before, self._is_at_work = time.monotonic(), self._cpu_seconds(), True
        try:
            _send(self._pipe, question)
            while not self._pipe.poll(_LOOK_SECONDS):
                self._look(seconds, started, before)
            answer = pickle.loads(self._pipe.recv_bytes())
        except (EOFError, OSError):
            self._process.join()
            raise _Ended(f"ended the process ({_how(self._process.exitcode)})", False) from None
        self._is_at_work = False
        return answer, self._cpu_seconds() - before

    def end(self) -> None:
        """Let the process go if it waits for a question; end it at once if it does not."""
        self._pipe.close()
        if not self._is_at_work:
            self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join()
        self._process.close()

    def _look(self, seconds: float, started: float, before: float) -> None:
        computed, elapsed = self._cpu_seconds() - before, time.monotonic() - started
        if computed > seconds:
            raise _Ended(f"did not end within {seconds:g} s of CPU", True)
        on_the_clock = seconds * self._limits.wall_factor
        if elapsed > on_the_clock and computed < _COMPUTING * elapsed:
            raise _Ended(f"did not end within {on_the_clock:g} s, and waited", True)
        if self._memory_now() - self._memory > self._limits.memory_bytes:
            most = f"{self._limits.memory_bytes / (1 << 30):.3g} GB"
            raise _Ended(f"took more than {most} of memory", False)

    def _cpu_seconds(self) -> float:
        """CPU time of the process so far; 0 where only the clock can be looked at."""
        assert self._process.pid is not None
        with contextlib.suppress(OSError, AttributeError):
            return time.clock_gettime((~self._process.pid << 3) | 2)  # as clock_getcpuclockid(3)
        return 0.0

    def _memory_now(self) -> int:
        with contextlib.suppress(OSError):
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
        return 0


def _how(status: int | None) -> str:
    return f"signal {-status}" if status is not None and status < 0 else f"status {status}"


# ------------------------------------------------------------------ the other side
def _begin(
    pipe: "Connection[Any, Any]",
    grader: int,
    memory_bytes: int,
    serve: Callable[..., None],
    args: Sequence[object],
) -> None:
    """Keep nothing of the grader's that is open, and live no longer than it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for the grader, which ends this
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if FORKS:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != grader:
            return
        _let_go_of_files(pipe.fileno())
        _refuse_more_memory(_MOST_MEMORY * memory_bytes)
    gc.freeze()  # what the grader has loaded is not looked through, nor copied for that
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # the threads of the process that it is a fork of are not there
    with contextlib.suppress(EOFError, OSError):
        serve(pipe, *args)


def _let_go_of_files(kept: int) -> None:
    """Let pipes and sockets of the grader end when it closes them: here all lead to nowhere.

    To close them would let the objects that hold them close what has the number by then.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in (kept, nowhere):
            with contextlib.suppress(OSError):
                os.fstat(int(name))  # else it was that of the list itself
                os.dup2(nowhere, int(name))


def _refuse_more_memory(n_bytes: int) -> None:
    """Let the kernel refuse what would be filled before anybody looks."""
    import resource  # not on Windows

    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + n_bytes, resource.RLIM_INFINITY))


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
    _send(pipe, answer)
