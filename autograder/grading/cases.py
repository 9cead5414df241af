"""One case of a part: its inputs, what recorded answers give, and what a submission gave."""

import warnings
from dataclasses import dataclass, field
from typing import Any

from autograder.authoring.checks import Part
from autograder.inside import process_state, wire
from autograder.inside.messages import ProbeRequest
from autograder.inside.probe import call_probe, partner_here, seed_of

Named = tuple[int, ...]  # places of mistakes in their check: one, or two made at once


@dataclass
class DrawnCase:
    """One case of one part, and what is known of it.

    Attributes:
        message: its inputs, to be unpacked afresh for each call.
        answers: what recorded implementations gave: the reference (None), and mistakes by their
            places in the check. Judges only read them.
        is_met: whether the part's judge is content with the reference's own answer.
        sent: the message in which the sandbox would send the reference's answer.
    """

    part: Part
    label: str
    request: ProbeRequest
    message: bytes
    answers: dict[Named | None, Any] = field(default_factory=dict)
    is_met: bool = False
    sent: bytes = b""


@dataclass(frozen=True)
class JudgedCase:
    """One case, what the student's object gave and what the reference gives."""

    drawn: DrawnCase
    observed: Any
    expected: Any
    wrong: str | None


def wrong_in(part: Part, observed: Any, expected: Any, inputs: dict[str, Any]) -> Any:
    """Ask the part's judge; then whether the process is left as the reference leaves it."""
    if not part.keeps_process:
        return part.judge(observed, expected, inputs)
    if type(observed) is not tuple or len(observed) != len(expected):
        return "the result has another form than expected"
    (value, changed), (right, allowed) = observed, expected
    if type(changed) is not list:  # a tensor of millions would be looked at number by number
        return "the result has another form than expected"
    wrong = part.judge(value, right, inputs)
    if wrong is not None or all(name in allowed for name in changed):
        return wrong
    # One name alone, and of ours: an answer may choose what it changes by what it has read.
    for name in process_state.NAMES:
        if name in changed and name not in allowed:
            return f"the call changes {name}"
    return "the call changes something besides its result"


def probe(implementation: Any, drawn: DrawnCase) -> Any:
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
