"""Serve implementations that are called from another sandbox: the far end of `sandbox.partner`."""

import signal
import socket
from typing import Any, NoReturn

from autograder.inside import framing, process_limits, wire
from autograder.inside.messages import WireError
from autograder.inside.probe import describe, seed_generators


def serve(channel: socket.socket, seconds: float) -> NoReturn:
    """Define the implementations that the grader sends, and call each as often as is asked for.

    What it cannot send back ends it, and so does an implementation that takes too long; the grader
    then says in its place that the implementation raises.

    Args:
        seconds: of CPU time for all calls of one implementation together.
    """
    partner: Any = None
    for signum in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(signum, signal.SIG_DFL)
    while True:
        message = framing.receive(channel)
        if wire.is_question(message):
            answer = _call(partner, message)
        else:
            # Each has its own time, and waits as long as the other side computes.
            process_limits.stop_later(0, 1)
            signal.setitimer(signal.ITIMER_PROF, seconds)
            seed_generators(0)
            names: dict[str, Any] = {"__name__": "partner"}
            answer = {"defined": None}
            try:
                exec(wire.decode(message)["define"], names)
                partner = names["partner"]
            except Exception as error:
                answer = {"failure": describe(error)}
        encoded = wire.encode(answer, wire.QUESTION_BOUNDS)
        # Ended in between, it would leave half a message.
        process_limits.hold_timers(True)
        framing.write(channel, encoded)
        process_limits.hold_timers(False)


def _call(partner: Any, message: bytes) -> dict[str, Any]:
    """Call the implementation as the message says; of what it raises, return the type's name."""
    try:
        question = wire.decode(message, wire.QUESTION_BOUNDS)["ask"]
        if not _is_call(question):
            raise WireError("a question that is no call")
    except WireError as error:
        return {"refused": str(error)}
    arguments, keywords = question
    try:
        return {"ask": (False, partner(*arguments, **keywords))}
    except Exception as error:
        return {"ask": (True, type(error).__name__)}


def _is_call(question: Any) -> bool:
    """Whether this is what a worker sends for a call: positional arguments, and those by name."""
    return (
        type(question) is tuple
        and tuple(map(type, question)) == (tuple, dict)
        and all(type(name) is str for name in question[1])
    )
