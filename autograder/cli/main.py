"""The command line: `autograder --help` teaches it."""

import importlib.metadata
import platform
from pathlib import Path

import click

from autograder.cli.class_commands import dashboard, explain, grade, similarity
from autograder.cli.course_commands import check, doctor, release
from autograder.cli.edition_command import edition
from autograder.cli.export_commands import export, gradescope
from autograder.cli.feedback_command import feedback
from autograder.cli.forecast_command import forecast
from autograder.cli.formgrader_command import formgrader
from autograder.cli.leaderboard_command import leaderboard
from autograder.cli.new_command import adopt, new
from autograder.cli.options import EXIT_CODES
from autograder.cli.student_commands import mine, work
from autograder.cli.teaching_commands import cartridge, exam, syllabus
from autograder.cli.written_command import written

_PACKAGE = "language-models-by-hand"
_EPILOG = f"""\b
A course, from its first day to its last:
  autograder syllabus                  the page to hand out on the first day
  autograder cartridge                 the course for Canvas and Moodle: links, assignments, dates
  autograder doctor                    is student code locked in on this machine?
  autograder check ps1                 does the set catch every known mistake?
  autograder release ps1               make the student notebook
  autograder edition                   make all that students need, and nothing secret
  autograder grade ps1 --submissions downloads/ps1
  autograder explain ps1 ada ps1_perplexity
  autograder written ps1               written answers, graded by hand with the rubric
  autograder similarity ps1            whose answers are alike?
  autograder leaderboard ps2           who is best in its challenge?
  autograder feedback ps1 --to canvas  pages, packed for their way back
  autograder exam --seed 7 --minutes 90 --chapters 1-8
  autograder export ps1 --format canvas --roster gradebook.csv > to-canvas.csv

\b
Whoever solves the sets:
  autograder work                      your own copies of the notebooks, kept up to date
  autograder mine ps5                  grade your notebook, and see what a student would

\b
SET is a folder's name in the course's folder: ps1 stands for assignments/ps1/.
Each command teaches itself: autograder grade --help
Where the command is not on the path: python -m autograder

\b
{EXIT_CODES}"""


def _say_version(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        try:
            version = importlib.metadata.version(_PACKAGE)
        except importlib.metadata.PackageNotFoundError:  # a checkout that nobody has installed
            version = "of a checkout that is not installed"
        click.echo(f"autograder {version} (Python {platform.python_version()})")
        context.exit()


class _InOrder(click.Group):
    """Lists commands in the order in which they were added: that in which a course needs them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, epilog=_EPILOG, context_settings={"max_content_width": 100})
@click.option(
    "--course",
    "folder",
    type=click.Path(path_type=Path),
    help="Course folder, with a folder for each set.  [default: assignments/ here or above]",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_say_version,
    help="Say which version this is, and which Python runs it.",
)  # fmt: skip
@click.pass_context
def main(context: click.Context, folder: Path | None) -> None:
    """Release problem sets as notebooks, grade them in a sandbox, and explain every point.

    Student code never meets the tests: it runs inside a sandbox without network, files or expected
    answers, and is judged outside by what it computes. Nothing is lost: a run that was killed
    continues where it stopped, and a second run grades only what has changed.
    """
    context.obj = folder


for command in (
    *(syllabus, cartridge, doctor, new, adopt, check, release, edition),
    *(grade, explain, written, formgrader, dashboard, similarity, leaderboard),
    *(feedback, exam, export, gradescope, forecast),
    *(work, mine),
):
    main.add_command(command)
