"""An nbgrader course's own settings: its `nbgrader_config.py`, run as nbgrader runs it.

It is the instructor's own program, like the source notebooks beside it, and as trusted.
"""

import contextlib
import os
from datetime import tzinfo
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeSubmit
from nbgrader.exchange.default.exchange import Exchange
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions, Execute, InstantiateTests
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from traitlets import TraitError
from traitlets.config import Config, PyFileConfigLoader

from autograder.authoring.notebooks import NBGRADER_SETTINGS as SETTINGS
from autograder.records import GraderError

_EXCHANGE = ("Exchange", "ExchangeSubmit")
_MARKS = (
    (ClearSolutions, "begin_solution_delimeter", "end_solution_delimeter"),
    (ClearHiddenTests, "begin_test_delimeter", "end_test_delimeter"),
)


def read_config(folder: Path) -> Config:
    """Run a course's `nbgrader_config.py`; without one, all is as nbgrader has it.

    Raises:
        GraderError: if it fails; says how.
    """
    path = folder / SETTINGS
    return _run(path, path.stat().st_mtime_ns) if path.is_file() else Config()


@lru_cache(maxsize=8)
def _run(path: Path, changed_at: int) -> Config:
    # `changed_at` is not read: it is the part of the cache's key that a changed file changes.
    before = dict(os.environ)
    try:
        return PyFileConfigLoader(path.name, str(path.parent)).load_config()
    except (Exception, SystemExit) as error:
        raise GraderError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    finally:  # what it sets is for nbgrader's own programs; here it would name another course
        os.environ.clear()
        os.environ.update(before)


def course_directory(folder: Path) -> CourseDirectory:
    """Return where a course keeps what, its root being the folder, whatever its settings say.

    Raises:
        GraderError: if its settings cannot be read, or name another structure of folders.
    """
    config = read_config(folder)
    try:
        directory = CourseDirectory(config=config, root=str(folder))
    except TraitError as error:
        raise GraderError(f"{folder / SETTINGS}: {error}") from None
    usual = CourseDirectory.class_traits()["directory_structure"].default_value
    if directory.directory_structure != usual:
        raise GraderError(
            f"{folder / SETTINGS}: CourseDirectory.directory_structure is "
            f"{directory.directory_structure!r}; only {usual!r} is understood here"
        )
    return directory


def gradebook_address(folder: Path) -> str:
    """Return the address of a course's gradebook; a file's path is absolute."""
    address = str(course_directory(folder).db_url)
    with contextlib.suppress(ArgumentError, ValueError):  # whoever opens it will say so
        url = make_url(address)
        if url.get_backend_name() == "sqlite" and url.database:
            start = "file:" if "uri" in url.query and url.database.startswith("file:") else ""
            path = folder / url.database.removeprefix(start)
            return str(url.set(database=f"{start}{path}"))
    return address


def exchange_folder(folder: Path) -> Path:
    """Return where nbgrader hands out and collects, which students' own accounts can reach."""
    return Path(str(Exchange(config=read_config(folder)).root))


def exchange_zone(folder: Path) -> tzinfo | None:
    """Return the zone in which nbgrader's exchange writes times; None where a course names none.

    Raises:
        GraderError: if its settings cannot be read.
    """
    config = read_config(folder)
    if not any("timezone" in config[name] for name in _EXCHANGE if name in config):
        return None
    try:
        return ZoneInfo(ExchangeSubmit(config=config).timezone)
    except (TraitError, KeyError, OSError, ValueError):
        return None  # nbgrader itself submits nothing then


def unusual_marks(folder: Path) -> dict[str, str]:
    """For each mark of solutions and hidden tests that a course has changed, return nbgrader's."""
    config, changed = read_config(folder), {}
    for kind, *names in _MARKS:
        for name in names:
            own, usual = getattr(kind(config=config), name), getattr(kind(), name)
            if own != usual:
                changed[own] = usual
    return changed


def autotest_mark(folder: Path) -> str:
    """Return what marks a line of which nbgrader makes tests."""
    return str(InstantiateTests(config=read_config(folder)).autotest_delimiter)


def cell_seconds(folder: Path) -> float:
    """Return how long nbgrader lets a cell run; its default where the course sets no limit."""
    seconds = Execute(config=read_config(folder)).timeout
    return float(seconds if seconds and seconds > 0 else Execute().timeout)
