"""Find out what isolation this machine really gives, by attacking it.

`run_escape_attempts` starts the sandbox as grading does and tries to escape from inside. Nobody has
to trust a kernel version or the name of an option.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from autograder.inside.process_limits import Limits
from autograder.records import GraderError
from autograder.sandbox.escape_attempts import (
    PLANTED_VARIABLE,
    EscapeAttempt,
    Outcome,
    PlantedFiles,
    dangerous_attempts,
    harmless_attempts,
    plant_files,
)
from autograder.sandbox.sandbox import TIERS, Sandbox

# The clock stops only what no other limit stops, so that a busy machine changes no outcome.
_LIMITS = Limits(
    cell_seconds=3,
    submission_seconds=20,
    wall_factor=30,
    memory_bytes=512 << 20,
    processes=24,
    disk_bytes=8 << 20,
)


@dataclass(frozen=True)
class Report:
    """What the escape attempts found.

    Attributes:
        isolation: the tier, in words, as it is recorded with every grade.
        problem: why there is no sandbox at all; empty if there is one.
        start_seconds: what a worker costs before its first submission.
        refused: for each better tier, why this machine does not have it.
    """

    isolation: str
    attempts: tuple[Outcome, ...]
    problem: str = ""
    start_seconds: float = 0.0
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def escaped(self) -> tuple[Outcome, ...]:
        """The attempts that succeeded."""
        return tuple(attempt for attempt in self.attempts if not attempt.stopped)

    @property
    def ok(self) -> bool:
        """Whether student code can be graded here."""
        return not self.problem and not self.escaped


def print_report(report: Report) -> None:
    """Print what the escape attempts found, and whether student code can be graded here."""
    for tier, why in report.refused.items():
        print(f"{'not here':12} tier {tier}, {TIERS[tier]}: {why}")
    for attempt in report.attempts:
        print(f"{'stopped' if attempt.stopped else 'GOT THROUGH':12} {attempt.description}")
        if not attempt.stopped:
            print(f"{'':12} {attempt.detail}")
    print(f"\nIsolation: {report.isolation}")
    if report.problem:
        print(report.problem)
    elif report.ok:
        print(f"Student code can be graded here; a worker starts in {report.start_seconds:.1f} s.")
    else:
        print("Do not grade here: the attempts named above reached something.")


def plain_report(report: Report) -> dict[str, Any]:
    """Return what the escape attempts found, as plain data for JSON."""
    return {"ok": report.ok, **asdict(report)}


def run_escape_attempts(container: str = "") -> Report:
    """Start a sandbox, try to escape from it and report; raises nothing.

    Nothing is tried outside a sandbox, and nothing dangerous where something harmless got through.
    """
    started = time.monotonic()
    os.environ[PLANTED_VARIABLE] = "nobody may read this"
    try:
        with Sandbox(limits=_LIMITS, container=container) as sandbox, plant_files() as planted:
            start_seconds = time.monotonic() - started
            attempts = _attack(sandbox, planted)
            isolation, refused = sandbox.isolation, sandbox.refused
    except GraderError as error:
        return Report("none", (), str(error))
    finally:
        del os.environ[PLANTED_VARIABLE]
    return Report(isolation, tuple(attempts), "", start_seconds, refused)


def _attack(sandbox: Sandbox, planted: PlantedFiles) -> list[Outcome]:
    attempts = [_try(sandbox, attempt) for attempt in harmless_attempts(planted)]
    if all(attempt.stopped for attempt in attempts):
        attempts += [_try(sandbox, attempt) for attempt in dangerous_attempts(_LIMITS)]
    intact = planted.is_intact
    return [*attempts, Outcome("gradebook", "change the gradebook by any of these", intact)]


def _try(sandbox: Sandbox, attempt: EscapeAttempt) -> Outcome:
    """Run one attempt, and after it an honest cell, which must not notice."""
    run = sandbox.run([attempt.code], [])
    after = sandbox.run(["print(6 * 7)"], [])
    detail = (run.cells[0].error or run.cells[0].output).strip()[:300]
    stopped = attempt.stopped(run.cells[0], run.seconds)
    if after.cells[0].output != "42\n" or after.problems:
        stopped, detail = False, f"the next submission was harmed: {detail}"
    return Outcome(attempt.name, attempt.description, stopped, detail)
