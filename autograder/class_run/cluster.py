"""Grade on several machines: the same tasks, handed out by Dask distributed.

Workers may die and come back: Dask gives their tasks to others. Each worker keeps one grading
process of `class_run.workers` beside it, with a warm sandbox; notebooks travel with their tasks, so
that machines need no common folder but the course and this grader, at the same path everywhere.
Results come back to one process, the only one that writes records and the gradebook.
"""

import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from autograder.class_run.workers import Job, Process, in_order
from autograder.grading.grader import Graded, Task, faulty
from autograder.records import GraderError

_AHEAD = 4  # tasks for each thread of the cluster: what is in flight bounds the memory
_MOST_DEATHS = 3
_CONNECT_SECONDS = 30.0


def grade_on_cluster(
    job: Job, tasks: Sequence[Task], address: str
) -> Iterator[tuple[Task, Graded]]:
    """Grade each task once on the workers of a Dask scheduler; yield it with its grade.

    Raises:
        GraderError: if Dask is not installed here, no scheduler answers, or nothing can be graded
            on a worker; says which.
    """
    if not tasks:
        return
    try:
        from dask.distributed import Client, as_completed
    except ImportError:
        raise GraderError("--scheduler needs Dask: pip install 'dask[distributed]'") from None
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise GraderError(f"no Dask scheduler with workers answers at {address}: {error}") from None
    with client:
        waiting, doing = iter(in_order(tasks)), {}

        def hand_out(n_tasks: int) -> list[Any]:
            futures = []
            for task in islice(waiting, n_tasks):
                whole = _with_bytes(job, task)
                future = client.submit(_grade_there, job, whole, pure=False, retries=_MOST_DEATHS)
                doing[future.key] = task
                futures.append(future)
            return futures

        width = _AHEAD * max(1, sum(client.nthreads().values()))
        answers = as_completed(hand_out(width), loop=client.loop)
        for future in answers:
            task, failed = doing.pop(future.key), future.exception()
            if isinstance(failed, GraderError):
                raise failed
            fault = Graded(faulty(task, f"on the cluster: {failed}")) if failed else None
            yield task, fault or future.result()
            answers.update(hand_out(1))


def _with_bytes(job: Job, task: Task) -> Task:
    if task.refusal:
        return task
    student, digest = task.submission.student, task.submission.sha256
    return replace(task, submission=job.journal.submission(student, digest))


_here = threading.local()


def _grade_there(job: Job, task: Task) -> Graded:
    """Grade in the process that belongs to this thread of a worker.

    Raises:
        ChildProcessError: if it dies; Dask then tries again, here or elsewhere.
    """
    if getattr(_here, "job", None) != job:
        # Dask's own processes are daemons, which may have no children unless they are asked to.
        multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
        _here.job, _here.process = job, Process(job)
    process: Process = _here.process
    try:
        return process.ask(task)
    except (EOFError, OSError) as error:
        _here.job = None
        raise ChildProcessError("the grader's process died") from error
