"""Run a chapter's worked solutions, once, as a reader would."""

import re
import subprocess
import sys
from collections.abc import Callable

MARK = "the solutions begin here"


def code_cells(page: str) -> list[str]:
    """Return the source of each cell, without its tags."""
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [re.sub(r"^:tags:.*\n", "", cell) for cell in cells]


def printed_by_solutions(
    page: str, prepare: Callable[[list[str]], list[str]] = lambda cells: cells
) -> str:
    """Return what the solutions of a chapter print, one after the other.

    They run in a process of their own: to check every shape would make training ten times slower.

    Args:
        prepare: chooses, of all cells of the page, what must run before the solutions.
    """
    exercises = page[page.index("## Exercises") :]
    solutions = re.findall(r"^```python\n(.*?)^```$", exercises, re.MULTILINE | re.DOTALL)
    program = [*prepare(code_cells(page)), f"print({MARK!r})", *solutions]
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.partition(f"{MARK}\n")[2]
