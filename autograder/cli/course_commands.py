"""Commands about a course: release its sets, check them, test the sandbox."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from autograder.authoring.assistant_rules import bring_rules
from autograder.authoring.course import Course, find_course_with_checks
from autograder.authoring.workspace import WORK, copy_of, take_over
from autograder.cli.options import (
    FINDINGS,
    NO_SANDBOX,
    container_option,
    json_option,
    note,
    report_errors,
    shown,
)
from autograder.store.class_folder import LEGACY

_names = click.argument("names", metavar="SET...", nargs=-1)
_all = click.option("--all", "every", is_flag=True, help="Every set of the course.")


def _chosen(course: Course, names: Sequence[str], every: bool) -> Sequence[str]:
    if every == bool(names):
        raise click.UsageError("name at least one problem set, or say --all")
    return course.sets() if every else names


@click.command(
    epilog="\b\nExamples:\n  autograder release ps1\n  autograder release --all\n"
    "  autograder release ps1 --out class      for nbgrader's own release_assignment"
)
@_names
@_all
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help=f"Output folder.  [default: {LEGACY} beside the course, which can be made again]",
)
@json_option
@click.pass_obj
@report_errors
def release(
    folder: Path | None, names: tuple[str, ...], every: bool, out: Path | None, as_json: bool
) -> None:
    """Make the student notebook, the solution and nbgrader's source.

    Students get OUT/release/SET/: the notebook, what the set's folder files/ holds, and AGENTS.md,
    which asks an assistant to tutor.
    OUT/solution/ is for you, with mistakes.html, the mistakes that the checks know and their hints,
    and rubric.html, levels of the written answers, where the course has them in rubrics.md;
    OUT/source/ is for nbgrader's own tools.
    A set is written only if its source and its checks agree and no solution line or hidden test
    would leak; else every disagreement is named. Where somebody has worked in the student notebook,
    it goes into `work/` first (see `autograder work`), and a line says so.
    """
    from autograder.authoring.lint import lint
    from autograder.authoring.release import ReleasedSet, write
    from autograder.authoring.rubrics import rubric_of
    from autograder.authoring.secrets import given_away
    from autograder.reports.documents import page as document
    from autograder.reports.html import said_of_kept, write_page
    from autograder.reports.instructor_pages import mistakes_page

    course, written = find_course_with_checks(folder), {}
    out = out or shown(course.top / LEGACY)
    for name in _chosen(course, names, every):
        released = ReleasedSet(course, name)
        complaints = [*lint(released.notebooks, released.problem_set), *given_away(released)]
        for complaint in complaints:
            click.echo(f"{name}: {complaint}", err=True)
        if not complaints:
            earlier = copy_of(name, out / "release")
            note(filter(None, [take_over(name, earlier, shown(course.top / WORK))]))
        paths = {} if complaints else write(released.notebooks, out)
        if paths:
            mistakes = mistakes_page(released.problem_set)
            kept = [write_page(paths["solution"].with_name("mistakes.html"), mistakes)]
            if rubric := rubric_of(course, name):
                levels = document(f"{name}: written answers", f"# Written answers\n\n{rubric}")
                kept.append(write_page(paths["solution"].with_name("rubric.html"), levels))
            note(said_of_kept(kept))
            bring_rules(course.rules, paths["release"].parent)
        written[name] = {version: str(path) for version, path in paths.items()}
    if as_json:
        click.echo(json.dumps(written, indent=1))
    else:
        for name, versions in written.items():
            for version, path in versions.items():
                click.echo(f"{name}: {version:<9}{path}")
    sys.exit(0 if all(written.values()) else FINDINGS)


@click.command(
    epilog="\b\nExamples:\n  autograder check ps1\n"
    "  autograder check ps5 --item layer_norm      while you write one item: seconds\n"
    "  autograder check --all --no-mutants    a quick look at all sets\n"
    "  autograder check ps1 --thorough        before a class meets it: every rate below\n"
    "  autograder check --all --thorough --json > rates.json\n\n"
    "\b\nThe last table: how many answers of each kind were judged correctly.\n"
    "  wrong answers caught            those of SET/answers\n"
    "  diagnoses: true                 of all answers that were told which mistake they are\n"
    "and with --thorough, of each item a sample that is the same each time:\n"
    "  mutants of two changes          wrong, by two operators of the solution at once: caught\n"
    "  two mistakes at once            wrong, by two of the catalogue in one answer: caught\n"
    "  another item's                  wrong, since they answer another question: caught\n"
    "Below 100 %, every answer is listed that was judged otherwise. A change by machine may leave\n"
    "an answer right: read the rows marked 'full points', and strengthen the inputs for the rest."
)
@_names
@_all
@click.option(
    "--item",
    "items",
    metavar="FUNCTION",
    multiple=True,
    help="Only this item, named after the function that students write; can be repeated. Its known "
    "answers in one draw instead of three, within seconds; mutants only with --mutants.",
)
@click.option(
    "--mutants/--no-mutants",
    default=None,
    help="Also change the solution in small ways, one at a time, and see each change noticed. It "
    "takes minutes, the rest seconds.  [default: mutants, but not with --item]",
)
@click.option(
    "--thorough",
    is_flag=True,
    help="Also try answers that are made of the catalogue by machine. It takes minutes more.",
)
@json_option
@click.pass_obj
@report_errors
def check(
    folder: Path | None,
    names: tuple[str, ...],
    every: bool,
    items: tuple[str, ...],
    mutants: bool | None,
    thorough: bool,
    as_json: bool,
) -> None:
    """Prove that a problem set judges well, before students meet it.

    The solution, the reference and every right answer must earn full points, the stub none; every
    recorded mistake must be caught and named; small changes of the solution must be noticed.
    Whatever is not so is listed at the end.

    Right answers written differently lie in SET/answers/FUNCTION.py, one cell each, which begins
    like "# %% right: name"; wrong ones beside them, "# %% wrong: name". What the author of the
    checks knew, the checks know: that they catch it says little about what students will write. So
    let somebody write these who has not seen the checks. With --thorough they also meet two changes
    of the solution at once, two mistakes at once, and mistakes of other items where the signatures
    fit. A diagnosis is untrue where the mistake that it names behaves otherwise than the answer on
    fresh draws.
    """
    from autograder.authoring.release import ReleasedSet
    from autograder.authoring.secrets import given_away
    from autograder.validation.check_report import plain_report, print_overview, print_report
    from autograder.validation.check_set import SEEDS, check_set

    if items and len(names) != 1:
        raise click.UsageError("--item is about one problem set; name that one")
    course, reports = find_course_with_checks(folder), []
    for name in _chosen(course, names, every):
        released = ReleasedSet(course, name)
        report = check_set(
            released.problem_set,
            released.notebooks,
            released.answers,
            items=items,
            with_mutants=not items if mutants is None else mutants,
            with_unseen=thorough,
            seeds=SEEDS[:1] if items else SEEDS,
        )
        report = replace(report, faults=(*report.faults, *given_away(released)))
        reports.append(report)
        if not as_json:
            print_report(report)
    if as_json:
        click.echo(json.dumps([plain_report(report) for report in reports], indent=1))
    elif len(reports) > 1:
        print_overview(reports)
    sys.exit(0 if all(report.ok for report in reports) else FINDINGS)


@click.command(
    epilog="""\b
What it prints:
  not here      a better tier that this machine does not have, and why
  stopped       an attack that got nowhere
  GOT THROUGH   an attack that reached something: do not grade here
and, where there is no tier at all, what to install.

\b
The tiers, best first; grading takes the best that holds and names it in every report:
  A  full namespaces: bubblewrap (Debian, Ubuntu: apt-get install bubblewrap, 0.8 or newer)
  B  where namespaces are forbidden, as in many containers: a user of its own for student code if
     you are root, else Landlock alone (Linux 6.12 or newer); with seccomp. Student code then has no
     sockets, so data loaders with processes of their own fail; and Python must be readable by all.
Tier C, a container, is used only where --container asks for it, here and in `grade`.

\b
Examples:
  autograder doctor && autograder grade ps1 --submissions downloads/ps1
  autograder doctor --container runsc      is gVisor installed, and does it hold?
"""
)
@container_option
@json_option
@report_errors
def doctor(container: str | None, as_json: bool) -> None:
    """Attack the sandbox, to see that it holds on this machine.

    Opens the sandbox as grading does and attacks it from inside: reads and writes files, opens
    connections, signals processes, takes processes, memory and disk without end. Nothing has to be
    believed about versions and options. The harmless attacks, on things planted for them, run again
    whenever a sandbox is opened for grading; those that could hurt run only here, and only after
    every harmless one was stopped. Takes about a minute.
    """
    from autograder.sandbox.doctor import plain_report, print_report, run_escape_attempts

    report = run_escape_attempts(container or "")
    if as_json:
        click.echo(json.dumps(plain_report(report), indent=1))
    else:
        print_report(report)
    sys.exit(0 if report.ok else NO_SANDBOX)
