"""The commands that start a problem set: from a template, or from a notebook for nbgrader."""

import json
import sys
from pathlib import Path

import click

from autograder.authoring.checks import counted
from autograder.authoring.course import Course, find_course_with_checks, nbgrader_course_in
from autograder.cli.options import FINDINGS, json_option, report_errors


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
    outside its folder needs to know of it.
    """
    from autograder.authoring.new_set import new_set

    course = Course(folder.resolve()) if folder else find_course_with_checks()
    made = new_set(course, name)
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
@json_option
@click.pass_obj
@report_errors
def adopt(
    folder: Path | None,
    name: str,
    cells: tuple[str, ...],
    nbgrader_course: Path,
    as_json: bool,
) -> None:
    """Make a set with checks of a notebook that was written for nbgrader.

    Simple assertions become checks: that a call with literals == a literal, or is close to one
    (abs(...) < ..., isclose, allclose, round, approx, assert_equal and their like). The reference
    is the notebook's own solution. Whatever is not so simple is named, with its line and the
    reason; `autograder check` then says what a set still lacks.
    """
    from autograder.authoring.adopt import adopt as adopt_notebook
    from autograder.class_run.own_solution import with_working_tests
    from autograder.grading.grader import Confinement

    source = nbgrader_course_in(nbgrader_course)
    course = Course(folder.resolve()) if folder else find_course_with_checks()
    released = with_working_tests(source, name, Confinement())
    made = adopt_notebook(released, course, cells)
    if as_json:
        plain = {"folder": str(made.folder), "cases": dict(made.cases), "left": made.left}
        click.echo(json.dumps(plain, indent=1))
    else:
        for cell, n_cases in made.cases.items():
            click.echo(f"{cell}: a check with {counted(n_cases, 'case')}")
        for line in made.left:
            click.echo(f"not adopted: {line}")
        click.echo(
            f"made {made.folder}; see what is still to do: autograder check {made.folder.name}"
        )
    sys.exit(FINDINGS if made.left else 0)
