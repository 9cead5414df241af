"""Run a notebook's cells here, without a kernel."""

from typing import Any

from nbformat import NotebookNode

from autograder.notebooks import is_ungraded_work


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
