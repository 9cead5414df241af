"""Grade many submissions: in this process, or in several that may die.

Each process keeps one sandbox warm and goes from one student to the next who shares a seed, so that
the reference version is asked once for all of them. Where a process dies, the submission that it
was grading is tried again elsewhere; after `_MOST_DEATHS` it is to blame. The others go on.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path

from autograder.authoring.release import ReleasedSet
from autograder.class_run import fork_server
from autograder.grading.grader import Confinement, Graded, Grader, Task, faulty
from autograder.records import GraderError
from autograder.store.journal import Journal

_MOST_DEATHS = 3
_AHEAD = 2  # so that a process goes on while this one writes down its last grade
_END_SECONDS = 5.0


@dataclass(frozen=True)
class Job:
    """What every process must know to grade a submission.

    Attributes:
        folder: holds the journal, and in it the copies of what was received.
    """

    released: ReleasedSet
    confinement: Confinement
    folder: Path

    @property
    def journal(self) -> Journal:
        """The records of the set, and copies of what was received."""
        return Journal(self.folder, self.released.name)


def grade_all(job: Job, tasks: Sequence[Task], n_processes: int) -> Iterator[tuple[Task, Graded]]:
    """Grade each task once and yield it with its grade, in any order.

    Raises:
        GraderError: if nothing can be graded here; says why.
    """
    if not tasks:
        return
    if n_processes == 1 or len(tasks) == 1:
        with Grader(job.released, job.confinement) as grader:
            for task in in_order(tasks):
                yield task, _grade(grader, job, task)
        return
    pool = _WorkerPool(job, tasks)
    try:
        yield from pool.grade(min(n_processes, len(tasks)))
    finally:
        pool.shutdown()


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Sort tasks so that those which share a seed, and with it all questions, come in a row."""
    return sorted(tasks, key=lambda task: (task.seed, task.submission.student))


def _grade(grader: Grader, job: Job, task: Task) -> Graded:
    """Grade the received copy: a task travels without it, and a class need not fit in memory."""
    if task.refusal or task.submission.notebook:
        return grader.grade(task)
    try:
        received = job.journal.submission(task.submission.student, task.submission.sha256)
    except GraderError as error:
        return Graded(faulty(task, str(error)))
    return grader.grade(replace(task, submission=received))


class _WorkerPool:
    """Processes that grade, and the tasks that are left."""

    def __init__(self, job: Job, tasks: Sequence[Task]) -> None:
        self.job = job
        self.left = _Queue(tasks)
        self.processes: list[Process] = []
        self.deaths: Counter[str] = Counter()
        self.failed_starts = 0

    def grade(self, n_processes: int) -> Iterator[tuple[Task, Graded]]:
        self.processes = [Process(self.job) for _ in range(n_processes)]
        while any([process.fill(self.left) for process in self.processes]):
            pipes = {process.pipe: process for process in self.processes if process.tasks}
            for pipe in wait(pipes):
                process = pipes[pipe]  # type: ignore[index]  # what we waited for
                try:
                    answer = process.pipe.recv()
                except (EOFError, OSError):
                    yield from self._replace(process)
                    continue
                if isinstance(answer, GraderError):
                    raise answer
                if isinstance(answer, Graded):
                    yield process.tasks.popleft(), answer
                process.is_ready, self.failed_starts = True, 0

    def shutdown(self) -> None:
        """End every process: in order if it is idle, at once if it is not."""
        for process in self.processes:
            process.end()

    def _replace(self, dead: "Process") -> Iterator[tuple[Task, Graded]]:
        """Let another process go on where one has died."""
        dead.end()
        if dead.is_ready:
            task = dead.tasks.popleft()
            self.deaths[task.key] += 1
            if self.deaths[task.key] < _MOST_DEATHS:
                self.left.give_back(task)
            else:
                died = f"the grader's process died {_MOST_DEATHS} times"
                yield task, Graded(faulty(task, died))
        else:
            self.failed_starts += 1
            if self.failed_starts >= _MOST_DEATHS:
                raise GraderError("the grader's processes die before they are ready")
        for task in dead.tasks:
            self.left.give_back(task)
        self.processes.remove(dead)
        self.processes.append(Process(self.job))


class _Queue:
    """Tasks by their seeds. Who has begun a seed goes on with it; at the end all help."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.by_seed: dict[int, deque[Task]] = {}
        self.begun: set[int] = set()
        for task in in_order(tasks):
            self.give_back(task)

    def give_back(self, task: Task) -> None:
        self.by_seed.setdefault(task.seed, deque()).append(task)

    def take(self, seed: int | None) -> Task | None:
        """Return a task of this seed if there is one, else of one that nobody has begun."""
        if not self.by_seed:
            return None
        if seed is None or seed not in self.by_seed:
            fresh = [seed for seed in self.by_seed if seed not in self.begun]
            seed = max(fresh or self.by_seed, key=lambda seed: len(self.by_seed[seed]))
            self.begun.add(seed)
        task = self.by_seed[seed].popleft()
        if not self.by_seed[seed]:
            del self.by_seed[seed]
        return task


class Process:
    """One process with a warm sandbox, and what it has been given to do, first things first."""

    def __init__(self, job: Job) -> None:
        fork_server.prepare()
        self.pipe, theirs = fork_server.CONTEXT.Pipe()
        self.tasks: deque[Task] = deque()
        self.is_ready = False
        self._seed: int | None = None
        self._process = fork_server.CONTEXT.Process(target=_serve, args=(theirs, job), daemon=True)
        self._process.start()
        theirs.close()  # the other end is then open in one process alone, and shut by its death

    def fill(self, left: _Queue) -> bool:
        """Give it work ahead; return whether it has any."""
        while len(self.tasks) < _AHEAD and (task := left.take(self._seed)):
            self._seed = task.seed
            self.tasks.append(task)
            with contextlib.suppress(OSError):  # it is dead: who listens for its answer will know
                self.pipe.send(task)
        return bool(self.tasks)

    def ask(self, task: Task) -> Graded:
        """Have one task graded and wait for it.

        Raises:
            GraderError: if nothing can be graded here.
            EOFError: if the process has died.
        """
        self.pipe.send(task)
        while not isinstance(answer := self.pipe.recv(), Graded):
            if isinstance(answer, GraderError):
                raise answer
        return answer

    def end(self) -> None:
        """Let the process go if it is idle; end it at once if it is not."""
        self.pipe.close()
        if not self.tasks:
            self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection, job: Job) -> None:
    """Grade what comes in until the other side hangs up."""
    _end_with_parent()
    try:
        with Grader(job.released, job.confinement) as grader:
            _use_one_thread()
            pipe.send(None)
            while True:
                pipe.send(_grade(grader, job, pipe.recv()))
    except (EOFError, ConnectionError):
        return
    except GraderError as error:
        with contextlib.suppress(ConnectionError):
            pipe.send(error)


def _use_one_thread() -> None:
    """Keep the reference versions to one core: the others are for the other processes."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def _end_with_parent() -> None:
    """End this process when the grader that asked for it is killed, whatever it is doing."""
    grader = multiprocessing.parent_process()
    assert grader is not None

    def wait_for_end() -> None:
        grader.join()
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait_for_end, daemon=True).start()
