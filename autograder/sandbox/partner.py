"""Let student code call an implementation that it never meets.

The other way round than usual: what a student wrote is a test, and the grader brings what is to be
tested. Both run in a sandbox, each in its own, and the grader passes calls and results on:

    the student's session               the grader               a session of the other sandbox
      probe calls `hidden(x)`  ─ ask ─►  plain value  ─ told ─►    partner(x)
      the call returns        ◄─ told ─  plain value  ◄─ ask ─     its result

Arguments and results cross by value, and of an exception only the name of its type. So neither side
sees the other's code, memory or files, and what one writes into a tensor the other does not see.
What is asked about each implementation is the same in every byte: what goes into the student's
session does not say which one it will meet.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Protocol

from autograder.inside import wire
from autograder.inside.messages import ProbeRequest, WireError
from autograder.records import GraderError

_SERVE = '''
def serve(implementation, inputs):
    """Define implementations and call them as often as is asked for.

    What is told is the source of the next one, or the arguments of a call.
    """
    import signal

    reply = None
    while True:
        told = ask(reply)
        if isinstance(told, str):
            # Each has its own time, and waits as long as the other side computes.
            signal.setitimer(signal.ITIMER_PROF, inputs["seconds"])
            signal.setitimer(signal.ITIMER_REAL, 0)
            names = {"__name__": "partner"}
            exec(told, names)
            reply = None
            continue
        arguments, keywords = told
        try:
            reply = False, names["partner"](*arguments, **keywords)
        except Exception as error:
            reply = True, type(error).__name__
'''
_READY = ("ask", None)
_SECONDS = 30.0  # before the first implementation
_DEFINE = "def partner(): pass"  # what serves is called this, and calls something else


class _Notebook(Protocol):
    """What `sandbox.session.RunningNotebook` is."""

    def send(self, message: dict[str, Any], deadline: float) -> None:
        """Send a message."""

    def receive(self, deadline: float) -> tuple[str, Any]:
        """Return the next answer: its kind and its content."""


OpenSession = Callable[[], AbstractContextManager[_Notebook]]


class Partners:
    """The implementations that the probes of one submission may call, one after the other.

    They share a process, into which only plain arguments come, and each is defined anew for each
    run of a probe.

    Args:
        open_session: starts a process in a sandbox that no student code is in.
        within: makes a deadline of seconds of CPU time.
        gone: what sessions raise where a process has ended.
    """

    def __init__(
        self,
        open_session: OpenSession,
        within: Callable[[float], float],
        gone: type[Exception],
    ) -> None:
        self._open = open_session
        self._within = within
        self._gone = gone
        self._closing = ExitStack()
        self._session: _Notebook | None = None
        self._served: ProbeRequest | None = None
        self._is_lost = False

    def close(self) -> None:
        """End the process, if there is one."""
        self._session = self._served = None
        self._closing.close()

    def begin(self) -> None:
        """Let the next call define its implementation anew."""
        self._served = None

    def answer(self, request: ProbeRequest, question: Any) -> tuple[bool, Any]:
        """Call the implementation; say whether it has raised, and its result or what it raised.

        Once it has used up its time or memory, it raises on every later call, too.

        Args:
            question: what student code has sent.

        Raises:
            WireError: if it is no call, or more than may be asked at once.
            GraderError: if the implementation itself cannot be defined.
        """
        if not _is_call(question):
            raise WireError("a question that is no call")
        wire.encode(question, wire.QUESTION_BOUNDS)
        if request is not self._served:
            self._define(request)
            self._served, self._is_lost = request, False
        if not self._is_lost:
            try:
                kind, reply = self._hear({"told": question}, request.seconds)
                if kind == "ask":
                    has_raised, value = reply
                    return bool(has_raised), value
            except self._gone:
                pass  # as if it had said so itself
            self._is_lost, self._session = True, None
            self._closing.close()
        return True, "RuntimeError"

    def _define(self, request: ProbeRequest) -> None:
        found: Any = None
        if self._session is not None:
            # What an earlier call has begun may end the process only now.
            with contextlib.suppress(self._gone):
                found = self._hear({"told": request.partner}, request.seconds)
        if found != _READY:
            self._closing.close()
            self._session = self._closing.enter_context(self._open())
            try:
                self._hear({"cell": _DEFINE}, request.seconds)
                self._hear({"requests": [_serving(request.seconds)]}, request.seconds)
                found = self._hear({"told": request.partner}, request.seconds)
            except self._gone as error:
                found = error
        if found != _READY:
            raise GraderError(f"{request.item}: a hidden implementation breaks: {found}")

    def _hear(self, message: dict[str, Any], seconds: float) -> tuple[str, Any]:
        assert self._session is not None
        deadline = self._within(seconds)
        self._session.send(message, deadline)
        return self._session.receive(deadline)


def _is_call(question: Any) -> bool:
    """Whether this is what a worker sends for a call: positional arguments, and those by name."""
    return (
        type(question) is tuple
        and tuple(map(type, question)) == (tuple, dict)
        and all(type(name) is str for name in question[1])
    )


@functools.cache
def _serving(seconds: float) -> bytes:
    inputs = {"seconds": seconds}
    return _encoded(ProbeRequest("partner", "partner", 0, "partner", _SERVE, inputs, _SECONDS))


def without_partner(request: ProbeRequest) -> ProbeRequest:
    """Return what student code's session is sent: nothing that tells one partner from another."""
    if not request.partner:
        return request
    return dataclasses.replace(request, part="", case=0, partner="")


def _encoded(request: ProbeRequest) -> bytes:
    fields = {name: getattr(request, name) for name in request.__dataclass_fields__}
    return wire.encode(fields)
