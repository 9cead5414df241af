"""Compare what a class has handed in, and lay it side by side for the instructor.

Works on the received copies alone, so nothing is run. The report says what is alike and where; why
two answers are alike it cannot know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbformat import NotebookNode

from autograder.authoring.notebooks import is_answer
from autograder.authoring.outline import Outline
from autograder.authoring.release import ReleasedSet
from autograder.inside.probe import describe
from autograder.intake.repair import repair
from autograder.records import GraderError
from autograder.reports.html import render, write_page
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
from autograder.store.input_digests import reference_packages
from autograder.store.journal import Journal
from autograder.untrusted import as_line

_SHOWN_CHARACTERS = 20_000


@dataclass(frozen=True)
class Report:
    """What was found in a class.

    Attributes:
        pairs: students whose answers are nearly the same.
        copies: students whose answers hold source of the package.
        page: where all of it stands side by side.
        left_out: whose answers could not be compared, and why.
        kept: where the earlier page stands, if somebody had written in it.
    """

    n_students: int
    pairs: tuple[Likeness, ...]
    copies: tuple[Likeness, ...]
    page: Path
    left_out: tuple[str, ...] = ()
    kept: Path | None = None

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Three students or more whom pairs connect, directly or by way of others."""
        groups: list[set[str]] = []
        for pair in self.pairs:
            joined = {pair.left, pair.right}
            apart = [group for group in groups if not group & joined]
            groups = [*apart, joined.union(*(group for group in groups if group & joined))]
        return tuple(sorted(tuple(sorted(group)) for group in groups if len(group) > 2))


def examine(released: ReleasedSet, out: Path) -> Report:
    """Compare the answers of all students of whom `out` has a record, and write the report.

    Raises:
        GraderError: if no class was graded there.
    """
    name, notebooks = released.name, released.notebooks
    answers, left_out = _comparable(_answers(Journal(out, name), released))
    independent = independent_answers(released)
    materials = [
        Material(
            item,
            {student: codes.get(item, "") for student, codes in answers.items()},
            _source(notebooks.solution, cell_id),
            independent.get(item, ()),
        )
        for item, cell_id in _items(released).items()
    ]
    common = "\n".join(c.source for c in notebooks.student.cells if c.cell_type == "code")
    functions = reference_functions(released)
    report = Report(
        len(answers),
        similar_students(materials, common),
        like_package(materials, common, functions),
        out / "dashboard" / name / "similarity.html",
        left_out,
    )
    kept = write_page(report.page, _page(released.outline, report, answers, functions))
    return replace(report, kept=kept)


def _items(released: ReleasedSet) -> dict[str, str]:
    """Name what is compared, each with its cell: without checks, every cell for an answer."""
    if released.course.has_checks:
        return {check.item: f"{check.item}_answer" for check in released.problem_set.checks}
    return {cell.id: cell.id for cell in filter(_is_code, released.notebooks.student.cells)}


def _is_code(cell: NotebookNode) -> bool:
    return is_answer(cell) and cell.cell_type == "code"


def independent_answers(released: ReleasedSet) -> dict[str, list[str]]:
    """Return, by item, the right answers to try: people who did not copy wrote them."""
    return {
        check.item: [a.source for a in released.answers.get(check.target, ()) if a.is_right]
        for check in released.problem_set.checks
    }


def reference_functions(released: ReleasedSet) -> dict[str, str]:
    """Return the source of every function of the packages from which a set's checks import."""
    sources = {}
    for package in reference_packages(released):
        for path in sorted(package.rglob("*.py")):
            module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
            sources[module.removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return package_functions(sources)


def _answers(journal: Journal, released: ReleasedSet) -> dict[str, Mapping[str, str]]:
    """Each student's code by item; who handed in no readable notebook is left out."""
    answers: dict[str, Mapping[str, str]] = {}
    for student in journal.students():
        record = journal.read(student)
        if record is None or not record.grade.sha256:
            continue
        try:
            notebook = journal.submission(student, record.grade.sha256).notebook
            repaired = repair(notebook, released)
        except GraderError:  # refused, or its copy is gone
            continue
        answers[student] = repaired.answers
        if not released.course.has_checks:
            cells = filter(_is_code, repaired.notebook.cells)
            answers[student] = {cell.id: cell.source for cell in cells}
    if not answers:
        raise GraderError(f"no readable submission to {journal.problem_set} in {journal.folder}")
    return answers


def _comparable(
    answers: Mapping[str, Mapping[str, str]],
) -> tuple[dict[str, Mapping[str, str]], tuple[str, ...]]:
    """Part answers from those of students that break what compares them; say whose, and how."""
    comparable, left_out = {}, []
    for student, codes in answers.items():
        try:
            for code in codes.values():
                fingerprint_code(code)  # which is remembered
            comparable[student] = codes
        except Exception as error:
            left_out.append(f"{student} is left out: {as_line(describe(error))}")
    return comparable, tuple(left_out)


def _source(notebook: NotebookNode, cell_id: str) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.id == cell_id)


# ------------------------------------------------------------------ the page
def _page(
    outline: Outline,
    report: Report,
    answers: Mapping[str, Mapping[str, str]],
    functions: Mapping[str, str],
) -> str:
    titles = outline.titles

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
                    (titles.get(match.item, match.item), match, code(match, of_package))
                    for match in likeness.matches
                ],
            }
            for likeness in likenesses
        ]

    return render(
        "similarity.html",
        outline=outline,
        n_students=report.n_students,
        most_listed=MOST_LISTED,
        groups=report.groups,
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
