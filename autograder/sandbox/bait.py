"""A file that lies in the sandbox for nobody but those who look for the grader.

It bears the gradebook's name, stands where relative paths and folders of courses lead to, and holds
nothing. Honest code has no reason to open it, so whoever does is pointed out to the instructor. The
kernel reports it to the grader's side, where student code cannot take it back; but not who it was.
So where the file is mounted into a sandbox, it loses its name outside: no search of this machine's
temporary files, no backup and no other sandbox can come across it. Without namespaces it must keep
its name, and then it proves nothing.
"""

import contextlib
import ctypes
import os
import struct
from pathlib import Path

NAME = "gradebook.db"
PLACES = (f"/{NAME}", f"/home/{NAME}", f"/srv/course/{NAME}")
"""Where it is mounted in a sandbox of namespaces; elsewhere it lies above the working folder."""
_IN_OPEN = 0x20
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows


class Bait:
    """One such file.

    Args:
        folder: in which it is made. Where the kernel watches no more files, nothing is noticed.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._events = -1
        with contextlib.suppress(AttributeError):  # no Linux, no inotify
            libc = ctypes.CDLL(None, use_errno=True)
            self._events = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            self._add_watch = libc.inotify_add_watch

    def lay(self) -> None:
        """Make the file; after a watched one has lost its name, another one."""
        self.path.touch()
        self.path.chmod(0o444)

    def watch(self, take_name: bool) -> None:
        """Notice from now on that it is opened.

        Args:
            take_name: it is mounted elsewhere, and shall be found nowhere else.
        """
        with contextlib.suppress(OSError, AttributeError):
            handle = os.open(self.path, os.O_PATH)
            try:
                if take_name:
                    self.path.unlink()
                self._add_watch(self._events, f"/proc/self/fd/{handle}".encode(), _IN_OPEN)
            finally:
                os.close(handle)

    def was_opened(self) -> bool:
        """Whether anybody has opened it since this was last asked."""
        opened = False
        with contextlib.suppress(OSError):  # nothing to read, or no watch
            events = os.read(self._events, 1 << 16)
            while events:  # also of files that are gone
                _, mask, _, length = _EVENT.unpack_from(events)
                opened = opened or bool(mask & _IN_OPEN)
                events = events[_EVENT.size + length :]
        return opened

    def close(self) -> None:
        """Stop watching."""
        if self._events >= 0:
            os.close(self._events)
            self._events = -1
