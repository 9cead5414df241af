"""The shell in which a notebook's cells run, as they do in Jupyter but without a kernel."""

import builtins
import warnings
from typing import Any


def make_shell() -> Any:
    """Return IPython's shell without a kernel: magics, `!command`, display, top-level await."""
    from IPython.core.history import HistoryManager
    from IPython.core.interactiveshell import InteractiveShell

    class Shell(InteractiveShell):
        """Accept `%matplotlib inline` and leave the drawing to the backend that needs no screen."""

        system = InteractiveShell.system_raw  # `!command`, with no terminal: not all tiers have one

        def enable_gui(self, gui: Any = None) -> None:
            """Do nothing: there is no window."""

        def enable_matplotlib(self, gui: Any = None) -> tuple[Any, str]:
            """Keep the backend."""
            return gui, "agg"

    HistoryManager.enabled = False  # type: ignore[assignment]  # it would write from a thread
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
    builtins.input = _answer_nothing
    shell: Any = Shell.instance(colors="NoColor")
    shell.InteractiveTB.set_mode("Context")
    _ = shell.logger  # IPython imports its module when a cell is first recorded: in every student's
    for cell in ("import math", "def f(x):\n    return x", "None", "del math, f"):
        shell.run_cell(cell, silent=True)  # what a first cell touches, every student's would copy
    return shell


def _answer_nothing(prompt: object = "") -> str:
    """Answer `input()` like a reader who just presses enter."""
    print(prompt)
    return ""
