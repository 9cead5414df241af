"""Turn observations into verdicts: the only place that awards points.

    requests       what to ask of a submission: the cases of every part, drawn from the seed
    known_answers  what right answers look like on the wire, so that few must be unpacked
    verdict        what its answers are worth

They depend on the check, the seed and the observations alone, so that a verdict can be reproduced
at any time. The reference version answers the same probes here; its values pass the same wire
format as the student's, so both sides are plain data of the same kinds.

Students share a few seeds, so a judge finds out once what follows from a seed alone: cases,
what the reference answers, and what a recorded mistake answers where somebody's answer was wrong.
"""

import contextlib
import hashlib
import math
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.authoring.checks import Check, Part
from autograder.authoring.compare import agree
from autograder.grading.endless import Stopped, stop_endless
from autograder.grading.wording import describe_failure, explain_fault, shorten, without_echo
from autograder.inside import process_state, wire
from autograder.inside.messages import Failure, ProbeRequest
from autograder.inside.probe import call_probe, failure_of, partner_here, seed_of
from autograder.records import CheckFault, Misconception, Observation, PartVerdict, Verdict

ENDLESS_CPU_SECONDS = 2.0
"""For one case of a mistake that is declared endless; all that end take a small part of it."""
LONGEST_CPU_SECONDS = 300
"""For anything else that the course wrote: no machine is so busy that it would be reached."""
_N_DRAWS = 8
_SEEDS_KEPT = 2  # of which all cases of a set are kept
_same = agree(exact_dtype=True)  # else a mistake explains what is wrong in dtype only


@dataclass
class _DrawnCase:
    """One case of one part, and what is known of it.

    Attributes:
        message: its inputs, to be unpacked afresh for each call.
        answers: what recorded implementations gave, by their place in the check: the reference
            is None, a mistake its number. Judges only read them.
        is_met: whether the part's judge is content with the reference's own answer.
        sent: the message in which the sandbox would send the reference's answer.
    """

    part: Part
    label: str
    request: ProbeRequest
    message: bytes
    answers: dict[int | None, Any] = field(default_factory=dict)
    is_met: bool = False
    sent: bytes = b""


@dataclass(frozen=True)
class _JudgedCase:
    """One case, what the student's object gave and what the reference gives."""

    drawn: _DrawnCase
    observed: Any
    expected: Any
    wrong: str | None


def submission_seed(salt: str, student: str, problem_set: str) -> int:
    """The seed of all that is drawn for one student and set; secret as long as the salt is.

    A class shares `_N_DRAWS` seeds. So the cost of the reference version does not grow with the
    class, and luck is the same for more of its students. It costs no secrecy: nobody learns which
    seed is whose, the inputs are never shown, and another class has another salt.
    """
    draw = _digest("draw", salt, student, problem_set) % _N_DRAWS
    return _digest("submission", salt, problem_set, str(draw))


def part_seed(seed: int, item: str, part: str) -> int:
    """The seed of one part's cases, independent of every other part."""
    return _digest("part", str(seed), item, part)


class ItemJudge:
    """Asks and judges; keeps what follows from a seed for the checks that were asked last.

    Args:
        references: packages from which an answer may not be imported.
        n_checks: how many checks a submission is asked; the more, the more is kept.
    """

    def __init__(self, references: Iterable[str] = (), n_checks: int = 16) -> None:
        self._references = tuple(sorted(references))
        self._n_kept = _SEEDS_KEPT * max(n_checks, 1)
        self._kept: OrderedDict[tuple[int, int], tuple[Check, list[_DrawnCase]]] = OrderedDict()

    def requests(self, check: Check, seed: int) -> tuple[ProbeRequest, ...]:
        """List what to ask of a submission, smallest case of each part first.

        Raises:
            CheckFault: if a draw fails or makes inputs that cannot travel.
        """
        return tuple(drawn.request for drawn in self._cases(check, seed))

    def known_answers(self, check: Check, seed: int) -> dict[bytes, Any]:
        """Map what a submission that answers like the reference version sends to what it means.

        The values are the reference's own, so that `verdict` knows them again and does not compare.
        """
        known: dict[bytes, Any] = {}
        with contextlib.suppress(CheckFault):  # which `verdict` will report
            for drawn in self._cases(check, seed):
                answer = {"value": _expected(check, drawn)}
                drawn.sent = drawn.sent or wire.encode(answer)
                known.setdefault(drawn.sent, answer)
        return known

    def verdict(
        self, check: Check, seed: int, observations: Sequence[Observation], raised: str = ""
    ) -> Verdict:
        """Judge one item.

        A part on which the check itself breaks counts as passed, and the verdict says in `fault`
        what an instructor must fix.

        Args:
            seed: the one with which the requests were made.
            observations: in any order; a request without one counts as a crash.
            raised: the exception that the item's visible test has raised: no other is named.
        """
        answers = {(one.part, one.case): one.value for one in observations}
        verdicts, judged, faults = [], [], []
        try:
            cases = self._cases(check, seed)
        except CheckFault as fault:
            return _without_checks(check, str(fault))
        for part in check.parts:
            try:
                ours = [drawn for drawn in cases if drawn.part is part]
                results = [_judge_case(check, drawn, answers, raised) for drawn in ours]
            except CheckFault as fault:
                faults.append(str(fault))
                verdicts.append(PartVerdict(part.name, True, part.weight, staff_note=str(fault)))
                continue
            judged += results
            verdicts.append(_part_verdict(check, part, results))
        try:
            misconception = _misconception(check, judged)
        except CheckFault as fault:
            misconception = None
            faults.append(str(fault))
        earned, parts = _points(check, verdicts), tuple(verdicts)
        return Verdict(check.item, earned, check.points, parts, misconception, "; ".join(faults))

    def what_is_wrong(self, check: Check, seed: int, observation: Observation) -> str | None:
        """Judge one answer alone: None if it is right, else what is wrong, in words.

        Raises:
            CheckFault: if the check breaks.
        """
        place = (observation.part, observation.case)
        (drawn,) = (d for d in self._cases(check, seed) if (d.part.name, d.request.case) == place)
        return _judge_case(check, drawn, {place: observation.value}).wrong

    def explains(
        self, check: Check, seed: int, observations: Sequence[Observation], mistake: str
    ) -> bool:
        """Whether the mistake of this name gives in every case what was observed.

        Raises:
            CheckFault: if the check breaks.
        """
        answers = {(one.part, one.case): one.value for one in observations}
        judged = [_judge_case(check, drawn, answers) for drawn in self._cases(check, seed)]
        number = check.mistakes.index(check.mistake(mistake))
        return all(_explains(check, number, case) for case in _asked(judged))

    def _cases(self, check: Check, seed: int) -> list[_DrawnCase]:
        """Draw all cases, or return those drawn before: students of one seed come in a row."""
        key = seed, id(check)  # an id stands for one check as long as the check is kept, too
        if key not in self._kept:
            self._kept[key] = check, _draw(check, seed, self._references)
        self._kept.move_to_end(key)
        if len(self._kept) > self._n_kept:
            self._kept.popitem(last=False)
        return self._kept[key][1]


def _digest(*words: str) -> int:
    text = "\0".join(f"{len(word)}:{word}" for word in words)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def _draw(check: Check, seed: int, references: tuple[str, ...]) -> list[_DrawnCase]:
    drawn = []
    for part in check.parts:
        if not (math.isfinite(part.weight) and part.weight >= 0) or not (
            0 <= part.price <= 1 and (part.weight > 0) == (part.price == 0)
        ):
            found = f"weight is {part.weight} and price {part.price}"
            error = ValueError(f"{found}; one of them must be positive, and the price at most 1")
            raise CheckFault(explain_fault(check, part, "reading its weight", error))
        rng = np.random.default_rng(part_seed(seed, check.item, part.name))
        try:
            cases = list(part.inputs(rng))
            messages = [wire.encode(case.inputs) for case in cases]
            source = part.probe_source
        except Exception as error:
            raise CheckFault(explain_fault(check, part, "drawing its cases", error)) from error
        for index, (case, message) in enumerate(zip(cases, messages, strict=True)):
            inputs = wire.decode(message)
            place = check.item, part.name, index, check.target
            limits = check.seconds, references, part.partner, part.keeps_process
            request = ProbeRequest(*place, source, inputs, *limits)
            drawn.append(_DrawnCase(part, case.label, request, message))
    return drawn


def _judge_case(
    check: Check, drawn: _DrawnCase, answers: dict[tuple[str, int], Any], raised: str = ""
) -> _JudgedCase:
    """Compare one answer with the reference's.

    Raises:
        CheckFault: if the reference or the judge breaks.
    """
    part, request = drawn.part, drawn.request
    expected = _expected(check, drawn)
    observed = answers.get((part.name, request.case), Failure("crash", "no answer"))
    if isinstance(observed, Failure):
        return _JudgedCase(drawn, observed, expected, describe_failure(check, observed, raised))
    if observed is expected and drawn.is_met:
        return _JudgedCase(drawn, observed, expected, None)
    try:
        wrong = _wrong(part, observed, expected, request.inputs)
    except Exception as error:
        # A judge that fits right answers but trips over this one has met something else.
        wrong = "the result has another form than expected"
        try:
            _wrong(part, expected, expected, request.inputs)
        except Exception:
            raise CheckFault(explain_fault(check, part, "judging", error)) from error
    if wrong is not None and type(wrong) is not str:
        answer = TypeError(f"its judge returned {type(wrong).__name__}, not None or a text")
        raise CheckFault(explain_fault(check, part, "judging", answer))
    return _JudgedCase(drawn, observed, expected, wrong)


def _wrong(part: Part, observed: Any, expected: Any, inputs: dict[str, Any]) -> Any:
    """Ask the part's judge; then whether the process is left as the reference leaves it."""
    if not part.keeps_process:
        return part.judge(observed, expected, inputs)
    if type(observed) is not tuple or len(observed) != len(expected):
        return "the result has another form than expected"
    (value, changed), (right, allowed) = observed, expected
    wrong = part.judge(value, right, inputs)
    if wrong is not None or all(name in allowed for name in changed):
        return wrong
    # One name alone, and of ours: an answer may choose what it changes by what it has read.
    for name in process_state.NAMES:
        if name in changed and name not in allowed:
            return f"the call changes {name}"
    return "the call changes something besides its result"


def _expected(check: Check, drawn: _DrawnCase) -> Any:
    """Ask the reference version, once for each case.

    Raises:
        CheckFault: if it breaks.
    """
    if None not in drawn.answers:
        try:
            drawn.answers[None] = _probe(check.reference, drawn)
        except Exception as error:
            what = explain_fault(check, drawn.part, "asking the reference version", error)
            raise CheckFault(what) from error
        _prove_harmless(check, drawn)
    return drawn.answers[None]


def _prove_harmless(check: Check, drawn: _DrawnCase) -> None:
    """See to it that a judge leaves alone what other students' answers will be compared with.

    Raises:
        CheckFault: if it does not.
    """
    expected, inputs = drawn.answers[None], drawn.request.inputs
    before = wire.encode([expected, wire.decode(drawn.message)])
    with contextlib.suppress(Exception):
        drawn.is_met = _wrong(drawn.part, expected, expected, inputs) is None
    if wire.encode([expected, inputs]) != before:
        del drawn.answers[None]
        error = ValueError("it changes the values that it is given")
        raise CheckFault(explain_fault(check, drawn.part, "judging", error))


def _probe(implementation: Any, drawn: _DrawnCase) -> Any:
    """Do here what the worker does, down to the format of what comes out."""
    request, inputs = drawn.request, wire.decode(drawn.message)
    generators = process_state.read(process_state.GENERATORS)  # which every probe seeds
    ask, seed = partner_here(request.partner), seed_of(request)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in the worker: who reads them may make them errors
            value = call_probe(
                request.source, implementation, inputs, seed, ask, watches=request.watches
            )
    finally:
        process_state.restore(generators)
    return wire.normal_form(value)


def _part_verdict(check: Check, part: Part, results: Sequence[_JudgedCase]) -> PartVerdict:
    for judged in results:
        if judged.wrong is not None:
            announced = f"{part.requirement} With {judged.drawn.label}"
            wrong = without_echo(judged.wrong, f"{announced} {check.target} {check.seconds:g}")
            message = f"{announced}: {wrong}."
            return PartVerdict(part.name, False, part.weight, message, _staff_note(judged))
    return PartVerdict(part.name, True, part.weight)


def _points(check: Check, verdicts: Sequence[PartVerdict]) -> float:
    if all(verdict.passed for verdict in verdicts):
        return check.points
    pairs = list(zip(verdicts, check.parts, strict=True))
    if not any(v.passed and p.earns_alone and not p.price for v, p in pairs):
        return 0.0
    total = math.fsum(verdict.weight for verdict in verdicts)
    held = math.fsum(verdict.weight for verdict in verdicts if verdict.passed)
    left = math.prod(1 - part.price for verdict, part in pairs if not verdict.passed)
    share = (held / total - check.chance) / (1 - check.chance)
    return min(check.points, max(0.0, round(check.points * share * left, 2)))


def _without_checks(check: Check, fault: str) -> Verdict:
    parts = tuple(PartVerdict(p.name, True, p.weight, staff_note=fault) for p in check.parts)
    return Verdict(check.item, check.points, check.points, parts, None, fault)


def _misconception(check: Check, judged: Sequence[_JudgedCase]) -> Misconception | None:
    """Name the mistake that gives what the student's object gives, in every case.

    A mistake that explains the wrong answers only is another mistake's neighbour.
    """
    if not is_telling([(case.observed, case.wrong) for case in judged]):
        return None
    asked = sorted(_asked(judged), key=lambda case: case.wrong is None)  # wrong ones tell soonest
    for number, mistake in enumerate(check.mistakes):
        if all(_explains(check, number, case) for case in asked):
            return Misconception(mistake.name, mistake.hint)
    return None


def _asked(judged: Sequence[_JudgedCase]) -> list[_JudgedCase]:
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


def _explains(check: Check, number: int, judged: _JudgedCase) -> bool:
    drawn = judged.drawn
    value = _mistaken(check, number, drawn)
    if isinstance(value, Failure) or isinstance(judged.observed, Failure):
        return type(value) is type(judged.observed) and _cause(value) == _cause(judged.observed)
    if _same(judged.observed, value, drawn.request.inputs) is None:
        return True
    with contextlib.suppress(Exception):
        # The part's own tolerance, with the mistake in the place of the reference.
        return _wrong(drawn.part, judged.observed, value, drawn.request.inputs) is None
    return False


def _mistaken(check: Check, number: int, drawn: _DrawnCase) -> Any:
    """Ask a recorded mistake, once for each case; a Failure where it breaks or never ends.

    Raises:
        CheckFault: if it had to be stopped and is not declared endless.
    """
    if number not in drawn.answers:
        mistake = check.mistakes[number]
        seconds = ENDLESS_CPU_SECONDS if mistake.endless else LONGEST_CPU_SECONDS
        try:
            with stop_endless(seconds):
                value: Any = _probe(mistake.implementation, drawn)
        except Stopped as stop:
            if not mistake.endless:
                rule = f"mistake {mistake.name!r}: {stop}: declare it endless or fix it"
                raise CheckFault(f"the check {check.item}: {rule}") from stop
            value = Failure("timeout", str(stop))
        except Exception as error:
            value = failure_of(error)
        drawn.answers[number] = value
    return drawn.answers[number]


def _cause(failure: Failure) -> tuple[str, str]:
    if failure.kind in ("exception", "unusable"):  # the same, seen from where the code is not known
        return "exception", failure.message.partition(":")[0]
    return failure.kind, ""


def _staff_note(judged: _JudgedCase) -> str:
    return "\n".join(
        (
            f"case {judged.drawn.request.case} ({judged.drawn.label}): {judged.wrong}",
            f"inputs: {shorten(judged.drawn.request.inputs)}",
            f"expected: {shorten(judged.expected)}",
            f"observed: {shorten(judged.observed)}",
        )
    )
