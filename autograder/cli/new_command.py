"""The command that starts a problem set."""

import json
from pathlib import Path

import click

from autograder.authoring.course import Course, find_course
from autograder.cli.options import json_option, report_errors


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

    course = Course(folder.resolve()) if folder else find_course()
    made = new_set(course, name)
    if as_json:
        click.echo(json.dumps({name: str(made)}, indent=1))
    else:
        click.echo(f"made {made}; see that it judges well: autograder check {name}")
