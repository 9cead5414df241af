"""Run the cells of every page before the book is laid out, several pages side by side.

MyST-NB would run them one page after the other while Sphinx reads. Here each page that its cache
does not know runs in a kernel of its own and is put there, so that Sphinx finds all of them. A
page may set its budget, in seconds, in its front matter (`budget_seconds: 120`).
"""

import math
import os
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from sphinx_external_toc.parsing import parse_toc_yaml

from .assets import ROOT

DEFAULT_BUDGET_SECONDS = 60.0
WIDGET = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True)
class Page:
    """A page with cells.

    Attributes:
        name: without ending, below the book's folder.
        path: of its source.
    """

    name: str
    path: Path
    notebook: NotebookNode

    @property
    def budget_seconds(self) -> float:
        """How much computing it may take.

        Raises:
            ValueError: if its front matter states no positive number; naming the page.
        """
        budget = self.notebook.metadata.get("budget_seconds", DEFAULT_BUDGET_SECONDS)
        is_number = isinstance(budget, int | float) and not isinstance(budget, bool)
        if not is_number or not 0 < budget < math.inf:
            raise ValueError(
                f"{self.path}: budget_seconds is {budget!r}; it must be a positive number"
            )
        return float(budget)


@dataclass(frozen=True)
class Result:
    """What came of running a page.

    Attributes:
        seconds: of computing (not of waiting for a busy machine) in the run that filled the cache,
            be it this one or an earlier one.
        ran: whether it ran now.
        error: the traceback; empty if all went well.
    """

    page: Page
    seconds: float
    ran: bool
    error: str = ""

    def row(self) -> dict[str, object]:
        """Return the result as JSON writes it."""
        return {
            "seconds": self.seconds,
            "budget_seconds": self.page.budget_seconds,
            "succeeded": not self.error,
            "traceback": self.error or None,
        }


def pages_with_cells(book: Path) -> list[Page]:
    """Return the pages of the book's contents that are notebooks, in their order."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    # What counts as a block decides which fences are cells.
    syntax = MdParserConfig(enable_extensions=settings["parse"]["myst_enable_extensions"])
    found = []
    for name in parse_toc_yaml(book / "_toc.yml"):
        path = book / f"{name}.md"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if is_myst_markdown_notebook(text):
            notebook = read_myst_markdown_notebook(text, syntax, add_source_map=True, path=path)
            found.append(Page(name, path, notebook))
    return found


def run_pages(
    pages: list[Page],
    cache_folder: Path,
    log: IO[str],
    *,
    started: Callable[[Page], None] = lambda page: None,
) -> Iterator[Result]:
    """Run what the cache lacks, longest first, and yield the result of every page as it comes.

    Args:
        log: takes what the kernels themselves have to say.
        started: is called, from another thread, when a page's kernel is about to start.
    """
    cache, waiting = get_cache(str(cache_folder)), []
    for page in pages:
        try:
            record = cache.match_cache_notebook(page.notebook)
        except KeyError:
            waiting.append(page)
        else:
            yield Result(page, record.data["execution_seconds"], ran=False)
    waiting.sort(key=lambda page: -page.budget_seconds)
    with ThreadPoolExecutor(n_cores()) as pool:
        futures = [pool.submit(_run, page, log, started) for page in waiting]
        try:
            for future in as_completed(futures):
                result = future.result()
                if not result.error:  # by this thread alone: the cache is a data base
                    seconds = {"execution_seconds": result.seconds}
                    uri = str(result.page.path)
                    cache.cache_notebook_bundle(
                        CacheBundleIn(result.page.notebook, uri, data=seconds),
                        check_validity=False,
                        overwrite=True,
                    )
                yield result
        except BaseException:  # an interrupt, say: kernels end with the process that started them
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def n_cores() -> int:
    """How many pages can compute at once."""
    if hasattr(os, "sched_getaffinity"):  # what this process may use; not every system tells
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _run(page: Page, log: IO[str], started: Callable[[Page], None]) -> Result:
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    # The time of each cell would make it another notebook for the cache.
    client = NotebookClient(
        page.notebook, timeout=settings["execute"]["timeout"], record_timing=False
    )
    seconds, error = 0.0, ""

    def note_seconds(**_: object) -> None:
        nonlocal seconds
        times = psutil.Process(client.km.provisioner.pid).cpu_times()
        seconds = times.user + times.system

    client.on_cell_executed = note_seconds
    started(page)
    try:
        client.execute(cwd=str(page.path.parent), stdout=log, stderr=log)
    except (CellExecutionError, CellTimeoutError, DeadKernelError):
        error = traceback.format_exc()
    return Result(page, seconds, ran=True, error=error or _widgets(page.notebook))


def _widgets(notebook: NotebookNode) -> str:
    """Complain of live widgets: a page that shows one asks other hosts for scripts."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if WIDGET in output.get("data", ()):
                return (
                    "This cell shows a notebook widget, for whose scripts a page asks other hosts; "
                    f"print instead (a progress bar: tqdm, not tqdm.auto):\n{cell.source}"
                )
    return ""
