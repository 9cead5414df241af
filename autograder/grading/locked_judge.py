"""Award the points of a notebook's own test cells, by where they stopped in the sandbox."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autograder.authoring.checks import Check
from autograder.authoring.locked_tests import ends_with_value, message_at
from autograder.grading.judge import ItemJudge
from autograder.grading.wording import describe_failure, raised_exception, shorten
from autograder.inside.messages import Failure
from autograder.records import Observation, PartVerdict, Verdict


class LockedJudge(ItemJudge):
    """Judges checks that `autograder.authoring.locked_tests` made: there is no reference version.

    What comes out of the sandbox is the student's word for what the tests said. Only a line and a
    name are taken from it, and they become words of ours or of the tests' author.
    """

    def known_answers(self, check: Check, seed: int) -> dict[bytes, Any]:
        """Return nothing: no answer is right as such."""
        return {}

    def verdict(
        self, check: Check, seed: int, observations: Sequence[Observation], raised: str = ""
    ) -> Verdict:
        """Give full points where the tests ran to their end, or the share that they end with.

        nbgrader's rules: a number at the end is what the cell is worth, anything else is worth all.
        """
        (request,) = self.requests(check, seed)
        seen = observations[0].value if observations else Failure("crash", "no answer")
        earned, wrong = _judge(check, request.inputs["tests"], seen, raised)
        passed = not wrong
        message = "" if passed else f"{check.parts[0].requirement} Here {wrong}."
        note = "" if passed else _in_words(request.inputs["tests"], seen)
        part = PartVerdict(check.parts[0].name, passed, 1.0, message, note)
        return Verdict(check.item, earned, check.points, (part,))


def _in_words(tests: str, seen: object) -> str:
    """Say for the instructor where tests stopped, and on what; student code has sent it."""
    match seen:
        case Failure():
            return seen.message
        case (0, str(), float(number)):
            return f"its tests end with the number {number:g}"
        case (int(line), str(name), _) if line > 0:
            stood = tests.splitlines()[line - 1 : line]
            where = f"its line {line} (`{stood[0].strip()[:100]}`)" if stood else f"its line {line}"
            return f"{where} raises {name[:80]}"
        case (int(), str(name), _) if name:
            return f"before its first line, {name[:80]} is raised"
    return f"what came out is no outcome of tests: {shorten(seen)}"


def _judge(check: Check, tests: str, seen: object, raised: str) -> tuple[float, str]:
    """Return the points, and what is wrong in words; none if nothing is."""
    if isinstance(seen, Failure):
        return 0.0, describe_failure(replace(check, target="a test"), seen, raised)
    if not (type(seen) is tuple and list(map(type, seen[:2])) == [int, str] and len(seen) == 3):
        return 0.0, "the tests did not run to their end"
    line, name, number = seen
    if line == 0 and number is None:
        return check.points, ""
    if line == 0 and type(number) is float and math.isfinite(number) and ends_with_value(tests):
        points = min(max(number, 0.0), check.points)
        part = "they give only a part of the points" if points else "they give no points"
        return points, "" if points == check.points else part
    if name == "AssertionError":
        said = message_at(tests, line).rstrip(".")
        return 0.0, f"one does not hold: {said}" if said else "one does not hold"
    return 0.0, f"they stop: {raised_exception(name, raised)} is raised"
