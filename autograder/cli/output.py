"""What the commands about a class print: tables for people, plain data for scripts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder.authoring.checks import Check
from autograder.authoring.notebooks import assignment_and_notebook
from autograder.authoring.outline import Item
from autograder.authoring.rubrics import Criterion
from autograder.class_run.forecast import CORES, Forecast
from autograder.class_run.plan import Planned
from autograder.class_run.result import ClassResult, Watcher
from autograder.class_run.settings import Settings
from autograder.class_run.written import Answer
from autograder.cli.options import printable
from autograder.records import Grade, State, Timing, Verdict
from autograder.reports.html import duration, late_days, still_open
from autograder.reports.instructor_pages import judged, of_earlier, total
from autograder.reports.similarity import Likeness
from autograder.reports.similarity_report import Report
from autograder.store.grade_changes import describe_item_change
from autograder.store.gradebook_address import shown_address

_MOST_ROWS = 40
_COLOURS = {
    State.GRADED: "green",
    State.GRADED_WITH_PROBLEMS: "yellow",
    State.TAMPERED: "red",
    State.REFUSED: "red",
    State.GRADER_FAULT: "magenta",
}


def new_console(stderr: bool = False) -> Console:
    """Return a console; a log file has no width of its own."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = 120
    return console


def progress_bar(console: Console) -> Progress:
    """Return a bar that disappears when it is done."""
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    return Progress(*columns, console=console, transient=True)


def bar_watcher(bar: Progress) -> Watcher:
    """Return a watcher that shows on a bar how many submissions ended in each state."""
    line, counts = bar.add_task("reading"), dict.fromkeys(State, 0)

    def received(n_submissions: int) -> None:
        bar.update(line, total=n_submissions, description="grading")

    def graded(grade: Grade, reused: bool) -> None:
        counts[grade.state] += 1
        words = ", ".join(f"{n} {state.value}" for state, n in counts.items() if n)
        bar.update(line, advance=1, description=words)

    return Watcher(received, graded)


# ------------------------------------------------------------------ a graded class
def plain_result(result: ClassResult) -> dict[str, Any]:
    """Return a graded class as JSON writes it."""
    return {
        "problem_set": result.problem_set,
        "received": len(result.grades),
        "states": {state.value: result.states[state] for state in State},
        "reused": result.reused,
        "seconds": round(result.seconds, 3),
        "page": str(result.page),
        "notices": result.notices,
        "changes": [asdict(change) for change in result.changes],
        "grades": [
            {
                "student": grade.student,
                "state": grade.state.value,
                "points": grade.points,
                "penalty": grade.timing.penalty,
                "final_points": total(grade, result.by_hand),
                "max_points": grade.max_points,
                "items": {verdict.item: verdict.points for verdict in grade.verdicts},
                "timing": asdict(grade.timing),
                "reasons": grade.reasons,
                "given_for_earlier_answers": [
                    item
                    for item, given in result.by_hand.get(grade.student, {}).items()
                    if given.is_of_earlier
                ],
                "isolation": grade.isolation,
                "sha256": grade.sha256,
            }
            for grade in result.grades
        ],
    }


def print_results(
    console: Console,
    results: Sequence[ClassResult],
    settings: Settings,
    page: Path | None = None,
) -> None:
    """Print a graded class: who got what, what was noticed, what has changed, where it all is.

    Args:
        results: one for each notebook of what was graded together; several get one table.
        page: of all of them together, where there are several.
    """
    console.print(_table(results) if len(results) > 1 else _table_of_one(results[0]))
    for result in results:
        of = f" of {result.problem_set}" if len(results) > 1 else ""
        counts = " + ".join(f"{result.states[state]} {state.value}" for state in State)
        console.print(f"\n{len(result.grades)} received{of} = {counts}")
        console.print(
            f"{len(result.grades) - result.reused} graded now, {result.reused} taken over from an "
            f"earlier run, {result.seconds:.1f} seconds"
        )
        if open_points := _open(result):
            console.print(open_points)
        print_changes(console, result)
        for notice in result.notices:
            console.print(printable(notice))
    grades = [grade for result in results for grade in result.grades]
    for isolation in sorted({grade.isolation for grade in grades if grade.isolation}):
        console.print(f"isolation: {isolation}")
    console.print(f"\nThe class    {(page or results[0].page).resolve()}", soft_wrap=True)
    console.print(f"Feedback     {(settings.out / 'feedback').resolve()}", soft_wrap=True)
    console.print(f"Gradebook    {shown_address(settings.url)}", soft_wrap=True)


def print_next(console: Console, commands: Sequence[str]) -> None:
    """Print what comes next."""
    for command in commands:
        console.print(f"Next         {command}", soft_wrap=True, markup=False)


def _table_of_one(result: ClassResult) -> Table:
    shown: Sequence[Grade] = result.grades
    if len(shown) > _MOST_ROWS:
        shown = [grade for grade in shown if grade.state is not State.GRADED][:_MOST_ROWS]
    table = Table("student", "points", "state", "noticed", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for row in shown:
        state = Text(row.state.value, style=_COLOURS[row.state])
        earlier = of_earlier(result.outline, result.by_hand.get(row.student, {}))
        noticed = _cut("; ".join([*earlier, *_late(row.timing), *row.reasons]))
        table.add_row(printable(row.student), _points([row], [result]), state, noticed)
    return table


def _table(results: Sequence[ClassResult]) -> Table:
    """Return a table of everybody's points in several notebooks, and in all of them."""
    rows: dict[str, list[Grade | None]] = {}
    for place, result in enumerate(results):
        for grade in result.grades:
            rows.setdefault(grade.student, [None] * len(results))[place] = grade
    notebooks = [assignment_and_notebook(result.problem_set)[1] for result in results]
    table = Table("student", *notebooks, "together", "noticed", box=None, pad_edge=False)
    for column in table.columns[1:-1]:
        column.justify = "right"
    for student, of_student in sorted(rows.items()):
        of_each = list(zip(of_student, results, strict=True))
        pairs = [(grade, result) for grade, result in of_each if grade is not None]
        points = ["none" if g is None else _points([g], [result]) for g, result in of_each]
        together = _points(*map(list, zip(*pairs, strict=True)))
        table.add_row(printable(student), *points, together, _cut("; ".join(_noticed(pairs))))
    return table


def _noticed(pairs: Sequence[tuple[Grade, ClassResult]]) -> Iterator[str]:
    """Say what is to be known of each notebook, the gravest first: the line is cut at its end."""
    states = list(State)
    for grade, result in sorted(pairs, key=lambda pair: -states.index(pair[0].state)):
        state = [grade.state.value] * (grade.state is not State.GRADED)
        earlier = of_earlier(result.outline, result.by_hand.get(grade.student, {}))
        words = [*state, *earlier, *_late(grade.timing), *grade.reasons]
        if words:
            yield f"{assignment_and_notebook(result.problem_set)[1]}: {', '.join(words)}"


def _cut(noticed: str) -> Text:
    text = printable(noticed)
    text.truncate(160, overflow="ellipsis")
    return text


def _points(grades: Sequence[Grade], results: Sequence[ClassResult]) -> str:
    """Points of checks and people together, of those that have been judged so far.

    Args:
        grades: one student's, each with the result that it is of.
    """
    earned, highest = 0.0, 0.0
    for grade, result in zip(grades, results, strict=True):
        if grade.state is State.REFUSED or not grade.verdicts:
            continue
        earned += total(grade, result.by_hand)
        highest += judged(grade, result.outline, result.by_hand)
    return f"{earned:g} of {highest:g}" if highest else "open"


def _open(result: ClassResult) -> str:
    """Say how many points people have yet to give; empty if there are none."""
    most = result.outline.points
    left = [
        most - judged(grade, result.outline, result.by_hand)
        for grade in result.grades
        if grade.verdicts and grade.state is not State.REFUSED
    ]
    still = max(left, default=0.0)
    how = f"`autograder written {result.problem_set}` or `autograder formgrader`"
    return f"of {most - still:g} points{still_open(still)}: {how}" if still else ""


def _late(timing: Timing) -> list[str]:
    """What to say of a time; that nobody knows it is said once for all such submissions."""
    words = []
    if timing.is_late:
        late = f"{duration(timing.seconds_late)} late" if timing.seconds_late else "marked as late"
        spent = f", {late_days(timing.late_days)} spent" if timing.late_days else ""
        words.append(f"{late}: {-timing.penalty or 0:g} points{spent}")
    if timing.note and timing.source:
        words.append(timing.note)
    if timing.marked_late:
        words.append("the learning platform marks it as late")
    return words


def print_changes(console: Console, result: ClassResult) -> None:
    """Say whose grade has changed, and why; of a large class only how many."""
    for change in result.changes[:_MOST_ROWS]:
        words = f"changed: {change.before:g} -> {change.after:g} points"
        if change.before == change.after and change.state_before != change.state_after:
            words = f"changed: {change.state_before} -> {change.state_after}"
        console.print(printable(f"{change.student}: {words}"))
        for line in (*change.causes, *map(describe_item_change, change.items)):
            console.print(printable(f"    {line}"))
    if len(result.changes) > _MOST_ROWS:
        page = result.page.with_name("changes.html").resolve()
        console.print(f"{len(result.changes)} grades have changed; all of them: {page}")


# ------------------------------------------------------------------ everything else
def plain_plan(planned: Sequence[Planned]) -> list[dict[str, Any]]:
    """Return a plan as JSON writes it."""
    return [asdict(one) for one in planned]


def print_plan(console: Console, planned: Sequence[Planned]) -> None:
    """Print what would be done with each submission."""
    table = Table("student", "would", "because", "time", box=None, pad_edge=False)
    for one in planned:
        time = printable("; ".join(_late(one.timing)))
        table.add_row(printable(one.student), one.action, printable(one.reason), time)
    console.print(table)
    counts = [sum(one.action == action for one in planned) for action in _ACTIONS]
    words = " + ".join(f"{n} to {action}" for n, action in zip(counts, _ACTIONS, strict=True))
    console.print(f"\n{len(planned)} received = {words}; no student code run, nothing written")


_ACTIONS = ("grade", "take over", "refuse")


def plain_report(report: Report) -> dict[str, Any]:
    """Return a report on alike answers as JSON writes it."""

    def plain(likeness: Likeness) -> dict[str, Any]:
        matches = [
            {"item": m.item, "with": m.right, "share": m.share, "evidence": m.evidence}
            for m in likeness.matches
        ]
        return {"evidence": likeness.evidence, "items": matches}

    return {
        "students": report.n_students,
        "groups": report.groups,
        "pairs": [{"students": [one.left, one.right], **plain(one)} for one in report.pairs],
        "copies": [{"student": one.left, **plain(one)} for one in report.copies],
        "left_out": report.left_out,
        "page": str(report.page),
    }


def print_report(console: Console, report: Report) -> None:
    """Print which answers are alike; the page shows them side by side."""
    table = Table("who", "like", "surprise (nats)", "items", box=None, pad_edge=False)
    for one in (*report.pairs, *report.copies)[:_MOST_ROWS]:
        items = ", ".join(f"{m.item} {100 * m.share:.0f} %" for m in one.matches)
        like = one.right or "the package"
        table.add_row(printable(one.left), printable(like), f"{one.evidence:.0f}", items)
    if report.pairs or report.copies:
        console.print(table)
    for line in report.left_out:
        console.print(printable(line))
    for group in report.groups:
        console.print(printable(f"group of {len(group)}: {', '.join(group)}"))
    console.print(
        f"\n{report.n_students} submissions compared. To look at, pairs: {len(report.pairs)}, "
        f"likenesses to the package's source: {len(report.copies)}. This is no verdict."
    )
    console.print(f"Side by side    {report.page.resolve()}", soft_wrap=True)


def print_forecast(console: Console, forecasts: Sequence[Forecast], price: float | None) -> None:
    """Print what classes of several sizes take."""
    prices = [] if price is None else [f"at {price:g} an hour"]
    machines = [f"on {cores} cores" for cores in CORES]
    table = Table("submissions", "core hours", *machines, *prices, box=None, pad_edge=False)
    for column in table.columns:
        column.justify = "right"
    for one in forecasts:
        times = [_length(one.seconds[cores]) for cores in CORES]
        costs = [] if price is None else [f"{one.core_hours * price:,.2f}"]
        table.add_row(f"{one.n_submissions:,}", f"{one.core_hours:,.2f}", *times, *costs)
    console.print(table)


def _length(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def print_verdict(
    console: Console, check: Check, verdict: Verdict, recorded: Verdict | None
) -> None:
    """Print one verdict with all that an instructor may see."""
    says = {part.name: part.requirement for part in check.parts}
    console.print(f"{verdict.item}: {verdict.points:g} of {verdict.max_points:g} points")
    if recorded is not None and recorded.points != verdict.points:
        console.print(
            f"recorded: {recorded.points:g}; the check has changed since, or the answers vary"
        )
    for part in verdict.parts:
        mark = "passed" if part.passed else "FAILED"
        console.print(f"\n{mark}  {part.part}: {says.get(part.part, '')}", markup=False)
        if part.message:
            console.print(printable(f"       to the student: {part.message}"))
        for line in part.staff_note.splitlines():
            console.print(printable(f"       {line}"), soft_wrap=True)
    for misconception in verdict.misconceptions:
        console.print(
            f"\nnearest mistake: {misconception.name}\n  hint: {misconception.hint}", markup=False
        )
    if verdict.fault:
        console.print()
        console.print(printable(f"fault of the check: {verdict.fault}"))


def plain_by_hand(item: Item, answer: Answer, criteria: Sequence[Criterion]) -> dict[str, Any]:
    """Return what people gave for an item, and by which levels of the rubric, as plain values."""
    chosen = [
        (criterion, points)
        for criterion, points in zip(criteria, answer.levels, strict=False)
        if points is not None
    ]
    return {
        **asdict(answer.given),
        "item": item.name,
        "points": 0.0 if answer.given.blank else answer.given.counts(None),
        "max_points": item.points,
        "given": answer.given.points,
        "by": answer.by,
        "at": answer.at,
        "rubric": [
            {
                "asked": criterion.title,
                "points": points,
                "says": next((one.text for one in criterion.levels if one.points == points), ""),
            }
            for criterion, points in chosen
        ],
    }


def print_by_hand(console: Console, plain: Mapping[str, Any]) -> None:
    """Print what people gave for an item."""
    if plain["given"] is not None:
        when = f" at {datetime.fromisoformat(plain['at']):%H:%M on %Y-%m-%d}" if plain["at"] else ""
        who = plain["by"] or "a person"
        console.print(printable(f"{plain['given']:g} points were given by {who}{when}"))
    if plain["extra"]:
        console.print(f"{plain['extra']:g} points of extra credit")
    for level in plain["rubric"]:
        console.print(printable(f"  {level['points']:g} for {level['asked']}: {level['says']}"))
    if plain["comment"]:
        console.print("comment:")
        for line in plain["comment"].splitlines():
            console.print(printable(f"       {line}"), soft_wrap=True)
    earlier = ["points"] * plain["earlier_points"] + ["comment"] * plain["earlier_comment"]
    if earlier:
        console.print(f"{' and '.join(earlier)} are for an earlier answer: look again")


def print_written(console: Console, name: str, plain: Mapping[str, Any], text: str) -> None:
    """Print an answer that people grade, and what they gave for it."""
    most = f"{plain['max_points']:g} points"
    if plain["blank"]:
        console.print(f"{plain['item']}: 0 of {most}; nothing was written, and nobody has to read")
    elif plain["points"] is None or plain["waiting"]:
        had = "" if plain["points"] is None else f"{plain['points']:g} of "
        console.print(f"{plain['item']}: {had}{most}; it waits for a person to read it")
        console.print(f"`autograder written {name}` shows it beside the rubric")
    else:
        console.print(f"{plain['item']}: {plain['points']:g} of {most}")
    print_by_hand(console, plain)
    if not plain["blank"]:
        console.print("\nanswer:")
        for line in text.splitlines():
            console.print(printable(f"       {line}"), soft_wrap=True)
