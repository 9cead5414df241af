"""Run a notebook's cells, and ask answers what the checks ask, in this process."""

import contextlib
import copy
import dataclasses
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from nbclient import NotebookClient
from nbformat import NotebookNode

from autograder.authoring.checks import Case, Check
from autograder.authoring.course import COURSE_VARIABLE, find_course
from autograder.authoring.notebooks import is_ungraded_work
from autograder.grading.judge import ItemJudge
from autograder.inside import wire
from autograder.inside.messages import Failure, ProbeRequest
from autograder.records import Observation, Verdict
from autograder.validation.plain_process import probe_once

ROOT = Path(__file__).parents[2]
COURSE = find_course(Path(os.environ.get(COURSE_VARIABLE, ROOT / "assignments")))
"""Another one than ours while the template of a new set is tested."""
JUDGE = ItemJudge()
_UNNAMED: dict[int, tuple[Check, Check]] = {}  # an id stands for a check as long as it is kept, too


def run_cells(notebook: NotebookNode) -> tuple[dict[str, Exception], dict[str, Any]]:
    """Run the cells but the workshop's in order; return errors by cell id, and the names made."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    errors = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and not is_ungraded_work(cell):
            try:
                exec(compile(cell.source, cell.id, "exec"), namespace)
            except Exception as error:
                errors[cell.id] = error
    return errors, namespace


def run_whole(notebook: NotebookNode) -> tuple[str, int]:
    """Run all cells in a kernel; return what they print, and how many pictures they show.

    The open challenge is taken part in, for a second of CPU time where it runs by the clock.
    """
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        cell.source = cell.source.replace("TAKE_PART = False", "TAKE_PART = True")
        cell.source = re.sub(r"^(SECONDS\b.*? = )[\d.]+", r"\g<1>1.0", cell.source, flags=re.M)
    done = NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    outputs = [output for cell in done.cells for output in cell.get("outputs", ())]
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    return printed, sum("image/png" in output.get("data", {}) for output in outputs)


def ask(request: ProbeRequest, answer: Any) -> Any:
    """Probe an answer on inputs of its own, which it may change; return what it gives, or why not.

    What comes back has been on the wire, unless it is a Failure.
    """
    value = probe_once(request, {request.target: answer})
    return value if isinstance(value, Failure) else wire.normal_form(value)


def grade(check: Check, answer: Any, seed: int, ask: Callable[..., Any] = ask) -> Verdict:
    """Ask an answer every question, and judge it."""
    with _settings_kept():
        seen = [
            Observation(request.item, request.part, request.case, ask(request, answer))
            for request in JUDGE.requests(check, seed)
        ]
    verdict = JUDGE.verdict(check, seed, seen)
    assert not verdict.fault
    return verdict


def parts_failed(check: Check, answer: Any, seed: int) -> set[str]:
    """Name the parts that an answer fails, and ask no more of one after the first wrong case.

    So an answer that remembers earlier calls meets fewer of them than in the grader.
    """
    failed: set[str] = set()
    with _settings_kept():
        for request in JUDGE.requests(check, seed):
            if request.part not in failed:
                value = ask(request, answer)
                seen = Observation(request.item, request.part, request.case, value)
                if JUDGE.what_is_wrong(check, seed, seen) is not None:
                    failed.add(request.part)
    return failed


@contextlib.contextmanager
def _settings_kept() -> Iterator[None]:
    """Give torch's settings back as they were: an answer may change them for good."""
    dtype, is_grad_enabled = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(is_grad_enabled)


def unnamed(check: Check) -> Check:
    """Return the check without mistakes: none is asked whether an answer resembles it."""
    pair = check, dataclasses.replace(check, mistakes=())
    return _UNNAMED.setdefault(id(check), pair)[1]


def parts_lost(check: Check, answer: Any, seed: int = 11) -> dict[str, str]:
    """Return what a student reads of each part that an answer fails."""
    parts = grade(unnamed(check), answer, seed).parts
    return {part.part: part.message for part in parts if not part.passed}


def arguments(draw: Callable[[np.random.Generator], Sequence[Case]], seed: int = 4) -> list[Any]:
    """Return the arguments of each case that is drawn."""
    return [case.inputs["arguments"] for case in draw(np.random.default_rng(seed))]
