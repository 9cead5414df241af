"""Grading processes that start in milliseconds: forks of one that has loaded what they need.

Loading this grader and PyTorch takes seconds. One server does it once, while the command itself
still loads, and shares the memory with every process that it forks. It has one thread and none of
our pipes, which a fork of the command's own process would both inherit.
"""

import atexit
import contextlib
import multiprocessing
import os
from functools import cache
from multiprocessing import forkserver

from autograder.temporary import temporary_folder

CONTEXT = multiprocessing.get_context("forkserver")
_LONGEST_FOLDER = 85  # of the 104 bytes that a socket's path may have, or 108
_LOADED = ["autograder.grading.grader", "torch"]


def prepare() -> None:
    """Start the server, and go on while it loads."""
    _use_own_folder()
    CONTEXT.set_forkserver_preload(_LOADED)
    forkserver.ensure_running()


@cache
def _use_own_folder() -> None:
    """Let the server's socket lie where the next run deletes it, should this one be killed.

    Else Python makes a folder, `pymp-...`, that stays among this machine's temporary files; it does
    where the path of a socket in ours would be too long.
    """
    own = contextlib.ExitStack()
    folder = own.enter_context(temporary_folder("fork"))
    if len(os.fsencode(folder)) > _LONGEST_FOLDER:
        own.close()
        return
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    config.setdefault("tempdir", str(folder))
    atexit.register(own.close)
