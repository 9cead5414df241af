"""The command that ranks a class in a set's open challenge."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.authoring.course import find_course_with_checks
from autograder.cli.options import json_option, note, out_option, printable, report_errors

if TYPE_CHECKING:
    from autograder.class_run.leaderboard import Board


@click.command(
    epilog="\b\nExample:\n"
    "  autograder grade ps2 --submissions downloads/ps2\n"
    '  autograder leaderboard ps2    with sets = ["ps2"] below [leaderboard] in course.toml\n'
    "\n"
    "Students take part by changing the cell of the challenge; the page leaves out all others. "
    "PSEUDONYM in that cell is their name on the page: Latin letters, at most 24. Without one, or "
    "where it is taken, a name is drawn that nobody can trace. [leaderboard.names] in course.toml "
    "overrules both."
)
@click.argument("name", metavar="SET")
@out_option
@json_option
@click.pass_obj
@report_errors
def leaderboard(folder: Path | None, name: str, out: Path, as_json: bool) -> None:
    """Rank a class in a set's open challenge, under pseudonyms.

    Off until course.toml switches it on. Runs what students have written for the challenge once
    more, from the graded copies, in the sandbox, on one core and within a limit of CPU time, on
    inputs that are hidden and the same for all. Ranked are right answers: by the CPU time that the
    kernel counts, the fastest of three runs, or by a score that the grader computes from what came
    back and from what it has kept to itself. Nothing that a notebook says of itself is shown. Do it
    on a quiet machine. OUT/leaderboard/SET/index.html may be published; what is printed says who is
    who. A set whose challenge cannot be ranked fairly says why.
    """
    from autograder.authoring.release import ReleasedSet
    from autograder.class_run.leaderboard import make_leaderboard, plain_board
    from autograder.class_run.settings import Settings
    from autograder.reports.html import said_of_kept

    board = make_leaderboard(ReleasedSet(find_course_with_checks(folder), name), Settings(out))
    note(said_of_kept([board.kept]))
    if as_json:
        click.echo(json.dumps(plain_board(board), indent=1))
    else:
        _print(board)


def _print(board: "Board") -> None:
    from rich.table import Table

    from autograder.cli.output import new_console

    console = new_console()
    unit = board.challenge.unit
    table = Table("rank", "student", "on the page", unit, box=None, pad_edge=False)
    for column in (0, 3):
        table.columns[column].justify = "right"
    for entry in board.ranked:
        student = printable(entry.student or "to beat")
        rank = str(entry.rank or "")
        table.add_row(rank, student, printable(entry.pseudonym), entry.shown)
    console.print(table)
    for entry in board.unranked:
        console.print(printable(f"not ranked: {entry.student}: {entry.problem}"))
    console.print(f"\nThe page    {board.page.resolve()}", soft_wrap=True)
