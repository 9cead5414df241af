"""Send and receive the messages of `autograder.inside.wire`, each whole before one deadline.

The other side may send a byte a second, claim any length or close the stream: what comes is bounded
before it is received, and no number of small steps moves the deadline.
"""

import time
from typing import Any, Protocol

from autograder.inside.wire import PREFIX, decode, length_of_rest


class Stream(Protocol):
    """What messages travel over: a connected socket."""

    def settimeout(self, seconds: float | None, /) -> None:
        """Set how long the next call may wait."""

    def recv(self, n_bytes: int, /) -> bytes:
        """Return at most `n_bytes`, none at the end."""

    def send(self, data: memoryview, /) -> int:
        """Send some of the data and return how much."""


def read(stream: Stream, deadline: float) -> Any:
    """Receive one message and return what it means.

    Raises:
        TimeoutError, EOFError: as `receive`.
        WireError: as `decode`.
    """
    return decode(receive(stream, deadline))


def receive(stream: Stream, deadline: float) -> bytes:
    """Receive one message whole before `deadline`, a time of `time.monotonic()`.

    Raises:
        TimeoutError: if the message is not complete by then.
        EOFError: if the other side has closed the stream.
        WireError: if it says that it is longer than may be.
    """
    prefix = _receive(stream, PREFIX.size, deadline)
    return bytes(prefix + _receive(stream, length_of_rest(prefix), deadline))


def write(stream: Stream, message: bytes, deadline: float) -> None:
    """Send a message whole before `deadline`.

    Raises:
        TimeoutError: if the other side does not take it in time.
    """
    rest = memoryview(message)
    while rest:
        _wait_until(stream, deadline)
        rest = rest[stream.send(rest[: 1 << 20]) :]


def _wait_until(stream: Stream, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the deadline of a message has passed")
    stream.settimeout(left)


def _receive(stream: Stream, n_bytes: int, deadline: float) -> bytearray:
    data = bytearray()
    while len(data) < n_bytes:
        _wait_until(stream, deadline)
        chunk = stream.recv(min(n_bytes - len(data), 1 << 20))
        if not chunk:
            raise EOFError("the other side closed the stream")
        data += chunk
    return data
