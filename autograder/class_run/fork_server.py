"""Grading processes that start in milliseconds: forks of one that has loaded what they need.

Loading this grader and PyTorch takes seconds. One server does it once, while the command itself
still loads, and shares the memory with every process that it forks. It has one thread and none of
our pipes, which a fork of the command's own process would both inherit.
"""

import multiprocessing
from multiprocessing import forkserver

CONTEXT = multiprocessing.get_context("forkserver")
_LOADED = ["autograder.grading.grader", "torch"]


def prepare() -> None:
    """Start the server, and go on while it loads."""
    CONTEXT.set_forkserver_preload(_LOADED)
    forkserver.ensure_running()
