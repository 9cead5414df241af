"""Grade what is new, take over what an earlier run graded, and record both."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace

from autograder.authoring.release import ReleasedSet
from autograder.class_run.cluster import grade_on_cluster
from autograder.class_run.ledger import Ledger
from autograder.class_run.plan import Received
from autograder.class_run.result import Watcher
from autograder.class_run.settings import Settings
from autograder.class_run.workers import Job, grade_all
from autograder.grading.grader import Graded, Task

_Answers = Iterable[tuple[Task, Graded]]


def grade_received(
    released: ReleasedSet,
    received: Sequence[Received],
    settings: Settings,
    ledger: Ledger,
    watcher: Watcher,
) -> Generator[Graded, None, None]:
    """Record every grade, and yield those that are new as soon as they are there.

    What the machine let wait until the clock ended it is graded once more, after all others and
    with half the processes. That grade stands, better or worse: whoever waits on purpose gets no
    better of two draws.
    """
    taken_over, tasks = [], []
    for arrival in received:
        if arrival.takes_over(settings.resume):
            taken_over.append(ledger.enter(arrival, arrival.earlier_grade))
            watcher.graded(taken_over[-1], True)
        else:
            tasks.append(arrival.task)
    by_key = {arrival.task.key: arrival for arrival in received}
    job = Job(released, settings.confinement, settings.out)

    def graded(tasks: Sequence[Task], n_processes: int) -> _Answers:
        if settings.scheduler:
            return grade_on_cluster(job, tasks, settings.scheduler)
        return grade_all(job, tasks, n_processes)

    fewer = max(1, settings.jobs // 2)
    answers = _but_starved(graded(tasks, settings.jobs), lambda left: graded(left, fewer))
    for task, answer in answers:
        grade = ledger.enter(by_key[task.key], answer.grade)
        watcher.graded(grade, False)
        yield replace(answer, grade=grade)
    yield from map(Graded, taken_over)


def _but_starved(
    answers: _Answers, once_more: Callable[[Sequence[Task]], _Answers]
) -> Iterator[tuple[Task, Graded]]:
    """Yield answers; those of starved submissions come from a second try, after the others."""
    starved = []
    for task, answer in answers:
        if answer.was_starved:
            starved.append(task)
        else:
            yield task, answer
    yield from once_more(starved)
