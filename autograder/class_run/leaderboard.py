"""The leaderboard of a set's open challenge: who is right in the least CPU time?

Nothing that student code says of itself is shown. What it defined is asked again in the sandbox, on
inputs that nobody has seen and that are the same for all; it is judged as in grading; and its CPU
time is what the kernel tells this process, which student code cannot reach. A process can keep its
time from those counters (by dying where nobody waits for it), but not from the clock: a run counts
only if the time that was counted is a good part of the time that has passed.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.authoring.checks import Challenge
from autograder.authoring.notebooks import as_text, defines, is_ungraded_work
from autograder.authoring.release import ReleasedSet
from autograder.class_run.settings import Settings
from autograder.files import write_atomically
from autograder.grading.grader import Grader
from autograder.grading.judge import submission_seed
from autograder.intake.repair import RepairedNotebook, repair
from autograder.records import GraderError, Run, State, SubmissionRefused
from autograder.reports.html import render
from autograder.store.journal import Journal

_N_RUNS = 3  # the fastest counts: what else a machine does only ever makes an answer slower
_LEAST_COUNTED = 0.5  # of the time on the clock, for a run to count
_MOST_LETTERS = 24
_CHOSEN = re.compile(r"""^PSEUDONYM[ \t]*=[ \t]*(["'])([^"'\n]{0,96})\1""", re.MULTILINE)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+")  # one script: letters of others look like these
_CONSONANTS, _VOWELS = "bdfglmnprstvz", "aeiou"


@dataclass(frozen=True)
class Entry:
    """What became of one answer to a challenge.

    Attributes:
        student: empty for the answer that is to be beaten.
        cpu_seconds: None if it is not ranked.
        problem: why it is not ranked, for the instructor.
    """

    student: str
    pseudonym: str
    cpu_seconds: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Board:
    """A leaderboard: the ranked entries, fastest first, and those that are not ranked."""

    ranked: tuple[Entry, ...]
    unranked: tuple[Entry, ...]
    page: Path


def make_leaderboard(released: ReleasedSet, settings: Settings) -> Board:
    """Measure everybody in the records who took up a set's challenge, and write the page.

    Raises:
        GraderError: if it is not switched on, the set has no challenge that can be measured, nobody
            has been graded, or the solution's own answer fails; says what to do.
    """
    challenge, names = _challenge(released), released.course.leaderboard()[1]
    journal = Journal(settings.out, released.name)
    students = journal.students()
    if not students:
        raise GraderError(f"no grades for {released.name} in {settings.out}: grade a class first")
    with Grader(released, settings.hiding(settings.out).confinement) as grader:
        seed = submission_seed(
            journal.salt(), "", released.name
        )  # nobody's own: all are asked alike
        solved = repair(as_text(released.notebooks.solution).encode(), released)
        cells = list(_challenge_cells(solved, challenge.check.target))
        to_beat = _measured(grader, challenge, solved, cells, seed, Entry("", challenge.to_beat))
        if to_beat.cpu_seconds is None:
            raise GraderError(f"{released.name}: the solution's own answer: {to_beat.problem}")
        target = challenge.check.target
        answers = {
            student: answer
            for student in students
            if (answer := _answer(released, journal, student, target)) is not None
        }
        chosen = {student: _chosen(cells) for student, (_, cells) in answers.items()}
        # A name that two have chosen is neither's: nobody can take another's by copying it.
        wishes = Counter(name.casefold() for name in chosen.values())
        contested = {name for name in wishes if wishes[name] > 1}
        entries, taken = [to_beat], {to_beat.pseudonym.casefold()}
        # Whom the instructor has named comes first: nobody else can take that name.
        for student in sorted(answers, key=lambda student: student not in names):
            wish = names.get(student, chosen[student])
            held = taken if student in names else taken | contested
            pseudonym = _pseudonym(wish, held, journal.salt(), student)
            if pseudonym != names.get(student, pseudonym):
                raise GraderError(
                    f"leaderboard.names calls {student} {names[student]!r}; a name is Latin "
                    f"letters, at most {_MOST_LETTERS}, and stands for one student"
                )
            taken.add(pseudonym.casefold())
            repaired, cells = answers[student]
            entry = Entry(student, pseudonym)
            entries.append(_measured(grader, challenge, repaired, cells, seed, entry))
    ranked = tuple(sorted(filter(_is_ranked, entries), key=_order))
    page = settings.out / "leaderboard" / released.name / "index.html"
    text = render(
        "leaderboard.html", title=released.problem_set.title, challenge=challenge, ranked=ranked
    )
    write_atomically(page, text.encode())
    return Board(ranked, tuple(entry for entry in entries if not _is_ranked(entry)), page)


def _challenge(released: ReleasedSet) -> Challenge:
    name, course = released.name, released.course
    challenge = released.problem_set.challenge
    if challenge is None:
        sets = (other for other in course.sets() if course.problem_set(other).challenge)
        raise GraderError(
            f"{name} has no challenge that the grader can measure; these sets have one: "
            f"{', '.join(sets) or 'none'}"
        )
    if name not in course.leaderboard()[0]:
        raise GraderError(
            f'the leaderboard of {name} is off; write sets = ["{name}"] below [leaderboard] in '
            f"{course.folder / 'course.toml'}"
        )
    return challenge


def _answer(
    released: ReleasedSet, journal: Journal, student: str, target: str
) -> tuple[RepairedNotebook, list[str]] | None:
    """Return a student's notebook and its cells of the challenge; None if it does not answer it.

    Whoever left the challenge's cell as it was released has not asked to be on a page.
    """
    record = journal.read(student)
    if record is None or record.grade.state in (State.REFUSED, State.TAMPERED):
        return None
    try:
        kept = journal.submission(student, record.grade.sha256)
        repaired = repair(kept.notebook, released)
    except SubmissionRefused:
        return None
    as_released = {_text(cell.source) for cell in released.notebooks.student.cells}
    cells = [cell for cell in _challenge_cells(repaired, target) if _text(cell) not in as_released]
    return (repaired, cells) if cells else None


def _text(source: str) -> str:
    """A cell's text without the blanks at ends of lines, which editors remove."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def _challenge_cells(repaired: RepairedNotebook, target: str) -> Iterator[str]:
    """Yield the cells that grading leaves out, as they are ungraded, and that hold the answer."""
    for cell in repaired.notebook.cells:
        if cell.cell_type == "code" and is_ungraded_work(cell) and defines(cell.source, target):
            yield cell.source


def _measured(
    grader: Grader,
    challenge: Challenge,
    repaired: RepairedNotebook,
    own: Sequence[str],
    seed: int,
    entry: Entry,
) -> Entry:
    """Ask an answer some times over; it must be right each time, and the fastest run counts."""
    check, counted = challenge.check, []
    cells = (*repaired.cells, *own)
    for _ in range(_N_RUNS):
        run, (verdict,) = grader.judge(
            replace(repaired, cells=cells), seed, [check], counts_cpu=True
        )
        if verdict.fault:
            raise GraderError(f"the check of the challenge is faulty: {verdict.fault}")
        if run.tampered:
            return replace(entry, problem=f"tampering: {'; '.join(run.problems)}")
        if wrong := [part for part in verdict.parts if not part.passed]:
            return replace(entry, problem=f"{wrong[0].part}: {wrong[0].message}")
        if _is_counted(run):
            counted.append(round(run.probe_cpu_seconds, 2))  # the kernel counts no finer
    if not counted:
        return replace(
            entry,
            problem="less than half of the time that passed was counted: this machine is too busy "
            "to measure on, or the answer computes in processes that it hides",
        )
    return replace(entry, cpu_seconds=min(counted))


def _is_counted(run: Run) -> bool:
    on_the_clock = sum(seen.seconds for seen in run.observations)
    return run.probe_cpu_seconds >= _LEAST_COUNTED * on_the_clock


def _is_ranked(entry: Entry) -> bool:
    return entry.cpu_seconds is not None


def _order(entry: Entry) -> tuple[float, str]:
    assert entry.cpu_seconds is not None
    return entry.cpu_seconds, entry.pseudonym


# -- names -----------------------------------------------------------------------------------------


def _chosen(cells: Sequence[str]) -> str:
    """Return the pseudonym that a cell of the challenge states; it is read, and not run."""
    found = [_CHOSEN.search(cell) for cell in cells]
    return next((match[2] for match in found if match), "")


def _pseudonym(chosen: str, taken: Container[str], salt: str, student: str) -> str:
    """Return the chosen name if it is one that may be shown, else one that the salt draws.

    A name is Latin letters, with single blanks or hyphens between them: so none is a number, a
    formula, markup or an address, none is invisible, and none looks like another on the page.
    """
    words = unicodedata.normalize("NFC", " ".join(chosen.split()))
    is_name = all(_LATIN.fullmatch(word) and word.isalpha() for word in re.split("[ -]", words))
    if is_name and len(words) <= _MOST_LETTERS and words.casefold() not in taken:
        return words
    for attempt in range(1_000_000):
        digest = hashlib.sha256(f"pseudonym\0{salt}\0{student}\0{attempt}".encode()).digest()
        syllables = [
            _CONSONANTS[digest[i] % len(_CONSONANTS)] + _VOWELS[digest[i + 1] % len(_VOWELS)]
            for i in range(0, 8, 2)
        ]
        if (drawn := "".join(syllables).capitalize()).casefold() not in taken:
            return drawn
    raise AssertionError("more students than names")


def plain_board(board: Board) -> Mapping[str, object]:
    """Return a leaderboard as JSON writes it, with the students' names: for the instructor."""
    rows = [
        {"student": e.student, "pseudonym": e.pseudonym, "cpu_seconds": e.cpu_seconds}
        for e in board.ranked
    ]
    others = [
        {"student": e.student, "pseudonym": e.pseudonym, "problem": e.problem}
        for e in board.unranked
    ]
    return {"ranked": rows, "not_ranked": others, "page": str(board.page)}
