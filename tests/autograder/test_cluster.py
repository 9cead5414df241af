"""A gradebook that several machines can reach: PostgreSQL, a real server that the test starts."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autograder.gradebook import Gradebook
from autograder.pipeline import Settings, grade_class
from autograder.records import GraderError

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

    command(programs / "initdb", "-D", data, "-U", "grader", "-A", "trust", "-E", "UTF8")
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
            grade_class(toy_course, "toy", folder, settings)
        with Gradebook(settings.url) as book:
            scores[url] = book.final_scores("toy")
            assert "b\u00f6" in book.export_csv("toy")
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
