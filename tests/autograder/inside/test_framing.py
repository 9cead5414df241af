import socket
import struct
import threading
import time

import numpy as np
import pytest

from autograder.inside import framing, wire
from autograder.inside.messages import WireError


def test_message_travels_over_a_socket():
    ours, theirs = socket.socketpair()
    value = {"x": np.arange(300_000), 1: "é" * 1000}
    deadline = time.monotonic() + 30
    sender = threading.Thread(target=framing.write, args=(theirs, wire.encode(value), deadline))
    with ours, theirs:
        sender.start()
        arrived = framing.read(ours, deadline)
        sender.join()
    assert np.array_equal(arrived["x"], value["x"]) and arrived[1] == value[1]


def test_read_has_one_deadline_however_slowly_bytes_come():
    ours, theirs = socket.socketpair()
    stop = threading.Event()

    def drip():
        theirs.sendall(struct.pack(">IQ", 1000, 0))
        while not stop.wait(0.02):
            theirs.sendall(b"1")

    sender = threading.Thread(target=drip)
    with ours, theirs:
        sender.start()
        try:
            with pytest.raises(TimeoutError):
                framing.read(ours, time.monotonic() + 0.2)
        finally:
            stop.set()
            sender.join()


def test_read_rejects_a_large_claim_before_receiving_it():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack(">IQ", 1, 1 << 60))
        with pytest.raises(WireError, match=str(1 << 60)):
            framing.read(ours, time.monotonic() + 10)


def test_read_rejects_a_closed_stream():
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(b"abc")
        theirs.close()
        with pytest.raises(EOFError):
            framing.read(ours, time.monotonic() + 10)


def test_messages_that_follow_each_other_stay_apart():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for value in (5, 6):
            theirs.sendall(wire.encode(value))
        deadline = time.monotonic() + 10
        assert framing.receive(ours, deadline) == wire.encode(5)
        assert framing.read(ours, deadline) == 6


def test_nothing_has_a_deadline_that_was_given_none():
    ours, theirs = socket.socketpair()
    value = {"x": np.arange(300_000)}
    late = threading.Timer(0.1, framing.write, (theirs, wire.encode(value)))
    with ours, theirs:
        late.start()
        assert np.array_equal(framing.read(ours)["x"], value["x"])
        late.join()


def test_message_that_comes_in_single_bytes_is_whole():
    ours, theirs = socket.socketpair()
    message = wire.encode({"x": list(range(50))})
    with ours, theirs:
        drip = threading.Thread(
            target=lambda: [theirs.send(message[n : n + 1]) for n in range(len(message))]
        )
        drip.start()
        assert framing.receive(ours, time.monotonic() + 30) == message
        drip.join()


def test_write_ends_at_its_deadline_where_nobody_reads():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(TimeoutError):
        framing.write(ours, bytes(8 << 20), time.monotonic() + 0.1)
