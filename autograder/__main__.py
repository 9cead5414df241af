"""The command line: `python -m autograder --help` teaches it."""

import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder.collection import Delivery
from autograder.course import Course, find_course
from autograder.handover import export, gradescope
from autograder.layouts import Layout
from autograder.records import Grade, GraderError, State
from autograder.terminal import FINDINGS, NO_SANDBOX, out_option, printable, said_plainly

_MOST_ROWS = 40
_COLOURS = {
    State.GRADED: "green",
    State.GRADED_WITH_PROBLEMS: "yellow",
    State.REFUSED: "red",
    State.GRADER_FAULT: "magenta",
}

_EPILOG = """\b
Typical course:
  python -m autograder check ps1                 is the set ready for students?
  python -m autograder release ps1               make their notebook
  python -m autograder grade ps1 --submissions downloads/ps1
  python -m autograder explain ps1 ada ps1_perplexity
  python -m autograder export ps1 --format canvas --roster gradebook.csv > to-canvas.csv

\b
Exit codes: 0 done; 1 it could not be done, the message says why; 2 wrong usage;
3 student code cannot be isolated here; 4 done, but something needs your attention.
"""


@click.group(epilog=_EPILOG, context_settings={"max_content_width": 100})
@click.option(
    "--course",
    "folder",
    type=click.Path(path_type=Path),
    help="Course folder with sets/ and checks/.  [default: assignments/ here or above]",
)
@click.pass_context
def main(context: click.Context, folder: Path | None) -> None:
    """Release problem sets as notebooks, grade them in a sandbox, and explain every point.

    Student code never meets the tests: it runs inside a sandbox without network, files or expected
    answers, and is judged outside by what it computes. Nothing is lost: a run that was killed goes
    on where it stopped, and a second run grades only what has changed.
    """
    context.obj = folder


_names = click.argument("names", metavar="SET...", nargs=-1)
_all = click.option("--all", "every", is_flag=True, help="Every set of the course.")


def _chosen(course: Course, names: Sequence[str], every: bool) -> Sequence[str]:
    if every == bool(names):
        raise click.UsageError("name at least one problem set, or say --all")
    return course.sets() if every else names


@main.command()
@_names
@_all
@out_option
@click.pass_obj
@said_plainly
def release(folder: Path | None, names: tuple[str, ...], every: bool, out: Path) -> None:
    """Make the student notebook, the solution and nbgrader's source of problem sets.

    Writes OUT/release/, OUT/solution/ and OUT/source/ in nbgrader's layout. A set is written only
    if its source and its checks agree and no solution line or hidden test would leak.
    """
    from autograder import release as releasing

    course, broken = find_course(folder), False
    for name in _chosen(course, names, every):
        built = releasing.build(course.source(name))
        complaints = releasing.lint(built, course.problem_set(name))
        for complaint in complaints:
            click.echo(f"{name}: {complaint}", err=True)
        if complaints:
            broken = True
            continue
        for version, path in releasing.write(built, out).items():
            click.echo(f"{name}: {version:<9}{path}")
    sys.exit(FINDINGS if broken else 0)


@main.command(
    epilog="\b\nExamples:\n  python -m autograder grade ps1 --submissions downloads/ps1 --jobs 2\n"
    "  python -m autograder grade ps1 --submissions submissions.zip       from Canvas or Moodle\n"
    "  python -m autograder grade ps1 --submissions /srv/nbgrader/exchange/lm/inbound"
)
@click.argument("name", metavar="SET")
@click.option(
    "--submissions",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder or zip file: <student>.ipynb, <student>/*.ipynb, nbgrader's submitted/ or its "
    "exchange's inbound/, or what Canvas or Moodle download.",
)
@click.option(
    "--layout",
    type=click.Choice([layout.value for layout in Layout]),
    help="How the submissions are named.  [default: recognised by their names, and said]",
)
@out_option
@click.option(
    "--db", default="", help="Gradebook, as an SQLAlchemy address.  [default: OUT/gradebook.db]"
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option(
    "--resume/--again",
    default=True,
    show_default=True,
    help="Take over what was graded under the same conditions, or grade all of it again.",
)
@click.option(
    "--no-sandbox",
    is_flag=True,
    help="Run student code with your own rights: it can read, change and delete whatever you can. "
    "Only for people whom you trust; every grade so made says so.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for scripts.")
@click.pass_obj
@said_plainly
def grade(
    folder: Path | None,
    name: str,
    submissions: Path,
    layout: str | None,
    out: Path,
    db: str,
    jobs: int,
    resume: bool,
    no_sandbox: bool,
    as_json: bool,
) -> None:
    """Grade every submission in a folder.

    Each student ends in exactly one state: graded, graded with problems (something in the notebook
    was mended), refused (no notebook could be read) or grader fault (ours, and tried again next
    time). Writes gradebook, feedback pages, the class page and formgrader's notebooks below OUT.
    """
    from autograder.grader import Confinement
    from autograder.pipeline import Settings, Watcher, grade_class

    course = find_course(folder)
    read_as = Layout(layout) if layout else None
    settings = Settings(out, db, jobs, resume, Confinement(trusted=no_sandbox), read_as)
    console = _console(stderr=as_json)
    with _progress(console) as bar:
        line = bar.add_task("reading")
        counts = dict.fromkeys(State, 0)

        def received(n_submissions: int) -> None:
            bar.update(line, total=n_submissions, description="grading")

        def graded(grade: Grade, reused: bool) -> None:
            counts[grade.state] += 1
            words = ", ".join(f"{n} {state.value}" for state, n in counts.items() if n)
            bar.update(line, advance=1, description=words)

        def found(delivery: Delivery) -> None:
            console.print(f"read as: {delivery.layout.words}")
            for remark in delivery.remarks:
                console.print(printable(remark))

        result = grade_class(course, name, submissions, settings, Watcher(received, graded, found))
    if as_json:
        click.echo(json.dumps(_plain(result), indent=1))
    else:
        _print_grades(console, result, out)
    sys.exit(FINDINGS if result.states[State.GRADER_FAULT] else 0)


@main.command()
@click.argument("name", metavar="SET")
@click.argument("student")
@click.argument("item")
@out_option
@click.option("--no-sandbox", is_flag=True, help="See `grade`.")
@click.pass_obj
@said_plainly
def explain(
    folder: Path | None, name: str, student: str, item: str, out: Path, no_sandbox: bool
) -> None:
    """Show how one verdict came about: inputs, what was expected, what was observed.

    Runs the received notebook once more with the questions that this student was asked. For you,
    not for students: it shows hidden inputs and expected values.
    """
    from autograder.grader import Confinement, Grader
    from autograder.journal import Journal

    course, journal = find_course(folder), Journal(out, name)
    checks = {check.item: check for check in course.problem_set(name).checks}
    if item not in checks:
        raise GraderError(f"no item {item!r} in {name}; it has: {', '.join(checks)}")
    record = journal.read(student)
    if record is None:
        known = ", ".join(journal.students()) or "nobody"
        raise GraderError(f"no grade of {student!r} for {name} in {out}; there are: {known}")
    if not record.grade.sha256:
        raise GraderError(f"{student} handed in no readable file: {record.grade.reasons[-1]}")
    with Grader(course, name, Confinement(trusted=no_sandbox)) as grader:
        kept = journal.submission(student, record.grade.sha256)
        verdict = grader.explain(kept, record.grade.seed, item)
    recorded = next((old for old in record.grade.verdicts if old.item == item), None)
    _print_verdict(_console(), checks[item], verdict, recorded)


@main.command()
@_names
@_all
@click.option("--mutants/--no-mutants", default=True, show_default=True, help="The longest part.")
@click.pass_obj
@said_plainly
def check(folder: Path | None, names: tuple[str, ...], every: bool, mutants: bool) -> None:
    """Prove that problem sets judge well, before a student meets them.

    The solution, the reference and every alternative must earn full points, the stub none; every
    recorded mistake must be caught and named; small changes of the solution must be noticed.
    """
    from autograder.quality import check_set
    from autograder.quality_report import print_report

    course, broken = find_course(folder), False
    for name in _chosen(course, names, every):
        listed = getattr(course.checks(name), "EQUIVALENT_MUTANTS", None)
        report = check_set(
            course.problem_set(name),
            course.source(name),
            equivalent_mutants=listed,
            with_mutants=mutants,
        )
        print_report(report)
        broken = broken or not report.ok
    sys.exit(FINDINGS if broken else 0)


main.add_command(export)
main.add_command(gradescope)


@main.command()
@said_plainly
def doctor() -> None:
    """Try out whether this machine keeps student code away from everything else."""
    from autograder.doctor import examine

    sys.exit(0 if examine() else NO_SANDBOX)


# ------------------------------------------------------------------ what is printed
def _console(stderr: bool = False) -> Console:
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = 120  # a log file has no width of its own
    return console


def _progress(console: Console) -> Progress:
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    return Progress(*columns, console=console, transient=True)


def _plain(result: Any) -> dict[str, Any]:
    return {
        "problem_set": result.problem_set,
        "received": len(result.grades),
        "states": {state.value: result.states[state] for state in State},
        "reused": result.reused,
        "seconds": round(result.seconds, 3),
        "page": str(result.page),
        "changes": [dataclasses.asdict(change) for change in result.changes],
        "grades": [
            {
                "student": grade.student,
                "state": grade.state.value,
                "points": grade.points,
                "max_points": grade.max_points,
                "items": {verdict.item: verdict.points for verdict in grade.verdicts},
                "reasons": grade.reasons,
                "isolation": grade.isolation,
                "sha256": grade.sha256,
            }
            for grade in result.grades
        ],
    }


def _print_grades(console: Console, result: Any, out: Path) -> None:
    shown = result.grades
    if len(shown) > _MOST_ROWS:
        shown = [grade for grade in shown if grade.state is not State.GRADED][:_MOST_ROWS]
    table = Table("student", "points", "state", "noticed", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for row in shown:
        points = f"{row.points:g} of {row.max_points:g}" if row.verdicts else "open"
        state = Text(row.state.value, style=_COLOURS[row.state])
        noticed = printable("; ".join(row.reasons))
        noticed.truncate(160, overflow="ellipsis")
        table.add_row(printable(row.student), points, state, noticed)
    console.print(table)
    counts = " + ".join(f"{result.states[state]} {state.value}" for state in State)
    console.print(f"\n{len(result.grades)} received = {counts}")
    console.print(
        f"{len(result.grades) - result.reused} graded now, {result.reused} taken over from an "
        f"earlier run, {result.seconds:.1f} seconds"
    )
    for change in result.changes:
        words = f"changed: {change.before:g} -> {change.after:g} points"
        console.print(printable(f"{change.student}: {words}"))
    for isolation in sorted({grade.isolation for grade in result.grades if grade.isolation}):
        console.print(f"isolation: {isolation}")
    console.print(f"\nThe class    {result.page.resolve()}", soft_wrap=True)
    console.print(f"Feedback     {(out / 'feedback').resolve()}", soft_wrap=True)
    console.print(f"Gradebook    {(out / 'gradebook.db').resolve()}", soft_wrap=True)


def _print_verdict(console: Console, check: Any, verdict: Any, recorded: Any) -> None:
    says = {part.name: part.says for part in check.parts}
    console.print(f"{verdict.item}: {verdict.points:g} of {verdict.max_points:g} points")
    if recorded is not None and recorded.points != verdict.points:
        console.print(
            f"recorded were {recorded.points:g}; the check has changed since, or answers vary"
        )
    for part in verdict.parts:
        mark = "holds" if part.holds else "FAILS"
        console.print(f"\n{mark}  {part.part}: {says.get(part.part, '')}", markup=False)
        if part.message:
            console.print(printable(f"       to the student: {part.message}"))
        for line in part.staff_note.splitlines():
            console.print(printable(f"       {line}"), soft_wrap=True)
    if verdict.misconception is not None:
        found = verdict.misconception
        console.print(f"\nnearest mistake: {found.name}\n  hint: {found.hint}", markup=False)
    if verdict.fault:
        console.print(f"\nfault of the check: {verdict.fault}", markup=False)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # many small jobs; more threads only wait
    main(prog_name="python -m autograder")
