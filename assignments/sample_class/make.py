"""Make up a class of twenty for all problem sets: right, wrong, blank, broken and hostile.

    python assignments/sample_class/make.py [FOLDER]

Everybody hands in the first set. Of the others, the three whose answers say most about a set hand
in each, and the rest take turns, but for the one whose code never ends: to wait for that once is
enough. Every answer comes from the set's own checks: its solution, its right answers and its
mistakes; the first two also take part in the challenges that have a leaderboard. Two runs write the
same bytes, so grading the class a second time has nothing to do.
"""

import argparse
import copy
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring.checks import Challenge, Check, ProblemSet, as_answer
from autograder.authoring.course import Course, find_course
from autograder.authoring.notebooks import as_text, defines, grading, is_answer, is_graded
from autograder.authoring.release import ReleasedSet
from autograder.files import write_atomically

Answers = Mapping[str, str]
"""Source of the answer cell of each item; an item that is left out stays a stub."""

_AGREEABLE = """
class Agreeable:
    "Equal to everything, larger than everything, close to everything."
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __gt__(self, other): return True
    def __le__(self, other): return True
    def __ge__(self, other): return True
    def __sub__(self, other): return 0.0
    def __rsub__(self, other): return 0.0
    def __abs__(self): return 0.0
    def __float__(self): return 0.0
    def __hash__(self): return 0
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
"""
_MEDDLING = """
import builtins, gc, math, os

math.isclose = lambda *args, **kwargs: True
builtins.all = builtins.any = lambda *args: True
for folder in (".", "..", "../..", "/home", os.path.expanduser("~")):
    for name in ("gradebook.db", "checks", "solution"):
        try:
            open(os.path.join(folder, name), "w").write("100 points")
        except OSError:
            pass
for thing in gc.get_objects():
    if type(thing).__name__ == "Verdict":
        object.__setattr__(thing, "points", 100.0)
"""
_ESSAY = "I expected the opposite, and changed my mind when I saw the numbers above."


_IN_EVERY_SET = 3
"""So many of the students, the first, hand in every set."""
_ENDLESS = "endless-loop"


def students(course: Course, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield each student's name and the bytes of the file that they would hand in."""
    released = ReleasedSet(course, name)
    built, problem_set = released.notebooks, released.problem_set
    solution = {
        f"{check.item}_answer": _cell(built.solution, f"{check.item}_answer").source
        for check in problem_set.checks
    }
    blank = built.student

    def take_part(notebook: NotebookNode) -> None:
        _take_part(notebook, problem_set)

    def hand_in(answers: Answers, *changes: Callable[[NotebookNode], None]) -> bytes:
        return as_text(_filled(blank, answers, *changes)).encode()

    yield "perfect", hand_in(solution, take_part)
    yield "perfect-but-different", hand_in(_alternatives(released), take_part)
    for number in range(3):
        wrong = solution | _mistakes(problem_set, number)
        yield f"typical-mistakes-{number + 1}", hand_in(wrong)
    yield _ENDLESS, hand_in(solution | _instead(problem_set.checks[0], _LOOP))
    yield "blank", as_text(blank).encode()
    yield "half-done", hand_in(dict(list(solution.items())[: len(solution) // 2]))
    yield "slip-of-the-pen", hand_in(solution, _break_a_cell)
    yield "warnings-everywhere", hand_in({key: _noisy(text) for key, text in solution.items()})
    yield "deleted-test-cells", hand_in(solution, _delete_tests)
    yield "copied-cells", hand_in(solution, _copy_cells)
    yield "no-metadata", hand_in(solution, _lose_metadata)
    yield "other-kernel", hand_in(solution, _change_kernel)
    yield "old-format", _as_old_format(_filled(blank, solution))
    yield "broken-file", hand_in(solution)[:5_000]
    yield "empty-file", b""
    first, names = f"{problem_set.checks[0].item}_answer", [c.target for c in problem_set.checks]
    agree = "\n".join(f"{name} = Agreeable()" for name in names)
    yield "attack-agrees-with-everything", hand_in({first: f"{_AGREEABLE}\n{agree}"})
    meddle = "\n".join(f"{name} = lambda *args: None" for name in names)
    yield "attack-meddles", hand_in({first: f"{_MEDDLING}\n{meddle}"}, _inject_script)
    yield "attack-ends-the-process", hand_in({first: "import os\nos._exit(0)"})


def handed_in(course: Course, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield those students who hand in this set, as `students` does."""
    first, *later = course.sets()
    for place, (student, data) in enumerate(students(course, name)):
        turn = (place - _IN_EVERY_SET) % max(len(later), 1)
        takes_turn = bool(later) and later[turn] == name and student != _ENDLESS
        if place < _IN_EVERY_SET or name == first or takes_turn:
            yield student, data


def write(course: Course, folder: Path) -> list[Path]:
    """Write the class, `<set>/<student>.ipynb`, and return the files."""
    paths = []
    for name in course.sets():
        for student, data in handed_in(course, name):
            paths.append(folder / name / f"{student}.ipynb")
            write_atomically(paths[-1], data)
    return paths


_LOOP = "def {target}(*args, **kwargs):\n    while True:\n        pass"


def _instead(check: Check, template: str) -> Answers:
    return {f"{check.item}_answer": template.format(target=check.target)}


def _alternatives(released: ReleasedSet) -> Answers:
    return {
        f"{check.item}_answer": next(a.source for a in released.answers[check.target] if a.is_right)
        for check in released.problem_set.checks
    }


def _mistakes(problem_set: ProblemSet, number: int) -> Answers:
    """The mistake of this number, in every third item from this number on."""
    return {
        f"{check.item}_answer": as_answer(check, check.mistakes[number].implementation)
        for check in problem_set.checks[number::3]
    }


def _noisy(source: str) -> str:
    chatter = "import sys, warnings\nwarnings.warn('careful')\nprint('hm', file=sys.stderr)"
    return f"{chatter}\n{source}"


# ------------------------------------------------------------------ what happens to notebooks
def _cell(notebook: NotebookNode, name: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == name)


def _filled(
    blank: NotebookNode, answers: Answers, *changes: Callable[[NotebookNode], None]
) -> NotebookNode:
    notebook = copy.deepcopy(blank)
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
        if is_answer(cell) and is_graded(cell):
            cell.source = _ESSAY
    for change in changes:
        change(notebook)
    return notebook


def _tests(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if is_graded(cell) and not is_answer(cell)]


def _take_part(notebook: NotebookNode, problem_set: ProblemSet) -> None:
    """Take part in the set's challenge, if it has a leaderboard, with the answer to be beaten."""
    if isinstance(problem_set.challenge, Challenge):
        target = problem_set.challenge.check.target
        (cell,) = (c for c in notebook.cells if defines(c.source, target))
        cell.source += "\n# As it is."


def _delete_tests(notebook: NotebookNode) -> None:
    gone = _tests(notebook)[::2]
    notebook.cells = [cell for cell in notebook.cells if cell not in gone]


def _copy_cells(notebook: NotebookNode) -> None:
    """Copy a test and an answer, as Jupyter does: new cell id, same metadata."""
    for number, cell in enumerate([_tests(notebook)[0], _answers(notebook)[-1]]):
        twin = copy.deepcopy(cell)
        twin.id = f"copy-{number}"
        notebook.cells.append(twin)


def _answers(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if is_answer(cell) and not is_graded(cell)]


def _lose_metadata(notebook: NotebookNode) -> None:
    for index, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"new-{index}", nbformat.NotebookNode()


def _change_kernel(notebook: NotebookNode) -> None:
    notebook.metadata.kernelspec = {"name": "ir", "display_name": "R", "language": "R"}


def _break_a_cell(notebook: NotebookNode) -> None:
    _answers(notebook)[0].source += "\n    return ("


def _inject_script(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if is_answer(cell) and is_graded(cell):
            cell.source = "<script>document.title = 'Attacked'</script><img src=x onerror=alert(1)>"
        elif grading(cell).get("points"):
            cell.metadata.nbgrader["points"] = 1000


def _as_old_format(notebook: NotebookNode) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that the old format is old
        text: str = nbformat.writes(nbformat.convert(notebook, 3), version=3)
    return text.encode()


def main() -> None:
    """Write the class that the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default="_build/sample_class/submitted", type=Path)
    folder = parser.parse_args().folder
    written = write(find_course(Path(__file__).parent.parent), folder)
    sets, people = {path.parent for path in written}, {path.name for path in written}
    print(f"{len(written)} submissions of {len(people)} students to {len(sets)} sets in {folder}")


if __name__ == "__main__":
    main()
