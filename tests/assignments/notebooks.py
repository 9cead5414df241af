"""Run a notebook's cells, and ask answers what the checks ask, in this process."""

import dataclasses
from typing import Any

from nbformat import NotebookNode

from autograder.authoring.notebooks import is_ungraded_work
from autograder.inside import wire
from autograder.inside.messages import Failure, ProbeRequest
from autograder.inside.probe import probe_or_failure


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


def ask(request: ProbeRequest, answer: Any) -> Any:
    """Probe an answer on inputs of its own, which it may change; return what it gives, or why not.

    What comes back has been on the wire, unless it is a Failure.
    """
    own = dataclasses.replace(request, inputs=wire.normal_form(request.inputs))
    value = probe_or_failure(own, {request.target: answer})
    return value if isinstance(value, Failure) else wire.normal_form(value)
