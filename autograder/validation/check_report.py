"""Print what `autograder.validation.check_set` has found out about a problem set."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from autograder.validation.check_set import DEMANDS, SetReport
from autograder.validation.trials import Trial
from autograder.validation.unseen_answers import (
    ANOTHER_ITEMS,
    TWO_CHANGES,
    TWO_MISTAKES,
    WRITTEN,
    Unseen,
)

_GOOD, _BAD = "[green]✓[/green]", "[red]✗[/red]"


def print_report(report: SetReport, console: Console | None = None) -> None:
    """Print the proof: a row for each item, one for each mistake, what survives, what to fix."""
    console = console or Console()
    console.print(_items(report))
    console.print(_mistakes(report))
    if report.of(kind="mutant"):
        console.print(
            f"Mutants: {len(report.of(kind='mutant'))} change behaviour, "
            f"{report.mutation_score:.1%} of them are caught, "
            f"{sum(t.stopped for t in report.of(kind='mutant'))} by being stopped; "
            f"{len(report.equivalent)} more are listed as equivalent."
        )
    for trial in report.survivors:
        console.print(f"  [yellow]survives[/yellow] {trial.item}: {escape(trial.name)}")
    for item, change, reason in report.equivalent:
        console.print(f"  [dim]equivalent[/dim] {item}: {escape(change)}\n    {escape(reason)}")
    if report.unseen:
        console.print(_unseen(report))
        for one in report.unseen:
            if one.share >= 1 and one.kind in (TWO_CHANGES, TWO_MISTAKES, ANOTHER_ITEMS):
                where = f"{one.item}: {one.kind}: {one.name}"
                console.print(f"  [yellow]full points[/yellow] {escape(where)}")
    console.print(f"[dim]Demanded {DEMANDS}.[/dim]")
    for problem in report.problems:
        console.print(f"{_BAD} {escape(problem)}")
    if report.ok:
        console.print(f"{_GOOD} {report.name} judges well: nothing to fix.")


def print_overview(reports: Sequence[SetReport], console: Console | None = None) -> None:
    """Print a row for each set and one for all: how many answers were tried, and what it cost."""
    table = Table(title="all sets", show_footer=True)
    rows = [_overview(report.name, [report]) for report in reports]
    for title, total in zip(_OVERVIEW, _overview("all", reports), strict=True):
        table.add_column(title, justify="left" if title == "set" else "right", footer=total)
    for cells in rows:
        table.add_row(*cells)
    (console or Console()).print(table)


_OVERVIEW = (
    *("set", "items", "mistakes caught", "alternatives accepted", "mutants caught"),
    *("wrong answers caught", "diagnoses: true"),
    *("to fix", "CPU seconds"),
)


def _overview(name: str, reports: Sequence[SetReport]) -> tuple[str, ...]:
    unseen = _judged_well([one for report in reports for one in report.unseen])

    def tried(kind: str) -> list[Trial]:
        return [trial for report in reports for trial in report.of(kind=kind)]

    return (
        name,
        str(sum(len(report.points) for report in reports)),
        _caught(tried("mistake")),
        _kept(tried("alternative"), "alternatives"),
        _caught(tried("mutant")),
        *(_of(*unseen[title]) for title in _OVERVIEW[5:7]),
        str(sum(len(report.problems) for report in reports)),
        f"{sum(report.cpu_seconds for report in reports):.0f}",
    )


def plain_report(report: SetReport) -> dict[str, Any]:
    """Return the proof as JSON writes it."""
    return {
        "problem_set": report.name,
        "ok": report.ok,
        "problems": list(report.problems),
        "mutation_score": report.mutation_score,
        "unseen_judged_well": _judged_well(report.unseen),
        **asdict(report),
    }


def _items(report: SetReport) -> Table:
    table = Table(title=f"{report.name}: what the checks make of known answers", show_footer=True)
    table.add_column("item", footer="all")
    table.add_column("points", justify="right", footer=f"{sum(report.points.values()):g}")
    columns = {
        "solution": ("solution", "reference"),
        "alternatives accepted": ("alternative", "base"),
        "stub": ("stub", "meaningless"),
    }
    for title, kinds in columns.items():
        everything = [t for kind in kinds for t in report.of(kind=kind)]
        table.add_column(title, justify="right", footer=_kept(everything, title))
    for title, value in (
        ("mistakes caught", _caught),
        ("named", _named),
        ("seen by visible tests", _seen),
    ):
        table.add_column(title, justify="right", footer=value(report.of(kind="mistake")))
    table.add_column("mutants caught", justify="right", footer=_caught(report.of(kind="mutant")))
    for item, points in report.points.items():
        rows = [[t for kind in kinds for t in report.of(item, kind)] for kinds in columns.values()]
        mistakes = report.of(item, "mistake")
        table.add_row(
            item,
            f"{points:g}",
            *(_kept(row, title) for row, title in zip(rows, columns, strict=True)),
            _caught(mistakes),
            _named(mistakes),
            _seen(mistakes),
            _caught(report.of(item, "mutant")),
        )
    return table


def _unseen(report: SetReport) -> Table:
    """Make the table of the answers that the checks' author has not seen."""
    table = Table(title="answers that the checks have not seen", show_footer=True)
    table.add_column("item", footer="all")

    tried = {title: n for title, n in _judged_well(report.unseen).items() if n[1]}
    for title, (part, whole) in tried.items():
        footer = f"{_of(part, whole)}\n{part / whole:.1%}"
        table.add_column(title, justify="right", footer=footer)
    for item in report.points:
        judged_well = _judged_well([one for one in report.unseen if one.item == item])
        table.add_row(item, *(_of(*judged_well[title]) for title in tried))
    return table


def _judged_well(unseen: Sequence[Unseen]) -> dict[str, tuple[int, int]]:
    """Count, for each kind of answer, those that were judged correctly, and all of them."""

    def count(well: Iterable[bool]) -> tuple[int, int]:
        verdicts = list(well)
        return sum(verdicts), len(verdicts)

    wrong = {
        "mutants of two changes": TWO_CHANGES,
        "two mistakes at once": TWO_MISTAKES,
        "another item's": ANOTHER_ITEMS,
        "wrong answers caught": WRITTEN,
    }
    caught = {
        title: count(one.share < 1 for one in unseen if one.kind == kind)
        for title, kind in wrong.items()
    }
    return caught | {"diagnoses: true": count(not one.untrue for one in unseen if one.named)}


def _mistakes(report: SetReport) -> Table:
    table = Table(title="mistakes")
    for title in ("item", "misconception", "points left", "caught by", ""):
        table.add_column(title, justify="right" if title == "points left" else "left")
    previous = ""
    for trial in report.of(kind="mistake"):
        table.add_row(
            trial.item if trial.item != previous else "",
            escape(trial.name),
            f"{trial.share:.0%}",
            escape(", ".join(trial.caught_by)),
            _BAD if trial.problem else _GOOD,
            end_section=False,
        )
        previous = trial.item
    return table


def _kept(trials: Iterable[Trial], title: str) -> str:
    """Shares of the points that answers keep: one number where they agree."""
    trials = list(trials)
    if title.startswith("alternatives"):
        return _of(sum(trial.share >= 1 for trial in trials), len(trials))
    shares = sorted({f"{trial.share:.0%}" for trial in trials})
    return " / ".join(shares)


def _caught(trials: Iterable[Trial]) -> str:
    trials = list(trials)
    return _of(sum(trial.share < 1 for trial in trials), len(trials))


def _named(trials: Iterable[Trial]) -> str:
    trials = list(trials)
    return _of(sum(trial.recognised == trial.name for trial in trials), len(trials))


def _seen(trials: Iterable[Trial]) -> str:
    """How many the student finds alone; fewer than all is the hidden tests' reason to be."""
    trials = list(trials)
    return f"{sum(bool(trial.seen) for trial in trials)} of {len(trials)}"


def _of(part: int, whole: int) -> str:
    colour = "green" if part == whole else "red"
    return f"[{colour}]{part} of {whole}[/{colour}]" if whole else "-"
