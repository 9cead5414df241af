"""What crosses the wall: probe requests, questions, failures, exit codes of a supervisor."""

from dataclasses import dataclass

# How a session ended: the exit status of its supervisor.
ENDED, OUT_OF_MEMORY, STOPPED, NOT_ISOLATED = 0, 10, 11, 12
CELL_OUT_OF_TIME, ALL_OUT_OF_TIME, TOO_MANY_PROCESSES = 13, 14, 15

MOST_CHARACTERS = 500  # of the line that describes an exception; what is longer, no worker sent
MOST_QUESTIONS = 200  # that a probe may `ask`; it keeps to that itself


class WireError(Exception):
    """Bytes that break the wire's format or its bounds, or a value that may not travel."""


@dataclass(frozen=True)
class Failure:
    """What came instead of a value when student code was run.

    Attributes:
        kind: "missing" (the name is not defined), "exception", "unusable" (an exception, but not
            in the student's own code: it cannot be called so, or its result is of another kind),
            "timeout" (its CPU time is used up), "waiting" (it does not end, and for most of the
            time does not compute), "late" (the time of the whole submission is used up), "memory",
            "crash" (the process died), "refused" (its answer broke the wire's rules) or "imported"
            (it is not the student's, but comes from a package that holds the right answer).
        message: one line for people. It comes from student code: escape it before showing it.
    """

    kind: str
    message: str


@dataclass(frozen=True, eq=False)  # inputs have no equality of their own, and no hash
class ProbeRequest:
    """Run this probe on the student's object `target` with these inputs.

    Attributes:
        target: name that the student's notebook must define; if empty, the probe is given all
            that the notebook has defined.
        source: Python source of the probe, a function of (implementation, inputs).
        seconds: of CPU time.
        references: packages that hold the right answer; what is imported from them is none.
        partner: source that defines `partner`, an implementation that the probe may call through
            `ask` and that student code never meets. It stays outside: see `sandbox.partner`.
        watches: also say what the probe leaves otherwise in the process.
    """

    item: str
    part: str
    case: int
    target: str
    source: str
    inputs: dict
    seconds: float
    references: tuple[str, ...] = ()
    partner: str = ""
    watches: bool = False
