"""The commands that start a problem set: from a template, or from a notebook for nbgrader."""

import json
import sys
from pathlib import Path

import click

from autograder.authoring.checks import counted
from autograder.authoring.course import course_for_new_sets, nbgrader_course_in
from autograder.cli.options import FINDINGS, json_option, note, printable, report_errors


@click.command(epilog="\b\nExample:\n  autograder new ps9 && autograder check ps9")
@click.argument("name", metavar="SET")
@json_option
@click.pass_obj
@report_errors
def new(folder: Path | None, name: str, as_json: bool) -> None:
    """Start a problem set: a small working one, as a template.

    It has two short functions with everything that a set needs: the notebook, and for each function
    its inputs, its reference version, mistakes with hints, and right answers written differently.
    It can be released and checked at once; change it file by file into what you want. Nothing
    outside its folder needs to know of it. Where there is no course yet, the folder `assignments`
    of one is made in the working folder; where the course has no course.toml, it gets one that
    explains every setting and sets none.
    """
    from autograder.authoring.new_set import explain_settings, new_set

    course = course_for_new_sets(folder)
    made = new_set(course, name)
    _say_settings(explain_settings(course, name))
    if as_json:
        click.echo(json.dumps({name: str(made)}, indent=1))
    else:
        click.echo(f"made {made}; see that it judges well: autograder check {name}")


@click.command(
    epilog="\b\nExamples:\n  autograder adopt hw1 --nbgrader ~/my-course\n"
    "  autograder adopt hw1 squares --nbgrader ~/my-course      of one test cell"
)
@click.argument("name", metavar="NOTEBOOK")
@click.argument("cells", metavar="[CELL]...", nargs=-1)
@click.option(
    "--nbgrader",
    "nbgrader_course",
    type=click.Path(path_type=Path),
    metavar="COURSE",
    required=True,
    help="Folder of a course that was written for nbgrader.",
)
@click.option(
    "--rest-ungraded",
    "ungraded",
    is_flag=True,
    help="Let test cells that are not adopted stand in the notebook without points and hidden "
    "tests: then the set can be released at once.",
)
@json_option
@click.pass_obj
@report_errors
def adopt(
    folder: Path | None,
    name: str,
    cells: tuple[str, ...],
    nbgrader_course: Path,
    ungraded: bool,
    as_json: bool,
) -> None:
    """Make a set with checks of a notebook that was written for nbgrader.

    Test cells become checks: their assertions as they are, tolerances, loops and helpers included,
    as a function that is called outside the sandbox with what a submission gave there. The
    reference is the notebook's own solution, on which each is tried first; that runs the notebook's
    code. Several test cells of one answer become one check. Files beside the notebook go into the
    set's folder files/, from where they are handed out with it. What cannot be adopted is named
    with the reason: classes, arguments or results that are no plain data, partial credit.
    """
    from autograder.authoring.adopt import adopt as adopt_notebook
    from autograder.authoring.new_set import explain_settings
    from autograder.class_run.own_solution import with_working_tests
    from autograder.grading.grader import Confinement

    source = nbgrader_course_in(nbgrader_course)
    course = course_for_new_sets(folder)
    released = with_working_tests(source, name, Confinement())
    made = adopt_notebook(released, course, cells, ungraded)
    _say_settings(explain_settings(course, made.folder.name))
    if as_json:
        plain = {"folder": str(made.folder), "calls": made.calls, "left": made.left}
        plain |= {"files": list(made.files), "left_out": made.left_out}
        click.echo(json.dumps(plain, indent=1))
    else:
        for cell, n_calls in made.calls.items():
            click.echo(f"{cell}: a check with {counted(n_calls, 'call')}")
        for cell, why in made.left.items():
            click.echo(printable(f"{cell}: not adopted: {why}").plain)
        click.echo(f"adopted {len(made.calls)} of {len(made.calls) + len(made.left)} test cells")
        if made.files:
            click.echo(printable(f"handed out beside the notebook: {', '.join(made.files)}").plain)
        click.echo(
            f"made {made.folder}; see what is still to do: autograder check {made.folder.name}"
        )
    for place, why in made.left_out.items():
        note([f"{place} is not handed out: {why}"])
    sys.exit(FINDINGS if made.left or made.left_out else 0)


def _say_settings(path: Path | None) -> None:
    if path is not None:
        note([f"{path} explains what can be set for the course: due dates, penalties and more"])
