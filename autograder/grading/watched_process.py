"""A process that is looked at while it works, and ended where it takes too much.

It is a fork of the one that starts it, where that is possible, so that nothing is loaded twice; it
holds nothing open that is not its own, and lives no longer than the other does.
"""

import contextlib
import copyreg
import ctypes
import gc
import io
import multiprocessing
import os
import pickle
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# Elsewhere there is no fork, or one that may hang in the system's own libraries.
FORKS = sys.platform == "linux" and hasattr(os, "fork")
_END_SECONDS = 5.0
_LOOK_SECONDS = 0.05  # what a judge can take between two looks comes on top
_MOST_MEMORY = 2  # times what it may take: addresses, of which many are never filled
_COMPUTING = 0.02  # of the time that passes: what computes more does not wait
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class JudgingLimits:
    """What it may take to judge; an honest answer to our sets takes a hundredth of it.

    Attributes:
        item_seconds: of CPU time, for one item of a submission.
        submission_seconds: of CPU time, for all its items together.
        wall_factor: how often these may pass on the clock, for a judge that waits and computes
            nothing.
        memory_bytes: beyond what the process had when it started.
    """

    item_seconds: float = 60.0
    submission_seconds: float = 120.0
    wall_factor: float = 5.0
    memory_bytes: int = 3 << 30


def send(pipe: "Connection[Any, Any]", message: object) -> None:
    """Send plain data; a tensor as its array, since torch's own way takes ten times as long."""
    packed = io.BytesIO()
    pickler = pickle.Pickler(packed, pickle.HIGHEST_PROTOCOL)
    if torch := sys.modules.get("torch"):
        pickler.dispatch_table = {**copyreg.dispatch_table, torch.Tensor: _as_array}
    pickler.dump(message)
    pipe.send_bytes(packed.getbuffer())


def _as_array(tensor: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import torch

    plain = tensor.detach()
    if plain.dtype is torch.bfloat16:  # which NumPy does not know
        return _as_tensor, (plain.view(torch.int16).numpy(), True)
    return _as_tensor, (plain.numpy(), False)


def _as_tensor(array: Any, is_bfloat16: bool) -> Any:
    import torch

    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if is_bfloat16 else tensor


class Ended(Exception):
    """A process that judges has ended, or had to be ended; says how.

    Attributes:
        took: seconds of CPU time.
        is_final: another process would have to be ended, too.
    """

    def __init__(self, how: str, took: float, is_final: bool = False) -> None:
        super().__init__(how)
        self.took = took
        self.is_final = is_final


class WatchedProcess:
    """This side of a process that is looked at while it works.

    Attributes:
        is_at_work: it has been asked something and has not answered.
    """

    def __init__(self, limits: JudgingLimits, serve: Callable[..., None], *args: object) -> None:
        context = multiprocessing.get_context("fork" if FORKS else "spawn")
        # The grading processes of a class are daemons, which may have no children otherwise.
        multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
        self.is_at_work = False
        self._limits = limits
        self._pipe, theirs = context.Pipe()
        if FORKS:  # elsewhere a pipe is no socket
            _give_up_sending(self._pipe, limits.item_seconds * limits.wall_factor)
        work = (theirs, os.getpid(), limits.memory_bytes, serve, args)
        self._process = context.Process(target=_begin, args=work, daemon=True)  # type: ignore[attr-defined]
        self._process.start()
        theirs.close()
        self._memory = self._memory_now()

    def ask(self, seconds: float, question: object = None) -> tuple[Any, float]:
        """Send a question and wait for the answer; return it, and the CPU time that it took.

        Raises:
            Ended: if the process ends, or takes more than it may.
        """
        before, n_looks, self.is_at_work = self._cpu_seconds(), 0, True
        try:
            send(self._pipe, question)
            while not self._pipe.poll(_LOOK_SECONDS):
                n_looks += 1
                self._look(seconds, self._cpu_seconds() - before, n_looks * _LOOK_SECONDS)
            answer = pickle.loads(self._pipe.recv_bytes())
        except (EOFError, OSError):
            took = max(0.0, self._cpu_seconds() - before)
            self._let_end()
            raise Ended(_how(self._process.exitcode), took) from None
        self.is_at_work = False
        return answer, self._cpu_seconds() - before

    def end(self) -> None:
        """Let the process go if it waits for a question; end it at once if it does not."""
        self._pipe.close()
        if not self.is_at_work:
            self._let_end()
        self._process.kill()
        self._process.join()
        self._process.close()

    def _let_end(self) -> None:
        """Wait for its end, but not for long; `join` watches a file that the process has closed."""
        deadline = time.monotonic() + _END_SECONDS
        while self._process.exitcode is None and time.monotonic() < deadline:
            time.sleep(0.002)

    def _look(self, seconds: float, computed: float, waited: float) -> None:
        """End what takes too much; time in which nobody could look, asleep or stopped, is none."""
        if computed > seconds:
            raise Ended(
                f"did not end within {round(seconds, 2):g} s of CPU", computed, is_final=True
            )
        on_the_clock = seconds * self._limits.wall_factor
        if waited > on_the_clock and computed < _COMPUTING * waited:
            waits = f"did not end within {on_the_clock:g} s, and waited"
            raise Ended(waits, computed, is_final=True)
        if self._memory_now() - self._memory > self._limits.memory_bytes:
            most = f"{self._limits.memory_bytes / (1 << 30):.3g} GB"
            raise Ended(f"took more than {most} of memory", computed)

    def _cpu_seconds(self) -> float:
        """CPU time of the process so far; 0 where only the clock can be looked at."""
        assert self._process.pid is not None
        with contextlib.suppress(OSError, AttributeError):
            return time.clock_gettime((~self._process.pid << 3) | 2)  # as clock_getcpuclockid(3)
        return 0.0

    def _memory_now(self) -> int:
        with contextlib.suppress(OSError):
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
        return 0


def _give_up_sending(pipe: "Connection[Any, Any]", seconds: float) -> None:
    """Let it be an OSError that nobody has read from a pipe that is full."""
    with socket.socket(fileno=os.dup(pipe.fileno())) as end:
        time_limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, time_limit)


def _how(status: int | None) -> str:
    if status is None:
        return "hung up and went on"
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return f"ended the process ({how})"


# ------------------------------------------------------------------ the other side
def _begin(
    pipe: "Connection[Any, Any]",
    grader: int,
    memory_bytes: int,
    serve: Callable[..., None],
    args: Sequence[object],
) -> None:
    """Keep nothing of the grader's that is open, and live no longer than it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for the grader, which ends this
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if FORKS:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != grader:
            return
        _let_go_of_files(pipe.fileno())
        _refuse_more_memory(_MOST_MEMORY * memory_bytes)
    gc.freeze()  # what the grader has loaded is not looked through, nor copied for that
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # the threads of the process that it is a fork of are not there
    with contextlib.suppress(EOFError, OSError):
        serve(pipe, *args)


def _let_go_of_files(kept: int) -> None:
    """Let pipes, sockets and locks of the grader end with it: here all lead to nowhere.

    To close them would let the objects that hold them close what has the number by then. Files that
    are only read stay: a set may have opened its data once and for all.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and number not in (kept, nowhere):
            with contextlib.suppress(OSError):  # it was that of the list itself
                if not _is_only_read(number):
                    os.dup2(nowhere, number)


def _is_only_read(number: int) -> bool:
    import fcntl  # not on Windows

    reads = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    return reads and stat.S_ISREG(os.fstat(number).st_mode)


def _refuse_more_memory(n_bytes: int) -> None:
    """Let the kernel refuse what would be filled before anybody looks."""
    import resource  # not on Windows

    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = [most for most in (soft, hard) if most != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([size + n_bytes, *allowed]), hard))
