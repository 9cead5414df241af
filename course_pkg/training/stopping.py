"""Ctrl-C, and the signal with which computing centres end a job: a run stops, and loses nothing.

Chapter: training transformers.
"""

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from course_pkg.training import distributed

_SAID = b"\nstopping after this update; Ctrl-C again stops at once, without a checkpoint\n"


class StopRequest:
    """Within this context Ctrl-C (SIGINT) and SIGTERM are noted instead of ending the program.

    A second Ctrl-C acts at once. Several processes are often told twice by the program that started
    them, so that there it does not. Signals that are ignored stay so.

    Attributes:
        signal: the one that came first, if any.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():  # nobody else is told of signals
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before = {}
        if self.signal is not None and error is None:  # it came with the last update
            signal.raise_signal(self.signal)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT and distributed.n_processes() == 1:
            raise KeyboardInterrupt
        if self.signal is None and distributed.is_main():
            os.write(2, _SAID)  # a print could be interrupted by this very handler
        self.signal = self.signal or number

    def obey(self, message: str) -> None:
        """Stop as the program would have without us.

        Raises:
            KeyboardInterrupt: for Ctrl-C; SIGTERM ends the process.
        """
        number, self.signal = self.signal, None
        if number == signal.SIGTERM:
            signal.signal(number, self._before[number])
            signal.raise_signal(number)
        raise KeyboardInterrupt(message)
