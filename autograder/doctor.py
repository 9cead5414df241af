"""Find out what isolation this machine really gives, by attacking it.

`run_canaries` starts the sandbox as grading does and runs small attacks inside. A canary says that
it was stopped or that it got through; nobody has to believe a kernel version or an option's name.
"""

import os
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.confine import Limits
from autograder.records import GraderError, Run
from autograder.sandbox import Sandbox

_LIMITS = Limits(
    cell_seconds=3, submission_seconds=20, memory_bytes=512 << 20, processes=24, disk_bytes=8 << 20
)
_STOPPED = "STOPPED"
_SECRET = "nobody may read this"
_PLANTED = "AUTOGRADER_CANARY"
"""A variable of the grader's environment; libraries set the same others on both sides."""


@dataclass(frozen=True)
class Canary:
    """One attack, and whether it was stopped.

    Attributes:
        says: what was tried, in words.
        detail: what came of it, for an instructor.
    """

    name: str
    says: str
    stopped: bool
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """What the canaries found.

    Attributes:
        isolation: the tier, in words, as every grade names it.
        problem: why there is no sandbox at all; empty if there is one.
        start_seconds: what a worker costs before its first submission.
    """

    isolation: str
    canaries: tuple[Canary, ...]
    problem: str = ""
    start_seconds: float = 0.0

    @property
    def got_through(self) -> tuple[Canary, ...]:
        """The attacks that succeeded."""
        return tuple(canary for canary in self.canaries if not canary.stopped)

    @property
    def ok(self) -> bool:
        """Whether student code can be graded here."""
        return not self.problem and not self.got_through


@dataclass(frozen=True)
class _Attack:
    """Code for one cell that prints STOPPED if it got nowhere, or `stopped` to look at the run."""

    name: str
    says: str
    code: str
    stopped: Callable[[Run], bool] = lambda run: _STOPPED in run.cells[0].output


def examine() -> bool:
    """Print what the canaries found; return whether student code can be graded here."""
    report = run_canaries()
    for canary in report.canaries:
        print(f"{'stopped' if canary.stopped else 'GOT THROUGH':12} {canary.says}")
        if not canary.stopped:
            print(f"{'':12} {canary.detail}")
    print(f"\nIsolation: {report.isolation}")
    if report.problem:
        print(report.problem)
    elif report.ok:
        print(f"Student code can be graded here; a worker starts in {report.start_seconds:.1f} s.")
    else:
        print("Do not grade here: the attacks named above reached something.")
    return report.ok


def run_canaries() -> Report:
    """Start a sandbox, attack it from inside and report; raises nothing."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="doctor-") as folder, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        secret = Path(folder, "gradebook.db")
        secret.write_text(_SECRET)
        secret.chmod(0o666)
        os.environ[_PLANTED] = _SECRET
        try:
            with Sandbox(limits=_LIMITS) as sandbox:
                start_seconds = time.monotonic() - started
                attacks = [*_targeted(secret, listener.getsockname()), *_BOMBS]
                canaries = [_release(sandbox, attack) for attack in attacks]
                isolation = sandbox.isolation
        except GraderError as error:
            return Report("none", (), str(error))
        finally:
            del os.environ[_PLANTED]
        intact = secret.is_file() and secret.read_text() == _SECRET
    canaries.append(Canary("gradebook", "change the gradebook by any of these", intact))
    return Report(isolation, tuple(canaries), "", start_seconds)


def _release(sandbox: Sandbox, attack: _Attack) -> Canary:
    """Run one attack, and after it an honest cell, which must not notice."""
    run = sandbox.run([attack.code], [])
    after = sandbox.run(["print(6 * 7)"], [])
    detail = (run.cells[0].error or run.cells[0].output).strip()[:300]
    if after.cells[0].output != "42\n" or after.problems:
        return Canary(attack.name, attack.says, False, f"the next submission was harmed: {detail}")
    return Canary(attack.name, attack.says, attack.stopped(run), detail)


def _targeted(secret: Path, listener: tuple[str, int]) -> list[_Attack]:
    """List the attacks on something that exists outside."""
    project = Path(__file__).parents[1]
    paths = [str(secret), "/etc/shadow", str(Path.home() / ".ssh"), str(project / "autograder")]
    return [
        _Attack(
            "files",
            "read the gradebook, the home folder, the course",
            _try_each(paths, "os.listdir(x) if os.path.isdir(x) else open(x).read()"),
        ),
        _Attack(
            "writing", "write outside the work folder", _try_each([str(secret)], "open(x, 'a')")
        ),
        _Attack(
            "system",
            "change the machine's own folders",
            _try_each(["/usr", "/etc", "/", "/dev", "/opt"], "open(x + '/canary', 'x')"),
        ),
        _Attack(
            "environment",
            "read the grader's environment variables",
            f"import os\nprint(os.environ.get({_PLANTED!r}) or {_STOPPED!r})",
        ),
        _Attack(
            "network",
            "open a connection",
            f"import socket\n{_try_each([0], f'socket.create_connection({listener}, 1)')}",
        ),
        _Attack(
            "processes",
            "see or signal processes of others",
            _try_each([os.getpid(), os.getppid(), 2, 3], "os.kill(x, 0)"),
        ),
        _Attack(
            "rights",
            "become root, or mount",
            _try_each([0], "os.setuid(x)") + _try_each([0], "os.chroot('/tmp')"),
            lambda run: run.cells[0].output.count(_STOPPED) == 2,
        ),
    ]


_BOMBS = [
    _Attack(
        "fork bomb",
        "start processes without end",
        "import os, time\nn = 0\ntry:\n    while n < 500:\n"
        "        if os.fork() == 0:\n            time.sleep(60)\n        n += 1\n"
        f"except OSError:\n    print({_STOPPED!r})",
    ),
    _Attack(
        "memory bomb",
        "take memory without end",
        "hoard = [bytearray(b'1') * (1 << 26) for _ in range(64)]",
        lambda run: run.cells[0].error is not None,
    ),
    _Attack(
        "disk bomb",
        "fill the disk",
        "for n in range(64):\n    open(f'/tmp/{n}', 'wb').write(bytes(1 << 20))",
        lambda run: run.cells[0].error is not None,
    ),
    _Attack(
        "output bomb",
        "print without end",
        "while True: print('canary ' * 1000)",
        lambda run: len(run.cells[0].output) < 2 * _LIMITS.output_bytes,
    ),
    _Attack(
        "time",
        "loop where no exception reaches",
        "sum(range(10 ** 12))",
        lambda run: run.seconds < 3 * _LIMITS.cell_seconds and run.cells[0].error is not None,
    ),
    _Attack(
        "daemon",
        "outlive grading",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n"
        "    if os.fork() == 0:\n        time.sleep(60)\n    os._exit(0)",
        lambda run: run.seconds < _LIMITS.cell_seconds,
    ),
    _Attack("kill", "kill everything in reach", "import os\nos.kill(-1, 9)", lambda run: True),
]


def _try_each(things: list[str] | list[int], expression: str) -> str:
    """Return code that prints STOPPED if the expression fails for every thing."""
    return (
        f"import os\nfound = []\nfor x in {things!r}:\n    try:\n        {expression}\n"
        f"        found.append(x)\n    except (OSError, ZeroDivisionError):\n        pass\n"
        f"print(found or {_STOPPED!r})\n"
    )
