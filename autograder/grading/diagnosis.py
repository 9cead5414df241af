"""Find the recorded mistake, or the two at once, that an answer makes."""

import contextlib
import itertools
from collections.abc import Sequence
from typing import Any

from autograder.authoring.checks import Check, both
from autograder.authoring.compare import agree
from autograder.grading.cases import DrawnCase, JudgedCase, Named, probe, wrong_in
from autograder.grading.endless import Stopped, stop_endless
from autograder.inside.messages import Failure
from autograder.inside.probe import failure_of
from autograder.records import CheckFault

ENDLESS_CPU_SECONDS = 2.0
"""For one case of a mistake that is declared endless; all that end take a small part of it."""
LONGEST_CPU_SECONDS = 300
"""For anything else that the course wrote: no machine is so busy that it would be reached."""
PAIR_CPU_SECONDS = 1.0
"""For one case of two mistakes at once: changes that fit may still be endless together."""
MOST_PAIR_CASES = 600
"""Of one answer that are compared with two mistakes at once; counted, since a clock would make a
verdict depend on how busy the machine is."""
_same = agree(exact_dtype=True)  # else a mistake explains what is wrong in dtype only


def diagnosis(check: Check, judged: Sequence[JudgedCase]) -> Named:
    """Find the mistake that gives what the student's object gives, in every case; or two of them.

    A mistake that explains the wrong answers only is another mistake's neighbour.
    """
    if not is_telling([(case.observed, case.wrong) for case in judged]):
        return ()
    # Wrong values tell soonest; that something breaks tells least of what is wrong.
    asked = sorted(asked_of(judged), key=lambda case: (case.wrong is None, _is_failure(case)))
    for number in range(len(check.mistakes)):
        if all(explains(check, (number,), case) for case in asked):
            return (number,)
    return _two_at_once(check, asked)


def _two_at_once(check: Check, asked: Sequence[JudgedCase]) -> Named:
    """Find the two mistakes that explain every case together; none if other two do so as well."""
    first = asked[0]
    numbers = range(len(check.mistakes))
    alone = [mistaken(check, (number,), first.drawn) for number in numbers]
    if _form(first.observed) not in map(_form, [first.expected, *alone]):
        return ()  # what is of a form of its own is something else
    n_left = MOST_PAIR_CASES
    named: Named = ()
    for pair in itertools.combinations(numbers, 2):
        if _made_by(check, pair) is None:
            continue
        for case in asked:
            if n_left == 0:
                return ()
            n_left -= 1
            if not explains(check, pair, case):
                break
        else:
            if named:
                return ()
            named = pair
    return () if _hides(check, named, asked) else named


def _hides(check: Check, pair: Named, asked: Sequence[JudgedCase]) -> bool:
    """Whether one of two mistakes is wrong by itself where the answer is right.

    Then the other hides it, and nobody would say that this answer makes it.
    """
    for case in asked if pair else ():
        drawn = case.drawn
        for number in pair if case.wrong is None else ():
            value = mistaken(check, (number,), drawn)
            try:
                wrong = wrong_in(drawn.part, value, case.expected, drawn.request.inputs)
            except Exception:
                return True
            if isinstance(value, Failure) or wrong is not None:
                return True
    return False


def _form(value: Any) -> Any:
    shape = getattr(value, "shape", None)
    if shape is not None:
        return type(value), tuple(shape), str(value.dtype)
    return type(value), len(value) if isinstance(value, list | tuple) else 0


def _made_by(check: Check, named: Named) -> Any:
    """Return the answer that makes a mistake, or two; None where no answer makes both."""
    if len(named) == 1:
        return check.mistakes[named[0]].implementation
    return both(*(check.mistakes[number] for number in named))


def asked_of(judged: Sequence[JudgedCase]) -> list[JudgedCase]:
    """Leave out what failed only because an earlier case of its part did not end."""
    asked, ended = [], set()
    for case in judged:
        if case.drawn.part.name not in ended:
            asked.append(case)
        if isinstance(case.observed, Failure) and case.observed.kind == "timeout":
            ended.add(case.drawn.part.name)
    return asked


def is_telling(answers: Sequence[tuple[Any, str | None]]) -> bool:
    """Whether wrong answers can say why they are wrong: that something breaks says too little.

    Args:
        answers: what was observed in each case, and what is wrong with it.
    """
    values = [wrong for value, wrong in answers if not isinstance(value, Failure)]
    late = any(isinstance(value, Failure) and value.kind == "timeout" for value, _ in answers)
    return any(values) or (late and bool(values))


def _is_failure(case: JudgedCase) -> bool:
    return isinstance(case.observed, Failure)


def explains(check: Check, named: Named, judged: JudgedCase) -> bool:
    """Whether a mistake, or two at once, give what was observed in one case.

    Raises:
        CheckFault: as `mistaken`.
    """
    drawn = judged.drawn
    value = mistaken(check, named, drawn)
    if isinstance(value, Failure) or isinstance(judged.observed, Failure):
        return type(value) is type(judged.observed) and _cause(value) == _cause(judged.observed)
    inputs = drawn.request.inputs
    if _same(judged.observed, value, inputs) is None:
        return True
    with contextlib.suppress(Exception):
        # The part's own tolerance, with the mistake in the place of the reference. A rule that asks
        # for no value in particular is content with that, too: so both keep it, or both break it.
        breaks = wrong_in(drawn.part, value, judged.expected, inputs) is not None
        is_near = wrong_in(drawn.part, judged.observed, value, inputs) is None
        return is_near and breaks == (judged.wrong is not None)
    return False


def mistaken(check: Check, named: Named, drawn: DrawnCase) -> Any:
    """Ask a recorded mistake, or two at once, once for each case; a Failure where it breaks.

    Raises:
        CheckFault: if a single one had to be stopped and is not declared endless.
    """
    if named not in drawn.answers:
        is_pair, first = len(named) > 1, check.mistakes[named[0]]
        seconds = PAIR_CPU_SECONDS if is_pair else LONGEST_CPU_SECONDS
        try:
            with stop_endless(ENDLESS_CPU_SECONDS if first.endless else seconds):
                value: Any = probe(_made_by(check, named), drawn)
        except Stopped as stop:
            if not (is_pair or first.endless):
                rule = f"mistake {first.name!r}: {stop}: declare it endless or fix it"
                raise CheckFault(f"the check {check.item}: {rule}") from stop
            value = Failure("timeout", str(stop))
        except Exception as error:
            value = failure_of(error)
        drawn.answers[named] = value
    return drawn.answers[named]


def _cause(failure: Failure) -> tuple[str, str]:
    if failure.kind in ("exception", "unusable"):  # the same, seen from where the code is not known
        return "exception", failure.message.partition(":")[0]
    return failure.kind, ""
