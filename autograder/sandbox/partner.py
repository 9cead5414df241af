"""Let student code call an implementation that it never meets.

The other way round than usual: what a student wrote is a test, and the grader brings what is to be
tested. Both run in a sandbox, each in its own, and the grader passes calls and results on:

    the student's session               the grader               a session of the other sandbox
      probe calls `hidden(x)`   ─ ask ─►    bytes     ─ ask ─►     partner(x)
      the call returns         ◄─ ask ─     bytes    ◄─ ask ─      its result

Arguments and results cross by value, and of an exception only the name of its type. So neither side
sees the other's code, memory or files, and what one writes into a tensor the other does not see.
What is asked about each implementation is the same in every byte: what goes into the student's
session does not say which one it will meet.
"""

import contextlib
import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Protocol

from autograder.inside import wire
from autograder.inside.messages import ProbeRequest, WireError
from autograder.records import GraderError

_DEFINED = ("defined", None)
_LOST = wire.encode({"ask": (True, "RuntimeError")})


class _Notebook(Protocol):
    """What `sandbox.session.RunningNotebook` is."""

    def send(self, message: dict[str, Any] | bytes, deadline: float) -> None:
        """Send a message; bytes are one already."""

    def receive(self, deadline: float) -> tuple[str, Any]:
        """Return the next answer: its kind and its content; a question's is the whole message."""


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

    def answer(self, request: ProbeRequest, question: bytes) -> bytes:
        """Pass a question on to the implementation; return the message that answers it.

        That says whether the call has raised, and its result or what it raised. Neither message is
        unpacked here: each side does that for itself, and strictly. Once the implementation has
        used up its time or memory, it raises on every later call, too.

        Args:
            question: the message that student code has sent.

        Raises:
            WireError: if it is no call, or more than may be asked at once.
            GraderError: if the implementation itself cannot be defined.
        """
        wire.check_question(question)
        if request is not self._served:
            self._define(request)
            self._served, self._is_lost = request, False
        if not self._is_lost:
            try:
                kind, reply = self._hear(question, request.seconds)
                if kind == "ask":
                    return bytes(reply)
                if kind == "refused":
                    raise WireError(str(reply))
            except self._gone:
                pass  # as if it had said so itself
            self._is_lost, self._session = True, None
            self._closing.close()
        return _LOST

    def _define(self, request: ProbeRequest) -> None:
        found: Any = None
        if self._session is not None:
            # What an earlier call has begun may end the process only now.
            with contextlib.suppress(self._gone):
                found = self._hear({"define": request.partner}, request.seconds)
        if found != _DEFINED:
            self._closing.close()
            self._session = self._closing.enter_context(self._open())
            try:
                self._session.send({"serve": request.seconds}, self._within(request.seconds))
                found = self._hear({"define": request.partner}, request.seconds)
            except self._gone as error:
                found = error
        if found != _DEFINED:
            raise GraderError(f"{request.item}: a hidden implementation breaks: {found}")

    def _hear(self, message: dict[str, Any] | bytes, seconds: float) -> tuple[str, Any]:
        assert self._session is not None
        deadline = self._within(seconds)
        self._session.send(message, deadline)
        return self._session.receive(deadline)


def without_partner(request: ProbeRequest) -> ProbeRequest:
    """Return what student code's session is sent: nothing that tells one partner from another."""
    if not request.partner:
        return request
    return dataclasses.replace(request, part="", case=0, partner="")
