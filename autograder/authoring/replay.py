"""Judge answers by a course's own assertions, which student code never meets.

    def tests(squares):
        assert squares(3) == [0, 1, 4]

    PARTS = (asserted("tests", tests, squares),)

The function is called where the judge is. First it gets the reference version: every call that it
makes is noted, and those calls are what a submission is asked in the sandbox. Then it gets a
function that gives, call by call, what the submission gave. So an assertion may say whatever Python
can say of plain data: tolerances, shapes, exceptions, loops over cases, helpers between; and what
is right stays outside.

What a submission gave may make an honest assertion endless, or huge. So the function runs in a
process of its own, with limits.
"""

import builtins
import contextlib
import inspect
import os
import random
import runpy
import select
import signal
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn

import numpy as np

from autograder.authoring.checks import Case, Inputs, Part
from autograder.authoring.compare import agree
from autograder.authoring.locked_tests import message_at
from autograder.handed_out import Files, beside
from autograder.inside import wire
from autograder.inside.messages import WireError
from autograder.inside.probe import describe
from autograder.temporary import temporary_folder

with contextlib.suppress(ImportError):  # not on Windows
    import resource

_RECORD_SECONDS, _REPLAY_SECONDS = 60, 10
_MORE_BYTES = 2 << 30  # of memory, beside what the judge has
_DOES_NOT_HOLD = "an assertion does not hold"
_MORE = (
    "its assertions see more than what calls give: what is printed, written or kept in variables, "
    "the source, the environment or the time"
)
_same = agree(rtol=1e-6, atol=1e-9)  # arguments, which rounding may have moved


class _Unplayable(BaseException):  # no `except Exception` in a test catches it
    """A call that cannot be made in the sandbox, or asked for again; says why."""


def asserted(name: str, tests: Callable[..., None], *references: Any, weight: float = 1.0) -> Part:
    """Make the part that holds where a function of assertions passes.

    Args:
        tests: raises where an answer is wrong. Its parameters are named like what students define.
        references: the right versions, one for each parameter: functions, or plain values.
    """
    inputs = partial(_inputs, tests, references)  # partial: digests of a check look into it
    judge = partial(_judge, tests, references)
    return Part(name, "The tests of this task pass.", inputs, ask, judge, weight)


def _inputs(
    tests: Callable[..., None], references: Sequence[Any], rng: np.random.Generator
) -> Sequence[Case]:
    target, calls = _names(tests)[0], calls_of(tests, *references)
    return [Case(f"what your {target} gives", {"target": target, "calls": calls})]


def _judge(
    tests: Callable[..., None],
    references: Sequence[Any],
    observed: Any,
    expected: Any,
    inputs: Inputs,
) -> str | None:
    try:
        wrong: str | None = _in_child(
            lambda: _played(tests, references, inputs["calls"], observed), _REPLAY_SECONDS
        )
        return wrong
    except ValueError:
        return "the tests do not come to an end with it"


def _names(tests: Callable[..., None]) -> tuple[str, ...]:
    return tuple(inspect.signature(tests).parameters)


def calls_of(tests: Callable[..., None], *references: Any) -> list[list[Any]]:
    """Return the calls that assertions make of the reference versions.

    Returns:
        For each call the function's name, its arguments (None: its value is read and not called),
        the states of the random generators that it draws from, and whether it changes arguments.

    Raises:
        ValueError: if the references do not pass, or a call cannot be made in the sandbox; says
            why.
    """
    calls: list[list[Any]] = _in_child(lambda: _noted(tests, references), _RECORD_SECONDS)
    return calls


def tried(path: str, files: Files) -> int | str:
    """Try the one part of a file as grading would, with the references as the answer.

    Args:
        files: what is handed out beside the notebook.

    Returns:
        How many calls it makes, or why it cannot be judged by them.
    """
    try:
        with _alone(files):
            (part,) = runpy.run_path(path)["PARTS"]
            tests, references = part.inputs.args
            (case,) = _inputs(tests, references, np.random.default_rng(0))
        # In a sandbox, where nothing is seen of what the tests have patched, set or written.
        with _alone(files):
            asking = partial(ask, references[0], case.inputs)
            given = _in_child(asking, _RECORD_SECONDS)
        # Nor of files that calls have written.
        with _alone(files):
            wrong = _judge(tests, references, given, None, case.inputs)
        return _MORE if wrong else len(case.inputs["calls"])
    except ModuleNotFoundError as error:
        return f"it needs {error.name}, which is neither installed nor beside the notebook"
    except Exception as error:
        said = f"{type(error).__name__}: {error}".removeprefix("ValueError: ")
        if said.startswith("FileNotFoundError: "):
            name = said.rpartition(": ")[2]
            return f"it reads {name}, which is not beside the notebook where answers are judged"
        return _MORE if said.startswith("AssertionError") else said


@contextlib.contextmanager
def _alone(files: Files) -> Iterator[None]:
    """Work in a folder that holds the files that are handed out, and nothing else."""
    with temporary_folder("replay") as elsewhere, contextlib.chdir(elsewhere), beside(files):
        yield


def ask(implementation, inputs):  # type: ignore[no-untyped-def]  # it travels as source
    """Make the calls; of each, return what it gave or raised, and, if asked, its arguments then."""
    import copy
    import inspect
    import random
    import sys

    import numpy

    others = getattr(inspect.unwrap(implementation), "__globals__", {})
    outcomes = []
    for name, args, kwargs, states, changes in inputs["calls"]:
        for library, state in states:
            if library == "random":
                random.setstate(state)
            elif library == "numpy":
                numpy.random.set_state(state)
            elif "torch" in sys.modules:
                sys.modules["torch"].set_rng_state(state)
        args, kwargs = copy.deepcopy((args, kwargs))
        try:
            one = implementation if name == inputs["target"] else others[name]
            outcomes.append(["gave", one if args is None else one(*args, **kwargs)])
        except Exception as error:
            outcomes.append(["raised", type(error).__name__])
        outcomes[-1].append([args, kwargs] if changes else None)
    return outcomes


def _noted(tests: Callable[..., None], references: Sequence[Any]) -> list[list[Any]]:
    """Call the tests with the references, and note the calls."""
    calls: list[list[Any]] = []
    results: list[Any] = []
    names = _names(tests)

    def noting(name: str, reference: Any) -> Any:
        if isinstance(reference, type):
            raise _Unplayable(f"{name} is a class: only functions and values can be asked")
        if not callable(reference):
            calls.append([name, None, None, [], False])
            return _plain(reference, f"{name} is")

        def call(*args: Any, **kwargs: Any) -> Any:
            what = f"it calls {name} with"
            before, given = _message([args, kwargs], what), _plain([args, kwargs], what)
            if any(one is result for one in _pieces([args, kwargs]) for result in results):
                raise _Unplayable(f"it calls {name} with the result of another call to an answer")
            states = _states()
            calls.append([name, *given, states, False])
            try:
                result = reference(*args, **kwargs)
            finally:
                drawn = [
                    one for one, now in zip(states, _states(), strict=True) if _differ(one, now)
                ]
                calls[-1][3] = drawn
            calls[-1][4] = _message([args, kwargs], what) != before
            results.append(_plain(result, f"{name} gives"))
            return results[-1]

        return call

    tests(*map(noting, names, references))
    if not calls:
        raise _Unplayable(f"it never calls {' or '.join(names)}")
    return calls


def _played(
    tests: Callable[..., None],
    references: Sequence[Any],
    calls: Sequence[Sequence[Any]],
    observed: Any,
) -> str | None:
    """Call the tests with what a submission gave; return what is wrong."""
    if type(observed) is not list or [type(one) for one in observed] != [list] * len(calls):
        return "the result has another form than expected"
    rest = list(zip(calls, wire.normal_form(observed), strict=True))

    def given(name: str, *args: Any, **kwargs: Any) -> Any:
        asked, (how, value, changed) = rest.pop(0)
        made = wire.normal_form([args, kwargs])
        is_asked = asked[1] is None or _same(made, asked[1:3], {}) is None
        if asked[0] != name or not is_asked:  # what an earlier one gave has led elsewhere
            raise LookupError(name)
        if changed is not None:
            after = [*changed[0], *changed[1].values()]
            for one, other in zip([*args, *kwargs.values()], after, strict=True):
                _become(one, other)
        if how == "raised":
            raise _exception(value)
        return value

    def playing(name: str, reference: Any) -> Any:
        return partial(given, name) if callable(reference) else given(name)

    try:
        tests(*map(playing, _names(tests), references))
        return None
    except AssertionError as error:
        message = _message_of(tests, error)
        return f"{_DOES_NOT_HOLD}: {message}" if message else _DOES_NOT_HOLD
    except Exception as error:
        return f"the tests stop with {type(error).__name__}"


def _pieces(value: Any) -> Iterator[Any]:
    """Yield what a value consists of, but for what Python keeps one copy of."""
    if isinstance(value, list | tuple | set):
        for one in value:
            yield from _pieces(one)
    elif isinstance(value, dict):
        yield from _pieces([*value.values()])
    is_empty = isinstance(value, str | bytes | tuple) and len(value) < 2
    if not isinstance(value, bool | int | NoneType) and not is_empty:
        yield value


def _become(old: Any, new: Any) -> None:
    """Change an argument of a test's as a submission has changed its own copy."""
    if isinstance(old, list | np.ndarray):
        old[:] = new
    elif isinstance(old, dict | set):
        old.clear()
        old.update(new)
    elif type(old).__name__ == "Tensor":
        old.copy_(new)


def _message_of(tests: Callable[..., None], error: AssertionError) -> str:
    """Return what the author says at a visible assertion of the tests themselves."""
    lines = [
        line
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code is tests.__code__
    ]
    with contextlib.suppress(OSError, SyntaxError):
        _, *body = inspect.getsource(tests).splitlines(keepends=True)
        first = tests.__code__.co_firstlineno
        return message_at(textwrap.dedent("".join(body)), lines[-1] - first) if lines else ""
    return ""


def _exception(name: Any) -> Exception:
    """Make an exception of Python's own; of any other name, one that no test names."""
    kind = getattr(builtins, name, None) if isinstance(name, str) else None
    if isinstance(kind, type) and issubclass(kind, Exception):
        with contextlib.suppress(TypeError):
            return kind()
    return RuntimeError("an exception of another kind")


def _message(value: Any, what: str) -> bytes:
    try:
        return wire.encode(value)
    except WireError as error:
        raise _Unplayable(f"{what} what cannot leave or enter the sandbox: {error}") from None


def _plain(value: Any, what: str) -> Any:
    return wire.decode(_message(value, what))


def _states() -> list[list[Any]]:
    """Return the states of the generators that a test may have seeded."""
    states: list[list[Any]] = [["random", random.getstate()], ["numpy", np.random.get_state()]]
    if "torch" in sys.modules:
        states.append(["torch", sys.modules["torch"].get_rng_state()])
    return states


def _differ(one: Any, other: Any) -> bool:
    return wire.encode(one) != wire.encode(other)


# ------------------------------------------------------------------ a process with limits
def _in_child(work: Callable[[], Any], seconds: int) -> Any:
    """Return what a function gives in a copy of this process.

    Raises:
        ValueError: if it raises, is out of time or memory, or gives nothing plain; says why.
    """
    if not hasattr(os, "fork"):
        outcome = _outcome(work)
    else:
        pipe, theirs = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other threads, which the child does not use
            child = os.fork()
        if child == 0:
            _serve(work, theirs, seconds)
        os.close(theirs)
        try:
            outcome = wire.decode(_read(pipe, time.monotonic() + 4 * seconds))
        except WireError:
            raise ValueError(f"it does not finish within {seconds} s, or dies") from None
        finally:
            os.close(pipe)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if "error" in outcome:
        raise ValueError(outcome["error"])
    return outcome["value"]


def _outcome(work: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"value": wire.normal_form(work())}
    except _Unplayable as why:
        return {"error": str(why)}
    except BaseException as error:
        return {"error": describe(error)}


def _serve(work: Callable[[], Any], pipe: int, seconds: int) -> NoReturn:
    """Do the work under limits, write its outcome, and end."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with contextlib.suppress(OSError, ValueError):  # only Linux says how much it has
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + _MORE_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)  # those of the parent are not here
        with open(pipe, "wb") as out:
            out.write(wire.encode(_outcome(work)))
    finally:
        os._exit(0)


def _read(pipe: int, end: float) -> bytes:
    """Read until the other side hangs up, or the time has come."""
    read = []
    while (left := end - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        some = os.read(pipe, 1 << 20)
        if not some:
            break
        read.append(some)
    return b"".join(read)
