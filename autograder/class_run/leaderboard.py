"""The leaderboard of a set's open challenge.

Nothing that student code says of itself is shown. What it defined is asked again in the sandbox, on
inputs that nobody has seen and that are the same for all; it is judged as in grading. What ranks is
a score that is computed here, from what came back and what never went in, or the CPU time that the
kernel tells this process, which student code cannot reach.

That time is the whole sandbox's: of every process and thread, from the first word of the questions
to the last answer. So none gains by computing in parallel, or in processes that end unnoticed.
"""

import bisect
import contextlib
import hashlib
import itertools
import math
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from autograder.authoring.checks import Challenge, Check
from autograder.authoring.notebooks import as_text, defines, is_ungraded_work
from autograder.authoring.release import ReleasedSet
from autograder.class_run.containment import describe
from autograder.class_run.settings import Settings
from autograder.grading.grader import Grader
from autograder.grading.judge import part_seed, submission_seed
from autograder.grading.judge_process import Unjudged, within_limits
from autograder.inside.process_limits import Limits
from autograder.intake.repair import RepairedNotebook, repair
from autograder.records import GraderError, State
from autograder.reports.html import render, write_page
from autograder.store.journal import Journal

_N_RUNS = 3  # of a timed answer; what else a machine does only ever makes it slower
_MOST_LETTERS = 24
_CHOSEN = re.compile(r"""^PSEUDONYM[ \t]*=[ \t]*(["'])([^"'\n]{0,96})\1""", re.MULTILINE)
# One script, as letters of others look like these; of this one without those that do, too.
_LATIN = re.compile("(?:(?![\u0196\u01a6-\u01a8\u01bc-\u01c3\u01f7])[A-Za-z\u00c0-\u024f])+")
_CONSONANTS, _VOWELS = "bdfglmnprstvz", "aeiou"


@dataclass(frozen=True)
class Entry:
    """What became of one answer to a challenge.

    Attributes:
        student: empty for the answer that is to be beaten.
        score: None if it is not ranked.
        shown: the score as the challenge writes it.
        rank: shared by those whose scores are shown alike; 0 for the answer that is to be beaten.
        problem: why it is not ranked, for the instructor.
    """

    student: str
    pseudonym: str
    score: float | None = None
    shown: str = ""
    rank: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Board:
    """A leaderboard: the ranked entries, best first, and those that are not ranked.

    Attributes:
        kept: where the earlier page stands, if somebody had written in it.
    """

    challenge: Challenge
    ranked: tuple[Entry, ...]
    unranked: tuple[Entry, ...]
    page: Path
    kept: Path | None = None


class NotRankedError(Exception):
    """An answer earns no rank; says why, for the instructor."""


def make_leaderboard(released: ReleasedSet, settings: Settings) -> Board:
    """Measure everybody in the records who took up a set's challenge, and write the page.

    Raises:
        GraderError: if it is not switched on, the set has no challenge that can be measured, nobody
            has been graded, the page cannot be written, or the solution's own answer fails; says
            what to do.
    """
    challenge, names = _challenge(released), released.course.leaderboard()[1]
    journal = Journal(settings.out, released.name)
    students = journal.students()
    if not students:
        raise GraderError(f"no grades for {released.name} in {settings.out}: grade a class first")
    page = settings.out / "leaderboard" / released.name / "index.html"
    with _writing(page):  # before minutes of work, not after them
        page.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(page.parent, os.W_OK):
            raise PermissionError(None, "Permission denied", str(page.parent))
    seconds = released.policy.seconds + challenge.check.seconds
    limits = Limits(submission_seconds=seconds, keeps_children=True)
    confinement = replace(settings.hiding(settings.out).confinement, limits=limits)
    with Grader(released, confinement) as grader:
        seed = submission_seed(
            journal.salt(), "", released.name
        )  # nobody's own: all are asked alike
        solved = repair(as_text(released.notebooks.solution).encode(), released)
        cells = list(_challenge_cells(solved, challenge.check.target))
        to_beat = _measured(grader, challenge, solved, cells, seed, Entry("", challenge.to_beat))
        if to_beat.score is None:
            raise GraderError(f"{released.name}: the solution's own answer: {to_beat.problem}")
        target = challenge.check.target
        answers = {
            student: answer
            for student in students
            if (answer := _answer(released, journal, student, target)) is not None
        }
        chosen = {student: _chosen(cells) for student, (_, cells) in answers.items()}
        # A name that two have chosen is neither's, and one that is drawn for somebody is nobody
        # else's: none can take another's by copying it.
        wishes = Counter(look for name in chosen.values() for look in _looks(name))
        contested = {look for look in wishes if wishes[look] > 1}
        drawn = {student: _looks(next(_drawn(journal.salt(), student))) for student in answers}
        entries, taken = [to_beat], set(_looks(to_beat.pseudonym))
        # Whom the instructor has named comes first: nobody else can take that name.
        for student in sorted(answers, key=lambda student: student not in names):
            wish = names.get(student, chosen[student])
            of_others = (drawn[other] for other in drawn if other != student)
            held = taken if student in names else taken.union(contested, *of_others)
            pseudonym = _pseudonym(wish, held, journal.salt(), student)
            if pseudonym != names.get(student, pseudonym):
                raise GraderError(
                    f"leaderboard.names calls {student} {names[student]!r}; a name is Latin "
                    f"letters, at most {_MOST_LETTERS}, and stands for one student"
                )
            taken |= _looks(pseudonym)
            repaired, cells = answers[student]
            entry = Entry(student, pseudonym)
            entries.append(_measured(grader, challenge, repaired, cells, seed, entry))
    unranked = tuple(entry for entry in entries if entry.score is None)
    board = Board(challenge, _in_order(challenge, entries), unranked, page)
    with _writing(page):
        kept = write_page(page, render_board(board, released.outline.heading))
    return replace(board, kept=kept)


def render_board(board: Board, title: str) -> str:
    """Return the page, which says of those who are not ranked only how many they are."""
    places = [entry.student for entry in board.ranked]
    return render(
        "leaderboard.html",
        title=title,
        board=board,
        n_ranked=len(places) - 1,
        n_better=places.index(""),
        highest=max(entry.score or 0.0 for entry in board.ranked),
    )


@contextlib.contextmanager
def _writing(page: Path) -> Iterator[None]:
    """Turn what the disk refuses into something that an instructor can fix."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise GraderError(f"{error.filename or page} cannot be written: {reason}") from error


def _challenge(released: ReleasedSet) -> Challenge:
    name, course = released.name, released.course
    challenge = released.problem_set.challenge
    if not isinstance(challenge, Challenge):
        sets = [
            other
            for other in course.sets()
            if isinstance(course.problem_set(other).challenge, Challenge)
        ]
        raise GraderError(
            f"the challenge of {name} is not ranked: {challenge or 'there is none'}. "
            f"These sets have a leaderboard: {', '.join(sets) or 'none'}"
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
    except GraderError:  # refused, or its copy is gone
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
    """Score an answer once, or time it some times over, where the fastest run counts."""
    repaired = replace(repaired, cells=(*repaired.cells, *own))
    n_runs = _N_RUNS if challenge.score is None else 1
    try:
        score = min(_score(grader, challenge, repaired, seed) for _ in range(n_runs))
    except NotRankedError as reason:
        return replace(entry, problem=str(reason))
    except GraderError:
        raise
    except Exception as error:  # over one answer, and so nobody else's concern
        return replace(entry, problem=f"it cannot be scored: {describe(error)}")
    return replace(entry, score=score, shown=challenge.shown.format(score))


def _score(grader: Grader, challenge: Challenge, repaired: RepairedNotebook, seed: int) -> float:
    """Ask an answer once.

    Raises:
        NotRankedError: if it is wrong, or takes too long.
    """
    check = challenge.check
    run, verdicts, unjudged = grader.judge(repaired, seed, [check], counts_cpu=True)
    for why in unjudged.values():
        raise NotRankedError(why)
    (verdict,) = verdicts
    if verdict.fault:
        raise NotRankedError(f"the check of the challenge is faulty: {verdict.fault}")
    if run.tampered:
        raise NotRankedError(f"tampering: {'; '.join(run.problems)}")
    if wrong := [part for part in verdict.parts if not part.passed]:
        raise NotRankedError(f"{wrong[0].part}: {wrong[0].message}")
    used = run.probe_cpu_seconds
    values = [seen.value for seen in run.observations]
    if challenge.score is None:
        return round(used, 2)  # the kernel counts no finer
    if used > check.seconds:  # the limit inside the sandbox could be taken off
        limit = f"at most {check.seconds:g} are allowed"
        raise NotRankedError(f"it took {used:.1f} seconds of CPU time; {limit}")
    score, then, limits = challenge.score, challenge.then, grader.judging_limits
    try:
        if then is not None:
            # First where it can be ended: it is the course's, but the values are a student's.
            within_limits(lambda: then(values) is None, limits)
            return _score(grader, then(values), repaired, seed)
        return float(within_limits(lambda: score(values, _withheld(check, seed)), limits))
    except ValueError as reason:
        raise NotRankedError(str(reason)) from None
    except Unjudged as why:
        raise NotRankedError(f"it cannot be scored: computing the score {why}") from None


def _withheld(check: Check, seed: int) -> list[object]:
    """Draw the cases of a check once more, for what they keep from the sandbox."""
    return [
        case.withheld
        for part in check.parts
        for case in part.inputs(np.random.default_rng(part_seed(seed, check.item, part.name)))
    ]


def _in_order(challenge: Challenge, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Sort and rank the entries that have a score; what reads alike shares a rank.

    Among equals the answer that is to be beaten stands first: nobody beats it by a tie.
    """
    sign = -1 if challenge.higher_is_better else 1
    best: dict[str, float] = {}
    for entry in entries:
        if entry.score is not None:
            best[entry.shown] = min(best.get(entry.shown, math.inf), sign * entry.score)
    scored = [entry for entry in entries if entry.score is not None]
    scored.sort(key=lambda entry: (best[entry.shown], bool(entry.student), entry.pseudonym))
    of_students = [best[entry.shown] for entry in scored if entry.student]
    return tuple(
        replace(entry, rank=1 + bisect.bisect_left(of_students, best[entry.shown]))
        if entry.student
        else entry
        for entry in scored
    )


# -- names -----------------------------------------------------------------------------------------


def _chosen(cells: Sequence[str]) -> str:
    """Return the pseudonym that a cell of the challenge states; it is read, and not run."""
    matches = [_CHOSEN.search(cell) for cell in cells]
    return next((match[2] for match in matches if match), "")


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", " ".join(name.split()))


def _looks(name: str) -> frozenset[tuple[str, str]]:
    """Return by what a name could be taken for another: how it is read, and how it is drawn."""
    plain = _plain(name)
    return frozenset({("read", plain.casefold()), ("drawn", plain.replace("I", "l"))})


def _pseudonym(chosen: str, taken: Set[tuple[str, str]], salt: str, student: str) -> str:
    """Return the chosen name if it is one that may be shown, else one that the salt draws.

    A name is Latin letters, with single blanks or hyphens between them: so none is a number, a
    formula, markup or an address, none is invisible, and none looks like another on the page.
    """
    words = _plain(chosen)
    is_name = all(_LATIN.fullmatch(word) and word.isalpha() for word in re.split("[ -]", words))
    is_name &= unicodedata.is_normalized("NFKC", words)  # else one sign looks like two letters
    if is_name and len(words) <= _MOST_LETTERS and taken.isdisjoint(_looks(words)):
        return words
    return next(name for name in _drawn(salt, student) if taken.isdisjoint(_looks(name)))


def _drawn(salt: str, student: str) -> Iterator[str]:
    """Yield the names that the salt draws for a student, in the order in which they are tried."""
    for attempt in itertools.count():
        digest = hashlib.sha256(f"pseudonym\0{salt}\0{student}\0{attempt}".encode()).digest()
        syllables = [
            _CONSONANTS[digest[i] % len(_CONSONANTS)] + _VOWELS[digest[i + 1] % len(_VOWELS)]
            for i in range(0, 8, 2)
        ]
        yield "".join(syllables).capitalize()


def plain_board(board: Board) -> Mapping[str, object]:
    """Return a leaderboard as JSON writes it, with the students' names: for the instructor."""
    rows = [
        {"rank": e.rank, "student": e.student, "pseudonym": e.pseudonym, "score": e.score}
        for e in board.ranked
    ]
    others = [
        {"student": e.student, "pseudonym": e.pseudonym, "problem": e.problem}
        for e in board.unranked
    ]
    unit = board.challenge.unit
    return {"unit": unit, "ranked": rows, "not_ranked": others, "page": str(board.page)}
