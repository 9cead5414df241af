"""Runs tests on a changed copy of the tree, which stands in the place of the tree itself.

The copy is a clone of the last commit. It is mounted over the tree, for the processes of the trial
alone: whatever finds the course by its path, installed programs and sandboxes among them, finds the
copy. One process has imported what takes seconds; each run is a fork of it.
"""

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Not pytest's plugins: pytest is to import them itself.
PRELOADED = ("torch", "numpy", "IPython.core.interactiveshell", "nbformat", "sqlalchemy", "pytest")
MAKE_LOOKS_AT = ("requirements.txt", "constraints.txt", "pyproject.toml")
_MOUNTED = (
    'mount --bind "$1/.venv" "$2/.venv" && mount --rbind "$2" "$1" && cd "$1" '
    '&& exec "$1/.venv/bin/python" "$3/serve.py" "$3" $4'
)


@dataclass(frozen=True)
class Outcome:
    """How a run of tests ended.

    Attributes:
        end: "passed"; "failed"; "endless", when a process used up its seconds; or "unfinished",
            when all together had used up theirs, and nothing had failed.
        test: the first that failed, or was the last to begin.
        n_tests: that ended.
        cpu_seconds: of pytest and what it waited for.
    """

    end: str
    test: str = ""
    n_tests: int = 0
    cpu_seconds: float = 0.0


class Trial:
    """A copy of the tree, and a process that runs tests there.

    Attributes:
        folder: of the copy, as everybody else sees it.
        commit: that it is a copy of.
    """

    def __init__(self, folder: Path, commit: str, server: subprocess.Popen[str]) -> None:
        self.folder, self.commit = folder, commit
        self._server, self._n_runs = server, 0

    def run(
        self,
        tests: Sequence[str],
        options: Sequence[str] = (),
        changed: dict[str, str] | None = None,
        seconds: float = 600,
    ) -> Outcome:
        """Run tests up to the first failure, with some files changed.

        Args:
            tests: paths and names, as pytest takes them, in order.
            options: further ones of pytest.
            changed: the whole text of each changed file, by its path from the root.
            seconds: of processor time after which no further test begins; a single process may
                use four times as many before it counts as endless.
        """
        self._n_runs += 1
        with self._written(changed or {}):
            ask = {"arguments": [*options, *tests], "seconds": seconds}
            print(json.dumps(ask), file=self._server.stdin, flush=True)
            answer = self._server.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process that runs tests ended ({self._server.wait()})")
        return Outcome(**json.loads(answer))

    @contextlib.contextmanager
    def _written(self, changed: dict[str, str]) -> Iterator[None]:
        before = {path: (self.folder / path).read_bytes() for path in changed}
        times = {path: (self.folder / path).stat().st_mtime_ns for path in changed}
        try:
            for path, text in changed.items():
                (self.folder / path).write_text(text, encoding="utf-8")
                # Bytecode is known by its source's second and size: each run has its own second.
                second = times[path] + self._n_runs * 1_000_000_000
                os.utime(self.folder / path, ns=(second, second))
            yield
        finally:
            for path, content in before.items():
                (self.folder / path).write_bytes(content)
                os.utime(self.folder / path, ns=(times[path], times[path]))


@contextlib.contextmanager
def trial(
    root: Path = ROOT, commit: str = "HEAD", preloaded: Sequence[str] = PRELOADED
) -> Iterator[Trial]:
    """Clone a tree at a commit and start a process that runs tests in the clone.

    Args:
        preloaded: modules that are imported once, for all runs.

    Raises:
        subprocess.CalledProcessError: if git does not know the commit, and has said so.
        RuntimeError: if nothing can be mounted here.
    """
    with tempfile.TemporaryDirectory(prefix="trial-") as scratch:
        copy = Path(scratch) / "copy"
        shutil.copyfile(__file__, Path(scratch) / "serve.py")  # the commit may have another
        commit = _git(root, "rev-parse", "--verify", f"{commit}^{{commit}}")
        _git(root, "clone", "--quiet", "--shared", "--no-checkout", str(root), str(copy))
        _git(copy, "checkout", "--quiet", "--detach", commit)
        (copy / ".venv").mkdir()
        for name in MAKE_LOOKS_AT:  # the environment that is there is as new as they are
            if (root / name).exists():
                shutil.copystat(root / name, copy / name)
        alone = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
        server = subprocess.Popen(
            [
                *alone,
                "sh",
                "-c",
                _MOUNTED,
                "sh",
                str(root),
                str(copy),
                scratch,
                " ".join(preloaded),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        try:
            if server.stdout.readline() != "ready\n":
                raise RuntimeError("no copy of the tree could be mounted in its place: see above")
            yield Trial(copy, commit, server)
        finally:
            server.stdin.close()
            server.wait()


def _git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it says."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _serve(scratch: Path, preloaded: Sequence[str]) -> None:
    """Answer each line of standard input, what to run, with a line, how it ended."""
    for name in preloaded:
        importlib.import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(_run(scratch, **json.loads(line)))), flush=True)


def _run(scratch: Path, arguments: list[str], seconds: float) -> Outcome:
    notes, output = scratch / "notes", scratch / "output"
    notes.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        try:
            _run_pytest(arguments, seconds, scratch, notes, output)
        finally:
            os._exit(70)
    is_late = False
    deadline = time.monotonic() + 20 * seconds  # asleep, or on a machine that does much else
    while not (ended := os.wait4(pid, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            is_late = True
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # whatever the tests have left
    code, used = os.waitstatus_to_exitcode(ended[1]), ended[2]
    lines = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
    begun = [line[6:] for line in lines if line.startswith("begin ")]
    failed = [line[5:] for line in lines if line.startswith("fail ")]
    if is_late or code == -signal.SIGXCPU:
        end = "endless"
    elif "over" in lines:
        end = "unfinished"
    else:
        end = "passed" if code in (0, 5) else "failed"  # 5: nothing to run
    test = (failed or begun[-1:] or [""])[0] if end != "passed" else ""
    cpu = round(used.ru_utime + used.ru_stime, 2)
    return Outcome(end, test, sum(line == "end" for line in lines), cpu)


def _run_pytest(
    arguments: list[str], seconds: float, scratch: Path, notes: Path, output: Path
) -> None:
    import pytest

    os.setsid()
    most = int(4 * seconds)  # the last test may begin shortly before the others have used up theirs
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 10))
    everything = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(everything, 1)
    os.dup2(everything, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    class Notes:
        def __init__(self) -> None:
            self.file = notes.open("w", encoding="utf-8", buffering=1)

        def pytest_runtest_logstart(self, nodeid: str) -> None:
            self.file.write(f"begin {nodeid}\n")

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                self.file.write(f"fail {report.nodeid}\n")

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed:
                self.file.write(f"fail {report.nodeid}\n")

        def pytest_runtest_logfinish(self) -> None:
            self.file.write("end\n")
            kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
            used = sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, kinds))
            if used > seconds:
                self.file.write("over\n")
                pytest.exit("over its seconds", returncode=0)

    fixed = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:anyio", f"--basetemp={scratch}/runs"]
    os._exit(int(pytest.main([*fixed, *arguments], plugins=[Notes()])))


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2:])
