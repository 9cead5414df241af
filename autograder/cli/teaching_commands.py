"""Commands for the instructor's desk: a syllabus, an examination."""

import json
from pathlib import Path

import click

from autograder.authoring.course import find_course_with_checks
from autograder.cli.options import json_option, note, report_errors, shown
from autograder.files import write_atomically

_PDF = click.option(
    "--pdf/--no-pdf",
    default=None,
    help="Also print it as PDF, by Chromium.  [default: if Chromium is installed]",
)


def _written(folder: Path, name: str, title: str, markdown: str, pdf: bool | None) -> list[Path]:
    """Write a document as Markdown, as a page and, if wanted or possible, as PDF."""
    from autograder.reports.documents import chromium, page, print_pdf

    paths = [folder / f"{name}.md", folder / f"{name}.html"]
    write_atomically(paths[0], markdown.encode())
    write_atomically(paths[1], page(title, markdown).encode())
    if pdf or (pdf is None and chromium()):
        paths.append(folder / f"{name}.pdf")
        print_pdf(paths[1], paths[-1])
    elif pdf is None:
        note(["no PDF: Chromium is not installed; the page can be printed from any browser"])
    return paths


@click.command(
    epilog="\b\nExamples:\n"
    "  autograder syllabus                       every calendar of course.toml\n"
    "  autograder syllabus --calendar 10         ten weeks\n"
    "  autograder syllabus --calendar workshop --out handouts\n\n"
    "\b\nEverything in it stands in course.toml: the calendar, weights and first day below\n"
    "[syllabus]; due dates, penalties, late days and the rule on assistants where grading reads\n"
    "them, too. What does not fit together, such as a due date in another week than the\n"
    "calendar's, is named."
)
@click.option("--calendar", "names", multiple=True, help="Of course.toml; can be repeated.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Output folder.  [default: _build/syllabus beside the course]",
)
@_PDF
@json_option
@click.pass_obj
@report_errors
def syllabus(
    folder: Path | None, names: tuple[str, ...], out: Path | None, pdf: bool | None, as_json: bool
) -> None:
    """Make the page to hand out on the first day: Markdown, HTML and PDF."""
    from autograder.authoring.syllabus import TABLE, calendars, read_syllabus
    from autograder.reports.syllabus_page import syllabus_markdown

    course = find_course_with_checks(folder)
    names = names or calendars(course)
    if not names:
        course.refuse(f"{TABLE}.calendars", {}, "it must have at least one calendar")
    out = out or shown(course.top / "_build" / "syllabus")
    found, paths = {name: read_syllabus(course, name) for name in names}, []
    for name, read in found.items():
        note(f"calendar {name}: {doubt}" for doubt in read.doubts)
        title = read.words.get("title", "Syllabus")
        paths += _written(out, f"syllabus-{name}", title, syllabus_markdown(read), pdf)
    if as_json:
        click.echo(json.dumps([str(path) for path in paths], indent=1))
    else:
        for path in paths:
            click.echo(path)
