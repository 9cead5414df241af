"""Written answers of a class, to be graded by people with the course's rubric.

What people give goes into nbgrader's gradebook at once, as from formgrader; beside it is noted who
gave it, for which answer, and which levels of the rubric. Whoever has seen something else than what
is there by now (a colleague's points, another hand-in) is told so, and nothing is replaced.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from autograder.authoring.notebooks import assignment_and_notebook, grading, is_answer
from autograder.authoring.outline import Item
from autograder.authoring.release import ReleasedSet
from autograder.authoring.rubrics import Criterion, criteria_of
from autograder.class_run.settings import Settings
from autograder.class_run.student_pages import as_graded
from autograder.records import GraderError, HandGrade, State
from autograder.store.gradebook import Gradebook
from autograder.store.hand_given import Given, HandGiven, answers_seen, digests
from autograder.store.journal import Journal
from autograder.store.sections import SECTIONS, read_sections

_MOST_IMAGES, _MOST_BYTES = 4, 4 << 20
_MOST_PIXELS = 32_000_000  # a browser holds four bytes of each; 20 by 16 inches at 300 dots an inch
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


class Changed(GraderError):
    """Something else is there by now than what a person has seen; says what."""


@dataclass(frozen=True)
class Answer:
    """One student's answer to one question, and what people gave for it.

    Attributes:
        key: stands for the student in addresses, without saying who it is.
        answer: digest of its text.
        by: who gave the points, if that is known.
    """

    key: str
    student: str
    section: str
    answer: str
    given: HandGrade
    by: str
    at: str
    levels: Sequence[float | None]

    @property
    def is_done(self) -> bool:
        """Whether a person has given points for this very answer."""
        return self.given.points is not None and not self.given.waiting

    @property
    def version(self) -> str:
        """Changes whenever the answer or what was given for it does."""
        text = repr((self.answer, self.given.points, self.given.comment, self.given.waiting))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Choice:
    """Whose answers somebody grades: those of a section, or that `sections.csv` gives them."""

    grader: str
    section: str = ""


class WrittenAnswers:
    """The written answers of a graded set."""

    def __init__(self, released: ReleasedSet, settings: Settings, choice: Choice) -> None:
        self._released, self._settings, self._choice = released, settings, choice
        self._journal = Journal(settings.out, released.name)
        self._given = HandGiven(settings.out, released.name)
        self.rubric = criteria_of(released.course, released.name)
        self.questions = tuple(item for item in released.outline.items if item.by_hand)

    def question(self, name: str) -> Item | None:
        """Return a question of the set."""
        return next((item for item in self.questions if item.name == name), None)

    def criteria(self, item: Item) -> tuple[Criterion, ...]:
        """Return what the rubric asks of an answer; nothing if there is no rubric."""
        return self.rubric.get(item.name, ())

    def answers(self, item: Item) -> list[Answer]:
        """Return the answers to a question, in an order that says nothing of the names.

        Their texts are not read for this. Where nothing could be read, there is no answer.
        """
        sections = _sections(self._settings, self._choice)
        with Gradebook(self._settings.url) as book:
            by_hand = book.hand_grades(self._released.name, self._released.outline.belongs)
        answers = []
        for student in self._journal.students():
            given = by_hand.get(student, {}).get(item.name)
            if given is None or (sections is not None and student not in sections):
                continue
            is_there = given.waiting and self._notebook(student).is_file()
            if is_there or given.is_of_person:
                known = self._given.read(student).get(item.name)
                section = (sections or {}).get(student, "")
                digest = known.answer if known is not None else ""
                answers.append(self._answer(student, section, given, known, digest))
        return sorted(answers, key=lambda one: one.key)

    def answer(self, item: Item, key: str) -> Answer | None:
        """Return one of them as it is now; None if there is none of this key."""
        one = next((one for one in self.answers(item) if one.key == key), None)
        return None if one is None else self._now(item, one.student, one.section, one.given)

    def of(self, item: Item, student: str) -> Answer:
        """Return a student's answer as it is now, whether or not anybody has to grade it."""
        with Gradebook(self._settings.url) as book:
            by_hand = book.hand_grades(self._released.name, self._released.outline.belongs)
        given = by_hand.get(student, {}).get(item.name, HandGrade(None))
        return self._now(item, student, "", given)

    def _now(self, item: Item, student: str, section: str, given: HandGrade) -> Answer:
        texts = answers_seen(self._notebook(student))
        digest = digests([item.name], texts, self._released.outline.about)[item.name]
        known = self._given.read(student).get(item.name)
        return self._answer(student, section, given, known, digest)

    def _answer(
        self,
        student: str,
        section: str,
        given: HandGrade,
        known: Given | None,
        digest: str,
    ) -> Answer:
        by, at = "", ""
        levels: tuple[float | None, ...] = ()
        if known is not None:
            known = known.now(given, digest)
            given = known.marked(given)
            by, at, levels = known.by, known.at, tuple(known.levels)
        text = f"written {self._journal.salt()} {student}"
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        return Answer(key, student, section, digest, given, by, at, levels)

    def _notebook(self, student: str) -> Any:
        assignment, name = assignment_and_notebook(self._released.name)
        autograded = self._released.course.output("autograded", self._settings.out)
        return autograded / student / assignment / f"{name}.ipynb"

    def shown(self, item: Item, answer: Answer) -> tuple[str, list[str]]:
        """Return an answer's text, and the pictures that were in the notebook before it."""
        record = self._journal.read(answer.student)
        if record is None or record.grade.state is State.REFUSED:
            return "", []
        repaired = as_graded(self._released, record.grade, self._settings.out)
        cells = repaired.notebook.cells if repaired is not None else []
        names = {item.name, *item.answers}
        texts = [cell.source for cell in cells if is_answer(cell) and cell.id in names]
        kept = self._journal.submission(answer.student, record.grade.sha256)
        return "\n\n".join(texts), list(_pictures(kept.notebook, names))[-_MOST_IMAGES:]

    def give(
        self,
        item: Item,
        key: str,
        seen: str,
        levels: Sequence[float | None],
        points: float | None,
        comment: str,
    ) -> Answer:
        """Write what a person gives for an answer, and return it as it is then.

        Args:
            seen: the version of it that the person has seen.
            points: None, or as they were while the levels have changed: the sum of the levels.

        Raises:
            Changed: if it is another by now; says what was given, and by whom.
            GraderError: if these points cannot be given; says why.
        """
        with self._given.only_writer():
            one = self.answer(item, key)
            if one is None:
                raise Changed("this answer is no longer here: load the list again")
            if one.version != seen:
                raise Changed(_what_changed(one))
            wanted = _points(one, levels, points, len(self.criteria(item)))
            if wanted is None:
                raise GraderError("choose a level for each, or give points")
            if not 0 <= wanted <= item.points:
                raise GraderError(f"{wanted:g} points; they must be from 0 to {item.points:g}")
            place = item.name if item.name in item.answers or not item.answers else item.answers[0]
            name, now = self._released.name, datetime.now(UTC).isoformat(timespec="seconds")
            known = self._given.read(one.student)
            known[item.name] = Given(
                *(wanted, one.given.extra, comment, one.answer, one.answer, one.answer),
                *(self._choice.grader, now, tuple(levels)),
            )
            with Gradebook(self._settings.url) as book:
                book.give(name, one.student, item.name, place, wanted, comment)
            self._given.write(one.student, known)
            return self.answer(item, key) or one


def _points(
    one: Answer, levels: Sequence[float | None], points: float | None, n_criteria: int
) -> float | None:
    """Return what is given: a number that somebody has typed, else what the levels come to."""
    is_typed = points is not None and points != one.given.points
    has_new_levels = list(levels) != list(one.levels)
    chosen = [level for level in levels if level is not None]
    if n_criteria and len(chosen) == n_criteria and has_new_levels and not is_typed:
        return sum(chosen)
    return points


def _what_changed(one: Answer) -> str:
    by = f"{one.by or 'somebody'} gave {one.given.points:g} points" if one.is_done else ""
    what = by or "another answer was handed in, or points were taken back"
    return f"not saved: meanwhile {what}. Load this page again, and save again if you still want to"


def _sections(settings: Settings, choice: Choice) -> dict[str, str] | None:
    """Return the students whom somebody grades, with their sections; None where it is everybody.

    Raises:
        GraderError: if the file cannot be read, or has nobody for this choice.
    """
    path, members = settings.out / SECTIONS, read_sections(settings.out)
    if members is None:
        if choice.section:
            raise GraderError(f"there is no {path}, with the columns student and section")
        return None
    is_named = any(one.grader and one.grader == choice.grader for one in members)
    sections = {
        one.student: one.section
        for one in members
        if one.section == choice.section or not choice.section
        if choice.section or one.grader == choice.grader
    }
    if choice.section and not sections:
        known = ", ".join(sorted({one.section for one in members}))
        raise GraderError(f"{path} has no section {choice.section!r}; it has: {known}")
    return sections if choice.section or is_named else None


def _pictures(notebook: bytes, names: set[str]) -> Iterator[str]:
    """Yield the PNGs that a notebook as handed in shows before an answer, as base64.

    Nothing else that students hand in is shown as more than text.
    """
    try:
        cells = json.loads(notebook)["cells"]
        for cell in cells:
            if grading(cell).get("grade_id") in names:
                return
            for output in cell.get("outputs", ()):
                data = output.get("data", {}).get("image/png", "")
                text = "".join(data) if isinstance(data, list) else str(data)
                raw = base64.b64decode("".join(text.split()), validate=True)
                width, height = (int.from_bytes(raw[at : at + 4]) for at in (16, 20))
                is_small = len(raw) <= _MOST_BYTES and width * height <= _MOST_PIXELS
                if raw.startswith(_PNG) and is_small:
                    yield base64.b64encode(raw).decode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return


def counts(answers: Sequence[Answer]) -> Mapping[str, int]:
    """Return how many answers each grader has graded."""
    n_by_grader: dict[str, int] = {}
    for one in answers:
        if one.is_done:
            n_by_grader[one.by or "in formgrader"] = (
                n_by_grader.get(one.by or "in formgrader", 0) + 1
            )
    return dict(sorted(n_by_grader.items()))
