"""Let `nbgrader autograde`, and formgrader's button for it, run student code in the sandbox.

One line of a course's `nbgrader_config.py` does it:

    c.Autograde.exporter_class = "autograder.class_run.nbgrader_autograde.SandboxedExporter"

All else stays nbgrader's: it writes its gradebook and `autograded/`, keeps what people gave, takes
late penalties. Only where it would start a kernel beside the gradebook, the notebook goes into the
sandbox, and the points come from there. An exporter, since nbgrader makes one for each run and lets
a course choose it; the converter itself is named in nbgrader's own code.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader import api
from nbgrader.converters import NbGraderException
from nbgrader.preprocessors import Execute, SaveAutoGrades
from traitlets.utils.importstring import import_item

from autograder.authoring.course import NbgraderCourse
from autograder.authoring.notebooks import as_text, assignment_and_notebook, grading
from autograder.authoring.release import ReleasedSet
from autograder.class_run.own_solution import with_working_tests
from autograder.class_run.settings import Settings
from autograder.grading.grader import Grader, Task
from autograder.intake.layouts import MARKUP, student_name
from autograder.records import Grade, GraderError, State, Submission
from autograder.store.formgrader_notebook import formgrader_notebook


class SandboxedExporter(NotebookExporter):
    """Puts the sandbox in the place of nbgrader's kernel.

    Raises:
        NbGraderException: when autograding starts, before anything is changed: if student code
            cannot be isolated here, or tests are not those that nbgrader has recorded; says why.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self._graders: dict[str, Grader] = {}
        self._left: dict[str, Mapping[str, str]] = {}
        self._open = contextlib.ExitStack()
        convert = self._converter.convert_notebooks

        def in_sandbox() -> None:
            with self._open:
                self._start()
                convert()

        # Nothing else of nbgrader's surrounds a whole run.
        self._converter.convert_notebooks = in_sandbox
        begin = self._converter.init_assignment

        def begin_if_named(assignment: str, student: str) -> None:
            if not MARKUP.isdisjoint(student):  # before it is in the gradebook
                raise NbGraderException(
                    f"{student_name(student)}: formgrader would take this name for markup; rename "
                    "the folder of the submission"
                )
            begin(assignment, student)

        self._converter.init_assignment = begin_if_named

    @property
    def _converter(self) -> Any:
        return self.parent

    def register_preprocessor(self, preprocessor: Any, enabled: bool = False) -> Any:
        """Register one of nbgrader's steps, or ours in place of those two that ours replace."""
        for own in (SandboxedExecute, SavePoints):
            (theirs,) = own.__bases__
            if isinstance(preprocessor, type) and issubclass(preprocessor, theirs):
                preprocessor = own
        return super().register_preprocessor(preprocessor, enabled)  # type: ignore[no-untyped-call]

    def grade(self, notebook: NotebookNode, about: dict[str, Any]) -> NotebookNode:
        """Run a submission in the sandbox; return it as formgrader shows it.

        Args:
            about: what nbgrader says about it. The key "points" is added: those of each graded
                cell, None where a person has to decide.

        Raises:
            NbGraderException: if there is no grade for it; nbgrader then names the student.
        """
        name, student = _set_name(about), about["student"]
        if name not in self._graders:
            raise NbGraderException(f"{student}: nbgrader has recorded no notebook {name!r}")
        submission = Submission(student, name, as_text(notebook).encode(), "")
        graded = self._graders[name].grade(Task(submission, "", 0))
        grade, repaired = graded.grade, graded.repaired
        for reason in grade.reasons:
            self.log.warning("%s, %s: %s", student, name, reason)
        if repaired is None or grade.state in (State.REFUSED, State.GRADER_FAULT):
            raise NbGraderException(f"{student}, {name}: {'; '.join(grade.reasons)}")
        about["points"] = {cell: 0.0 for cell in repaired.blank}
        about["points"] |= {verdict.item: verdict.points for verdict in grade.verdicts}
        about["points"] |= dict.fromkeys(self._left[name])
        if grade.state is State.TAMPERED:
            self.log.error("%s, %s: tampering; look at it before it counts", student, name)
            about["points"] = {}
        return _with_outcomes(formgrader_notebook(repaired.notebook, grade), grade)

    def _start(self) -> None:
        """Open a sandbox for each notebook of the run."""
        converter = self._converter
        steps = converter.autograde_preprocessors
        steps = [import_item(step) if isinstance(step, str) else step for step in steps]
        if not any(isinstance(step, type) and issubclass(step, Execute) for step in steps):
            self._fail(
                "Autograde.autograde_preprocessors has no Execute, which the sandbox replaces"
            )
        if not SandboxedExecute(parent=self).enabled:
            return  # `--no-execute`: nothing will run
        paths = [path for paths in converter.assignments.values() for path in paths]
        names = set()
        for path in paths:
            with contextlib.suppress(NbGraderException):  # it says so itself, of that student alone
                about = converter.init_single_notebook_resources(path)["nbgrader"]
                names.add(_set_name(about))
        try:
            for name in sorted(names):
                self._open_grader(name)
        except GraderError as error:
            self._fail(str(error))

    def _open_grader(self, name: str) -> None:
        coursedir = self._converter.coursedir
        course = NbgraderCourse(Path(coursedir.root))
        with api.Gradebook(coursedir.db_url, coursedir.course_id) as book:
            assignment, notebook = assignment_and_notebook(name)
            try:
                cells = book.find_notebook(notebook, assignment).source_cells
            except (api.MissingEntry, UnicodeEncodeError):
                return  # nbgrader itself says so, and skips it
            known = {cell.name: cell.source for cell in cells}
        recorded = ReleasedSet(course, name).notebooks.recorded.cells
        now = {cell.id: cell.source for cell in recorded if grading(cell)}
        if changed := sorted(cell for cell in {**known, **now} if known.get(cell) != now.get(cell)):
            raise GraderError(
                f"{course.source(name)} is not what nbgrader has recorded ({', '.join(changed)}): "
                f"run `nbgrader generate_assignment {assignment}` again"
            )
        # Where this run reads, whatever the course's own settings say.
        submitted = Path(coursedir.root, coursedir.submitted_directory)
        hiding = Settings(course.folder, coursedir.db_url).hiding(submitted)
        released = with_working_tests(course, name, hiding.confinement)
        self._left[name] = released.left_to_people
        for cell, why in self._left[name].items():
            self.log.warning("%s: %s is left for people to grade: %s", name, cell, why)
        self._graders[name] = self._open.enter_context(Grader(released, hiding.confinement))

    def _fail(self, why: str) -> None:
        self.log.error("%s. Nothing was run or changed", why)
        raise NbGraderException(why)


class SandboxedExecute(Execute):
    """Runs a submission in the sandbox of the exporter that it belongs to."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any], km: Any = None
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Return the notebook with what its tests said; the points go into the resources."""
        return self.parent.grade(nb, resources["nbgrader"]), resources


class SavePoints(SaveAutoGrades):
    """Writes the points that came from outside the sandbox, not what a cell's outputs say."""

    def _add_score(self, cell: NotebookNode, resources: dict[str, Any]) -> None:
        if "points" not in resources["nbgrader"]:
            super()._add_score(cell, resources)  # `--no-execute`: nothing was run
            return
        item = cell.metadata.nbgrader["grade_id"]
        row = self.gradebook.find_grade(item, self.notebook_id, self.assignment_id, self.student_id)
        row.auto_score = resources["nbgrader"]["points"].get(item)
        row.needs_manual_grade = row.auto_score is None or row.manual_score is not None
        self.gradebook.db.commit()


def _set_name(about: Mapping[str, Any]) -> str:
    same = about["assignment"] == about["notebook"]
    return about["assignment"] if same else f"{about['assignment']}+{about['notebook']}"


def _with_outcomes(notebook: NotebookNode, grade: Grade) -> NotebookNode:
    """Add to each test cell the output by which nbgrader knows its points."""
    verdicts = {verdict.item: verdict for verdict in grade.verdicts}
    for cell in notebook.cells:
        verdict = verdicts.get(grading(cell).get("grade_id", ""))
        if verdict is None or verdict.points == verdict.max_points:
            continue
        outcome: dict[str, Any] = {"output_type": "error", "ename": "Points", "evalue": "0"}
        outcome["traceback"] = [verdict.parts[0].message]
        if verdict.points:
            data = {"text/plain": f"{verdict.points:g}"}
            outcome = {"output_type": "execute_result", "data": data, "metadata": {}}
            outcome["execution_count"] = None
        cell.outputs.append(nbformat.from_dict(outcome))  # type: ignore[no-untyped-call]
    return notebook
