"""For which answers people gave points and comments, which nbgrader's gradebook does not say.

Beside the records stands, for each student who was given anything by hand, what was given and a
digest of the answer that people saw then. So what they gave for an old answer is shown as such
under a new one, until they look again: give points (the gradebook then waits no longer), or change
what they gave.
"""

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring.notebooks import grading, is_answer
from autograder.files import write_if_new
from autograder.records import FinalScore, HandGrade
from autograder.store.journal import file_name

with contextlib.suppress(ImportError):  # not on Windows, where nobody's class is graded
    import fcntl

HandGrades = Mapping[str, Mapping[str, HandGrade]]


@dataclass(frozen=True)
class Given:
    """What people gave for a cell.

    Attributes:
        points_for: digest of the answer that points and extra credit were given for.
        comment_for: digest of the answer that the comment was given for.
        answer: digest of the answer that is shown now.
        by: who gave it, where it was given on the page for written answers; else empty.
        at: when, ISO 8601.
        levels: the points of the level that was chosen for each criterion of the rubric.
    """

    points: float | None
    extra: float
    comment: str
    points_for: str
    comment_for: str
    answer: str
    by: str = ""
    at: str = ""
    levels: Sequence[float | None] = ()

    def now(self, given: HandGrade, seen: str) -> "Given":
        """Return what people have given by now, who have seen this answer since this was noted."""
        is_same = (given.points, given.extra) == (self.points, self.extra)
        has_same_comment = given.comment == self.comment
        is_known = is_same and has_same_comment
        known = self if is_known else replace(self, by="", at="", levels=())
        if known.by and self.answer == self.points_for:
            return known  # our own page says for what it was; nothing newer has been shown yet
        return replace(
            known,
            points=given.points,
            extra=given.extra,
            comment=given.comment,
            points_for=self.points_for if given.waiting and is_same else seen,
            comment_for=self.comment_for if given.waiting and has_same_comment else seen,
        )

    def marked(self, given: HandGrade) -> HandGrade:
        """Return what people gave, marked where it was for another answer than is shown now."""
        now = self.now(given, self.answer)
        has_points = given.points is not None or bool(given.extra)
        return replace(
            given,
            earlier_points=has_points and now.points_for != self.answer,
            earlier_comment=bool(given.comment) and now.comment_for != self.answer,
        )


class HandGiven:
    """What was given by hand in one set, and for which answers.

    Args:
        folder: of the class.
    """

    def __init__(self, folder: Path, problem_set: str) -> None:
        self._folder = folder / "records" / f"{problem_set}.by_hand"

    def read(self, student: str) -> dict[str, Given]:
        """Return what is known of a student's cells; nothing where nothing can be read."""
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            plain = json.loads((self._folder / f"{file_name(student)}.json").read_text())
            return {cell: Given(**given) for cell, given in plain.items()}
        return {}

    def write(self, student: str, known: Mapping[str, Given]) -> None:
        """Note what was given to a student."""
        text = json.dumps({cell: asdict(given) for cell, given in known.items()}, indent=1)
        write_if_new(self._folder / f"{file_name(student)}.json", text.encode())

    @contextlib.contextmanager
    def only_writer(self) -> Iterator[None]:
        """Wait until nobody else looks at what was given in order to change it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(self._folder / ".writing", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def marked(self, by_hand: HandGrades) -> dict[str, dict[str, HandGrade]]:
        """Return what people gave, marked where it was for an earlier answer."""
        return {student: self.marked_of(student, given) for student, given in by_hand.items()}

    def marked_of(self, student: str, given: Mapping[str, HandGrade]) -> dict[str, HandGrade]:
        """Do as `marked` for one student."""
        if not any(one.is_of_person for one in given.values()):
            return dict(given)
        known = self.read(student)
        return {c: known[c].marked(one) if c in known else one for c, one in given.items()}


def with_marks(scores: Sequence[FinalScore], sets: Sequence[HandGiven]) -> list[FinalScore]:
    """Return scores in which it is marked what people gave for an earlier answer.

    Args:
        sets: one for each notebook of the assignment.
    """
    marked = []
    for score in scores:
        by_hand = {item.name: item.by_hand for item in score.items if item.by_hand is not None}
        for one in sets:
            by_hand = one.marked_of(score.student, by_hand)
        items = [replace(item, by_hand=by_hand.get(item.name)) for item in score.items]
        marked.append(replace(score, items=tuple(items)))
    return marked


def answers_seen(notebook: Path) -> dict[str, str]:
    """Return the answers in the notebook that people see; none where there is none to read."""
    try:
        text = notebook.read_text("utf-8")
        seen: NotebookNode = nbformat.reads(text, 4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError):
        return {}
    return answers(seen)


def answers(notebook: NotebookNode) -> dict[str, str]:
    """Return the text of each answer by the name of its cell."""
    return {grading(cell)["grade_id"]: cell.source for cell in notebook.cells if is_answer(cell)}


def digests(
    cells: Iterable[str], texts: Mapping[str, str], about: Mapping[str, Collection[str]]
) -> dict[str, str]:
    """Return, for each graded cell, a digest of the answers that it is about.

    Args:
        texts: the answers, by the names of their cells.
        about: for each graded cell, those of its answers; of a cell that is not in it, all.
    """
    digest_of = {}
    for cell in cells:
        names = [name for name in texts if name in about.get(cell, texts)]
        text = json.dumps([texts[name].strip() for name in names])
        digest_of[cell] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return digest_of
