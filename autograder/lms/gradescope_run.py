"""What runs inside Gradescope's container: grade one submission, write results/results.json.

    python -m autograder.lms.gradescope_run               for each submission
    python -m autograder.lms.gradescope_run --rehearse    once, while the image is built

Both work below GRADESCOPE_ROOT, by default /autograder.

Whatever happens, a results.json is written that says so: no student is left with "the autograder
failed to execute", and none is given a silent zero. What only the instructor may read goes to
stdout, which Gradescope keeps from students.
"""

import contextlib
import hashlib
import json
import os
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_ROOT_VARIABLE = "GRADESCOPE_ROOT"
_REGRADE = (
    "This was not graded, and that is not your fault: the grader itself failed. Your file is "
    "safe. Your instructor has been told why and will grade it again."
)
_UNJUDGED = (
    "The check of this task could not judge your answer. No points are given or taken until your "
    "instructor has looked at it."
)
_BLANK = "You left this one blank."
_WHEN = {"after_due_date": "after the due date", "after_published": "once grades are published"}
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
    from autograder.grading.grader import Confinement, Graded, Grader, Task, refused
    from autograder.grading.judge import submission_seed
    from autograder.records import SandboxUnavailable, State, Submission, SubmissionRefused

    name = settings["problem_set"]
    released = ReleasedSet(Course(root / "source" / settings["course"]), name)
    metadata = _metadata(root / "submission_metadata.json")
    student = _student(metadata)
    collected, data, refusal = None, b"", ""
    try:
        collected, data = _notebook(root / "submission", student, name)
    except SubmissionRefused as error:
        refusal = str(error)
    seed = submission_seed(settings["salt"], student, name)
    digest = hashlib.sha256(data).hexdigest() if not refusal else ""
    reasons = collected.reasons if collected is not None else ()
    attempt: dict[str, Any] = {}
    if settings.get("attempts"):
        attempt, stands = _attempt(data, refusal, metadata, released, settings["attempts"])
        if stands:
            return stands
    task = Task(Submission(student, name, data, digest), "", seed, reasons, refusal)
    try:
        if refusal:
            graded = Graded(refused(task, released.problem_set, refusal))
        else:
            with Grader(released, Confinement()) as grader:
                graded = grader.grade(task)
    except SandboxUnavailable as error:
        _say(_NO_SANDBOX.format(error=error, name=name))
        return _fault()
    results = _results(graded, released.outline, settings)
    if attempt and graded.grade.verdicts and graded.grade.state is not State.REFUSED:
        results["extra_data"] |= attempt
        which = f"This is your attempt {attempt['attempt']} of {settings['attempts']}."
        results["output"] = "\n".join(filter(None, [which, results["output"]]))
    return results


def _metadata(path: Path) -> dict[str, Any]:
    """Return what Gradescope says about a submission; nothing where it says nothing."""
    try:
        metadata = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _student(metadata: dict[str, Any]) -> str:
    """Name who handed in: everybody's address in a group; "student" where Gradescope tells none."""
    from autograder.intake.layouts import student_name

    try:
        addresses = sorted(str(user["email"]).casefold() for user in metadata["users"])
        return student_name("+".join(addresses)) if addresses else "student"
    except (KeyError, TypeError):
        return "student"


def _attempt(
    data: bytes, refusal: str, metadata: dict[str, Any], released: Any, most: int
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return which attempt this is, and the results of the earlier one where that stands.

    The rules are those of `class_run.attempts`. Gradescope hands on what earlier submissions got,
    so nothing is kept here.
    """
    from autograder.intake.repair import repair
    from autograder.records import SubmissionRefused

    before = _last_counted(metadata)
    known: dict[str, Any] = {"attempt": 0, "content": ""}
    known = before["extra_data"] if before is not None else known
    n, content, why = known["attempt"], "", refusal
    if not why:
        try:
            content = repair(data, released).content
        except SubmissionRefused as error:
            why = str(error)
    if not why and content != known["content"] and n >= most:
        why = f"all {most} attempts were used" if most > 1 else "the one attempt was used"
    if before is None or not (why or content == known["content"]):
        return {"attempt": n + 1, "content": content}, None
    note = f"This file is kept and was not graded: {why}."
    if not why:
        note = "The answers in this file are those of your last attempt, so it is no other one."
    note += f" What stands here is about your attempt {n} of {most}."
    kept = ("score", "output_format", "stdout_visibility", "extra_data", "tests", "visibility")
    return {}, {key: before[key] for key in kept if key in before} | {"output": note}


def _last_counted(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Return the results of the last submission before this one that counted as an attempt."""
    results_of = []
    previous = metadata.get("previous_submissions")
    for one in previous if isinstance(previous, list) else ():
        with contextlib.suppress(KeyError, TypeError):
            about = one["results"]["extra_data"]
            is_other = one["submission_time"] != metadata["created_at"]
            if type(about["attempt"]) is int and type(about["content"]) is str and is_other:
                results_of.append(one["results"])
    return max(results_of, key=lambda results: results["extra_data"]["attempt"], default=None)


def _notebook(folder: Path, student: str, name: str) -> tuple[Any, bytes]:
    from autograder.intake.archives import contents
    from autograder.intake.collection import choose, read_notebook
    from autograder.intake.layouts import Handed, Layout

    files = [(file.name, file) for file in contents(folder) if not file.is_folder or file.refusal]
    collected = choose(student, Handed(files), name, Layout.MOODLE)
    return collected, read_notebook(collected)


def _results(graded: Any, outline: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Put a grade into the form of results.json."""
    from autograder.records import State
    from autograder.reports.limited import Level, Shown
    from autograder.reports.student_feedback import seen_by_student
    from autograder.store.formgrader_notebook import describe_verdict

    grade = graded.grade
    if grade.state is State.GRADER_FAULT and not grade.verdicts:
        _say("\n".join(grade.reasons))
        return _fault()
    _say(f"{grade.student}: {grade.state.value}. Isolation: {grade.isolation or 'nothing was run'}")
    tests, is_refused = [], grade.state is State.REFUSED
    for verdict in grade.verdicts:
        is_blank = graded.repaired is not None and verdict.item in graded.repaired.blank
        blank = f"{_BLANK}\n" * is_blank
        tests.append(
            {
                "name": outline.titles.get(verdict.item, verdict.item),
                "score": verdict.points,
                "max_score": verdict.max_points,
                "status": "passed" if verdict.points == verdict.max_points else "failed",
                "output": "not judged" if is_refused else blank + describe_verdict(verdict),
                "output_format": "text",
                "visibility": settings["visibility"],
            }
        )
        for note in filter(None, [verdict.fault, *(part.staff_note for part in verdict.parts)]):
            _say(f"\n{verdict.item}:\n{note}")
    for item, why in grade.unjudged.items():  # without a score, which nobody has found
        _say(why)
        tests.append(
            {
                "name": outline.titles.get(item, item),
                "output": _UNJUDGED,
                "output_format": "text",
                "visibility": settings["visibility"],
            }
        )
    by_hand = sum(item.points for item in outline.items if item.by_hand)
    shown = Shown(Level(settings.get("feedback", "full")))
    seen = seen_by_student(outline, grade, graded.repaired, {}, shown)
    lines = [f"Noticed: {reason}" for reason in seen["grade"].reasons]
    when = _WHEN.get(settings["visibility"])
    if when and not is_refused:
        lines.append(f"What was found is shown {when}.")
    if shown.level is not Level.FULL and not is_refused:
        tests += _shown_at_once(seen["rows"])
        lines.append(f"{'Until then you' if when else 'You'} read only {shown.words}.")
    if by_hand:
        lines.append(f"A person will grade the answers worth the other {by_hand:g} points.")
    state = seen["grade"].state.value
    return _document(grade.points, "\n".join(lines), tests, state) | {"visibility": "visible"}


def _shown_at_once(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what students read of each item before the due date, without points."""
    for row in rows:
        lines = [f"{'+' if part['passed'] else '-'} {part['says']}" for part in row["parts"]]
        if not lines and row["passes"] is not None:
            lines = [f"The visible test {'passes' if row['passes'] else 'does not pass'}."]
        if row["difference"]:
            about = row["difference"]
            lines += [about["asked"], f"yours: {about['found']}", f"expected: {about['expected']}"]
        if row["blank"]:
            lines = [_BLANK]
        if lines:
            yield {
                "name": f"{row['item'].title}, before the due date",
                "output": "\n".join(lines),
                "output_format": "text",
                "visibility": "visible",
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
