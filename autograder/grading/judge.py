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
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from autograder.authoring.checks import Check, Part
from autograder.grading.cases import DrawnCase, JudgedCase, Named, probe, wrong_in
from autograder.grading.diagnosis import asked_of, diagnosis, explains, mistaken
from autograder.grading.wording import describe_failure, explain_fault, shorten, without_echo
from autograder.inside import wire
from autograder.inside.messages import Failure, ProbeRequest
from autograder.records import CheckFault, Misconception, Observation, PartVerdict, Verdict

_N_DRAWS = 8
SEEDS_KEPT = 2  # of which all cases of a set are kept


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
        self._n_kept = SEEDS_KEPT * max(n_checks, 1)
        self._kept: OrderedDict[tuple[int, int], tuple[Check, list[DrawnCase]]] = OrderedDict()

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
        earned, kept = _points(check, verdicts), 0.0
        named: Named = ()
        try:
            named = diagnosis(check, judged)
            kept = round(check.points * _share_kept(check, named, judged), 2)
        except CheckFault as fault:
            faults.append(str(fault))
        misconceptions = [Misconception(m.name, m.hint) for m in (check.mistakes[n] for n in named)]
        first, second = [*misconceptions, None, None][:2]
        return Verdict(
            check.item,
            max(earned, kept),
            check.points,
            tuple(verdicts),
            first,
            "; ".join(faults),
            second,
            kept=kept > earned,
        )

    def what_is_wrong(self, check: Check, seed: int, observation: Observation) -> str | None:
        """Judge one answer alone: None if it is right, else what is wrong, in words.

        Raises:
            CheckFault: if the check breaks.
        """
        place = (observation.part, observation.case)
        (drawn,) = (d for d in self._cases(check, seed) if (d.part.name, d.request.case) == place)
        return _judge_case(check, drawn, {place: observation.value}).wrong

    def explains(
        self, check: Check, seed: int, observations: Sequence[Observation], *mistakes: str
    ) -> bool:
        """Whether the mistakes of these names give in every case what was observed.

        Raises:
            CheckFault: if the check breaks.
        """
        answers = {(one.part, one.case): one.value for one in observations}
        judged = [_judge_case(check, drawn, answers) for drawn in self._cases(check, seed)]
        named = tuple(check.mistakes.index(check.mistake(name)) for name in mistakes)
        return all(explains(check, named, case) for case in asked_of(judged))

    def _cases(self, check: Check, seed: int) -> list[DrawnCase]:
        """Draw all cases, or return those drawn before: students of one seed come in a row.

        Cases that are not drawn but fixed are the last seed's, with what they were answered.
        """
        key = seed, id(check)  # an id stands for one check as long as the check is kept, too
        if key not in self._kept:
            before = [drawn for other, drawn in self._kept.values() if other is check]
            drawn = _draw(check, seed, self._references)
            self._kept[key] = check, _with_answers_of(before[-1] if before else (), drawn)
        self._kept.move_to_end(key)
        if len(self._kept) > self._n_kept:
            self._kept.popitem(last=False)
        return self._kept[key][1]


def _digest(*words: str) -> int:
    text = "\0".join(f"{len(word)}:{word}" for word in words)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def _draw(check: Check, seed: int, references: tuple[str, ...]) -> list[DrawnCase]:
    drawn = []
    for part in check.parts:
        if not (math.isfinite(part.weight) and part.weight >= 0) or not (
            0 <= part.price <= 1 and (part.weight > 0) == (part.price == 0)
        ):
            given = f"weight is {part.weight} and price {part.price}"
            error = ValueError(f"{given}; one of them must be positive, and the price at most 1")
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
            drawn.append(DrawnCase(part, case.label, request, message))
    return drawn


def _with_answers_of(known: Iterable[DrawnCase], drawn: Sequence[DrawnCase]) -> list[DrawnCase]:
    """Put what is known in the place of drawn cases that ask the same."""
    same = {_question(case): case for case in known}
    return [same.get(_question(case), case) for case in drawn]


def _question(case: DrawnCase) -> tuple[str, int, str, bytes]:
    return case.part.name, case.request.case, case.label, case.message


def _judge_case(
    check: Check, drawn: DrawnCase, answers: dict[tuple[str, int], Any], raised: str = ""
) -> JudgedCase:
    """Compare one answer with the reference's.

    Raises:
        CheckFault: if the reference or the judge breaks.
    """
    part, request = drawn.part, drawn.request
    expected = _expected(check, drawn)
    observed = answers.get((part.name, request.case), Failure("crash", "no answer"))
    if isinstance(observed, Failure):
        return JudgedCase(drawn, observed, expected, describe_failure(check, observed, raised))
    if observed is expected and drawn.is_met:
        return JudgedCase(drawn, observed, expected, None)
    try:
        wrong = wrong_in(part, observed, expected, request.inputs)
    except Exception as error:
        if ran_out_of_memory(error):
            raise  # which says nothing about the answer
        # A judge that fits right answers but trips over this one has met something else.
        wrong = "the result has another form than expected"
        try:
            wrong_in(part, expected, expected, request.inputs)
        except Exception:
            raise CheckFault(explain_fault(check, part, "judging", error)) from error
    if wrong is not None and type(wrong) is not str:
        answer = TypeError(f"its judge returned {type(wrong).__name__}, not None or a text")
        raise CheckFault(explain_fault(check, part, "judging", answer))
    return JudgedCase(drawn, observed, expected, wrong)


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether there was no memory left; torch says so in words, which no answer is to choose."""
    from_torch = type(error) is RuntimeError and str(error).startswith("[enforce fail at alloc_cpu")
    return isinstance(error, MemoryError) or from_torch


def _expected(check: Check, drawn: DrawnCase) -> Any:
    """Ask the reference version, once for each case.

    Raises:
        CheckFault: if it breaks.
    """
    if None not in drawn.answers:
        try:
            drawn.answers[None] = probe(check.reference, drawn)
        except Exception as error:
            what = explain_fault(check, drawn.part, "asking the reference version", error)
            raise CheckFault(what) from error
        _prove_harmless(check, drawn)
    return drawn.answers[None]


def _prove_harmless(check: Check, drawn: DrawnCase) -> None:
    """See to it that a judge leaves alone what other students' answers will be compared with.

    Raises:
        CheckFault: if it does not.
    """
    expected, inputs = drawn.answers[None], drawn.request.inputs
    before = wire.encode([expected, wire.decode(drawn.message)])
    with contextlib.suppress(Exception):
        drawn.is_met = wrong_in(drawn.part, expected, expected, inputs) is None
    if wire.encode([expected, inputs]) != before:
        del drawn.answers[None]
        error = ValueError("it changes the values that it is given")
        raise CheckFault(explain_fault(check, drawn.part, "judging", error))


def _part_verdict(check: Check, part: Part, results: Sequence[JudgedCase]) -> PartVerdict:
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


def _share_kept(check: Check, named: Named, judged: Sequence[JudgedCase]) -> float:
    """Return the share that is kept for what is named; of two mistakes, what both leave of it.

    So two slips never earn more than one of them.
    """
    if not any(check.mistakes[number].keeps for number in named):
        return 0.0
    if len(named) == 1:
        return check.mistakes[named[0]].keeps
    return math.prod(_share_alone(check, number, judged) for number in named)


def _share_alone(check: Check, number: int, judged: Sequence[JudgedCase]) -> float:
    """Return what share a recorded mistake earns by itself."""
    failed = set()
    for case in judged:
        value, part = mistaken(check, (number,), case.drawn), case.drawn.part
        again = {(part.name, case.drawn.request.case): value}
        if _judge_case(check, case.drawn, again).wrong is not None:
            failed.add(part.name)
    verdicts = [PartVerdict(p.name, p.name not in failed, p.weight) for p in check.parts]
    return max(_points(check, verdicts) / check.points, check.mistakes[number].keeps)


def _staff_note(judged: JudgedCase) -> str:
    return "\n".join(
        (
            f"case {judged.drawn.request.case} ({judged.drawn.label}): {judged.wrong}",
            f"inputs: {shorten(judged.drawn.request.inputs)}",
            f"expected: {shorten(judged.expected)}",
            f"observed: {shorten(judged.observed)}",
        )
    )
