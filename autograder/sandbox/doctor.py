"""Find out what isolation this machine really gives, by attacking it.

`run_canaries` starts the sandbox as grading does and runs small attacks inside. A canary says that
it was stopped or that it got through; nobody has to believe a kernel version or an option's name.
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
    Attack,
    Bait,
    Canary,
    bait,
    dangerous,
    harmless,
)
from autograder.sandbox.sandbox import TIERS, Sandbox

_LIMITS = Limits(
    cell_seconds=3, submission_seconds=20, memory_bytes=512 << 20, processes=24, disk_bytes=8 << 20
)


@dataclass(frozen=True)
class Report:
    """What the canaries found.

    Attributes:
        isolation: the tier, in words, as every grade names it.
        problem: why there is no sandbox at all; empty if there is one.
        start_seconds: what a worker costs before its first submission.
        refused: for each better tier, why this machine does not have it.
    """

    isolation: str
    canaries: tuple[Canary, ...]
    problem: str = ""
    start_seconds: float = 0.0
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def got_through(self) -> tuple[Canary, ...]:
        """The attacks that succeeded."""
        return tuple(canary for canary in self.canaries if not canary.stopped)

    @property
    def ok(self) -> bool:
        """Whether student code can be graded here."""
        return not self.problem and not self.got_through


def print_report(report: Report) -> None:
    """Print what the canaries found, and whether student code can be graded here."""
    for tier, why in report.refused.items():
        print(f"{'not here':12} tier {tier}, {TIERS[tier]}: {why}")
    for canary in report.canaries:
        print(f"{'stopped' if canary.stopped else 'GOT THROUGH':12} {canary.says}")
        if not canary.stopped:
            print(f"{'':12} {canary.detail}")
    print(f"\nIsolation: {report.isolation}")
    if report.problem:
        print(report.problem)
    elif report.ok:
        print(f"Student code can be graded here; a worker starts in {report.start_seconds:.1f} s.")
    else:
        print("Do not grade here: the attacks named above reached something.")


def plain_report(report: Report) -> dict[str, Any]:
    """Return what the canaries found as JSON writes it."""
    return {"ok": report.ok, **asdict(report)}


def run_canaries() -> Report:
    """Start a sandbox, attack it from inside and report; raises nothing.

    There is no way to attack anything but a sandbox, and what is dangerous is left out once
    something harmless got through.
    """
    started = time.monotonic()
    os.environ[PLANTED_VARIABLE] = "nobody may read this"
    try:
        with Sandbox(limits=_LIMITS) as sandbox, bait() as planted:
            start_seconds = time.monotonic() - started
            canaries = _attack(sandbox, planted)
            isolation, refused = sandbox.isolation, sandbox.refused
    except GraderError as error:
        return Report("none", (), str(error))
    finally:
        del os.environ[PLANTED_VARIABLE]
    return Report(isolation, tuple(canaries), "", start_seconds, refused)


def _attack(sandbox: Sandbox, planted: Bait) -> list[Canary]:
    canaries = [_release(sandbox, attack) for attack in harmless(planted)]
    if all(canary.stopped for canary in canaries):
        canaries += [_release(sandbox, attack) for attack in dangerous(_LIMITS)]
    intact = planted.is_intact
    return [*canaries, Canary("gradebook", "change the gradebook by any of these", intact)]


def _release(sandbox: Sandbox, attack: Attack) -> Canary:
    """Run one attack, and after it an honest cell, which must not notice."""
    run = sandbox.run([attack.code], [])
    after = sandbox.run(["print(6 * 7)"], [])
    detail = (run.cells[0].error or run.cells[0].output).strip()[:300]
    if after.cells[0].output != "42\n" or after.problems:
        return Canary(attack.name, attack.says, False, f"the next submission was harmed: {detail}")
    return Canary(attack.name, attack.says, attack.stopped(run.cells[0], run.seconds), detail)
