"""Grade the notebook of whoever sits here: learners who want to know where they stand."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.authoring.outline import Outline
from autograder.authoring.release import ReleasedSet
from autograder.grading.grader import Confinement, Grader, Task
from autograder.grading.judge import submission_seed
from autograder.grading.own_process import OwnProcess
from autograder.inside.process_limits import Limits
from autograder.records import Grade, GraderError, State, Submission
from autograder.reports.html import still_open, write_page
from autograder.reports.student_feedback import student_page

_WHO = "you"
_OURS = "You have graded this yourself."  # as the page says


@dataclass(frozen=True)
class OwnGrade:
    """What somebody's own notebook is worth, and the page that says why.

    Attributes:
        blank: items that were left as they were released; in words, too, they are worth 0.
        kept: where the earlier page stands, if somebody had written in it.
    """

    outline: Outline
    grade: Grade
    page: Path
    blank: frozenset[str] = frozenset()
    kept: Path | None = None

    @property
    def is_graded(self) -> bool:
        """Whether there is a grade at all."""
        return self.grade.state not in (State.REFUSED, State.GRADER_FAULT)

    @property
    def lines(self) -> list[str]:
        """What a terminal shows; it may hold what the notebook says."""
        earned = {verdict.item: verdict for verdict in self.grade.verdicts}
        lines = []
        waiting = 0.0
        for item in self.outline.items:
            verdict = earned.get(item.name)
            points = f"{verdict.points:g}" if verdict is not None else "0"
            if verdict is None and item.name not in self.blank:
                points, waiting = "open", waiting + item.points
            lines.append(f"{points:>5} of {item.points:<4g} {item.title}")
        grade, most = self.grade, self.outline.points - waiting
        lines.append(f"{grade.points:>5g} of {most:<4g} together{still_open(waiting)}")
        return lines + [f"noticed: {reason}" for reason in self.grade.reasons]

    @property
    def plain(self) -> dict[str, Any]:
        """The same for a script."""
        items = {one.item: [one.points, one.max_points] for one in self.grade.verdicts}
        return {
            "problem_set": self.grade.problem_set,
            "state": self.grade.state.value,
            "points": self.grade.points,
            "max_points": self.grade.max_points,
            "items": items,
            "reasons": list(self.grade.reasons),
            "page": str(self.page),
        }


def grade_own(released: ReleasedSet, path: Path) -> OwnGrade:
    """Grade a notebook with its author's own rights, and write the page beside it.

    Raises:
        GraderError: if the notebook cannot be read, or the page not be written; says why.
    """
    name = released.name
    page = path.with_name(f"{path.stem}-feedback.html")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GraderError(f"{path} cannot be read: {error.strerror}") from error
    # Always the same inputs, so that a better answer never earns less by bad luck.
    seed = submission_seed("mine", "", name)
    task = Task(Submission(_WHO, name, data, hashlib.sha256(data).hexdigest()), "", seed)
    limits = Limits(submission_seconds=released.policy.seconds)
    with Grader(released, Confinement(), OwnProcess(limits, released.files)) as grader:
        graded = grader.grade(task)
    text = student_page(released.outline, graded.grade, graded.repaired, {}, is_own=True)
    kept = _write_page(page, text, path)
    blank = graded.repaired.blank if graded.repaired is not None else frozenset()
    return OwnGrade(released.outline, graded.grade, page, blank, kept)


def _write_page(page: Path, text: str, notebook: Path) -> Path | None:
    """Write the page where nothing stands, or an earlier one; it quotes the notebook."""
    try:
        if page.exists() and _OURS not in page.read_text("utf-8", "replace"):
            raise GraderError(f"{page} is not a page of feedback: move it away")
        return write_page(page, text, like=notebook)
    except OSError as error:
        raise GraderError(f"{page} cannot be written: {error.strerror}") from error
