"""The grader's end of the connection to one process in the sandbox, which hostile code may hold."""

import os
import select
import socket
import time
from collections.abc import Mapping
from typing import Any, Protocol

from autograder.inside import framing, wire
from autograder.inside.messages import (
    ALL_OUT_OF_TIME,
    CELL_OUT_OF_TIME,
    NOT_ISOLATED,
    OUT_OF_MEMORY,
    TOO_MANY_PROCESSES,
    Failure,
    WireError,
)
from autograder.sandbox.cgroup import ControlGroup

_REPORT_SECONDS = 180.0  # in which all is killed and deleted, however busy the machine is
_MOST_OUTPUT = 64 << 20
_LATE = "the time limit of the whole submission was exceeded"


class DiedError(Exception):
    """A submission's process has ended, or must be ended, before it was done."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message)


class ProtocolError(DiedError):
    """A message is malformed: student code has written it, as the worker writes none such."""

    def __init__(self, message: str = "an answer that does not fit the protocol") -> None:
        super().__init__("refused", message)


class ServerDiedError(Exception):
    """The warm server is gone; no submission is to blame."""


class RunningNotebook(Protocol):
    """A process in which a notebook's cells run and its probes after them; `Session` says more.

    Attributes:
        answers_memory: what all its answers together take at most, in bytes.
    """

    answers_memory: int

    def send(self, message: dict[str, Any] | bytes, deadline: float) -> None:
        """Send a message; bytes are one already."""

    def receive(self, deadline: float) -> tuple[str, Any]:
        """Return the next answer: its kind and its content; a question's is the whole message."""

    def take_output(self) -> str:
        """Return what was printed since the last call."""


class Session:
    """The connection to one process in the sandbox.

    Attributes:
        known: values of messages that need not be decoded.
        group: in which its processes are; None where there is none.
        cpu_seconds: what the process and all below it have used, known when it has ended.
        answers_memory: what all answers together take at most, in bytes.
    """

    def __init__(
        self,
        channel: socket.socket,
        output: int,
        kill_pipe: int,
        control: socket.socket,
        keep: int,
        known: Mapping[bytes, Any] | None = None,
        group: ControlGroup | None = None,
    ) -> None:
        self.channel = channel
        self.output = output
        self.kill_pipe = kill_pipe
        self.control = control
        self.keep = keep
        self.known = known
        self.group = group
        self.status: int | None = None
        self.cpu_seconds = 0.0
        self.answers_memory = 0
        self._printed = bytearray()
        self._n_printed = 0
        self._n_total = 0
        self._output_is_open = True
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._poll.register(output, select.POLLIN)
        os.set_blocking(output, False)

    def send(self, message: dict[str, Any] | bytes, deadline: float) -> None:
        """Send a message; bytes are one already.

        Raises:
            DiedError: if it is not taken in time.
        """
        try:
            encoded = message if isinstance(message, bytes) else wire.encode(message)
            framing.write(self.channel, encoded, deadline)
        except TimeoutError:
            raise DiedError("timeout", "the time limit was exceeded") from None
        except OSError:
            raise self._died() from None

    def receive(self, deadline: float) -> tuple[str, Any]:
        """Return the next answer: its kind and its content.

        A question is for others to look into: its content is the message as it came.

        Raises:
            DiedError: if none comes in time, or it is malformed.
        """
        try:
            self._wait(deadline)
            message = framing.receive(self.channel, deadline)
            is_question = wire.is_question(message)
            answer = {"ask": message} if is_question else self._meaning(message)
        except WireError as error:
            raise ProtocolError(str(error)) from None
        except TimeoutError:
            raise DiedError("timeout", "the time limit was exceeded") from None
        except (EOFError, OSError):
            raise self._died() from None
        self._drain()
        if type(answer) is not dict or len(answer) != 1 or type(next(iter(answer))) is not str:
            raise ProtocolError
        return next(iter(answer.items()))

    def _meaning(self, message: bytes) -> Any:
        if self.known and message in self.known:
            return self.known[message]
        self.answers_memory += wire.most_memory(message)
        return wire.decode(message)

    def take_output(self) -> str:
        """Return what was printed since the last call, cut to the limit."""
        text = self._printed.decode("utf-8", "replace")
        if self._n_printed > len(self._printed):
            text += f"\n[{self._n_printed - len(self._printed)} more bytes were printed]"
        self._printed.clear()
        self._n_printed = 0
        return text

    def end(self) -> int:
        """Close, wait until every process of the submission is gone, return how it ended.

        Raises:
            ServerDiedError: if the server does not say.
        """
        if self.status is None:
            self.close()
            try:
                report = framing.read(self.control, time.monotonic() + _REPORT_SECONDS)
            except (EOFError, OSError):
                self.status = NOT_ISOLATED
            else:
                self.status = int(report["status"])
                self.cpu_seconds = float(report["cpu_seconds"])
                if self.group is not None:
                    self.group.kill()  # also what has hidden from its supervisor
                    if self.group.ran_out_of_memory():
                        self.status = OUT_OF_MEMORY
        if self.status == NOT_ISOLATED:
            raise ServerDiedError
        return self.status

    def close(self) -> None:
        """Close this side; the supervisor then kills the other."""
        self.channel.close()
        os.close(self.output)
        os.close(self.kill_pipe)

    def _died(self) -> DiedError:
        status = self.end()
        if status == OUT_OF_MEMORY:
            return DiedError("memory", "more memory was used than is allowed")
        if status == TOO_MANY_PROCESSES:
            return DiedError("crash", "more processes ran than are allowed")
        if status == CELL_OUT_OF_TIME:
            return DiedError("timeout", "the time limit was exceeded")
        if status == ALL_OUT_OF_TIME:
            return DiedError("late", _LATE)
        return DiedError("crash", "the process ended")

    def _wait(self, deadline: float) -> None:
        """Wait for an answer; read the output meanwhile, or the other side would block."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready = {fd for fd, _ in self._poll.poll(left * 1000)}
            if self.output in ready:
                self._drain()
            if self.channel.fileno() in ready:
                return

    def _drain(self) -> None:
        while self._output_is_open:
            try:
                data = os.read(self.output, 1 << 16)
            except BlockingIOError:
                return
            if not data:  # the student closed it: nothing more will come
                self._output_is_open = False
                self._poll.unregister(self.output)
                return
            self._printed += data[: self.keep - len(self._printed)]
            self._n_printed += len(data)
            self._n_total += len(data)
            if self._n_total > _MOST_OUTPUT:
                raise DiedError("refused", f"more than {_MOST_OUTPUT >> 20} MB were printed")
