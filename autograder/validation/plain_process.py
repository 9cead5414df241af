"""Probe the course's own answers: in a process each, without a sandbox.

What the course wrote itself need not be kept from doing harm, only from never ending. Apart from
the wall, everything is as in grading: the same probes, the same format of what comes out.
"""

import copy
import dataclasses
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from autograder.inside import wire
from autograder.inside.messages import Failure, ProbeRequest, WireError
from autograder.inside.probe import failure_of, probe_or_failure
from autograder.records import Observation

Answer = Callable[[], Mapping[str, Any]]
"""Makes the namespace of a submission; called in the process in which it is probed."""


def observe(
    requests: Sequence[ProbeRequest],
    answer: Answer,
    seconds: float,
    tests: str = "",
    cpu_seconds: int | None = None,
) -> tuple[tuple[Observation, ...], str | None]:
    """Ask an answer every request, in a process that is killed when its time is over.

    Args:
        seconds: of wall time.
        tests: source to run in the answer's namespace after the probes.
        cpu_seconds: of computing; None sets no limit.

    Returns:
        The observations, and the first complaint of `tests`, None if there is none.
    """
    *values, complaint = _in_process(
        lambda send: _serve(send, requests, answer, tests, cpu_seconds),
        len(requests) + 1,
        seconds,
    )
    observations = tuple(
        Observation(request.item, request.part, request.case, value)
        for request, value in zip(requests, values, strict=True)
    )
    return observations, complaint.message if isinstance(complaint, Failure) else None


def _in_process(
    serve: Callable[[Callable[[object], None]], None], n_values: int, seconds: float
) -> list[Any]:
    """Return what `serve` sends from a process of its own, Failures where nothing comes."""
    # Answers are functions of a module loaded by path, which only a fork inherits.
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: serve(lambda value: _send(sender, value)), daemon=True)
    process.start()
    sender.close()
    deadline = time.monotonic() + seconds
    try:
        return [_receive(receiver, deadline) for _ in range(n_values)]
    finally:
        process.kill()
        process.join()
        process.close()
        receiver.close()


def _serve(
    send: Callable[[object], None],
    requests: Sequence[ProbeRequest],
    answer: Answer,
    tests: str,
    cpu_seconds: int | None,
) -> None:
    if cpu_seconds is not None:  # a fork starts to count at 0
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    try:
        namespace = answer()
    except BaseException as error:
        for _ in range(len(requests) + 1):
            send(failure_of(error))
        return
    for request in requests:
        # In the sandbox every request brings inputs of its own; here cases may share them.
        own = dataclasses.replace(request, inputs=copy.deepcopy(request.inputs))
        send(probe_or_failure(own, namespace))
    try:
        exec(compile(tests, "<visible tests>", "exec"), {**namespace})
    except BaseException as error:
        send(failure_of(error))
    else:
        send(None)


def _send(sender: Connection, value: object) -> None:
    if not isinstance(value, Failure):
        try:
            sender.send_bytes(wire.encode(("value", value)))
            return
        except WireError as error:
            value = failure_of(error)
    sender.send_bytes(wire.encode(("failure", value.kind, value.message)))


def _receive(receiver: Connection, deadline: float) -> Any:
    try:
        if not receiver.poll(max(0.0, deadline - time.monotonic())):
            return Failure("timeout", "no answer within the time limit")
        kind, *content = wire.decode(receiver.recv_bytes())
    except EOFError:
        return Failure("crash", "the process ended without an answer")
    return content[0] if kind == "value" else Failure(*content)
