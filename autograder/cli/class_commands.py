"""Commands about a class: grade it, watch a folder, explain a point, look at all of it."""

import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from autograder.authoring.course import find_course, nbgrader_course_in
from autograder.cli.options import (
    FINDINGS,
    container_option,
    json_option,
    note,
    out_option,
    printable,
    report_errors,
    results_of,
)
from autograder.intake.layouts import Layout
from autograder.records import GraderError, State

_database = click.option(
    "--db",
    "database",
    default="",
    help="Gradebook, as an SQLAlchemy address.  [default: OUT/gradebook.db]",
)
_trusting = click.option(
    "--no-sandbox",
    is_flag=True,
    help="Run student code with your own rights: it can read, change and delete whatever you can. "
    "Only for people whom you trust; every grade so made says so.",
)


@click.command(
    epilog="\b\nExamples:\n  autograder grade ps1 --submissions downloads/ps1 --jobs 2\n"
    "  autograder grade ps1 --submissions submissions.zip         from Canvas or Moodle\n"
    "  autograder grade ps1 --submissions /srv/nbgrader/exchange/lm/inbound\n"
    "  autograder grade ps1 --submissions downloads/ps1 --dry-run\n"
    "  autograder grade ps1 --submissions downloads/ps1 --watch   until Ctrl-C\n"
    "  autograder grade hw1 --nbgrader ~/my-course       no checks: nbgrader's own test cells\n"
    "\n"
    "With --nbgrader the test cells of source/SET/ run in the sandbox, each in a process of its "
    "own after the student's cells. Their assertions, hidden ones too, meet student code there: "
    "machine, gradebook and class are safe from it, and marks are safer than under nbgrader, but "
    "code written to deceive can still forge them. Cells that the course's own solution does not "
    "pass are left for people to grade."
)
@click.argument("name", metavar="SET")
@click.option(
    "--submissions",
    type=click.Path(path_type=Path),
    help="Folder or zip file: <student>.ipynb, <student>/*.ipynb, nbgrader's submitted/ or its "
    "exchange's inbound/, or what Canvas or Moodle download.",
)
@click.option(
    "--nbgrader",
    "nbgrader_course",
    type=click.Path(path_type=Path),
    metavar="COURSE",
    help="Grade an assignment of this folder that was written for nbgrader. Without other options "
    "it is COURSE/submitted that is read, and COURSE's own gradebook that is written.",
)
@click.option(
    "--layout",
    type=click.Choice([layout.value for layout in Layout]),
    callback=lambda context, option, value: Layout(value) if value else None,
    help="How the submissions are named.  [default: recognised by their names, and said]",
)
@out_option
@_database
@click.option(
    "--times",
    type=click.Path(path_type=Path),
    help="When students handed in, where the delivery does not say: a CSV file with the columns "
    "student (as they are called here) and submitted (2026-10-12T23:58, in the course's zone), or "
    "Moodle's grading worksheet. Kept with the grades: give it once.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option(
    "--scheduler",
    default="",
    metavar="ADDRESS",
    help="Grade on the workers of this Dask scheduler (tcp://host:8786) instead; they need the "
    "course and this grader at the same path.",
)
@click.option(
    "--resume/--again",
    default=True,
    show_default=True,
    help="Take over what was graded under the same conditions, or grade all of it again.",
)
@container_option
@_trusting
@click.option(
    "--replace",
    is_flag=True,
    help="With --nbgrader: write over points that nbgrader itself has given. Points, extra credit "
    "and comments of people stay, and so do times and late penalties unless course.toml sets them.",
)
@click.option("--watch", is_flag=True, help="Go on grading what arrives, until Ctrl-C.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Say what would be graded and why; run no student code and write nothing.",
)
@json_option
@click.pass_obj
@report_errors
def grade(
    folder: Path | None,
    name: str,
    submissions: Path | None,
    nbgrader_course: Path | None,
    container: str | None,
    no_sandbox: bool,
    watch: bool,
    dry_run: bool,
    as_json: bool,
    **chosen: Any,  # the other options are named as the fields of Settings
) -> None:
    """Grade every submission in a folder or an archive.

    Each student ends in exactly one state: graded, graded with problems (something in the notebook
    was repaired), tampering (student code sent messages in the grader's place, or opened what lies
    there as bait), refused (no notebook could be read) or grader fault (ours, and tried again next
    time; or a check took too much time or memory over an answer, which then waits for a person).
    Writes gradebook, feedback pages, the class page and formgrader's notebooks below OUT.

    Due dates, late penalties, extensions, late days, how many attempts there are and what students
    read of them before the due date stand in the course's course.toml. Where a
    grade differs from the one recorded before, it says whose and why. With --json, an assignment of
    several notebooks is a list of them, and --watch prints one line for each round.
    """
    if chosen["jobs"] > 1 and not chosen["scheduler"] and not dry_run:
        from autograder.class_run import fork_server

        fork_server.prepare()  # it loads while this process does
    from autograder.class_run.own_solution import with_working_tests
    from autograder.class_run.settings import Settings
    from autograder.cli import output
    from autograder.grading.grader import Confinement

    course = nbgrader_course_in(nbgrader_course) if nbgrader_course else find_course(folder)
    submissions = submissions or course.submitted()
    if course.is_groupshared():
        os.umask(0o002)  # as nbgrader has it
    chosen["out"], chosen["database"] = results_of(course, chosen["out"], chosen["database"])
    if submissions is None:
        raise click.UsageError("say where the notebooks are: --submissions")
    confinement = Confinement(container=container or "", trusted=no_sandbox)
    settings = Settings(confinement=confinement, **chosen)
    if container and no_sandbox:
        raise click.UsageError("--container and --no-sandbox exclude each other")
    if watch and (dry_run or not settings.resume):
        raise click.UsageError(
            "--watch grades what arrives: it takes neither --dry-run nor --again"
        )
    names = course.of_assignment(name)
    if watch and len(names) > 1:
        raise click.UsageError(f"--watch grades one notebook; name one of {', '.join(names)}")
    codes, plain, results = set(), [], []
    try:
        for one in names:
            released = with_working_tests(course, one, settings.hiding(submissions).confinement)
            if watch:
                sys.exit(_watch(released, submissions, settings, as_json))
            if dry_run:
                code, shown = _show_plan(released, submissions, settings, as_json)
            else:
                code, result = _grade_once(released, submissions, settings, as_json)
                shown = output.plain_result(result)
                results.append(result)
            codes.add(code)
            plain.append(shown)
    except KeyboardInterrupt:
        raise GraderError("stopped by Ctrl-C before all was graded") from None
    if as_json:
        click.echo(json.dumps(plain if len(names) > 1 else plain[0], indent=1))
    elif results:
        from autograder.class_run.outputs import write_assignment_page

        several = len(results) > 1
        page, kept = write_assignment_page(name, results, settings) if several else (None, [])
        note(kept)
        output.print_results(output.new_console(), results, settings, page)
        output.print_next(output.new_console(), [_next(course, name, names)])
    sys.exit(max(codes))


def _next(course: Any, name: str, names: Sequence[str]) -> str:
    """Return the command that comes after grading, as it works where this one was typed."""
    try:
        is_found = find_course().folder == course.folder
    except GraderError:
        is_found = False
    where = "" if is_found else f" --course {shlex.quote(str(course.folder))}"
    return f"autograder{where} export {name}"


def _grade_once(
    released: Any, submissions: Path, settings: Any, as_json: bool, held: Any = ()
) -> tuple[int, Any]:
    """Grade, and say how it goes; return the exit code and the result."""
    from autograder.class_run.pipeline import grade_class
    from autograder.cli import output

    console = output.new_console(stderr=as_json)
    with output.progress_bar(console) as bar:
        watcher = output.bar_watcher(bar)

        def delivered(delivery: Any) -> None:
            console.print(f"read as: {delivery.layout.words}")
            for remark in delivery.remarks:
                console.print(printable(remark))

        watcher.delivered, watcher.warned = delivered, note
        try:
            result = grade_class(released, submissions, settings, watcher, held)
        except KeyboardInterrupt:
            (line,) = bar.tasks
            kept = f"{line.completed:.0f} of {line.total or 0:.0f} grades are recorded and kept"
            note([f"{kept}; the same command goes on from there"])
            raise
    without = result.states[State.GRADER_FAULT] + result.states[State.REFUSED]
    return FINDINGS if without else 0, result


def _show_plan(released: Any, submissions: Path, settings: Any, as_json: bool) -> tuple[int, Any]:
    """Say what would be done; return the exit code, and what --json prints."""
    from autograder.class_run.plan import plan
    from autograder.cli import output

    planned = plan(released, submissions, settings, warned=note)
    if not released.course.has_checks:
        note(["the course's own solution was run in the sandbox, to see which tests work here"])
    if not as_json:
        output.print_plan(output.new_console(), planned)
    refused = any(one.action == "refuse" for one in planned)
    return FINDINGS if refused else 0, output.plain_plan(planned)


def _watch(released: Any, submissions: Path, settings: Any, as_json: bool) -> int:
    from autograder.cli import output
    from autograder.intake.collection import collect
    from autograder.intake.watch import Patience, rounds
    from autograder.reports.limited import next_moment
    from autograder.store.input_digests import input_digests

    if not submissions.is_dir():
        raise GraderError(
            f"{submissions} is not a folder; --watch needs a folder that files arrive in"
        )
    note([f"watching {submissions}; Ctrl-C ends it, and nothing is lost"])
    codes, loaded = {0}, input_digests(released)
    moment: datetime | None = None  # when students may read more than their pages say
    try:
        look = lambda: collect(  # noqa: E731
            submissions,
            released.name,
            settings.layout,
            others_files=released.course.others_files(released.name),
        )
        is_due = lambda: moment is not None and datetime.now(UTC) >= moment  # noqa: E731
        for held in rounds(look, Patience(), time.monotonic, time.sleep, is_due, note):
            today = replace(released)  # with nothing made yet: due dates may have changed
            if input_digests(today) != loaded:  # checks are loaded once in a process
                raise GraderError("the set or its checks have changed: start --watch again")
            code, result = _grade_once(today, submissions, settings, as_json, held)
            codes.add(code)
            moment = next_moment(today.policy, result.grades, datetime.now(UTC))
            if as_json:
                click.echo(json.dumps(output.plain_result(result)))
            else:
                output.print_results(output.new_console(), [result], settings)
    except KeyboardInterrupt:
        note(["stopped"])
    return max(codes)


@click.command(
    epilog="\b\nExample:\n  autograder explain ps1 ada ps1_perplexity\n"
    "A wrong student or item is answered with the names that exist."
)
@click.argument("name", metavar="SET")
@click.argument("student")
@click.argument("item")
@out_option
@_database
@container_option
@_trusting
@json_option
@click.pass_obj
@report_errors
def explain(
    folder: Path | None,
    name: str,
    student: str,
    item: str,
    out: Path,
    database: str,
    container: str | None,
    no_sandbox: bool,
    as_json: bool,
) -> None:
    """Show how one verdict came about: inputs, expected, observed.

    Runs the received notebook once more with the questions that this student was asked. For you,
    not for students: it shows hidden inputs and expected values. Of an answer in words, it shows
    what people gave for it, and runs nothing.
    """
    from autograder.authoring.release import ReleasedSet
    from autograder.class_run.settings import Settings
    from autograder.class_run.written import Choice, WrittenAnswers
    from autograder.cli import output
    from autograder.grading.grader import Confinement, Grader
    from autograder.store.journal import Journal

    course = find_course(folder)
    out, database = results_of(course, out, database)
    sets = [ReleasedSet(course, one) for one in course.of_assignment(name)]
    having = [one for one in sets if item in one.outline.titles]
    having = [one for one in having if one.name == name] or having
    if not having:
        known = ", ".join(known for one in sets for known in one.outline.titles)
        raise GraderError(f"no item {item!r} in {name}; it has: {known}")
    if len(having) > 1:
        names = ", ".join(one.name for one in having)
        raise GraderError(f"{item} stands in several notebooks of {name}; name one of {names}")
    released, journal = having[0], Journal(out, having[0].name)
    checks = {check.item: check for check in released.problem_set.checks}
    record = journal.read(student)
    if record is None:
        known = ", ".join(journal.students()) or "nobody"
        raise GraderError(f"no grade of {student!r} for {name} in {out}; there are: {known}")
    if not record.grade.sha256:
        raise GraderError(f"{student} handed in no readable file: {record.grade.reasons[-1]}")
    settings = Settings(out, database)
    if settings.has_no_gradebook:
        raise GraderError(f"no gradebook at {settings.url}: `autograder dashboard {name}` makes it")
    question = next(one for one in released.outline.items if one.name == item)
    written = WrittenAnswers(released, settings, Choice(""))
    answer = written.of(question, student)
    by_hand = output.plain_by_hand(question, answer, written.criteria(question))
    if item not in checks:
        text, _ = written.shown(question, answer)
        if as_json:
            click.echo(json.dumps({**by_hand, "answer": text}, indent=1))
        else:
            output.print_written(output.new_console(), name, by_hand, text)
        return
    confinement = Confinement(
        container=container or "", trusted=no_sandbox, private=(out.resolve(),)
    )
    with Grader(released, confinement) as grader:
        kept = journal.submission(student, record.grade.sha256)
        verdict = grader.explain(kept, record.grade.seed, item)
    recorded = next((old for old in record.grade.verdicts if old.item == item), None)
    if as_json:
        points = recorded.points if recorded is not None else None
        click.echo(
            json.dumps({"recorded_points": points, **asdict(verdict), "by_hand": by_hand}, indent=1)
        )
    else:
        output.print_verdict(output.new_console(), checks[item], verdict, recorded)
        if answer.given.is_of_person:
            output.print_by_hand(output.new_console(), by_hand)


@click.command(epilog="\b\nExamples:\n  autograder dashboard ps1\n  autograder dashboard --all")
@click.argument("names", metavar="SET...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every set that has been graded.")
@out_option
@_database
@json_option
@click.pass_obj
@report_errors
def dashboard(
    folder: Path | None,
    names: tuple[str, ...],
    every: bool,
    out: Path,
    database: str,
    as_json: bool,
) -> None:
    """Write the pages of graded classes again.

    For example after grading by hand. Runs nothing: all is made from the records. Several sets get
    a page of the whole course, too.
    """
    from autograder.authoring.release import ReleasedSet
    from autograder.class_run.outputs import write_pages
    from autograder.class_run.settings import Settings

    if every == bool(names):
        raise click.UsageError("name at least one problem set, or say --all")
    course = find_course(folder)
    chosen = course.sets() if every else [one for n in names for one in course.of_assignment(n)]
    for name in chosen:
        course.source(name)
    sets = [ReleasedSet(course, name) for name in chosen]
    page, kept = write_pages(sets, Settings(*results_of(course, out, database)))
    note(kept)
    where = str(page.resolve())
    click.echo(json.dumps({"page": where}) if as_json else where)


@click.command(
    epilog="\b\nExample:\n  autograder similarity ps1    after grading, from its records"
)
@click.argument("name", metavar="SET")
@out_option
@json_option
@click.pass_obj
@report_errors
def similarity(folder: Path | None, name: str, out: Path, as_json: bool) -> None:
    """Find answers that are nearly the same, or copied source.

    Compares students with one another and with the course's own package. Names, comments, layout,
    annotations, refused arguments, what strings say and `self.` make no difference. What is usual
    counts for little, and short or plain answers that are alike are no pair. The page shows both
    sides; it is a reason to look and no verdict.
    """
    from autograder.authoring.release import ReleasedSet
    from autograder.cli import output
    from autograder.reports.html import said_of_kept
    from autograder.reports.similarity_report import examine

    course = find_course(folder)
    out, _ = results_of(course, out, "")
    reports = [examine(ReleasedSet(course, one), out) for one in course.of_assignment(name)]
    note(said_of_kept(report.kept for report in reports))
    if as_json:
        plain = [output.plain_report(report) for report in reports]
        click.echo(json.dumps(plain if len(plain) > 1 else plain[0], indent=1))
    else:
        for report in reports:
            output.print_report(output.new_console(), report)
    sys.exit(FINDINGS if any(report.pairs or report.copies for report in reports) else 0)
