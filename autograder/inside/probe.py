"""Run one probe on an implementation: the same few lines in the sandbox and in the judge.

The reference version is the first submission, so both sides must call a probe in the same way:
new namespace, same seeds, plain value out.
"""

import ast
import random
import sys
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from autograder.inside import process_state, wire
from autograder.inside.messages import MOST_CHARACTERS, Failure, ProbeRequest, WireError

Ask = Callable[[Any], Any]
"""Sends a plain value out and returns what is answered; a probe may call it under this name."""


def seed_of(request: ProbeRequest) -> int:
    """The seed of the global generators while this probe runs, equal on both sides.

    With every partner it is the same: it must not tell one from another.
    """
    if request.partner or not request.part:
        return zlib.crc32(request.item.encode())
    return zlib.crc32(f"{request.item}/{request.part}/{request.case}".encode())


def seed_generators(seed: int) -> None:
    """Seed the global generators of Python, NumPy and, where it is loaded, torch."""
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(seed)


def call_probe(
    source: str,
    implementation: Any,
    inputs: dict[str, Any],
    seed: int,
    ask: Ask | None = None,
    *,
    watches: bool = False,
    before: process_state.State | None = None,
) -> Any:
    """Define the probe in a namespace of its own and call it.

    It leaves the process's settings as they were, but for those that take long to read.

    Args:
        watches: return beside the probe's value the names of what it leaves otherwise.
        before: the settings to compare with, by default those of now.
    """
    kinds = process_state.SETTINGS if watches else process_state.QUICK
    before = process_state.read(kinds) if before is None else process_state.only(kinds, before)
    seed_generators(seed)
    namespace: dict[str, Any] = {"__name__": "probe", "ask": ask}
    code, name = _compiled(source)
    exec(code, namespace)
    if watches:
        before.update(process_state.read(process_state.GENERATORS))
    try:
        value = namespace[name](implementation, inputs)
        if not watches:
            return value
        return value, [kind.name for kind in process_state.changed(before)]
    finally:
        process_state.restore(before)


@lru_cache(maxsize=256)
def _compiled(source: str) -> tuple[CodeType, str]:
    """Return the probe's code and the name of the function that it defines."""
    tree = ast.parse(source)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return compile(tree, "<probe>", "exec"), names[-1]


def probe_or_failure(
    request: ProbeRequest,
    namespace: Mapping[str, Any],
    ask: Ask | None = None,
    before: process_state.State | None = None,
) -> Any:
    """Probe what `namespace` holds under the request's target, or all of it; or a Failure.

    Args:
        ask: reaches the request's partner; by default that is asked in this process.
        before: the settings before the first call in this process, by default those of now.
    """
    if request.target and request.target not in namespace:
        return Failure("missing", f"{request.target} is not defined")
    try:
        implementation = namespace[request.target] if request.target else namespace
        if package_of(implementation) in request.references:
            return Failure("imported", f"{request.target} is imported")
        return call_probe(
            request.source,
            implementation,
            request.inputs,
            seed_of(request),
            ask or partner_here(request.partner),
            watches=request.watches,
            before=before,
        )
    except BaseException as error:  # also what a student's code raises to leave the probe
        failure = failure_of(error)
        if failure.kind == "exception" and not _passed_through(namespace):
            return Failure("unusable", failure.message)
        return failure


def partner_here(source: str) -> Ask | None:
    """Return what asks a partner in this process, by value as across the wall; None for none."""
    if not source:
        return None
    namespace: dict[str, Any] = {"__name__": "partner"}
    exec(compile(source, "<partner>", "exec"), namespace)

    def ask(question: Any) -> Any:
        arguments, keywords = wire.normal_form(question)
        try:
            return wire.normal_form((False, namespace["partner"](*arguments, **keywords)))
        except Exception as error:
            return True, type(error).__name__

    return ask


def package_of(implementation: Any) -> str:
    """Name the package in which a function or a class was defined, "" if it does not say."""
    module = getattr(implementation, "__module__", None)
    return module.partition(".")[0] if type(module) is str else ""


def _passed_through(namespace: Mapping[str, Any]) -> bool:
    """Whether the exception that is being handled came out of code that has these globals."""
    trace = sys.exc_info()[2]  # the exception's own attribute may be a student's
    while trace is not None and trace.tb_frame.f_globals is not namespace:
        trace = trace.tb_next
    return trace is not None


def failure_of(error: BaseException) -> Failure:
    """Describe an exception whose class may be a student's."""
    kind = "exception"
    if isinstance(error, WireError):
        kind = "refused"
    elif isinstance(error, MemoryError) or "DefaultCPUAllocator" in describe(error):
        kind = "memory"
    return Failure(kind, describe(error))


def describe(error: BaseException) -> str:
    """Name and text of an exception in one line; its `__str__` may be hostile."""
    try:
        text = str(error)
    except BaseException:
        text = "(its text cannot be shown)"
    line = " ".join(text.split())
    name = type(error).__name__
    return f"{name}: {line}"[:MOST_CHARACTERS] if line else name[:MOST_CHARACTERS]
