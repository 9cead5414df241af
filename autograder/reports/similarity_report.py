"""Compare what a class has handed in, and lay it side by side for the instructor.

Works on the received copies alone, so nothing is run. The report says what is alike and where; why
two answers are alike it cannot know.
"""

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from autograder.authoring import release
from autograder.authoring.course import Course
from autograder.files import write_atomically
from autograder.grading.grader import targets
from autograder.intake.repair import repair
from autograder.records import GraderError, SubmissionRefused
from autograder.reports.html import render
from autograder.reports.similarity import (
    MOST_LISTED,
    Likeness,
    Match,
    Material,
    fingerprint_code,
    like_package,
    package_functions,
    similar_students,
)
from autograder.reports.student_feedback import Layout
from autograder.store.input_digests import reference_packages
from autograder.store.journal import Journal

_SHOWN_CHARACTERS = 20_000


@dataclass(frozen=True)
class Report:
    """What was found in a class.

    Attributes:
        pairs: students whose answers are nearly the same.
        copies: students whose answers hold source of the package.
        page: where all of it stands side by side.
    """

    n_students: int
    pairs: tuple[Likeness, ...]
    copies: tuple[Likeness, ...]
    page: Path


def examine(course: Course, name: str, out: Path) -> Report:
    """Compare the answers of all students of whom `out` has a record, and write the report.

    Raises:
        GraderError: if no class was graded there.
    """
    journal, problem_set = Journal(out, name), course.problem_set(name)
    built = release.build(course.source(name))
    answers = _answers(journal, built.student, targets(problem_set))
    materials = [
        Material(
            check.item,
            {student: found.get(check.item, "") for student, found in answers.items()},
            _source(built.solution, f"{check.item}_answer"),
            [_text(other.implementation) for other in check.alternatives],
        )
        for check in problem_set.checks
    ]
    released = "\n".join(cell.source for cell in built.student.cells if cell.cell_type == "code")
    files = [path for package in reference_packages(course, name) for path in package.rglob("*.py")]
    functions = package_functions(path.read_text(encoding="utf-8") for path in sorted(files))
    report = Report(
        len(answers),
        similar_students(materials, released),
        like_package(materials, released, functions),
        out / "dashboard" / name / "similarity.html",
    )
    layout = Layout.of(problem_set, built.student)
    write_atomically(report.page, _page(layout, report, answers, functions).encode())
    return report


def _answers(
    journal: Journal, released: NotebookNode, names: Mapping[str, str]
) -> dict[str, Mapping[str, str]]:
    """Each student's code by item; who handed in no readable notebook is left out."""
    found: dict[str, Mapping[str, str]] = {}
    for student in journal.students():
        record = journal.read(student)
        if record is None or not record.grade.sha256:
            continue
        try:
            notebook = journal.submission(student, record.grade.sha256).notebook
            found[student] = repair(notebook, released, names).answers
        except SubmissionRefused:
            continue
    if not found:
        raise GraderError(f"no readable submission to {journal.problem_set} in {journal.folder}")
    return found


def _source(notebook: NotebookNode, cell_id: str) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.id == cell_id)


def _text(implementation: object) -> str:
    return textwrap.dedent(inspect.getsource(implementation))  # type: ignore[arg-type]


# ------------------------------------------------------------------ the page
def _page(
    layout: Layout,
    report: Report,
    answers: Mapping[str, Mapping[str, str]],
    functions: Mapping[str, str],
) -> str:
    titles = {item.name: item.title for item in layout.items}

    def code(match: Match, of_package: bool) -> list[dict[str, object]]:
        right = functions[match.right] if of_package else answers[match.right][match.item]
        sides = ((match.left, answers[match.left][match.item]), (match.right, right))
        return [
            {"name": name, "lines": _marked_lines(source, match.shared)} for name, source in sides
        ]

    def shown(likenesses: Sequence[Likeness], of_package: bool) -> list[dict[str, object]]:
        return [
            {
                "likeness": likeness,
                "matches": [
                    (titles[match.item], match, code(match, of_package))
                    for match in likeness.matches
                ],
            }
            for likeness in likenesses
        ]

    return render(
        "similarity.html",
        layout=layout,
        n_students=report.n_students,
        most_listed=MOST_LISTED,
        pairs=shown(report.pairs, of_package=False),
        copies=shown(report.copies, of_package=True),
    )


def _marked_lines(code: str, shared: frozenset[int]) -> list[tuple[str, bool]]:
    """Return each line of code, and whether it holds something that the other side has too."""
    lines = fingerprint_code(code).lines
    same = {line for value in shared for line in lines.get(value, ())}
    return [
        (text, number in same) for number, text in enumerate(code[:_SHOWN_CHARACTERS].split("\n"))
    ]
