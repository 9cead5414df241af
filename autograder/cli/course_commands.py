"""The command line: `python -m autograder --help` teaches it."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from autograder.authoring.course import Course, find_course
from autograder.cli.class_commands import dashboard, explain, forecast, grade, similarity
from autograder.cli.export_commands import export, gradescope
from autograder.cli.options import (
    EXIT_CODES,
    FINDINGS,
    NO_SANDBOX,
    json_option,
    out_option,
    said_plainly,
)

_EPILOG = f"""\b
A course, from its first day to its last:
  python -m autograder doctor                    is student code locked in on this machine?
  python -m autograder check ps1                 does the set catch every known mistake?
  python -m autograder release ps1               make the student notebook
  python -m autograder grade ps1 --submissions downloads/ps1
  python -m autograder explain ps1 ada ps1_perplexity
  python -m autograder similarity ps1            whose answers are alike?
  python -m autograder export ps1 --format canvas --roster gradebook.csv > to-canvas.csv

\b
SET is a file's name in the course's folder sets/: ps1 stands for assignments/sets/ps1.py.
Each command teaches itself: python -m autograder grade --help

\b
{EXIT_CODES}"""


class _InOrder(click.Group):
    """Lists commands in the order in which a course needs them."""

    def list_commands(self, context: click.Context) -> list[str]:
        order = "doctor check release grade explain dashboard similarity export gradescope forecast"
        return sorted(self.commands, key=order.split().index)


@click.group(cls=_InOrder, epilog=_EPILOG, context_settings={"max_content_width": 100})
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


@main.command(
    epilog="\b\nExamples:\n  python -m autograder release ps1\n  python -m autograder release --all"
)
@_names
@_all
@out_option
@json_option
@click.pass_obj
@said_plainly
def release(
    folder: Path | None, names: tuple[str, ...], every: bool, out: Path, as_json: bool
) -> None:
    """Make the student notebook, the solution and nbgrader's source.

    Students get OUT/release/SET/; OUT/solution/ is for you, OUT/source/ for nbgrader's own tools.
    A set is written only if its source and its checks agree and no solution line or hidden test
    would leak; else every disagreement is named.
    """
    from autograder.authoring import release as releasing

    course, found = find_course(folder), {}
    for name in _chosen(course, names, every):
        built = releasing.build(course.source(name))
        complaints = releasing.lint(built, course.problem_set(name))
        for complaint in complaints:
            click.echo(f"{name}: {complaint}", err=True)
        paths = {} if complaints else releasing.write(built, out)
        found[name] = {version: str(path) for version, path in paths.items()}
    if as_json:
        click.echo(json.dumps(found, indent=1))
    else:
        for name, versions in found.items():
            for version, path in versions.items():
                click.echo(f"{name}: {version:<9}{path}")
    sys.exit(0 if all(found.values()) else FINDINGS)


@main.command(
    epilog="\b\nExamples:\n  python -m autograder check ps1\n"
    "  python -m autograder check --all --no-mutants    a quick look at all sets"
)
@_names
@_all
@click.option(
    "--mutants/--no-mutants",
    default=True,
    show_default=True,
    help="Also change the solution in small ways, one at a time, and see each change noticed. It "
    "takes minutes, the rest seconds.",
)
@json_option
@click.pass_obj
@said_plainly
def check(
    folder: Path | None, names: tuple[str, ...], every: bool, mutants: bool, as_json: bool
) -> None:
    """Prove that a problem set judges well, before students meet it.

    The solution, the reference and every alternative must earn full points, the stub none; every
    recorded mistake must be caught and named; small changes of the solution must be noticed.
    Whatever is not so is listed at the end.
    """
    from autograder.validation.check_report import plain_report, print_report
    from autograder.validation.check_set import check_set

    course, broken, plain = find_course(folder), False, []
    for name in _chosen(course, names, every):
        listed = getattr(course.checks(name), "EQUIVALENT_MUTANTS", None)
        report = check_set(
            course.problem_set(name),
            course.source(name),
            equivalent_mutants=listed,
            with_mutants=mutants,
        )
        if as_json:
            plain.append(plain_report(report))
        else:
            print_report(report)
        broken = broken or not report.ok
    if as_json:
        click.echo(json.dumps(plain, indent=1))
    sys.exit(FINDINGS if broken else 0)


for command in (grade, explain, dashboard, similarity, forecast, export, gradescope):
    main.add_command(command)


@main.command(
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

\b
Example:
  python -m autograder doctor && python -m autograder grade ps1 --submissions downloads/ps1
"""
)
@json_option
@said_plainly
def doctor(as_json: bool) -> None:
    """Attack the sandbox, to see that it holds on this machine.

    Opens the sandbox as grading does and attacks it from inside: reads and writes files, opens
    connections, signals processes, takes processes, memory and disk without end. Nothing has to be
    believed about versions and options. The harmless attacks, on things planted for them, run again
    whenever a sandbox is opened for grading; those that could hurt run only here, and only after
    every harmless one was stopped. Takes about a minute.
    """
    from autograder.sandbox.doctor import plain_report, print_report, run_canaries

    report = run_canaries()
    if as_json:
        click.echo(json.dumps(plain_report(report), indent=1))
    else:
        print_report(report)
    sys.exit(0 if report.ok else NO_SANDBOX)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # many small jobs; more threads only wait
    main(prog_name="python -m autograder")
