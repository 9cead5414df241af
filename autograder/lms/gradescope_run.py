"""What runs inside Gradescope's container: grade one submission, write results/results.json.

    python -m autograder.lms.gradescope_run               for each submission
    python -m autograder.lms.gradescope_run --rehearse    once, while the image is built

Both work below GRADESCOPE_ROOT, by default /autograder.

Whatever happens, a results.json is written that says so: no student is left with "the autograder
failed to execute", and none is given a silent zero. What only the instructor may read goes to
stdout, which Gradescope keeps from students.
"""

import hashlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

_ROOT_VARIABLE = "GRADESCOPE_ROOT"
_REGRADE = (
    "This was not graded, and that is not your fault: the grader itself failed. Your file is "
    "safe. Your instructor has been told why and will grade it again."
)
_NO_SANDBOX = """\
Student code cannot be isolated in this container, so nothing of it was run:

  {error}

What to do, whichever is easiest:
- Rebuild the image if its build log names something that is missing.
- Download the submissions and grade them on a Linux machine of yours:
  autograder grade {name} --submissions FOLDER
Then press "Regrade all submissions" or upload the grades."""


def main() -> int:
    """Grade the submission below the root folder; always exits with 0, for results are there."""
    root, started = _root(), time.monotonic()
    try:
        settings = _settings(root)
        results = _graded(root, settings)
    except Exception:
        _say(traceback.format_exc())
        results = _fault()
    results["execution_time"] = round(time.monotonic() - started, 2)
    path = root / "results" / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1, allow_nan=False) + "\n")
    return 0


def rehearse() -> int:
    """Grade the set's own solution, as every submission will be, and say what it earns.

    Returns:
        0 if it earns all that is graded automatically, and where this container cannot isolate it:
        the one that runs the submissions may have more rights. 1 if it does not.
    """
    from autograder.authoring.course import Course
    from autograder.authoring.notebooks import as_text
    from autograder.authoring.release import ReleasedSet
    from autograder.grading.grader import Confinement, Grader, Task
    from autograder.records import SandboxUnavailable, Submission

    root, who = _root(), "the set's own solution"
    settings = _settings(root)
    name = settings["problem_set"]
    released = ReleasedSet(Course(root / "source" / settings["course"]), name)
    notebook = as_text(released.notebooks.solution).encode()
    try:
        with Grader(released, Confinement()) as grader:
            grade = grader.grade(Task(Submission(who, name, notebook, ""), "", 0)).grade
    except SandboxUnavailable as error:
        _say(f"Student code cannot be isolated while this image is built: {error}")
        print("If that is so in the finished image too, no submission will be graded: try one.")
        return 0
    most = sum(check.points for check in released.problem_set.checks)
    print(f"Graded in this image, {who} earns {grade.points:g} of {most:g} points.")
    print(f"Isolation: {grade.isolation or 'nothing was run'}")
    reasons = [*grade.reasons, *(cell.error for cell in grade.cells if cell.error)]
    _say("\n".join(reasons))
    return int(grade.points < most)


def _say(text: str) -> None:
    """Print text that students may have chosen parts of, so that a terminal obeys nothing of it.

    As `untrusted.as_line` does, for each line; nothing is imported, as something may be missing.
    """
    for line in text.splitlines():
        print("".join(char if char.isprintable() else "\ufffd" for char in line))


def _root() -> Path:
    return Path(os.environ.get(_ROOT_VARIABLE, "/autograder"))


def _settings(root: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((root / "source" / "grader.json").read_text())
    return settings


def _graded(root: Path, settings: dict[str, Any]) -> dict[str, Any]:
    # Imported here, so that a container in which something is missing still gets its results.json.
    from autograder.authoring.course import Course
    from autograder.authoring.release import ReleasedSet
    from autograder.grading.grader import Confinement, Grader, Task, refused
    from autograder.grading.judge import submission_seed
    from autograder.records import SandboxUnavailable, Submission, SubmissionRefused

    name = settings["problem_set"]
    released = ReleasedSet(Course(root / "source" / settings["course"]), name)
    student = _student(root / "submission_metadata.json")
    found, data, refusal = None, b"", ""
    try:
        found, data = _notebook(root / "submission", student, name)
    except SubmissionRefused as error:
        refusal = str(error)
    seed = submission_seed(settings["salt"], student, name)
    digest = hashlib.sha256(data).hexdigest() if not refusal else ""
    reasons = found.reasons if found is not None else ()
    task = Task(Submission(student, name, data, digest), "", seed, reasons, refusal)
    try:
        if refusal:
            grade = refused(task, released.problem_set, refusal)
        else:
            with Grader(released, Confinement()) as grader:
                grade = grader.grade(task).grade
    except SandboxUnavailable as error:
        _say(_NO_SANDBOX.format(error=error, name=name))
        return _fault()
    return _results(grade, released.outline, settings["visibility"])


def _student(metadata: Path) -> str:
    """Name who handed in: everybody's address in a group; "student" where Gradescope tells none."""
    from autograder.intake.layouts import student_name

    try:
        users = json.loads(metadata.read_text())["users"]
        addresses = sorted(str(user["email"]).casefold() for user in users)
        return student_name("+".join(addresses)) if addresses else "student"
    except (OSError, ValueError, KeyError, TypeError):
        return "student"


def _notebook(folder: Path, student: str, name: str) -> tuple[Any, bytes]:
    from autograder.intake.archives import contents
    from autograder.intake.collection import choose, read_notebook
    from autograder.intake.layouts import Handed, Layout

    files = [(file.name, file) for file in contents(folder) if not file.is_folder or file.refusal]
    found = choose(student, Handed(files), name, Layout.MOODLE)
    return found, read_notebook(found)


def _results(grade: Any, outline: Any, visibility: str) -> dict[str, Any]:
    """Put a grade into the form of results.json."""
    from autograder.records import State
    from autograder.store.formgrader_notebook import describe_verdict

    if grade.state is State.GRADER_FAULT and not grade.verdicts:
        _say("\n".join(grade.reasons))
        return _fault()
    _say(f"{grade.student}: {grade.state.value}. Isolation: {grade.isolation or 'nothing was run'}")
    tests = []
    for verdict in grade.verdicts:
        tests.append(
            {
                "name": outline.titles.get(verdict.item, verdict.item),
                "score": verdict.points,
                "max_score": verdict.max_points,
                "status": "passed" if verdict.points == verdict.max_points else "failed",
                "output": describe_verdict(verdict),
                "output_format": "text",
                "visibility": visibility,
            }
        )
        for note in filter(None, [verdict.fault, *(part.staff_note for part in verdict.parts)]):
            _say(f"\n{verdict.item}:\n{note}")
    by_hand = sum(item.points for item in outline.items if item.by_hand)
    lines = [f"Noticed: {reason}" for reason in grade.reasons]
    if by_hand:
        lines.append(f"A person will grade the answers worth the other {by_hand:g} points.")
    return _document(grade.points, "\n".join(lines), tests, grade.state.value) | {
        "visibility": "visible"
    }


def _fault() -> dict[str, Any]:
    return _document(0.0, _REGRADE, [], "grader fault")


def _document(score: float, output: str, tests: list[dict[str, Any]], state: str) -> dict[str, Any]:
    return {
        "score": score,
        "output": output,
        "output_format": "text",
        "stdout_visibility": "hidden",
        "extra_data": {"state": state},
        "tests": tests,
    }


if __name__ == "__main__":
    sys.exit(rehearse() if sys.argv[1:] == ["--rehearse"] else main())
