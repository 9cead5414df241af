"""Commands for whoever solves the problem sets: a workspace that loses nothing, and a grade."""

import json
import os
import sys
import webbrowser
from pathlib import Path

import click

from autograder.authoring.assistant_rules import bring_rules
from autograder.authoring.course import Course, find_course_with_checks
from autograder.authoring.fingerprints import Notebook, read_notebook
from autograder.authoring.notebooks import as_text
from autograder.authoring.workspace import (
    WORK,
    Update,
    bring,
    bring_files,
    copy_of,
    files_released,
    read_released,
    released_in,
    rescue,
    take_over,
)
from autograder.cli.options import FINDINGS, json_option, note, report_errors, shown
from autograder.handed_out import Files
from autograder.records import GraderError
from autograder.store.class_folder import CLASS, LEGACY
from autograder.untrusted import as_line

work_option = click.option(
    "--work",
    "place",
    type=click.Path(path_type=Path),
    help="Folder of your notebooks.  [default: work/ at the top of the course]",
)


@click.command(
    epilog="\b\nExamples:\n"
    "  autograder work                       every set; `make lab` does it and opens JupyterLab\n"
    "  autograder work ps5\n"
    "  autograder work --from notebooks      of released notebooks alone, without a course\n"
)
@click.argument("names", metavar="[SET]...", nargs=-1)
@click.option(
    "--from",
    "released",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Released notebooks, as FOLDER/SET/SET.ipynb or FOLDER/SET.ipynb, instead of the course's "
    "own sets; then WORK is work/ here, unless it is named.",
)
@work_option
@json_option
@click.pass_obj
@report_errors
def work(
    folder: Path | None,
    names: tuple[str, ...],
    released: Path | None,
    place: Path | None,
    as_json: bool,
) -> None:
    """Put each set's notebook where you write your answers, and keep it up to date.

    A notebook is put into WORK/SET/SET.ipynb once, and is yours from then on. When the course has a
    newer one, what you wrote goes over into it: every answer that you changed, and cells of your
    own, at their place. The notebook as it was stays beside it under the date of its last change,
    and one line says so. Files that are handed out with it lie beside it: one that you have changed
    is left alone until the course has a newer one, and then yours stays beside that. Nothing that
    you wrote is ever written over or deleted, and to run this again does no harm. If the course has
    an AGENTS.md, it goes into WORK, too: it asks code assistants to tutor and not to solve.
    """
    if released is not None:
        notebooks = released_in(released)
        place = place or Path(WORK)
    else:
        course = find_course_with_checks(folder)
        notebooks = {name: course.source(name) for name in course.sets()}
        place = place or shown(course.top / WORK)
    for name in names:
        if name not in notebooks:
            raise GraderError(f"no problem set {name!r}; there are: {', '.join(notebooks)}")
    rules = next(iter(notebooks.values())) if released else course.rules
    updates, lines = [], list(filter(None, [bring_rules(rules, place)]))
    for name in names or notebooks:
        happened = []
        if released is None:
            # Where students had to work; a class that lay there has moved with all of it.
            for earlier in (course.top / LEGACY, course.top / CLASS):
                found_there = copy_of(name, shown(earlier / "release"))
                happened.append(take_over(name, found_there, place))
            notebook, files = _student_version(course, name)
        else:
            notebook, files = read_released(notebooks[name]), files_released(notebooks[name])
        updates.append(bring(name, notebook, place))
        happened.append(updates[-1].line)
        happened.append(rescue(name, notebooks[name], place) if released is not None else "")
        happened += bring_files(name, files, place)
        lines += [line for line in happened if line]
    if as_json:
        plain = [_plain(update) for update in updates]
        click.echo(json.dumps({"notebooks": plain, "lines": lines}, indent=1))
    else:
        nothing = f"{place}: {', '.join(names or notebooks)} as you left them"
        click.echo("\n".join(map(as_line, lines or [nothing])))


@click.command(
    epilog="\b\nExamples:\n"
    "  autograder mine ps5                   `make mine SET=ps5` is the same\n"
    "  autograder mine ps5 --no-open         only say where the page is\n"
    "  autograder mine ps5 --notebook ~/Downloads/ps5.ipynb\n"
)
@click.argument("name", metavar="SET")
@work_option
@click.option(
    "--notebook",
    type=click.Path(path_type=Path),
    help="A notebook other than WORK/SET/SET.ipynb.  The page is put beside it.",
)
@click.option(
    "--open/--no-open",
    "opens",
    default=None,
    help="Open the page in a browser.  [default: on a terminal that has one, not under CI]",
)
@json_option
@click.pass_obj
@report_errors
def mine(
    folder: Path | None,
    name: str,
    place: Path | None,
    notebook: Path | None,
    opens: bool | None,
    as_json: bool,
) -> None:
    """Grade your own notebook, and open the page that a student would get.

    For each task: its points, which properties your answer has and which it lacks, and a hint
    where your mistake is a known one. The hidden checks of the course are asked, on inputs that
    you are not shown. Answers in words stay open, because people read those.

    It is not the official grade: that is given on other inputs, with due dates, in the sandbox. You
    need none for code of your own, so this works wherever Python does. But what runs here runs
    with all your rights: grade other people's notebooks with `autograder grade`.
    """
    from autograder.authoring.release import ReleasedSet
    from autograder.class_run.own_work import grade_own
    from autograder.reports.html import said_of_kept

    course = find_course_with_checks(folder)
    course.source(name)
    path = notebook or copy_of(name, place or shown(course.top / WORK))
    if not path.is_file():
        put = f"`autograder work {name}` puts it there" if notebook is None else "is it misspelt?"
        raise GraderError(f"{path} does not exist; {put}")
    graded = grade_own(ReleasedSet(course, name), path)
    note(said_of_kept([graded.kept]))
    if as_json:
        click.echo(json.dumps(graded.plain, indent=1))
    else:
        click.echo("\n".join(map(as_line, graded.lines)))
        click.echo(f"The page    {graded.page.resolve()}")
    if _has_browser() if opens is None else opens:
        webbrowser.open(graded.page.resolve().as_uri())
    sys.exit(0 if graded.is_graded else FINDINGS)


def _has_browser() -> bool:
    """Whether somebody sits here with a browser that does not take the terminal away."""
    if os.environ.get("CI") or not sys.stdout.isatty():
        return False
    on_a_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform not in ("win32", "darwin") and not on_a_screen:
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _plain(update: Update) -> dict[str, object]:
    return {
        "name": update.name,
        "path": str(update.path),
        "kept": str(update.kept) if update.kept else None,
        "answers": update.n_answers,
        "own_cells": update.n_own,
        "is_new": update.is_new,
        "is_newer": update.is_newer,
    }


def _student_version(course: Course, name: str) -> tuple[Notebook, Files]:
    from autograder.authoring.release import ReleasedSet

    notebooks = ReleasedSet(course, name).notebooks
    return read_notebook(as_text(notebooks.student).encode()), notebooks.files
