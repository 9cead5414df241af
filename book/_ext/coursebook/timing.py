"""After the build: how long each page's cells took against its budget, and why any failed.

A page may set its budget, in seconds, in its front matter (`budget_seconds: 120`).
The table is kept as `_build/cells.json` for whoever wants to check it.
"""

import json
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

DEFAULT_BUDGET_SECONDS = 60.0
logger = logging.getLogger(__name__)


def cell_report(app: Sphinx) -> dict[str, dict[str, object]]:
    """Return seconds, budget, success and traceback of each page with code cells."""
    report = {}
    for docname in sorted(app.env.found_docs):
        data = app.env.nb_metadata.get(docname, {}).get("exec_data")
        if data:
            budget = app.env.metadata[docname].get("budget_seconds", DEFAULT_BUDGET_SECONDS)
            report[docname] = {
                "seconds": data["runtime"],
                "budget_seconds": float(budget),
                "succeeded": data["succeeded"],
                "traceback": data["traceback"],
            }
    return report


def print_report(app: Sphinx, exception: Exception | None) -> None:
    """Print one line a page, then the traceback of each failure."""
    if exception:
        return
    report = cell_report(app)
    (Path(app.outdir).parent / "cells.json").write_text(json.dumps(report, indent=1))
    logger.info("\n%-40s %9s %9s", "page (its cells ran once, then cached)", "seconds", "budget")
    for docname, row in report.items():
        # A page whose cells failed has no time.
        seconds = row["seconds"] or float("nan")
        over = "  over budget" if seconds > row["budget_seconds"] else ""
        logger.info("%-40s %9.1f %9.0f%s", docname, seconds, row["budget_seconds"], over)
    for docname, row in report.items():
        if not row["succeeded"]:
            logger.info("\nA cell of %s failed:\n%s", docname, row["traceback"])


def setup(app: Sphinx) -> None:
    """Report at the very end."""
    app.connect("build-finished", print_report, priority=950)
