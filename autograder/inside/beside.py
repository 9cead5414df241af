"""The files that were handed out, beside the notebook as it runs: to be read, not to be changed.

They lie in a folder that student code cannot write. In its working folder, which is its own, a link
leads to each, and is laid anew before anything is asked: what student code puts in the place of one
is read by its cells alone.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Sequence


class FilesBeside:
    """Lays the links.

    Args:
        place: the folder of the files.
        names: their paths in it.
    """

    def __init__(self, place: str, names: Sequence[str]) -> None:
        self._place = place
        self._names = names
        self._home = ""

    def lay(self) -> None:
        """Lay them into the working folder, from which modules are imported then, too."""
        self._home = os.getcwd()
        if self._names:
            sys.path.insert(0, self._home)
            self._link()

    def lay_again(self) -> None:
        """Go back to that folder, and put back what student code has taken away or replaced."""
        if self._names:
            with contextlib.suppress(OSError):
                os.chdir(self._home)
            self._link()

    def _link(self) -> None:
        for name in self._names:
            path, target = os.path.join(self._home, name), os.path.join(self._place, name)
            # Whatever a student's code has made of its folder: what goes wrong is its own affair.
            with contextlib.suppress(OSError):
                if os.path.islink(path) and os.readlink(path) == target:
                    continue
                self._make_folders(name)
                if os.path.lexists(path):
                    self._move_away(path)
                os.symlink(target, path)

    def _make_folders(self, name: str) -> None:
        path = self._home
        for part in name.split("/")[:-1]:
            path = os.path.join(path, part)
            if os.path.islink(path) or not os.path.isdir(path):
                if os.path.lexists(path):
                    self._move_away(path)
                os.mkdir(path)

    def _move_away(self, path: str) -> None:
        os.rename(path, os.path.join(tempfile.mkdtemp(prefix=".changed-", dir=self._home), "it"))
