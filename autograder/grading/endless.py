"""Stop code that never ends, from within its own process."""

import contextlib
import ctypes
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

_WATCH_SECONDS = 0.05


class Stopped(BaseException):
    """Raised inside code that never ends; no `except Exception` there catches it."""


@contextlib.contextmanager
def stop_endless(seconds: float) -> Iterator[threading.Event]:
    """Stop what runs inside after so much CPU time; only the main thread can be stopped.

    Yields:
        What is set if it was stopped, for code that catches everything that is raised.

    Raises:
        Stopped: inside, after the time.
    """
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(signum: int, frame: Any) -> None:
        stopped.set()
        raise Stopped(f"stopped after {seconds:g} s of CPU")

    if not hasattr(signal, "setitimer"):  # Windows
        with _watched(seconds, stopped):
            yield stopped
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield stopped
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _watched(seconds: float, stopped: threading.Event) -> Iterator[None]:
    """Raise `Stopped` in this thread from another one, as far as it runs Python and not C.

    Raises:
        Stopped: inside, after so much CPU time of the process.
    """
    ended, last = threading.Event(), time.process_time() + seconds
    thread = ctypes.c_ulong(threading.get_ident())

    def watch() -> None:
        while not ended.wait(_WATCH_SECONDS):
            if time.process_time() > last:
                stopped.set()
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Stopped))
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
