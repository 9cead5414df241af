# ruff: noqa: E501 - a cell's metadata stands on one line
"""A course small enough to read at a glance: two functions and one question in words."""

import html.parser
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from nbformat import NotebookNode
from packaging.requirements import Requirement

from autograder.authoring.course import Course
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.grading import grader
from autograder.inside.messages import ProbeRequest
from autograder.inside.probe import probe_or_failure
from autograder.records import CellResult, Observation, Run

TOY_SOURCE = '''\
# %% [markdown]
# # Toy set
#
# Write two functions.

# %% nbgrader={"grade": false, "grade_id": "toy_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

# %% [markdown]
# ## 1. Double
#
# `double(numbers)` returns a list of every number times two.

# %% nbgrader={"grade": false, "grade_id": "toy_double_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(numbers):
    """Double every number."""
    ### BEGIN SOLUTION
    return [2 * number for number in numbers]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "toy_double", "locked": true, "points": 60, "schema_version": 3, "solution": false, "task": false}
assert double([1, 2]) == [2, 4], "double every number"

# %% [markdown]
# ## 2. Mean
#
# `mean(numbers)` returns the average, nan for an empty list.

# %% nbgrader={"grade": false, "grade_id": "toy_mean_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mean(numbers):
    """Average the numbers."""
    ### BEGIN SOLUTION
    return sum(numbers) / len(numbers) if numbers else math.nan
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "toy_mean", "locked": true, "points": 30, "schema_version": 3, "solution": false, "task": false}
assert mean([1, 3]) == 2, "add them up and divide by how many there are"

# %% [markdown]
# ## 3. Why? (10 points)

# %% [markdown] nbgrader={"grade": true, "grade_id": "toy_essay", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# Answer in one sentence.
#
# ### BEGIN SOLUTION
# Because the model answer says so.
# ### END SOLUTION

# %% tags=["workshop"]
raise RuntimeError("the workshop never runs while grading")
'''

TOY_CHECKS = '''\
"""Checks of the toy set."""

import math

from autograder.authoring.checks import Case, Check, Mistake, Part, ProblemSet


def _numbers(rng):
    return [
        Case(f"{size} numbers", {"numbers": [float(x) for x in rng.normal(size=size)]})
        for size in (1, 3, 7)
    ]


def _nothing(rng):
    return [Case("no numbers", {"numbers": []})]


def _ask(implementation, inputs):
    return implementation(inputs["numbers"])


def _double(numbers):
    return [2 * number for number in numbers]


def _squares(numbers):
    return [number * number for number in numbers]


def _mean(numbers):
    return sum(numbers) / len(numbers) if numbers else math.nan


def _floor_mean(numbers):
    return sum(numbers) // len(numbers) if numbers else math.nan


PROBLEM_SET = ProblemSet(
    name="toy",
    title="Toy set",
    checks=(
        Check(
            item="toy_double",
            points=60,
            target="double",
            reference=_double,
            parts=(
                Part("values", "Every number is doubled.", _numbers, _ask, weight=2),
                Part("empty", "An empty list stays empty.", _nothing, _ask),
            ),
            mistakes=(Mistake("squares", "Twice a number is not its square.", _squares),),
        ),
        Check(
            item="toy_mean",
            points=30,
            target="mean",
            reference=_mean,
            parts=(
                Part("values", "The average is right.", _numbers, _ask),
                Part("empty", "An empty list has no average: nan.", _nothing, _ask),
            ),
            mistakes=(Mistake("floor", "// throws the fraction away.", _floor_mean),),
        ),
    ),
)
'''


DOUBLE = "def double(numbers):\n    return [2 * number for number in numbers]"
SQUARE = "def double(numbers):\n    return [number * number for number in numbers]"
MEAN = "def mean(numbers):\n    return sum(numbers) / len(numbers) if numbers else math.nan"
NO_EMPTY_MEAN = "def mean(numbers):\n    return sum(numbers) / len(numbers)"


def make_toy_course(folder: Path) -> Course:
    (folder / "toy").mkdir(parents=True)
    (folder / "toy" / "notebook.py").write_text(TOY_SOURCE)
    (folder / "toy" / "problem_set.py").write_text(TOY_CHECKS)
    return Course(folder)


def answer(course: Course, double: str = "", mean: str = "", essay: str = "") -> NotebookNode:
    """A student's notebook; what is not answered stays as it was released."""
    notebook = ReleasedSet(course, "toy").notebooks.student
    given = {"toy_double_answer": double, "toy_mean_answer": mean, "toy_essay": essay}
    for cell in notebook.cells:
        cell.source = given.get(cell.id) or cell.source
    return notebook


@pytest.fixture(scope="session")
def toys() -> SimpleNamespace:
    """Right and wrong answers to the toy set, and how to make courses and notebooks of them."""
    return SimpleNamespace(
        double=DOUBLE,
        square=SQUARE,
        mean=MEAN,
        no_empty_mean=NO_EMPTY_MEAN,
        make_course=make_toy_course,
        answer=answer,
    )


@pytest.fixture
def toy_course(tmp_path: Path) -> Course:
    """A course of its own for each test, so that a test may change its files."""
    return make_toy_course(tmp_path / "course")


@pytest.fixture
def hand_in(tmp_path: Path, toy_course: Course):
    """Write a student's file into the folder of submissions, and return that folder."""
    folder = tmp_path / "class"
    folder.mkdir()

    def write(student: str, notebook: NotebookNode | bytes | None = None, **answers: str) -> Path:
        if notebook is None:
            notebook = answer(toy_course, **answers)
        data = notebook if isinstance(notebook, bytes) else as_text(notebook).encode()
        (folder / f"{student}.ipynb").write_bytes(data)
        return folder

    return write


class _InProcess:
    """Stands in for the sandbox where a test is about something else: runs cells right here."""

    isolation = "none: a test"

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def run(
        self,
        cells: Sequence[str],
        requests: Sequence[ProbeRequest],
        known: object = None,
        counts_cpu: bool = False,
    ) -> Run:
        namespace: dict[str, object] = {"__name__": "__main__"}
        results = []
        for index, cell in enumerate(cells):
            try:
                exec(cell, namespace)
                results.append(CellResult(index, ""))
            except Exception as error:
                results.append(CellResult(index, "", f"{type(error).__name__}: {error}"))
        seen = [
            Observation(ask.item, ask.part, ask.case, probe_or_failure(ask, namespace))
            for ask in requests
        ]
        return Run(tuple(results), tuple(seen), 0.0)


@pytest.fixture
def without_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the honest code of a test in its own process: a sandbox takes seconds to start."""
    monkeypatch.setattr(grader, "Sandbox", _InProcess)


@pytest.fixture(scope="session")
def required_by() -> Callable[..., Collection[importlib.metadata.Distribution]]:
    """List installed distributions: what lines of requirements ask for, and what those require."""

    def find(lines: Iterable[str], extra: str = "") -> Collection[importlib.metadata.Distribution]:
        found: dict[str, importlib.metadata.Distribution] = {}
        waiting = [(line, extra) for line in lines]
        while waiting:
            line, wanted = waiting.pop()
            asked = Requirement(line)
            if asked.marker is not None and not asked.marker.evaluate({"extra": wanted}):
                continue
            if asked.name not in found:
                found[asked.name] = importlib.metadata.distribution(asked.name)
                needs = found[asked.name].requires or ()
                waiting += [(need, one) for one in (asked.extras or {""}) for need in needs]
        return found.values()

    return find


@pytest.fixture(scope="session")
def run_nbgrader() -> Callable[..., str]:
    """Run a command of nbgrader's own on a course, and return what it says beside information."""

    def run(folder: Path, *command: str, is_done: bool = True) -> str:
        programs = Path(sys.executable).parent  # nbgrader calls alembic by its bare name
        done = subprocess.run(
            [programs / "nbgrader", *command, f"--course-dir={folder}"],
            cwd=folder,
            env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        said = re.sub(r"^\[.*?INFO.*\n", "", done.stderr, flags=re.M)
        assert (done.returncode == 0) == is_done, said
        return said

    return run


class Page(html.parser.HTMLParser):
    """What a browser would make of a page: its elements, its attributes and its visible text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self._hidden = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._hidden = tag in ("style", "script")

    def handle_endtag(self, tag):
        self._hidden = False

    def handle_data(self, data):
        self.text += "" if self._hidden else data

    @property
    def words(self):
        return " ".join(self.text.split())


@pytest.fixture(scope="session")
def read_page() -> type[Page]:
    """Read an HTML page as a browser would: its tags, attributes, text and words."""
    return Page


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium that logs its console and what its pages ask for."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("chromium and chromedriver are not installed (Debian: chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    own = f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", own):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=chromedriver)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def look() -> Callable[..., Any]:
    """Open a page as somebody with this theme and this screen does."""

    def open_page(browser: Any, page: Path, theme: str = "light", width: int = 1280) -> Any:
        media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get_log("browser")
        browser.get(page.as_uri())
        return browser

    return open_page


@pytest.fixture(scope="session")
def complaints() -> Callable[[Any], list[str]]:
    """List what the console said, what axe-core finds, and whether the page is too wide."""

    def find(browser: Any) -> list[str]:
        said = [entry["message"] for entry in browser.get_log("browser")]
        root = "document.documentElement"
        if browser.execute_script(f"return {root}.scrollWidth > {root}.clientWidth"):
            said.append("the page is wider than the screen")
        axe = Path(__file__).parents[2] / "third_party" / "axe-core" / "axe.min.js"
        browser.set_script_timeout(60)
        browser.execute_script(axe.read_text(encoding="utf-8"))
        found = browser.execute_async_script(
            "const done = arguments[0]; axe.run().then((r) => done(r.violations));"
        )
        return said + [f"{rule['id']}: {node['html']}" for rule in found for node in rule["nodes"]]

    return find
