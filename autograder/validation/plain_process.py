"""Probe the course's own answers: in a process each, without a sandbox.

What the course wrote itself need not be kept from doing harm, only from never ending. Apart from
the wall, everything is as in grading: the same probes, the same format of what comes out. Nothing
here looks at a clock: only what is known never to end is stopped after a short while.
"""

import contextlib
import copy
import dataclasses
import io
import resource
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from autograder.grading import diagnosis
from autograder.grading.endless import Stopped, stop_endless
from autograder.inside import process_state, wire
from autograder.inside.messages import Failure, ProbeRequest, WireError
from autograder.inside.probe import failure_of, probe_or_failure
from autograder.records import Observation

Answer = Callable[[], Mapping[str, Any]]
"""Makes the namespace of a submission; called in the process in which it is probed."""


@dataclass(frozen=True)
class Observed:
    """What an answer did.

    Attributes:
        observations: one for each request.
        complaint: the first of the visible tests; None if they pass.
        killed: whether the process was killed because it computed for too long.
    """

    observations: tuple[Observation, ...]
    complaint: str | None
    killed: bool

    @property
    def n_stopped(self) -> int:
        """How many requests did not end."""
        values = (seen.value for seen in self.observations)
        return sum(isinstance(value, Failure) and value.kind == "timeout" for value in values)


def observe(
    requests: Sequence[ProbeRequest],
    answer: Answer,
    tests: str = "",
    *,
    endless: bool = False,
    cpu_seconds: int = diagnosis.LONGEST_CPU_SECONDS,
) -> Observed:
    """Ask an answer every request, in a process of its own.

    Args:
        tests: source to run in the answer's namespace after the probes.
        endless: the answer may not end; a request that does not gives a "timeout" after
            `ENDLESS_CPU_SECONDS`, and so do the later ones of its part, as in grading.
        cpu_seconds: after which the process is killed, whatever it does.
    """
    (observed,) = observe_each(requests, [answer], tests, endless=endless, cpu_seconds=cpu_seconds)
    return observed


def observe_each(
    requests: Sequence[ProbeRequest],
    answers: Iterable[Answer],
    tests: str = "",
    *,
    endless: bool = False,
    cpu_seconds: int = diagnosis.LONGEST_CPU_SECONDS,
) -> Iterator[Observed]:
    """Ask several answers, one after the other in one process: to start one takes longer than many.

    Where one of them ends the process, the next one starts another. What an answer leaves behind,
    the next one meets.
    """
    waiting = list(answers)

    def serve(send: Callable[[bytes], None]) -> None:
        for answer in waiting:
            _serve(lambda value: send(pack(value)), requests, answer, tests, endless)

    while waiting:
        messages, killed = in_fork(serve, cpu_seconds)
        nothing = Failure("crash", "the process ended without an answer")
        if killed:
            nothing = Failure("timeout", f"stopped after {cpu_seconds} s of CPU")
        values = [unpack(message) for message in messages]
        each = len(requests) + 1
        for first in range(0, max(len(values), 1), each):
            *seen, complaint = (values[first:] + [nothing] * each)[:each]
            said = complaint.message if isinstance(complaint, Failure) else None
            yield Observed(observations(requests, seen), said, killed and complaint is nothing)
            waiting.pop(0)
            if complaint is nothing:
                break  # here the process ended


def observations(
    requests: Sequence[ProbeRequest], values: Sequence[Any]
) -> tuple[Observation, ...]:
    """Put each answer beside its request."""
    return tuple(
        Observation(request.item, request.part, request.case, value)
        for request, value in zip(requests, values, strict=True)
    )


def in_fork(
    work: Callable[[Callable[[bytes], None]], None], cpu_seconds: int
) -> tuple[list[bytes], bool]:
    """Return what `work` sends from a process of its own, and whether its CPU time ran out."""
    # Answers are functions of a module loaded by path, which only a fork inherits.
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_limited, args=(work, sender, cpu_seconds), daemon=True)
    process.start()
    sender.close()
    messages = []
    try:
        with contextlib.suppress(EOFError):
            while True:
                messages.append(receiver.recv_bytes())
        process.join()
        return messages, process.exitcode == -signal.SIGXCPU
    finally:
        process.kill()
        process.join()
        process.close()
        receiver.close()


def _limited(
    work: Callable[[Callable[[bytes], None]], None], sender: Connection, cpu_seconds: int
) -> None:
    # A fork starts to count at 0.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
    warnings.simplefilter("ignore")  # an answer may warn; in grading nobody minds
    work(sender.send_bytes)


def _serve(
    send: Callable[[object], None],
    requests: Sequence[ProbeRequest],
    answer: Answer,
    tests: str,
    endless: bool,
) -> None:
    try:
        namespace = answer()
    except BaseException as error:
        for _ in range(len(requests) + 1):
            send(failure_of(error))
        return
    before = process_state.read(process_state.SETTINGS)
    stopped: dict[str, Failure] = {}
    for request in requests:
        value = stopped.get(request.part)
        if value is None:
            value = _bounded(partial(probe_once, request, namespace, before), endless)
        if isinstance(value, Failure) and value.kind == "timeout":
            stopped[request.part] = value
        send(value)
    send(_bounded(partial(_complaint, tests, namespace), endless))


def _bounded(ask: Callable[[], Any], endless: bool) -> Any:
    if not endless:
        return ask()
    try:
        with stop_endless(diagnosis.ENDLESS_CPU_SECONDS) as stopped:
            value = ask()
    except Stopped as stop:
        return Failure("timeout", str(stop))
    return Failure("timeout", "stopped") if stopped.is_set() else value


def probe_once(
    request: ProbeRequest,
    namespace: Mapping[str, Any],
    before: process_state.State | None = None,
) -> Any:
    """Probe as the sandbox does, where every request brings inputs of its own.

    Args:
        before: the settings before the first call in this process, by default those of now.
    """
    own = dataclasses.replace(request, inputs=copy.deepcopy(request.inputs))
    return probe_or_failure(own, namespace, before=before)


def _complaint(tests: str, namespace: Mapping[str, Any]) -> Failure | None:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(tests, "<visible tests>", "exec"), {**namespace})
    except BaseException as error:
        return failure_of(error)
    return None


def pack(value: object) -> bytes:
    """Encode an answer, or the Failure that says why it may not travel."""
    if not isinstance(value, Failure):
        try:
            return wire.encode(("value", value))
        except WireError as error:
            value = failure_of(error)
    return wire.encode(("failure", value.kind, value.message))


def unpack(message: bytes) -> Any:
    """Return what was packed."""
    kind, *content = wire.decode(message)
    return content[0] if kind == "value" else Failure(*content)
