"""A file that lies in the sandbox for nobody but those who look for the grader.

It bears the gradebook's name, stands where relative paths and folders of courses lead to, and holds
nothing. Honest code has no reason to open it, so whoever does is pointed out to the instructor. The
kernel reports it to the grader's side, where student code cannot take it back.
"""

import contextlib
import ctypes
import os
from pathlib import Path

NAME = "gradebook.db"
PLACES = (f"/{NAME}", f"/home/{NAME}", f"/srv/course/{NAME}")
"""Where it is mounted in a sandbox of namespaces; elsewhere it lies above the working folder."""
_IN_OPEN = 0x20


class Bait:
    """One such file.

    Args:
        folder: in which it is made. Where the kernel watches no more files, nothing is noticed.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        path.touch()
        path.chmod(0o444)
        self.path = path
        self._watch = -1
        with contextlib.suppress(OSError, AttributeError):  # no Linux, no inotify
            libc = ctypes.CDLL(None, use_errno=True)
            watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            if watch >= 0 and libc.inotify_add_watch(watch, bytes(path), _IN_OPEN) >= 0:
                self._watch = watch

    def was_opened(self) -> bool:
        """Whether anybody has opened it since this was last asked."""
        with contextlib.suppress(OSError):  # nothing to read, or no watch
            return bool(os.read(self._watch, 1 << 16))
        return False

    def close(self) -> None:
        """Stop watching."""
        if self._watch >= 0:
            os.close(self._watch)
            self._watch = -1
