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

So a test that gets the same answers says the same. What one run of it asked and was answered is
kept, and another implementation is first asked that: where all its answers are those, byte for
byte, the run would only repeat itself, and is left out. Whoever writes down what they meet then
does not even learn how many implementations agree.
"""

import contextlib
import dataclasses
import hashlib
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


_MOST_KEPT = 64 << 20  # bytes of questions, of one submission

OpenSession = Callable[[], AbstractContextManager[_Notebook]]


class _Node:
    """What a test asks after the answers so far, or what it says in the end; with neither, unknown.

    Attributes:
        after: where it goes on, by a digest of the answer.
        outcome: of the run, in a tuple of one.
    """

    def __init__(self) -> None:
        self.question = b""
        self.after: dict[bytes, _Node] = {}
        self.outcome: tuple[Any, ...] = ()


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
        self._runs: dict[bytes, _Node] = {}
        self._n_kept = 0
        self._place: _Node | None = None

    def close(self) -> None:
        """End the process, if there is one, and forget what was said."""
        self._session = self._served = self._place = None
        self._runs.clear()
        self._n_kept = 0
        self._closing.close()

    def foretell(self, request: ProbeRequest, sent: bytes) -> tuple[Any, ...]:
        """Return what a run would come to that an earlier one foretells, in a tuple of one.

        Empty if none does; `answer` then listens to the run, which `end` has to end.

        Args:
            sent: what the student's session is sent for it, the same for all that may be compared.
        """
        self._served = None  # the next call defines the implementation anew
        node = self._runs.setdefault(sent, _Node())
        while node.question and not node.outcome:
            after = node.after.get(_digest(self._reply(request, node.question)))
            if after is None:
                break
            node = after
        self._served, self._place = None, self._runs[sent]
        return node.outcome

    def end(self, outcome: Any) -> None:
        """Keep what a run has come to, if all that it asked is kept."""
        if self._place is not None and not self._place.question:
            self._place.outcome = (outcome,)
        self._place = None

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
        reply = self._reply(request, question)
        self._keep(question, reply)
        return reply

    def _keep(self, question: bytes, reply: bytes) -> None:
        """Write down one more question of a run, up to where it is not what an earlier one was."""
        node = self._place
        if node is None:
            return
        if not node.question and not node.outcome and self._n_kept < _MOST_KEPT:
            node.question = question
            self._n_kept += len(question)
        is_known = node.question == question
        self._place = node.after.setdefault(_digest(reply), _Node()) if is_known else None

    def _reply(self, request: ProbeRequest, question: bytes) -> bytes:
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
        answer: Any = None
        if self._session is not None:
            # What an earlier call has begun may end the process only now.
            with contextlib.suppress(self._gone):
                answer = self._hear({"define": request.partner}, request.seconds)
        if answer != _DEFINED:
            self._closing.close()
            self._session = self._closing.enter_context(self._open())
            try:
                self._session.send({"serve": request.seconds}, self._within(request.seconds))
                answer = self._hear({"define": request.partner}, request.seconds)
            except self._gone as error:
                answer = error
        if answer != _DEFINED:
            raise GraderError(f"{request.item}: a hidden implementation breaks: {answer}")

    def _hear(self, message: dict[str, Any] | bytes, seconds: float) -> tuple[str, Any]:
        assert self._session is not None
        deadline = self._within(seconds)
        self._session.send(message, deadline)
        return self._session.receive(deadline)


def _digest(reply: bytes) -> bytes:
    return hashlib.sha256(reply).digest()


def without_partner(request: ProbeRequest) -> ProbeRequest:
    """Return what student code's session is sent: nothing that tells one partner from another."""
    if not request.partner:
        return request
    return dataclasses.replace(request, part="", case=0, partner="")
