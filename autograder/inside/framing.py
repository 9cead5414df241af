"""Send and receive the messages of `autograder.inside.wire`, each whole before one deadline.

The other side may send a byte a second, claim any length or close the stream: what comes is bounded
before it is received, and no number of small steps moves the deadline.
"""

import select
import socket
import time
from typing import Any

from autograder.inside.wire import PREFIX, decode, length_of_rest

_MOST_AT_ONCE = 1 << 20


def read(stream: socket.socket, deadline: float | None = None) -> Any:
    """Receive one message and return what it means.

    Raises:
        TimeoutError, EOFError: as `receive`.
        WireError: as `decode`.
    """
    return decode(receive(stream, deadline))


def receive(stream: socket.socket, deadline: float | None = None) -> bytes:
    """Receive one message whole before `deadline`, a time of `time.monotonic()`; None is never.

    Raises:
        TimeoutError: if the message is not complete by then.
        EOFError: if the other side has closed the stream.
        WireError: if it says that it is longer than may be.
    """
    prefix = _receive(stream, PREFIX.size, deadline)
    return prefix + _receive(stream, length_of_rest(prefix), deadline)


def write(stream: socket.socket, message: bytes, deadline: float | None = None) -> None:
    """Send a message whole before `deadline`; None is never.

    Raises:
        TimeoutError: if the other side does not take it in time.
    """
    if deadline is None:
        stream.sendall(message)
        return
    rest = memoryview(message)
    while rest:
        try:
            rest = rest[stream.send(rest[:_MOST_AT_ONCE], socket.MSG_DONTWAIT) :]
        except BlockingIOError:
            _wait(stream, select.POLLOUT, deadline)


def _receive(stream: socket.socket, n_bytes: int, deadline: float | None) -> bytes:
    data: bytes | bytearray = b""
    while len(data) < n_bytes:
        chunk = _receive_some(stream, min(n_bytes - len(data), _MOST_AT_ONCE), deadline)
        if not chunk:
            raise EOFError("the other side closed the stream")
        if len(chunk) == n_bytes:
            return chunk
        data = data or bytearray()
        data += chunk
    return bytes(data)


def _receive_some(stream: socket.socket, n_bytes: int, deadline: float | None) -> bytes:
    """Return what there is, or what comes first."""
    if deadline is None:
        return stream.recv(n_bytes)
    while True:
        try:
            chunk = stream.recv(n_bytes, socket.MSG_DONTWAIT)
        except BlockingIOError:
            _wait(stream, select.POLLIN, deadline)
            continue
        if len(chunk) < n_bytes and time.monotonic() >= deadline:
            raise TimeoutError("the deadline of a message has passed")
        return chunk


def _wait(stream: socket.socket, event: int, deadline: float) -> None:
    """Wait until there is something to receive, or room to send.

    Raises:
        TimeoutError: if it is not so in time.
    """
    poll = select.poll()
    poll.register(stream, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError("the deadline of a message has passed")
