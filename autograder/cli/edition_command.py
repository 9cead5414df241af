"""The command that makes what students get."""

import json
from pathlib import Path

import click

from autograder.authoring.course import find_course_with_checks
from autograder.cli.options import json_option, note, report_errors

EDITION = Path("_build", "student-edition")


@click.command(
    epilog="\b\nExamples:\n"
    "  autograder edition                      into _build/student-edition and its .zip\n"
    "  make student-edition                    builds the book first, so that it is in it\n"
    "  autograder edition --out ~/lm-autumn    a folder of your own, ~/lm-autumn.zip beside it\n\n"
    "\b\nWhat goes in:\n"
    "  problem_sets/    each released notebook, with AGENTS.md beside it\n"
    "  the course's edition/    as it is: README.md, AGENTS.md, requirements.txt\n"
    "  what course.toml lists below [edition]    the package, the book, licences\n"
    "\b\nWhat stays out is searched for in every file, archives and pages included: lines of\n"
    "solutions, checks, names and hints of mistakes, exam answers. Lines of solutions that the\n"
    "package or the book have, too, are counted and let through: they are public anyway."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=EDITION,
    show_default=True,
    help="Folder of the edition; the zip file is put beside it. What an earlier run has written "
    "there is replaced, anything else is a reason to stop.",
)
@click.option("--public", is_flag=True, help="Also list which lines are public anyway, and where.")
@json_option
@click.pass_obj
@report_errors
def edition(folder: Path | None, out: Path, public: bool, as_json: bool) -> None:
    """Make a folder and a zip file for students, without anything that must stay secret.

    Students need neither the folder with the sets nor its history. This is all that they need: the
    package, the book, the notebooks and how to begin. Nothing is written if a single solution,
    hidden check, hint or exam answer would be given away: each is named.
    """
    from autograder.authoring import edition as making

    course = find_course_with_checks(folder)
    made = making.make(course)
    archive = making.write(made, out)
    for path in made.missing:
        note([f"{path} is not there and was left out"])
    n_bytes = sum(map(len, made.files.values()))
    pieces = [{"file": one.place, "of": one.origin, "words": one.text} for one in made.public]
    if as_json:
        plain = {
            "folder": str(out),
            "archive": str(archive),
            "files": len(made.files),
            "bytes": n_bytes,
            "archive_bytes": archive.stat().st_size,
            "searched_for": len(made.secrets),
            "public_anyway": pieces,
        }
        click.echo(json.dumps(plain, indent=1))
        return
    zipped = archive.stat().st_size / 1e6
    click.echo(
        f"{out}: {len(made.files)} files, {n_bytes / 1e6:.1f} MB; {archive}: {zipped:.1f} MB"
    )
    click.echo(
        f"searched for {len(made.secrets)} pieces of solutions, checks, hints and exam answers"
    )
    places = len({one["file"] for one in pieces})
    click.echo(f"public anyway: {len(pieces)} pieces in {places} files of the package and the book")
    if public:
        for one in pieces:
            click.echo(f"  {one['file']}: {one['of']}: {one['words']}")
