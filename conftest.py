"""Fixtures that all tests share, those in the folders of the problem sets included."""

import os
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

ROOT = Path(__file__).parent


def check_shapes() -> None:
    """See to it that calls are checked against their signatures in modules that annotate shapes.

    Elsewhere mypy has looked at the types, and code that handles text token by token would take
    seven times as long. A machine that is lent for its GPU may have no beartype: then nothing is
    checked.
    """
    if find_spec("beartype") is None:
        return
    shaped = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "course_pkg").rglob("*.py")
        # A package's own file shapes only protocols, whose methods nobody calls.
        if "from jaxtyping import" in path.read_text("utf-8") and path.stem != "__init__"
    ]
    install_import_hook(shaped, "beartype.beartype")


check_shapes()

# Whatever make says of itself to the programs that it starts: a test that calls make calls it as a
# person does, not as a part of `make test`, where it would name the folders that it enters.
for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"):
    os.environ.pop(name, None)

# The same examples on every run, however busy the machine is.
settings.register_profile(
    "course", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("course")


# What a path names -> the part of the suite, a mark, that its tests belong to; all others are the
# package's. So each test has exactly one, and `make test-<part>` for all parts is `make test`.
PARTS = {"book": "book", "test_commands.py": "book", "autograder": "grader", "assignments": "sets"}


def part_of(path: Path) -> str:
    """The part of the suite that the tests in a file belong to."""
    # Not relative_to: the tests of a course elsewhere may be asked for, too.
    names = path.parts[len(ROOT.parts) :]
    return next((part for name, part in PARTS.items() if name in names), "package")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make test-<part>` load the files of its part only."""
    parser.addoption("--part", choices=["package", *sorted({*PARTS.values()})], help="of the suite")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of the parts that are not asked for."""
    part = config.getoption("--part")
    return True if part and collection_path.is_file() and part_of(collection_path) != part else None


def uses_site(item: pytest.Item) -> bool:
    """Whether a test builds the book or opens it."""
    names = getattr(item, "fixturenames", ())
    return part_of(item.path) == "book" and (
        item.path.name == "test_commands.py"
        or not {"site", "specimen", "browser"}.isdisjoint(names)
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test's part, and the cases that only `make test-all` runs.

    On several workers a file stays together, and so does all that needs the book.
    """
    item.add_marker(part_of(item.path))
    for mark in item.iter_markers("exhaustive_but"):
        if mark.args[0] not in item.callspec.id.split("-"):
            item.add_marker("exhaustive")
    # To build the whole book runs the cells of all chapters: `make course` does, too.
    if "site" in getattr(item, "fixturenames", ()):
        item.add_marker("exhaustive")
    group = "book" if uses_site(item) else str(item.path.relative_to(ROOT))
    item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest groups, the book's and the sets': the short ones fill up the end."""
    items.sort(key=lambda item: (not uses_site(item), part_of(item.path) != "sets"))


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread():
    """Two threads on a busy machine make small models up to a hundred times slower."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of standard corpora; a fresh clone does not have it, so its tests are skipped."""
    folder = Path(os.environ.get("COURSE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no corpora at {folder}: set COURSE_DATA to a folder that has them")
    return folder


@pytest.fixture
def rng() -> torch.Generator:
    """A fresh generator with a fixed seed."""
    return torch.Generator().manual_seed(1729)


@pytest.fixture
def unused_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
