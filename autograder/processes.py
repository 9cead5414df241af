"""Grade many submissions: in this process, or in several that may die.

A process keeps one sandbox warm from submission to submission. Where a process dies, what it had
not yet answered is given to others; nothing is graded twice, because only what is yielded counts.
"""

import ctypes
import multiprocessing
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from autograder.course import Course
from autograder.grader import Confinement, Grader, Task, faulty
from autograder.records import Grade

_MOST_POOLS = 3
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Job:
    """What every process must know to grade a submission."""

    course: Course
    name: str
    confinement: Confinement


def grade_all(job: Job, tasks: Sequence[Task], n_processes: int) -> Iterator[tuple[Task, Grade]]:
    """Grade each task once and yield it with its grade, in any order."""
    if not tasks:
        return
    if n_processes == 1 or len(tasks) == 1:
        with Grader(job.course, job.name, job.confinement) as grader:
            for task in tasks:
                yield task, grader.grade(task)
        return
    yield from _grade_in_pool(job, tasks, n_processes)


def _grade_in_pool(
    job: Job, tasks: Sequence[Task], n_processes: int
) -> Iterator[tuple[Task, Grade]]:
    """Grade in several processes; where one dies, those that are left go to a new pool."""
    left = list(tasks)
    context = multiprocessing.get_context("spawn")
    for _ in range(_MOST_POOLS):
        with ProcessPoolExecutor(n_processes, context, _end_with_parent) as pool:
            futures = {pool.submit(_grade_here, job, task): task for task in left}
            try:
                for future in as_completed(futures):
                    grade = future.result()
                    left.remove(futures[future])
                    yield futures[future], grade
            except BrokenProcessPool:
                continue
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        if not left:
            return
    for task in left:
        yield task, faulty(task, f"the grader's process died {_MOST_POOLS} times")


def _end_with_parent() -> None:
    """Ask the kernel to end this process when the grader that started it is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


_here: dict[str, Grader] = {}


def _grade_here(job: Job, task: Task) -> Grade:
    """Grade in a process of the pool, which keeps its sandbox warm from task to task."""
    if job.name not in _here:
        _here[job.name] = Grader(job.course, job.name, job.confinement).__enter__()
    return _here[job.name].grade(task)
