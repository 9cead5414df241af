"""Find the people of a learning platform's roster among those who were graded.

Nobody is guessed at: a grade is entered where exactly one row of the roster and exactly one graded
student name each other, and everybody else, on either side, is reported with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.intake.identity import is_same_name, name_and_number, same_id
from autograder.records import FinalScore

_MOST_NAMES = 20


@dataclass(frozen=True)
class Person:
    """One row of a roster.

    Attributes:
        row: its index.
        name: as the roster writes it, for comparison and for messages.
        ids: everything that names this person and nobody else.
        number: by which the platform's archives name them.
    """

    row: int
    name: str
    ids: frozenset[str]
    number: str = ""


@dataclass(frozen=True)
class Matched:
    """Whose grade belongs in which row, and whom that leaves out.

    Attributes:
        rows: graded students by the index of their row.
        notes: one line for each who is left out.
    """

    rows: Mapping[int, FinalScore]
    notes: tuple[str, ...]


def match(scores: Sequence[FinalScore], people: Sequence[Person], file: str) -> Matched:
    """Match graded students with the rows of a roster.

    A student is found by an identifier that equals a row's, or else, if collected from a platform's
    archive as `name_number`, by that number, provided that the name agrees too: students choose
    their names, and one may end in somebody else's number.
    """
    notes: list[str] = []
    claims: dict[int, list[FinalScore]] = {}
    for score in scores:
        candidates, reason = _rows_of(score, people, file)
        if len(candidates) == 1:
            claims.setdefault(candidates[0].row, []).append(score)
        else:
            notes.append(f"{_graded(score)} was not entered: {reason}")
    rows = {}
    names = {person.row: person.name for person in people}
    for row, claimants in claims.items():
        if len(claimants) == 1:
            rows[row] = claimants[0]
        else:
            graded = " and ".join(map(_graded, claimants))
            notes.append(f"{graded} all stand for {names[row]} in {file}; none was entered")
    left = [person.name for person in people if person.row not in claims]
    if left:
        more = f" and {len(left) - _MOST_NAMES} more" if len(left) > _MOST_NAMES else ""
        shown = "; ".join(left[:_MOST_NAMES])
        notes.append(f"{len(left)} in {file} without a grade here: {shown}{more}")
    return Matched(rows, tuple(notes))


def _rows_of(score: FinalScore, people: Sequence[Person], file: str) -> tuple[list[Person], str]:
    own = {same_id(score.student), same_id(score.email)} - {""}
    candidates = [person for person in people if own & person.ids]
    if candidates:
        several = " and ".join(person.name for person in candidates)
        return candidates, f"{several} in {file} both have that identifier"
    name, number = name_and_number(score.student)
    numbered = [person for person in people if number and person.number == number]
    candidates = [person for person in numbered if is_same_name(name, person.name)]
    if numbered and not candidates:
        return [], f"the number {number} belongs to {numbered[0].name} in {file}"
    return candidates, f"{file} holds the number {number} twice" if candidates else f"not in {file}"


def _graded(score: FinalScore) -> str:
    return f"{score.student} ({score.points:g} of {score.max_points:g} points)"
