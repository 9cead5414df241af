"""How many submissions a minute: this grader beside nbgrader and otter, and where time goes.

    python benchmarks/grader/grading_throughput.py [--n 200] [--peers 10] [--record FILE]
    python benchmarks/grader/grading_throughput.py --soak 1000 [--broken 20] [--record FILE]
    python benchmarks/grader/grading_throughput.py --plain 200 --peers 5 [--record FILE]

Both graders get the same submissions, made from the recorded right and wrong answers of a set, on
the same cores, one after the other in one run; nbgrader a first few of them, as it takes seconds
for each, and otter-grader, where it is installed, the same few.

With --plain the set is a course for nbgrader alone: its assertions are the tests, and ours runs
them in the sandbox by `grade --nbgrader`.

Ours is the command as it is: sandbox, judge, records, gradebook, feedback, with its start. CPU is
what this machine's kernel charges, so it counts when neighbours are busy; wall time does not.
"""

import argparse
import copy
import importlib.metadata
import io
import os
import platform
import random
import resource
import sys
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ["OMP_NUM_THREADS"] = "1"  # as in the processes that grade; read when torch is loaded

from assignments.sample_class.make import as_answer  # noqa: E402
from autograder.authoring.answers import KnownAnswer  # noqa: E402
from autograder.authoring.checks import Check  # noqa: E402
from autograder.authoring.course import Course  # noqa: E402
from autograder.authoring.notebooks import as_text  # noqa: E402
from autograder.authoring.release import ReleasedSet  # noqa: E402
from autograder.class_run import pipeline, student_pages  # noqa: E402
from autograder.class_run.settings import Settings  # noqa: E402
from autograder.grading import grader  # noqa: E402
from autograder.grading.judge import ItemJudge  # noqa: E402
from autograder.grading.judge_process import JudgeProcess  # noqa: E402
from autograder.grading.watched_process import WatchedProcess  # noqa: E402
from autograder.inside.probe import probe_or_failure  # noqa: E402
from autograder.intake.repair import repair  # noqa: E402
from autograder.reports import student_feedback  # noqa: E402
from autograder.sandbox.sandbox import Sandbox  # noqa: E402
from autograder.sandbox.session import Session  # noqa: E402
from autograder.store.gradebook import Gradebook  # noqa: E402
from autograder.store.journal import Journal  # noqa: E402
from benchmarks.grader.grading_commands import (  # noqa: E402
    Timed,
    grade_ours,
    grade_plain_course,
    grade_with_nbgrader,
    grade_with_otter,
    has_otter,
)
from benchmarks.records import add_record_option, write_record  # noqa: E402

SETS = {
    "attention": Course(ROOT / "benchmarks" / "grader" / "small_course"),
    "ps1": Course(ROOT / "assignments"),
}
_RIGHT, _ALTERNATIVE, _WRONG, _BLANK = 70, 80, 95, 100  # per cent of the answers, added up
_DAMAGED_BYTES = 3000  # where a damaged file is cut off
# All but one end soon, so that a class's time says something; tests/autograder/attacks has more.
_HOSTILE = (
    "import os\nos._exit(0)",
    "import os\nos.kill(-1, 9)",
    "hoard = [bytearray(b'1') * (1 << 28) for _ in range(40)]",
    "print('x' * 20_000_000)",
    "import os\ntry:\n    while True:\n        if os.fork() == 0:\n            os._exit(0)\n"
    "except OSError:\n    pass",
    "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'forged' * 99)\n"
    "    except OSError: pass",
    "while True: pass",  # ends by the time that a cell may compute
    "print('</pre></main><script>document.title = 100</script><h1>100 of 100 points</h1>')",
)


# ------------------------------------------------------------------ a class
def write_class(
    course: Course, name: str, folder: Path, n_students: int, seed: int = 0, broken: int = 0
) -> None:
    """Write notebooks of a class: most answers right, some by another way, some wrong or blank.

    One file in fifty is damaged: cut off, empty, or of a student who ended the process.

    Args:
        broken: let one in so many be broken or hostile instead, each in another way.
    """
    released = ReleasedSet(course, name)
    built, problem_set = released.notebooks, released.problem_set
    solution = {cell.id: cell.source for cell in built.solution.cells}
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    for number in range(n_students):
        notebook = copy.deepcopy(built.student)
        answers = {
            f"{check.item}_answer": _answer(check, released.answers[check.target], rng)
            for check in problem_set.checks
        }
        for cell in notebook.cells:
            known = {"solution": solution.get(cell.id), "blank": cell.source}
            answer = answers.get(cell.id, "blank")
            cell.source = known.get(answer, answer)
        file = folder / f"student-{number:05d}.ipynb"
        if broken and number % broken == broken - 1:
            _write_broken(notebook, file, number // broken)
            continue
        text = as_text(notebook)
        if not broken and number % 50 == 49:
            exits = text.replace("import torch", "import os; os._exit(0)", 1)
            text = (text[:_DAMAGED_BYTES], "", exits)[number // 50 % 3]
        file.write_text(text)


def _write_broken(notebook: NotebookNode, file: Path, way: int) -> None:
    """Write a file that cannot be read, or a notebook whose code attacks who grades it."""
    whole = as_text(notebook).encode()
    damaged = (
        whole[:_DAMAGED_BYTES],
        b"",
        b"[" * 100_000,
        whole.replace(b"import", b"\xff\xfe"),
        whole.replace(b'"source"', b'"text"'),
    )
    names = (
        b"\xff.ipynb",
        b"<img src=x onerror=alert(1)>.ipynb",
        b"\x1b[2J\x1b]0;x\x07.ipynb",
        b".zip",
    )
    kind = way % (len(_HOSTILE) + len(damaged) + len(names))
    if kind < len(_HOSTILE):
        notebook.cells.insert(0, nbformat.v4.new_code_cell(_HOSTILE[kind]))
        whole = as_text(notebook).encode()
    elif kind < len(_HOSTILE) + len(damaged):
        whole = damaged[kind - len(_HOSTILE)]
    else:  # names that are no UTF-8, markup or commands to a terminal, and a zip file cut off
        name = names[kind - len(_HOSTILE) - len(damaged)]
        whole = _cut_off_zip(whole) if name == b".zip" else whole
        file = Path(os.fsdecode(os.fsencode(file).replace(b".ipynb", name)))
    file.write_bytes(whole)


def _cut_off_zip(whole: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../ps1.ipynb", whole)
    return packed.getvalue()[:_DAMAGED_BYTES]


def _answer(check: Check, known: Sequence[KnownAnswer], rng: random.Random) -> str:
    choice = rng.randrange(_BLANK)
    if choice < _RIGHT:
        return "solution"
    if choice < _ALTERNATIVE:
        return rng.choice([answer for answer in known if answer.is_right]).source
    if choice < _WRONG:
        return as_answer(check, rng.choice(check.mistakes).implementation)
    return "blank"


# ------------------------------------------------------------------ where the CPU goes
@dataclass
class Stages:
    """CPU seconds of each stage, taken around the functions that do it; inner ones not twice."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    _open: list[float] = field(default_factory=list)

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Count the CPU time of a block for a stage, but for what inner stages take."""
        started = time.process_time()
        self._open.append(0.0)
        try:
            yield
        finally:
            took = time.process_time() - started
            self.seconds[name] += took - self._open.pop()
            if self._open:
                self._open[-1] += took

    def around(self, owner: Any, function: str, name: str) -> Callable[[], None]:
        """Measure every call of a function; return what takes the measuring away."""
        plain = getattr(owner, function)

        def measured(*args: Any, **kwargs: Any) -> Any:
            with self.measure(name):
                return plain(*args, **kwargs)

        setattr(owner, function, measured)
        return lambda: setattr(owner, function, plain)


_STAGES = (
    (pipeline, "receive", "read"),
    (grader, "repair", "repair"),
    (student_pages, "repair", "repair"),
    (Sandbox, "run", "sandbox, our side"),
    (JudgeProcess, "asked", "judge, our side"),
    (JudgeProcess, "verdict", "judge, our side"),
    (Journal, "write", "record"),
    (Gradebook, "record", "gradebook"),
    (student_feedback, "student_page", "feedback"),
    (student_pages, "formgrader_notebook", "feedback"),
    (student_pages, "write_page", "feedback"),
    (student_pages, "write_shown", "feedback"),
    (student_pages, "write_if_new", "feedback"),
)


def cost_by_stage(name: str, folder: Path, out: Path, n: int) -> dict[str, float]:
    """Grade a class in this process; return CPU milliseconds for each submission, by stage."""
    stages = Stages()
    undo = [stages.around(*stage) for stage in _STAGES]
    end, ask = Session.end, WatchedProcess.ask

    def asked(process: Any, *question: Any) -> Any:
        answer, took = ask(process, *question)
        stages.seconds["judge"] += took
        return answer, took

    def ended(session: Session) -> int:
        status = end(session)
        stages.seconds["sandbox, inside"] += session.cpu_seconds
        session.cpu_seconds = 0.0
        return status

    Session.end, WatchedProcess.ask = ended, asked  # type: ignore
    try:
        started = time.process_time()
        pipeline.grade_class(ReleasedSet(SETS[name], name), folder, Settings(out))
        everything = time.process_time() - started
    finally:
        Session.end, WatchedProcess.ask = end, ask  # type: ignore
        for take_away in undo:
            take_away()
    beside = stages.seconds["sandbox, inside"] + stages.seconds["judge"]
    outside = sum(stages.seconds.values()) - beside
    stages.seconds["everything else, start included"] = everything - outside
    stages.seconds["of it the students' own code"] = _own_code(name, folder)
    return {stage: 1e3 * seconds / n for stage, seconds in stages.seconds.items()}


def _own_code(name: str, folder: Path) -> float:
    """CPU seconds of the cells and probes alone, in a process that nothing surrounds."""
    released, judge = ReleasedSet(SETS[name], name), ItemJudge()
    requests = [ask for check in released.problem_set.checks for ask in judge.requests(check, 1)]
    total = 0.0
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        if len(data) <= _DAMAGED_BYTES or b"os._exit" in data:
            continue
        cells = repair(data, released).cells
        started = time.process_time()
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for cell in cells:
            exec(cell, namespace)
        for request in requests:
            probe_or_failure(request, namespace)
        total += time.process_time() - started
    return total


# ------------------------------------------------------------------ what is measured
def compare(n: int, n_peers: int, jobs: int, scratch: Path) -> dict[str, Any]:
    """Measure both sets; other graders on the small one."""
    result: dict[str, Any] = {}
    for name, course in SETS.items():
        folder = scratch / name / "class"
        write_class(course, name, folder, n)
        ours = grade_ours(course, name, folder, scratch / name / "out", n, jobs)
        stages = cost_by_stage(name, folder, scratch / name / "stages", n)
        found = {
            "submissions": n,
            "processes": jobs,
            "wall_seconds": ours.wall_seconds,
            "submissions_per_minute": ours.per_minute,
            "cpu_ms_each": stages,
            "megabytes_of_the_grader": ours.peak.grader / 1e6,
            "megabytes_of_one_submission": ours.peak.submission / 1e6,
        }
        _print_set(name, found)
        if name == "attention" and n_peers:
            in_all = sum(stages.values()) - stages["of it the students' own code"]
            found["peers"] = _peers(course, name, folder, scratch, n_peers, ours, in_all)
        result[name] = found
    return result


def _peers(
    course: Course,
    name: str,
    folder: Path,
    scratch: Path,
    n: int,
    ours: Timed,
    our_ms_each: float,
) -> dict[str, Any]:
    """Grade the first `n` submissions that can be read by other graders."""
    files = [path for path in sorted(folder.iterdir()) if path.stat().st_size > _DAMAGED_BYTES][:n]
    peers = {"nbgrader autograde": grade_with_nbgrader}
    if has_otter():
        peers["otter run"] = grade_with_otter
    found = {}
    for peer, grade in peers.items():
        theirs = grade(course, name, files, scratch / peer.split()[0])
        found[peer] = {
            "submissions": theirs.n,
            "submissions_per_minute": theirs.per_minute,
            "cpu_ms_each": theirs.cpu_ms_each,
            "ratio": ours.per_minute / theirs.per_minute,
            "ratio_of_cpu": theirs.cpu_ms_each / our_ms_each,
        }
        print(
            f"  {peer}: {theirs.per_minute:.1f} a minute; ours {found[peer]['ratio']:.1f} times as "
            f"many, for 1/{found[peer]['ratio_of_cpu']:.0f} of its CPU time",
            flush=True,
        )
    return found


def compare_plain(n: int, n_peers: int, jobs: int, scratch: Path) -> dict[str, Any]:
    """Grade the small set without its checks, by its assertions alone, as nbgrader would."""
    name, course, folder = "attention", SETS["attention"], scratch / "class"
    write_class(course, name, folder, n)
    files = [path for path in sorted(folder.iterdir()) if path.stat().st_size > _DAMAGED_BYTES]
    ours = grade_plain_course(course, name, folder, scratch / "ours", jobs)
    theirs = grade_with_nbgrader(course, name, files[:n_peers], scratch / "theirs", True)
    found = {
        "submissions": n,
        "processes": jobs,
        "wall_seconds": ours.wall_seconds,
        "submissions_per_minute": ours.per_minute,
        "submissions of nbgrader": theirs.n,
        "submissions_per_minute of nbgrader": theirs.per_minute,
        "ratio": ours.per_minute / theirs.per_minute,
    }
    print(
        f"a plain course: {n} submissions, {ours.per_minute:.0f} a minute; nbgrader autograde "
        f"{theirs.per_minute:.1f}; ours {found['ratio']:.1f} times as many",
        flush=True,
    )
    return found


def soak(name: str, n: int, broken: int, jobs: int, scratch: Path) -> dict[str, Any]:
    """Grade a class; every submission ends in exactly one state, and memory stays flat.

    Growth is measured over the second half: until then caches fill that have a bound.

    Args:
        broken: one in so many is broken or hostile; 0 for one in fifty that is damaged.
    """
    folder, out = scratch / "class", scratch / "out"
    write_class(SETS[name], name, folder, n, broken=broken)
    took = grade_ours(SETS[name], name, folder, out, n, jobs)
    journal = Journal(out, name)
    states = Counter(record.grade.state.value for record in journal.records())
    if sum(states.values()) != n:
        sys.exit(f"{n} submissions, but {dict(states)} are recorded")
    slopes = defaultdict(list)
    for process in took.growth:
        if (slope := process.slope(n)) is not None:
            slopes[process.kind].append(slope / 1e3)
    result: dict[str, Any] = {"set": name, "processes": jobs, "submissions": n}
    result |= {"broken or hostile": f"one in {broken}"} if broken else {}
    result |= {
        "states": dict(states),
        "wall_seconds": took.wall_seconds,
        "cpu_seconds": took.cpu_seconds + sum(took.peak.servers.values()),
        "megabytes_of_the_grader": took.peak.grader / 1e6,
        "megabytes_of_one_submission": took.peak.submission / 1e6,
        "kilobytes_more_per_submission": dict(slopes),
    }
    print(
        f"{n:6} of {name}: {took.wall_seconds:.0f} s, {result['cpu_seconds']:.0f} s CPU, "
        f"{dict(states)}, {took.peak.grader / 1e6:.0f} MB"
    )
    for kind, each in slopes.items():
        grown = ", ".join(f"{slope:.1f}" for slope in each)
        print(f"       {kind}: {grown} KB more a submission of the class, in the second half")
    return result


def _print_set(name: str, found: dict[str, Any]) -> None:
    print(f"{name}: {found['submissions']} submissions, {found['processes']} processes")
    print(f"  {found['wall_seconds']:.1f} s, {found['submissions_per_minute']:.0f} a minute")
    print(
        f"  memory: {found['megabytes_of_the_grader']:.0f} MB of the grader's processes, "
        f"{found['megabytes_of_one_submission']:.1f} MB of a submission's own"
    )
    for stage, milliseconds in sorted(found["cpu_ms_each"].items(), key=lambda pair: -pair[1]):
        print(f"  {milliseconds:8.1f} ms CPU  {stage}", flush=True)


def _command(options: argparse.Namespace) -> str:
    """Return the command that measures the same again."""
    what = f"--n {options.n} --peers {options.peers}"
    if options.soak:
        what = f"--soak {options.soak} --set {options.set}"
        what += f" --broken {options.broken}" if options.broken else ""
    if options.plain:
        what = f"--plain {options.plain} --peers {options.peers}"
    return f"python benchmarks/grader/grading_throughput.py {what} --jobs {options.jobs}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was measured and, on request, record it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=200, help="submissions of each set")
    parser.add_argument(
        "--peers", type=int, default=10, help="submissions for each other grader; 0: none"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes of this grader")
    parser.add_argument(
        "--soak",
        type=int,
        help="grade so many; check that none is lost and how much memory each process holds on to",
    )
    parser.add_argument(
        "--plain", type=int, help="grade so many by assertions alone, as a course for nbgrader"
    )
    parser.add_argument(
        "--broken", type=int, default=0, help="of a soak: one in so many is broken or hostile"
    )
    parser.add_argument("--set", default="ps1", choices=SETS, help="the set to soak")
    add_record_option(parser, __file__)
    options = parser.parse_args(arguments)

    with tempfile.TemporaryDirectory(prefix="grading-") as scratch:
        if options.plain:
            result = compare_plain(options.plain, options.peers, options.jobs, Path(scratch))
        elif options.soak:
            result = soak(options.set, options.soak, options.broken, options.jobs, Path(scratch))
        else:
            result = compare(options.n, options.peers, options.jobs, Path(scratch))
    if options.record:
        record = result | {
            "what": "submissions graded, and what one costs",
            "command": _command(options),
            "date": datetime.now(UTC).date().isoformat(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, load "
            f"{os.getloadavg()[1]:.1f} (others' work included)",
            "peak_megabytes_of_this_process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            / 1e3,
            "versions": {"python": platform.python_version()}
            | {name: importlib.metadata.version(name) for name in ("torch", "nbgrader")}
            | ({"otter-grader": importlib.metadata.version("otter-grader")} if has_otter() else {}),
        }
        write_record(options.record, record)
        print(f"recorded in {options.record}")


if __name__ == "__main__":
    main()
