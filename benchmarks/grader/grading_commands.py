"""Whole commands of graders, ours and others', timed and watched from outside.

All get the same submissions and the same tests, hidden ones included, so what differs is how each
starts, runs and records them.
"""

import json
import os
import re
import resource
import shlex
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbgrader.preprocessors import ClearHiddenTests

from autograder.authoring.course import COURSE_VARIABLE, Course
from autograder.authoring.notebooks import grading, is_autograded
from autograder.authoring.release import ReleasedSet, write
from autograder.cli.options import FINDINGS
from autograder.store.journal import Journal

ROOT = Path(__file__).resolve().parents[2]
_POLL_SECONDS = 0.2
_PROGRAMS = Path(sys.executable).parent
_OTTER_TEST = """from otter.test_files import test_case

OK_FORMAT = False
name = {name!r}
points = {points!r}


@test_case()
def test(env):
    exec({source!r}, env)
"""


# ------------------------------------------------------------------ watching from outside
@dataclass
class Peak:
    """Most memory seen, in bytes: of the grader's processes, and of one submission's own.

    Attributes:
        servers: CPU seconds of each server in a sandbox and of all that it has waited for, that is
            of the submissions. Nobody outside waits for it, so the command's own sum misses them.
    """

    grader: int = 0
    submission: int = 0
    servers: dict[int, float] = field(default_factory=dict)


@dataclass
class Growth:
    """What one process held in memory while a class was graded.

    Attributes:
        kind: "main process", "worker" or "server in the sandbox".
        held: bytes, by how many submissions of the class were done when it was first looked at.
    """

    kind: str
    held: dict[int, int] = field(default_factory=dict)

    def slope(self, n: int) -> float | None:
        """Bytes more for each submission of the second half of `n`: a line by least squares.

        None of a process that was not there for half of that, as one that an attack has ended.
        """
        late = {done: held for done, held in self.held.items() if done >= n // 2}
        if not late or max(late) - min(late) < n // 4:
            return None
        return statistics.linear_regression(list(late), list(late.values())).slope


class Watch(threading.Thread):
    """Looks at a process and all below it until it has ended.

    The grader's own processes count whole. In the sandbox, whose server shares its memory with
    every submission, only pages that a submission's processes have to themselves count.

    Args:
        done: says how many submissions are done; without it, growth is not noted.
    """

    def __init__(self, pid: int, done: Callable[[], int] | None = None) -> None:
        super().__init__(daemon=True)
        self.pid, self.done = pid, done
        self.peak = Peak()
        self.growth: dict[int, Growth] = {}

    def run(self) -> None:
        """Look again and again."""
        while os.path.exists(f"/proc/{self.pid}"):
            children = _children()
            graders: list[int] = [self.pid]
            rooms: list[int] = []
            kinds = {}
            for pid in graders:
                for child in children.get(pid, []):
                    (rooms if _name(child) == "bwrap" else graders).append(child)
                    if child in rooms:
                        kinds[pid] = "worker"
            kinds[self.pid] = "main process"
            whole = sum(_kilobytes(pid, "status", "VmRSS:") for pid in graders) << 10
            self.peak.grader = max(self.peak.grader, whole)
            for room in rooms:
                inside = list(_below(room, children, 0))
                for server in (pid for depth, pid in inside if depth == 1):
                    spent = max(self.peak.servers.get(server, 0.0), _cpu_seconds(server))
                    self.peak.servers[server] = spent
                    kinds[server] = "server in the sandbox"
                below = [pid for depth, pid in inside if depth > 2]
                own = sum(_kilobytes(pid, "smaps_rollup", "Private_Dirty:") for pid in below) << 10
                self.peak.submission = max(self.peak.submission, own)
            if self.done is not None:
                self._note(kinds, self.done())
            time.sleep(_POLL_SECONDS)

    def _note(self, kinds: Mapping[int, str], done: int) -> None:
        for pid, kind in kinds.items():
            if held := _kilobytes(pid, "status", "VmRSS:") << 10:
                self.growth.setdefault(pid, Growth(kind)).held.setdefault(done, held)


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (parent := _kilobytes(int(entry), "status", "PPid:")):
            found.setdefault(parent, []).append(int(entry))
    return found


def _below(pid: int, children: dict[int, list[int]], depth: int) -> Iterator[tuple[int, int]]:
    """Yield depth and number of every process below one; bubblewrap itself may be two of them."""
    for child in children.get(pid, []):
        yield depth + (_name(child) != "bwrap"), child
        yield from _below(child, children, depth + (_name(child) != "bwrap"))


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _kilobytes(pid: int, file: str, field_name: str) -> int:
    try:
        found = re.search(rf"^{field_name}\s+(\d+)", Path(f"/proc/{pid}/{file}").read_text(), re.M)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _cpu_seconds(pid: int) -> float:
    """Return what a process and those that it has waited for have computed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


# ------------------------------------------------------------------ whole commands
@dataclass(frozen=True)
class Timed:
    """What commands have cost; CPU only of processes that they have waited for, so no sandboxes."""

    n: int
    cpu_seconds: float
    wall_seconds: float
    peak: Peak
    growth: Sequence[Growth] = ()

    @property
    def per_minute(self) -> float:
        """Submissions a minute."""
        return 60 * self.n / self.wall_seconds

    @property
    def cpu_ms_each(self) -> float:
        """Milliseconds of CPU for each submission."""
        return 1e3 * self.cpu_seconds / self.n


def grade_ours(course: Course, name: str, folder: Path, out: Path, n: int, jobs: int) -> Timed:
    """Grade a class by the command that instructors type; note how its processes grow."""
    command = [sys.executable, "-m", "autograder", f"--course={course.folder}", "grade", name]
    command += [f"--submissions={folder}", f"--out={out}", f"--jobs={jobs}"]
    records = Journal(out, name).folder / "records" / name
    done = lambda: len(os.listdir(records)) if records.exists() else 0  # noqa: E731
    return _timed([command], ROOT, n, course, done)


def grade_plain_course(course: Course, name: str, folder: Path, place: Path, jobs: int) -> Timed:
    """Grade a class, and a set of which only the assertions are left, as nbgrader's own course."""
    files = sorted(folder.iterdir())
    _write_course(course, name, files, place, without_checks=True)
    command = [sys.executable, "-m", "autograder", "grade", name, f"--nbgrader={place}"]
    return _timed([[*command, f"--jobs={jobs}"]], ROOT, len(files), course)


def _write_course(
    course: Course, name: str, files: Sequence[Path], place: Path, without_checks: bool
) -> None:
    """Write a course for nbgrader, with what was handed in."""
    source = write(ReleasedSet(course, name).notebooks, place)["source"]
    if without_checks:  # the hidden lines that call them
        notebook, _ = ClearHiddenTests().preprocess(nbformat.read(source, as_version=4), {})
        nbformat.write(notebook, source)
    for path in files:
        target = place / "submitted" / path.stem / name / f"{name}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_bytes(path.read_bytes())


def grade_with_nbgrader(
    course: Course, name: str, files: Sequence[Path], place: Path, without_checks: bool = False
) -> Timed:
    """Autograde submissions by nbgrader's own command."""
    _write_course(course, name, files, place, without_checks)
    generate, autograde = (
        [str(_PROGRAMS / "nbgrader"), step, name, f"--course-dir={place}", "--force"]
        for step in ("generate_assignment", "autograde")
    )
    _timed([generate], place, 1, course)
    return _timed([autograde], place, len(files), course)


def has_otter() -> bool:
    """Whether otter-grader is installed beside this Python."""
    return (_PROGRAMS / "otter").exists()


def grade_with_otter(course: Course, name: str, files: Sequence[Path], place: Path) -> Timed:
    """Grade submissions as otter-grader's containers do inside, one command each, without them."""
    tests = place / "tests"
    tests.mkdir(parents=True)
    for cell in ReleasedSet(course, name).notebooks.recorded.cells:
        if is_autograded(cell):
            item = grading(cell)["grade_id"]
            text = _OTTER_TEST.format(name=item, points=grading(cell)["points"], source=cell.source)
            (tests / f"{item}.py").write_text(text)
    otter, package = str(_PROGRAMS / "otter"), str(place / "autograder.zip")
    plain = ["--no-requirements", "--no-environment", "--no-config"]
    _timed([[otter, "generate", "-t", str(tests), "-o", package, *plain]], place, 1, course)
    commands = [[otter, "run", "-a", package, "-o", str(place), str(path)] for path in files]
    took = _timed(commands, place, len(files), course)
    marked = json.loads((place / "results.json").read_text())["tests"]
    if not {path.stem for path in tests.iterdir()} <= {one["name"] for one in marked}:
        sys.exit(f"otter has not marked every item: {marked}")
    return took


def _timed(
    commands: Sequence[Sequence[str]],
    folder: Path,
    n: int,
    course: Course,
    done: Callable[[], int] | None = None,
) -> Timed:
    environment: Mapping[str, str] = os.environ | {
        "PATH": f"{_PROGRAMS}:{os.environ['PATH']}",
        COURSE_VARIABLE: str(course.folder),
        "PYTHONPATH": str(ROOT),
    }
    started, before = time.monotonic(), sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    for command in commands:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        watch = Watch(process.pid, done)
        watch.start()
        output = process.communicate()[0].decode(errors="replace")
        if process.returncode not in (0, FINDINGS):  # 4: somebody is without a grade
            sys.exit(f"{shlex.join(command)} ended with {process.returncode}:\n{output[-3000:]}")
    cpu_seconds = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
    growth = tuple(watch.growth.values())
    return Timed(n, cpu_seconds, time.monotonic() - started, watch.peak, growth)
