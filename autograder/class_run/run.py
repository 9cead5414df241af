"""Grade what is new, take over what an earlier run graded, and record both."""

from collections.abc import Generator, Sequence
from dataclasses import replace

from autograder.authoring.release import ReleasedSet
from autograder.class_run.cluster import grade_on_cluster
from autograder.class_run.ledger import Ledger
from autograder.class_run.plan import Received
from autograder.class_run.result import Watcher
from autograder.class_run.settings import Settings
from autograder.class_run.workers import Job, grade_all
from autograder.grading.grader import Graded


def grade_received(
    released: ReleasedSet,
    received: Sequence[Received],
    settings: Settings,
    ledger: Ledger,
    watcher: Watcher,
) -> Generator[Graded, None, None]:
    """Record every grade, and yield those that are new as soon as they are there."""
    taken_over, tasks = [], []
    for arrival in received:
        if arrival.takes_over(settings.resume):
            taken_over.append(ledger.enter(arrival, arrival.earlier_grade))
            watcher.graded(taken_over[-1], True)
        else:
            tasks.append(arrival.task)
    by_key = {arrival.task.key: arrival for arrival in received}
    job = Job(released, settings.confinement, settings.out)
    if settings.scheduler:
        answers = grade_on_cluster(job, tasks, settings.scheduler)
    else:
        answers = grade_all(job, tasks, settings.jobs)
    for task, answer in answers:
        grade = ledger.enter(by_key[task.key], answer.grade)
        watcher.graded(grade, False)
        yield replace(answer, grade=grade)
    yield from map(Graded, taken_over)
