"""Take a class through the stages: receive, grade, record, book, explain.

    folder ─► received/ ─► Grader (repair, sandbox ═╡wall╞═, judge) ─► records/ ─► gradebook
                                                                          ├─► feedback/
                                                                          └─► autograded/

One submission after another goes all the way, so a class need not fit in memory. Everything up to
`records/` is done once for each; everything after it is made again in every run, for those that
were recorded earlier from their received copies. Times and penalties are no part of what is done
once: they follow the course's policy in every run. So a run that is killed at any moment loses
nothing: the next one skips students whose record bears the same key, and writes the outputs of all.
"""

import contextlib
import time
from collections.abc import Container, Iterator
from pathlib import Path

from autograder.authoring.release import ReleasedSet
from autograder.class_run.ledger import Ledger
from autograder.class_run.outputs import write_outputs, write_recounted
from autograder.class_run.plan import (
    delivered,
    gradebook_gone,
    listed,
    origins,
    penalties_before,
    receive,
    said_before,
    with_points_of_nbgrader,
)
from autograder.class_run.result import ClassResult, Watcher, missing, notices, replaced
from autograder.class_run.run import grade_received
from autograder.class_run.settings import Settings
from autograder.records import GraderError
from autograder.store.class_folder import claim_class, claim_names
from autograder.store.journal import Journal


def grade_class(
    released: ReleasedSet,
    submissions: Path,
    settings: Settings,
    watcher: Watcher | None = None,
    held: Container[Path] = (),
) -> ClassResult:
    """Grade every submission in a folder and write all outputs.

    Args:
        held: files that are not to be read yet, as they are still being copied; for their students
            an earlier grade stands.

    Raises:
        GraderError: if nothing can be graded at all, or the outputs cannot be written; says why.
            What was recorded stays, and the next run goes on from there.
    """
    started = time.monotonic()
    watcher = watcher or Watcher()
    settings = settings.hiding(submissions)
    if released.course.has_checks:  # nbgrader has written into another course's folders
        claim_class(settings.out)
    journal = Journal(settings.out, released.name)
    with _report_errors(settings.out), journal.only_writer():
        delivery = delivered(submissions, released, settings)
        claim_names(settings.out, [one.student for one in delivery])
        watcher.delivered(delivery)
        received = receive(released, delivery, journal, settings, held)
        watcher.warned((*gradebook_gone(settings, journal), *said_before(released, received)))
        watcher.received(len(received))
        theirs = with_points_of_nbgrader(released, received, settings)
        if theirs and not settings.replace:
            raise GraderError(
                f"nbgrader itself has graded {released.name} for {listed(list(theirs))}; with "
                "--replace this run's points take the place of its own (what people gave stays), "
                "with --db they go into another gradebook"
            )
        ledger = Ledger(released, journal, settings.out)
        graded = grade_received(released, received, settings, ledger, watcher)
        with contextlib.closing(graded):  # an error in what is written ends the processes, too
            outputs = write_outputs(
                released, graded, settings, origins(received), penalties_before(received)
            )
            recounted = tuple(write_recounted(released, settings, ledger))
    return ClassResult(
        problem_set=released.name,
        outline=released.outline,
        grades=tuple(outputs.grades),
        by_hand=outputs.by_hand,
        reused=sum(arrival.takes_over(settings.resume) for arrival in received),
        changes=tuple(sorted(ledger.changes, key=lambda change: change.student)),
        seconds=time.monotonic() - started,
        page=outputs.page,
        notices=(
            *notices(released, received, outputs.grades, outputs.kept),
            *missing(outputs.known, received),
            *replaced(theirs, outputs.grades),
            *recounted,
        ),
    )


@contextlib.contextmanager
def _report_errors(out: Path) -> Iterator[None]:
    """Turn what the disk refuses into something that an instructor can fix."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise GraderError(
            f"{error.filename or out} cannot be read or written: {reason}. What is recorded stays; "
            "the next run goes on from there"
        ) from error
