"""Write grades into nbgrader's gradebook; the only file that uses nbgrader's database.

One writer, one transaction for a hundred submissions: nbgrader's own way, a transaction for every
row, costs ten times as much. A score that a person gave is never touched: only `auto_score` and
`auto_comment` are written. Beside the database stands `autograded/`, in the
layout that nbgrader's formgrader reads, so hand grading works as instructors know it.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from nbformat import NotebookNode
from nbgrader import api, dbutil
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import contains_eager, selectinload

from autograder.authoring.notebooks import assignment_and_notebook, grading
from autograder.files import set_rights
from autograder.records import (
    FinalScore,
    Grade,
    GraderError,
    HandGrade,
)
from autograder.store.final_scores import final_score
from autograder.store.gradebook_address import sqlite_file
from autograder.store.gradebook_errors import report_errors
from autograder.store.gradebook_rows import comment_on, naive, write_score, write_time

_BATCH_SIZE = 100
_UNFINISHED = "_alembic_tmp_"  # begins the name of a table that an upgrade has not put in place yet


def _raise_if_half_upgraded(path: Path) -> None:
    """See that no upgrade broke off between taking a table away and putting the new one there.

    nbgrader makes what is missing anew, empty: all that hangs on it, points given by hand too,
    would be out of reach without a word.

    Raises:
        ValueError: if one did.
    """
    with (
        contextlib.suppress(sqlite3.DatabaseError),  # damaged, or no file: whoever opens it says so
        contextlib.closing(sqlite3.connect(path)) as book,
    ):
        names = book.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        if any(name.startswith(_UNFINISHED) for (name,) in names):
            raise ValueError("an upgrade of its tables broke off")


class Gradebook:
    """nbgrader's gradebook, opened for one run.

    Args:
        url: SQLAlchemy's address of the database. A new SQLite file is made whole or not at all.

    Raises:
        GraderError: on entering, if the database cannot be opened; says which and why.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._book: Any = None

    def __enter__(self) -> Self:
        with report_errors(self.url):
            path = sqlite_file(self.url)
            if path is not None and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                scratch = f"{path}.new-{os.getpid()}"
                api.Gradebook(f"sqlite:///{scratch}").close()
                os.umask(mask := os.umask(0))
                set_rights(Path(scratch), 0o664 & ~mask)  # SQLite's own would keep a group out
                os.replace(scratch, path)
            elif path is not None and path.is_file() and not path.stat().st_size:
                raise ValueError("it is empty")  # SQLite would begin a new one, without a word
            elif path is not None:
                _raise_if_half_upgraded(path)
            self._book = api.Gradebook(self.url)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._book is not None:
            self._book.close()
            self._book = None

    def register(self, name: str, recorded: NotebookNode, due: datetime | None = None) -> None:
        """Make the set, its notebook and its cells known, or bring them up to date.

        nbgrader refuses to change a notebook that has submissions; here cells may be added later,
        so a check can be added or split after the deadline.

        Args:
            recorded: the notebook as `nbgrader generate_assignment` would remember it.
            due: when the set is due; without it, a date set in formgrader stays.

        Raises:
            GraderError: if a cell is gone for which somebody has given points by hand.
        """
        assignment, notebook = assignment_and_notebook(name)
        with report_errors(self.url):
            dates = {} if due is None else {"duedate": naive(due)}
            self._book.update_or_create_assignment(assignment, **dates)
            kernel = json.dumps(recorded.metadata.get("kernelspec", {}))
            self._book.update_or_create_notebook(notebook, assignment, kernelspec=kernel)
            kept: set[tuple[str, str]] = set()
            for cell in recorded.cells:
                for kind, values in _rows(cell):
                    update = getattr(self._book, f"update_or_create_{kind}")
                    update(cell.metadata.nbgrader["grade_id"], notebook, assignment, **values)
                    kept.add((kind, cell.metadata.nbgrader["grade_id"]))
            self._remove_others(name, kept)
            self._complete_submissions(name)

    def record(
        self,
        name: str,
        marked: Iterable[tuple[Grade, frozenset[str]]],
        keeps_times: bool = False,
        earlier_penalties: Mapping[str, Collection[float]] = MappingProxyType({}),
        belongs: Mapping[str, str] = MappingProxyType({}),
    ) -> dict[str, str]:
        """Write the scores of submissions to a set, leaving those of people alone.

        Args:
            marked: for each student at most one grade, with the items and hand-graded questions
                that were left as they were released. Asked for a hundred at a time.
            keeps_times: leave the times and penalties that stand there where a grade has none.
            earlier_penalties: what earlier runs took off, by student. Such a penalty is ours, and
                goes with the due date.
            belongs: as `hand_grades` takes it.

        Returns:
            For each student whose scores the database did not take, why.

        Raises:
            GraderError: if it takes nobody's.
        """
        n_written, refused = 0, dict[str, str]()
        self._book.db.commit()  # no transaction stays open while grades are still being made
        rest = iter(marked)
        while some := {grade.student: (grade, blank) for grade, blank in islice(rest, _BATCH_SIZE)}:
            try:
                self._write(name, some, keeps_times, earlier_penalties, belongs)
                n_written += len(some)
            except Exception as error:
                for student, one in some.items():
                    self._undo(error)
                    try:
                        self._write(name, {student: one}, keeps_times, earlier_penalties, belongs)
                        n_written += 1
                    except Exception as own:
                        refused[student], error = str(own), own
                self._undo(error)
                if not n_written:
                    raise error
        return refused

    def _undo(self, error: Exception) -> None:
        """Take back what was not committed; raise what would end every other transaction, too."""
        self._book.db.rollback()
        self._book.db.expunge_all()
        if isinstance(error.__cause__, OperationalError | OSError):
            raise error

    def _write(
        self,
        name: str,
        some: Mapping[str, tuple[Grade, frozenset[str]]],
        keeps_times: bool,
        earlier_penalties: Mapping[str, Collection[float]],
        belongs: Mapping[str, str],
    ) -> None:
        with report_errors(self.url):
            with self._book.db.no_autoflush:
                self._record_some(name, some, keeps_times, earlier_penalties, belongs)
            self._book.db.commit()
            self._book.db.expunge_all()  # or memory would grow with the class

    def _record_some(
        self,
        name: str,
        marked: Mapping[str, tuple[Grade, frozenset[str]]],
        keeps_times: bool,
        earlier_penalties: Mapping[str, Collection[float]],
        belongs: Mapping[str, str],
    ) -> None:
        notebook = self._find(name)
        cells = {cell.id: cell.name for cell in _cells(notebook)}
        rows = self._submitted(notebook, marked)
        for student, (grade, blank) in marked.items():
            row = rows[student]
            verdicts = {verdict.item: verdict for verdict in grade.verdicts}
            write_time(row.assignment, notebook.assignment, grade.timing, keeps_times)
            is_ours = row.late_submission_penalty in (None, *earlier_penalties.get(student, ()))
            if grade.timing.due or not keeps_times or is_ours:
                row.late_submission_penalty = grade.timing.penalty
            said = [cells[one.cell_id] for one in row.comments if one.manual_comment]
            about = {belongs.get(cell, cell.removesuffix("_answer")) for cell in said}
            for score in row.grades:
                item = cells[score.cell_id]
                write_score(score, verdicts.get(item), grade.state, item in blank, item in about)
            for comment in row.comments:
                item = cells[comment.cell_id]
                verdict = verdicts.get(item.removesuffix("_answer"))
                comment.auto_comment = comment_on(verdict, item, blank)

    def _submitted(self, notebook: Any, students: Collection[str]) -> dict[str, Any]:
        """Return these students' submitted notebooks, with a row for each cell; new ones too."""
        db = self._book.db
        submissions = (
            db.query(api.SubmittedNotebook)
            .join(api.SubmittedNotebook.assignment)
            .where(api.SubmittedNotebook.notebook_id == notebook.id)
            .where(api.SubmittedAssignment.student_id.in_(students))
            .options(
                contains_eager(api.SubmittedNotebook.assignment),
                selectinload(api.SubmittedNotebook.grades),
                selectinload(api.SubmittedNotebook.comments),
            )
        )
        rows = {row.assignment.student_id: row for row in submissions}
        known = set(db.scalars(select(api.Student.id).where(api.Student.id.in_(students))))
        db.add_all([api.Student(id=student) for student in students if student not in known])
        handed_in = select(api.SubmittedAssignment).filter_by(assignment_id=notebook.assignment_id)
        with_others = {one.student_id: one for one in db.scalars(handed_in)}
        for student in students:
            if student not in rows:
                rows[student] = _new_submission(notebook, student, with_others.get(student))
                db.add(rows[student])
        return rows

    def machine_points(self, problem_set: str) -> dict[str, float]:
        """Return what a machine, nbgrader's or this one, has given each student in all."""
        points_of: dict[str, float] = {}
        with report_errors(self.url):
            for student, _, points in self._rows_of(problem_set, api.Grade, "auto_score"):
                if points is not None:
                    points_of[student] = points_of.get(student, 0.0) + points
        return points_of

    def hand_grades(
        self, problem_set: str, belongs: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, dict[str, HandGrade]]:
        """Return, for each student, what people gave for each cell they may or must grade.

        Args:
            belongs: for each cell with an answer, the graded cell to which a comment on it belongs.
        """
        grades: dict[str, dict[str, HandGrade]] = {}
        with report_errors(self.url):
            comments: dict[tuple[str, str], str] = {}
            for student, cell, text in self._rows_of(problem_set, api.Comment, "manual_comment"):
                place = student, belongs.get(cell, cell.removesuffix("_answer"))
                if text:
                    comments[place] = "\n".join(filter(None, [comments.get(place, ""), text]))
            columns = ("manual_score", "extra_credit", "needs_manual_grade", "auto_score")
            for student, cell, points, extra, waiting, machine in self._rows_of(
                problem_set, api.Grade, *columns
            ):
                comment = comments.get((student, cell), "")
                blank = points is None and machine == 0.0
                given = HandGrade(points, comment, waiting, extra or 0.0, blank=blank)
                grades.setdefault(student, {})[cell] = given
        return grades

    def give(
        self, problem_set: str, student: str, cell: str, place: str, points: float, comment: str
    ) -> None:
        """Write what a person gives for a cell, at once, as formgrader does.

        Args:
            place: the cell that comments on it stand in.
        """
        assignment, notebook = assignment_and_notebook(problem_set)
        with report_errors(self.url):
            row = self._book.find_grade(cell, notebook, assignment, student)
            row.manual_score, row.needs_manual_grade = points, False
            said = self._book.find_comment(place, notebook, assignment, student)
            said.manual_comment = comment or None
            self._book.db.commit()

    def ask_again(self, problem_set: str, student: str, cells: Collection[str]) -> None:
        """Ask a person to look again at cells of which the answer is another by now.

        It is committed at once, before anything shows the new answer beside what was given.
        """
        assignment, notebook = assignment_and_notebook(problem_set)
        with report_errors(self.url):
            submission = self._book.find_submission_notebook(notebook, assignment, student)
            for row in submission.grades:
                row.needs_manual_grade = row.needs_manual_grade or row.name in cells
            self._book.db.commit()

    def _find(self, name: str) -> Any:
        assignment, notebook = assignment_and_notebook(name)
        return self._book.find_notebook(notebook, assignment)

    def _rows_of(self, problem_set: str, table: Any, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield student, cell and these columns of every grade or comment of a set."""
        assignment, notebook = assignment_and_notebook(problem_set)
        wanted = [getattr(table, name) for name in columns]
        query = (
            select(api.SubmittedAssignment.student_id, api.BaseCell.name, *wanted)
            .join(api.SubmittedNotebook, api.SubmittedNotebook.id == table.notebook_id)
            .join(api.SubmittedNotebook.assignment)
            .join(api.SubmittedAssignment.assignment)
            .join(api.BaseCell, api.BaseCell.id == table.cell_id)
            .join(api.SubmittedNotebook.notebook)
            .where(api.Assignment.name == assignment, api.Notebook.name == notebook)
        )
        yield from self._book.db.execute(query)

    def students(self) -> frozenset[str]:
        """Return everybody whom the gradebook knows, from any set."""
        with report_errors(self.url):
            return frozenset(self._book.db.scalars(select(api.Student.id)))

    def final_scores(
        self, problem_set: str, belongs: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[FinalScore, ...]:
        """Return what each submission counts, as formgrader does, with all its notebooks.

        Args:
            belongs: as `hand_grades` takes it.
        """
        assignment, _ = assignment_and_notebook(problem_set)
        with report_errors(self.url):
            submissions = self._book.assignment_submissions(assignment)
            scores = [final_score(submission, belongs) for submission in submissions]
        return tuple(sorted(scores, key=lambda score: score.student))

    def _remove_others(self, name: str, kept: set[tuple[str, str]]) -> None:
        notebook = self._find(name)
        for kind in ("grade_cell", "solution_cell", "task_cell", "source_cell"):
            for cell in list(getattr(notebook, f"{kind}s")):
                if (kind, cell.name) in kept:
                    continue
                # Source cells have neither grades nor comments.
                grades, comments = getattr(cell, "grades", []), getattr(cell, "comments", [])
                if any(row.manual_score is not None or row.extra_credit for row in grades) or any(
                    row.manual_comment for row in comments
                ):
                    raise GraderError(
                        f"cell {cell.name} is no longer in {name}, but people have graded it by "
                        "hand; put it back, or remove those grades and comments in formgrader first"
                    )
                for row in (*grades, *comments):
                    self._book.db.delete(row)
                self._book.db.delete(cell)
        self._book.db.commit()

    def _complete_submissions(self, name: str) -> None:
        """Give submissions that were recorded earlier a row for each cell that is new."""
        db, notebook = self._book.db, self._find(name)
        submitted = api.SubmittedNotebook.id
        everybody = set(
            db.scalars(select(submitted).where(api.SubmittedNotebook.notebook_id == notebook.id))
        )
        for table, cells in (
            (api.Grade, (*notebook.grade_cells, *notebook.task_cells)),
            (api.Comment, (*notebook.solution_cells, *notebook.task_cells)),
        ):
            for cell in cells:
                have = set(db.scalars(select(table.notebook_id).where(table.cell_id == cell.id)))
                for one in everybody - have:
                    db.add(table(cell_id=cell.id, notebook_id=one))
        db.commit()


def _cells(notebook: Any) -> tuple[Any, ...]:
    """Return the cells that submissions have rows for."""
    return (*notebook.grade_cells, *notebook.solution_cells, *notebook.task_cells)


def _new_submission(notebook: Any, student: str, submission: Any) -> Any:
    """Make a submitted notebook with an empty row for each cell, as nbgrader would.

    Args:
        submission: to the same assignment, where another notebook of it is known already.
    """
    ids = {"assignment_id": notebook.assignment_id, "student_id": student}
    submission = submission or api.SubmittedAssignment(**ids)
    grades = [api.Grade(cell_id=cell.id) for cell in (*notebook.grade_cells, *notebook.task_cells)]
    comments = [
        api.Comment(cell_id=cell.id) for cell in (*notebook.solution_cells, *notebook.task_cells)
    ]
    return api.SubmittedNotebook(
        notebook_id=notebook.id, assignment=submission, grades=grades, comments=comments
    )


def _rows(cell: NotebookNode) -> Iterator[tuple[str, dict[str, Any]]]:
    """Which of nbgrader's tables a released cell stands in, and with which values."""
    meta = grading(cell)
    if not meta:
        return
    if meta.get("grade"):
        yield "grade_cell", {"max_score": float(meta["points"]), "cell_type": cell.cell_type}
    if meta.get("solution"):
        yield "solution_cell", {}
    if meta.get("task"):
        yield "task_cell", {"max_score": float(meta["points"]), "cell_type": cell.cell_type}
    yield (
        "source_cell",
        {
            "cell_type": cell.cell_type,
            "locked": bool(meta.get("locked")) and not meta.get("solution"),
            "source": cell.source,
            "checksum": meta.get("checksum"),
        },
    )


def _newest_schema() -> str | None:
    """Return the version of nbgrader's tables, which nbgrader itself starts a program to ask."""
    from alembic.script import ScriptDirectory  # slow to load, and only for a new database

    return ScriptDirectory(dbutil.ALEMBIC_DIR).get_current_head()


api.get_alembic_version = _newest_schema  # type: ignore[assignment]
