"""More than one machine: a PostgreSQL server and a Dask cluster that the tests themselves start."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.authoring.release import ReleasedSet
from autograder.class_run import cluster
from autograder.class_run.pipeline import grade_class
from autograder.class_run.result import Watcher
from autograder.class_run.settings import Settings
from autograder.records import GraderError
from autograder.store.gradebook import Gradebook

pytestmark = pytest.mark.slow


def _programs():
    """Debian keeps the server's programs off the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb", path=os.pathsep.join([*map(str, folders), os.environ["PATH"]]))
    return Path(found).parent if found else None


@pytest.fixture(scope="module")
def postgres():
    """Address of an empty database that nobody else uses; its server ends with the tests."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed: .[postgres]")
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    # The server refuses to run as root. It is reached through a socket, so no port can be taken;
    # the socket's path must be short, and open to the server's user.
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    if user:
        shutil.chown(folder, "nobody")
    data = folder / "data"

    def command(*words):
        subprocess.run(words, check=True, cwd=folder, stdout=subprocess.DEVNULL, **user)

    command(programs / "initdb", "-N", "-D", data, "-U", "grader", "-A", "trust", "-E", "UTF8")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    command(programs / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start")
    yield f"postgresql://grader@/postgres?host={folder}"
    command(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.mark.usefixtures("without_sandbox")
def test_class_is_graded_into_postgresql_as_into_sqlite(
    postgres, toys, toy_course, hand_in, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    hand_in("ada", double=toys.double, mean=toys.mean, essay="Because.")
    hand_in("bö", double=toys.square, mean=toys.mean)
    folder = hand_in("broken", b"{")
    scores = {}
    for url in (postgres, ""):
        settings = Settings(tmp_path / "out", url)
        for _ in range(2):  # into a new gradebook, and over the grades that it holds
            grade_class(ReleasedSet(toy_course, "toy"), folder, settings)
        with Gradebook(settings.url) as book:
            scores[url] = book.final_scores("toy")
    assert scores[postgres] == scores[""]
    assert [(score.student, score.points) for score in scores[postgres]] == [
        ("ada", 90),
        ("broken", 0),
        ("bö", 50),
    ]


def test_server_that_is_gone_is_named_without_its_password(tmp_path):
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed: .[postgres]")
    url = f"postgresql://grader:secret@/postgres?host={tmp_path}"
    with pytest.raises(GraderError, match="cannot be used") as raised, Gradebook(url):
        pass
    assert "secret" not in str(raised.value)


@pytest.fixture
def dask():
    """Address of a Dask scheduler with two workers, each a process; and how to kill one."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: .[cluster]")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:

        def kill_a_worker():
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

        yield SimpleNamespace(address=cluster.scheduler_address, kill_a_worker=kill_a_worker)


@pytest.mark.sandbox
def test_class_is_graded_on_a_cluster_whose_worker_dies(
    dask, toys, toy_course, hand_in, tmp_path, monkeypatch
):
    students = {f"student-{number}": number % 2 for number in range(12)}
    for student, right in students.items():
        hand_in(student, double=toys.double if right else toys.square, mean=toys.mean)
    folder, graded = hand_in("broken", b"{"), []

    def kill_one_at_the_third(grade, reused):
        graded.append(grade.student)
        if len(graded) == 3:
            dask.kill_a_worker()

    def not_here(*given, **named):
        raise AssertionError("student code must run on the workers alone")

    monkeypatch.setattr("autograder.grading.grader.Sandbox", not_here)
    settings = Settings(tmp_path / "out", scheduler=dask.address)
    watcher = Watcher(graded=kill_one_at_the_third)
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, settings, watcher)
    points = {grade.student: grade.points for grade in result.grades}
    assert points == {s: 90 if right else 50 for s, right in students.items()} | {"broken": 0}
    assert sorted(graded) == sorted(points)


def test_scheduler_that_does_not_answer_is_named(toy_course, hand_in, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed: .[cluster]")
    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 0.5)
    settings = Settings(tmp_path / "out", scheduler="tcp://127.0.0.1:1")
    with pytest.raises(GraderError, match=r"answers at tcp://127\.0\.0\.1:1"):
        grade_class(ReleasedSet(toy_course, "toy"), hand_in("ada"), settings)
