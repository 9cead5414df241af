"""What every command shares: exit codes, errors in one line, text that cannot harm a terminal."""

import errno
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.text import Text

from autograder.authoring.course import Course, find_course
from autograder.records import GraderError, SandboxUnavailable
from autograder.sandbox.container import RUNTIMES
from autograder.store.class_folder import CLASS, class_folder
from autograder.untrusted import as_line

ERROR, NO_SANDBOX, FINDINGS = 1, 3, 4  # 2 is click's, for wrong usage
EXIT_CODES = """\
Exit codes of every command:
  0  done
  1  it could not be done; one line on stderr says why and what to do
  2  the command was typed wrong
  3  student code cannot be isolated on this machine; none of it was run
  4  done, but something needs your attention: a fault, a finding, somebody without a grade
"""


def _class_folder(context: click.Context, option: click.Parameter, value: Path | None) -> Path:
    """Find the class where nobody names its folder; one of an older version is moved there first.

    Beside the course, wherever the command is typed: else a class would be split in two.
    """
    if value is not None:
        return value
    if context.params.get("nbgrader_course"):  # which has a folder of its own
        return Path(CLASS)
    try:
        course = find_course(context.obj)
    except GraderError:  # as the command itself will say
        return Path(CLASS)
    if course.own_results() is not None:
        return Path(CLASS)
    try:
        place, moved = class_folder(course.top, Path.cwd())
    except GraderError as error:
        raise click.ClickException(as_line(str(error))) from error
    note([moved] if moved else [])
    return shown(place)


# What somebody at the machine can put right; anything else is a bug of ours.
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    callback=_class_folder,
    help="Folder of the class: grades, received files, records, feedback, leaderboards.  [default: "
    f"{CLASS}/ beside the course; of a course for nbgrader, its own folder]",
)

container_option = click.option(
    "--container",
    type=click.Choice(list(RUNTIMES)),
    default=None,
    help="Run student code in a container of this runtime instead of the sandbox of this machine: "
    "runsc (gVisor) has a kernel of its own; crun and runc are those of Podman and Docker.",
)

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead, for scripts."
)


def report_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn our own errors into one line and an exit code; let bugs show their traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except GraderError as error:
            for line in f"error: {error}".splitlines():
                click.echo(as_line(line), err=True)
            sys.exit(NO_SANDBOX if isinstance(error, SandboxUnavailable) else ERROR)
        except OSError as error:
            if error.errno not in _OF_THE_DISK:
                raise
            where = f"{error.filename}: " if error.filename else ""
            click.echo(as_line(f"error: {where}{error.strerror}"), err=True)
            sys.exit(ERROR)

    return run


def results_of(course: Course, out: Path, database: str) -> tuple[Path, str]:
    """Return output folder and gradebook of a course: one for nbgrader has its own.

    Args:
        out: as the option `--out` has it; if it was given, it counts.
    """
    source = click.get_current_context().get_parameter_source("out")
    own = course.own_results() if source is ParameterSource.DEFAULT else None
    return (out, database) if own is None else (own[0], database or own[1])


def shown(path: Path) -> Path:
    """Return a path as a person would write it here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def printable(text: str) -> Text:
    """Make text that a student may have chosen harmless to a terminal."""
    return Text(as_line(text))


def note(lines: Iterable[str]) -> None:
    """Say something beside the result, which scripts read from stdout."""
    for line in lines:
        click.echo(f"note: {as_line(line)}", err=True)
