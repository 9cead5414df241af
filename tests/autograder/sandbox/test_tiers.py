"""Which tier is chosen, what it is called, and that each holds; never without a proof."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from autograder.inside.process_limits import Limits
from autograder.records import GraderError, SandboxUnavailable
from autograder.sandbox import bubblewrap, escape_attempts, mounts
from autograder.sandbox.sandbox import FORCE_TIER, Sandbox
from tests.autograder.attacks.cheats import CHEATS
from tests.autograder.attacks.harm import HARM
from tests.autograder.attacks.searches import SEARCHES
from tests.autograder.attacks.toy import RIGHT, complete, grade
from tests.autograder.users import (
    ATTACKS,
    NOBODY,
    ROOT,
    as_user,
    environment,
    open_folder,
    python_for,
    run_tests,
)

pytestmark = pytest.mark.sandbox
as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become others")

# Run by the server before anything else: what of ours could it import?
LOOK = (
    "import autograder, importlib.util, pkgutil; "
    "found = {module.name for module in pkgutil.iter_modules(autograder.__path__)}; "
    "found |= {name for name in ('course_pkg', 'assignments') if importlib.util.find_spec(name)}; "
    "assert found == {'inside'}, found; "
)
WHICH_TIER = f"""
from pathlib import Path
from autograder.sandbox import mounts
from autograder.sandbox.sandbox import Sandbox
command = mounts._command
mounts._command = lambda *given: [
    part.replace("from ", {LOOK!r} + "from ", 1) for part in command(*given)
]
shared, libraries = Path.cwd() / "shared", list(mounts._libraries())
for name in ("open.txt", "course/checks.py"):
    (shared / name).parent.mkdir(parents=True, exist_ok=True)
    (shared / name).write_text("answer = 42")
mounts._libraries = lambda: [*libraries, shared]
read = "print(open(shared + '/open.txt').read())\\nopen(shared + '/course/checks.py')"
with Sandbox(private=[shared / "course"]) as sandbox:
    print(sandbox.isolation)
    print(sandbox.refused)
    cell = sandbox.run([f"shared = {{str(shared)!r}}\\n" + read], []).cells[0]
    print(cell.output.startswith("answer = 42\\n") and "Permission denied" in cell.error)
    print(sandbox.run(["print(6 * 7)"], []).cells[0].output)
    runs = [sandbox.run([cell], []) for cell in ("x = 1", "open('../gradebook.db').read()")]
    print("bait", *("looks like the grader's" in "".join(run.problems) for run in runs))
    print("tampered", *(run.tampered for run in runs))
"""


def test_server_is_given_the_folder_inside_and_nothing_else_of_ours(monkeypatch):
    command = mounts._command

    def looking(*given):
        return [part.replace("from ", f"{LOOK}from ", 1) for part in command(*given)]

    monkeypatch.setattr(mounts, "_command", looking)
    monkeypatch.setenv(FORCE_TIER, "A")
    with Sandbox(libraries=()) as sandbox:
        assert sandbox.run(["print(6 * 7)"], []).cells[0].output == "42\n"


# ------------------------------------------------------------------ what is private
READ = """
import os
for name in {names}:
    try:
        print("FOUND", os.listdir(name) if os.path.isdir(name) else open(name).read())
    except OSError:
        print("closed")
"""


@pytest.fixture
def shared(monkeypatch):
    """A folder that student code may read, with a course and a package of references in it."""
    folders, libraries = mounts._package_folders(), list(mounts._libraries())
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:  # inside, /tmp is another folder
        folder = Path(place)
        folder.chmod(0o755)
        for name in ("open.txt", "course/checks.py", "packages/reference/__init__.py"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("answer = 42")
        packages = (*folders, folder / "packages")
        monkeypatch.setattr(mounts, "_libraries", lambda: [*libraries, folder])
        monkeypatch.setattr(mounts, "_package_folders", lambda: packages)
        monkeypatch.setenv(FORCE_TIER, "A")
        yield folder


def test_what_is_private_is_hidden_within_folders_that_student_code_may_read(shared):
    names = ["open.txt", "course", "course/checks.py", "packages/reference/__init__.py"]
    read = READ.format(names=[str(shared / name) for name in names])
    private = [shared / "course", shared / "packages/reference"]
    with Sandbox(libraries=(), private=private) as sandbox:
        run = sandbox.run([read, "from reference import answer"], [])
    assert run.cells[0].output == "FOUND answer = 42\nFOUND []\nclosed\nclosed\n"
    assert run.cells[1].error.startswith("ImportError: cannot import name 'answer'")


LOOKS_FOR_COPIES = """
import sys
for place in {places}:
    sys.path.insert(0, place)
    for name in ("reference", "single"):
        sys.modules.pop(name, None)
        try:
            print("FOUND", __import__(name).answer)
        except (AttributeError, ImportError, OSError):
            pass
    sys.path.remove(place)
    sys.path_importer_cache.clear()
"""


def test_every_copy_of_a_package_is_hidden_in_every_folder_that_is_mounted(shared):
    copies = ["packages", "lib/python9/site-packages", "envs/other/lib", "archive.zip"]
    for place in copies[1:3]:
        (shared / place / "reference").mkdir(parents=True)
        (shared / place / "reference" / "__init__.py").write_text("answer = 42")
        (shared / place / "single.py").write_text("answer = 42")
    with zipfile.ZipFile(shared / "archive.zip", "w") as archive:
        archive.writestr("reference/__init__.py", "answer = 42")
    look = LOOKS_FOR_COPIES.format(places=[str(shared / place) for place in copies])
    with Sandbox(libraries=()) as sandbox:
        assert sandbox.run([look], []).cells[0].output.count("FOUND 42") == 6
    with Sandbox(libraries=(), private=mounts.copies(["reference", "single"])) as sandbox:
        cell = sandbox.run([look], []).cells[0]
    assert (cell.output, cell.error) == ("", None)
    readable = [Path(path) for path in mounts.readable_paths(mounts.copies(["reference"]))]
    for place in copies[:3]:  # in tier B
        hidden = shared / place / "reference"
        assert not any(hidden.is_relative_to(path) for path in readable)
    assert shared / "archive.zip" not in readable and shared / "open.txt" in readable


def test_run_refuses_to_start_where_what_is_private_could_be_read(shared, monkeypatch):
    monkeypatch.setattr(mounts, "visible_private", lambda binds, private: iter(()))
    with (
        pytest.raises(SandboxUnavailable, match="student code can read the course, the output"),
        Sandbox(libraries=(), private=[shared / "course"]),
    ):
        pass


# ------------------------------------------------------------------ process 1 of a container
AS_PROCESS_1 = """
import os
from autograder.sandbox.sandbox import Sandbox
with Sandbox(libraries=()) as sandbox:
    print(os.getpid(), sandbox.run(["print(6 * 7)"], []).cells[0].output)
with open("/proc/1/task/1/children") as file:
    print("left:", file.read())
"""


@pytest.mark.parametrize("tier", ["A", "A-fresh"])
def test_grader_that_is_process_1_works_and_leaves_no_zombies(tier):
    command = ["unshare", "--pid", "--fork", "--mount-proc"]
    command += [] if os.getuid() == 0 else ["--user", "--map-current-user"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"]).returncode:
        pytest.skip("no process can be made process 1 here")
    done = subprocess.run(
        [*command, sys.executable, "-c", AS_PROCESS_1],
        env=os.environ | {FORCE_TIER: tier, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "1 42\n\nleft: \n", done.stderr


# ------------------------------------------------------------------ which tier
def test_unknown_tier_is_refused(monkeypatch):
    monkeypatch.setenv(FORCE_TIER, "D")
    with pytest.raises(GraderError, match="AUTOGRADER_TIER is 'D'; it must be one of"), Sandbox():
        pass


def test_tier_that_an_attack_gets_out_of_is_not_offered(monkeypatch):
    monkeypatch.setattr(
        escape_attempts, "prove", lambda *given: "student code can read the gradebook"
    )
    with (
        pytest.raises(SandboxUnavailable, match=r"A: student code can read .* B: student code can"),
        Sandbox(libraries=()) as sandbox,
    ):
        assert sandbox is None


def test_refusal_says_what_was_tried_and_what_to_install(monkeypatch):
    def no_bubblewrap(*arguments):
        raise SandboxUnavailable("bubblewrap is not installed")

    monkeypatch.setattr(bubblewrap, "bubblewrap_command", no_bubblewrap)
    monkeypatch.setenv(FORCE_TIER, "A")
    with pytest.raises(SandboxUnavailable) as refusal, Sandbox():
        pass
    text = str(refusal.value)
    assert "tier A: bubblewrap is not installed" in text
    assert "apt-get install bubblewrap" in text and "--no-sandbox" in text


def test_sandbox_without_isolation_meets_no_attack(monkeypatch):
    def attacked(*given):
        raise AssertionError("attacks must not meet a sandbox that isolates nothing")

    monkeypatch.setattr(escape_attempts, "prove", attacked)
    with Sandbox(allow_unsandboxed=True) as sandbox:
        assert sandbox.isolation.startswith("none")


def test_two_sandboxes_of_root_run_student_code_as_two_users():
    with Sandbox(libraries=()) as one, Sandbox(libraries=()) as other:
        uids = [each._user.uid for each in (one, other) if each._user is not None]
    assert len(set(uids)) == len(uids) == (2 if os.getuid() == 0 else 0)


# ------------------------------------------------------------------ A, started afresh
@pytest.fixture
def fresh(monkeypatch):
    monkeypatch.setenv(FORCE_TIER, "A-fresh")
    with Sandbox(libraries=("torch",)) as sandbox:  # it loads them for each submission anew
        yield sandbox


@pytest.mark.slow
def test_sandbox_started_for_each_submission_isolates_and_forgets(fresh):
    assert "started afresh for each submission" in fresh.isolation
    for cell in (
        HARM["kills others"]["kill everything"],
        CHEATS["forged or erased outputs"]["a daemon that answers first"],
    ):
        verdict, run = grade(fresh, complete(cell) + "\nopen('/tmp/left', 'w').close()")
        assert verdict.points == 0.0, run
    verdict, run = grade(fresh, RIGHT, "import os\nprint(os.listdir('/tmp'))")
    assert verdict.points == 10.0 and run.problems == ()
    assert "left" not in run.cells[1].output


OF_ALL = (
    ("watches others", "what the kernel tells of all"),
    ("watches others", "what lies in memory beside"),
    ("takes away what all share", "terminals"),
)


@pytest.mark.slow
def test_searches_find_nothing_in_a_sandbox_started_for_each_submission(monkeypatch):
    """It has a /proc and a /dev of its own, which are the whole machine's, unless closed."""
    monkeypatch.setenv(FORCE_TIER, "A-fresh")
    with Sandbox(libraries=()) as fresh:
        for kind, name in OF_ALL:
            assert "FOUND []" in fresh.run([SEARCHES[kind][name]], []).cells[0].output, name
        (cell,) = fresh.run(["!echo it needs no terminal\nprint(3)"], []).cells
        assert (cell.output, cell.error) == ("it needs no terminal\n3\n", None)


@pytest.mark.slow
def test_files_are_counted_in_a_sandbox_started_for_each_submission(monkeypatch):
    """bubblewrap limits the bytes of its folders in memory, and not how many files there are."""
    monkeypatch.setenv(FORCE_TIER, "A-fresh")
    many = "import signal\nfor n in range(60_000): open(f'/tmp/{n}', 'w').close()\nsignal.pause()"
    with Sandbox(libraries=(), limits=Limits(wall_factor=60)) as fresh:
        cell = fresh.run([many], []).cells[0]
    assert (cell.error or "").startswith("memory: "), cell


@pytest.mark.exhaustive
def test_every_search_finds_nothing_in_a_sandbox_started_for_each_submission():
    chosen = "search_finds or memory_is_bounded"
    run_tests(
        os.getuid(), "tests/autograder/test_attacks.py", "-k", chosen, AUTOGRADER_TIER="A-fresh"
    )


# ------------------------------------------------------------------ B
def which_tier(uid):
    """Say which tier this user gets where there is no bubblewrap on the path."""
    with open_folder() as folder:
        grader = str(Path(bubblewrap.__file__).parents[2])
        variables = environment(folder, PYTHONPATH=grader, PATH=str(folder / "empty"))
        done = subprocess.run(
            [python_for(uid or NOBODY, folder), "-c", WHICH_TIER],
            env=variables,
            cwd=folder,
            capture_output=True,
            text=True,
            **as_user(uid),
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@as_root
def test_without_bubblewrap_root_gives_student_code_a_user_of_its_own():
    printed = which_tier(0)
    assert "tier B: a user of its own for student code" in printed
    assert "{'A': 'bubblewrap is not installed'}" in printed and "True\n42\n" in printed
    assert "bait False True\ntampered False False\n" in printed


@pytest.mark.slow
def test_without_bubblewrap_an_ordinary_user_relies_on_landlock():
    printed = which_tier(os.getuid() or NOBODY)
    assert "tier B: the grader's own user for student code, Landlock" in printed
    assert "{'A': 'bubblewrap is not installed'}" in printed and "True\n42\n" in printed
    assert "bait False True\ntampered False False\n" in printed


@pytest.mark.exhaustive
@as_root
def test_attacks_are_stopped_where_root_has_no_namespaces():
    run_tests(0, *ATTACKS, AUTOGRADER_TIER="B")
