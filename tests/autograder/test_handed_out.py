"""Files that students get beside a set's notebook: what may be one, and who reads which copy."""

import contextlib
import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.authoring import release
from autograder.authoring.course import Course
from autograder.authoring.edition import make
from autograder.authoring.files_needed import files_missing
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.authoring.secrets import given_away
from autograder.authoring.workspace import bring_files
from autograder.class_run.own_work import grade_own
from autograder.cli import teaching_commands
from autograder.cli.main import main
from autograder.cli.options import FINDINGS
from autograder.grading.grader import Confinement, Grader, Task, libraries_for
from autograder.grading.private_paths import private_packages
from autograder.handed_out import FOLDER, MOST_BYTES, beside, files_beside, read_files, to_hand_out
from autograder.lms import gradescope_package, nbgrader_cell
from autograder.records import GraderError, State, Submission
from autograder.sandbox.sandbox import FORCE_TIER
from autograder.store.input_digests import input_digests
from autograder.validation.check_set import check_set
from tests.autograder.users import NOBODY, ROOT, run_tests

FILES = {
    "numbers.csv": "3\n4\n",
    "helpers.py": "def twice(n):\n    return 2 * n\n",
    "data/one": "1",
}


@pytest.fixture
def course(tmp_path):
    """A set whose task reads a file and imports a module, and whose answers may do so, too."""
    return make_course(tmp_path / "course")


def cell(grade_id, source, **marks):
    flags = {"grade": False, "locked": False, "solution": False, "task": False}
    marks = flags | {"grade_id": grade_id, "schema_version": 3} | marks
    text = str(marks).replace("'", '"').replace("False", "false").replace("True", "true")
    return f"# %% nbgrader={text}\n{source}\n"


def make_course(folder):
    solved = (
        "    ### BEGIN SOLUTION\n    return twice(sum(map(int, open(path))))\n    ### END SOLUTION"
    )
    (folder / "hw1" / FOLDER / "data").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / "hw1" / FOLDER / name).write_text(text)
    (folder / "hw1" / "notebook.py").write_text(
        "# %%\nfrom helpers import twice\n\nnumbers = [int(n) for n in open('numbers.csv')]\n\n"
        + cell("total_answer", f"def total(path):\n{solved}", solution=True)
        + cell("total", 'assert total("numbers.csv") == 14', grade=True, locked=True, points=5)
    )
    (folder / "hw1" / "problem_set.py").write_text(
        "from autograder.authoring.checks import Case, Check, Part, ProblemSet\n"
        "from helpers import twice\n\n"
        "PATHS = ['numbers.csv', 'data/one']\n"
        "RIGHT = twice(sum(map(int, open('numbers.csv'))))\n\n"
        "def paths(rng):\n    return [Case(path, {'path': path}) for path in PATHS]\n\n"
        "def ask(implementation, inputs):\n    return implementation(inputs['path'])\n\n"
        "def total(path):\n    return twice(sum(map(int, open(path))))\n\n"
        "PART = Part('sum', 'The sum is right.', paths, ask)\n"
        "CHECK = Check(item='total', points=5, target='total', reference=total, parts=(PART,))\n"
        "PROBLEM_SET = ProblemSet(name='hw1', title='hw1', points=5, checks=(CHECK,))\n"
    )
    return Course(folder)


def grade(grader, course, answer, *own):
    """Grade an answer, after cells of the student's own."""
    notebook = ReleasedSet(course, "hw1").notebooks.student
    for one in notebook.cells:
        one.source = "\n".join([*own, answer]) if one.id == "total_answer" else one.source
    task = Task(Submission("ada", "hw1", as_text(notebook).encode(), ""), "", 0)
    return grader.grade(task).grade


RIGHT = "def total(path):\n    return twice(sum(map(int, open(path))))"


@pytest.mark.sandbox
def test_cells_visible_tests_and_hidden_probes_read_the_courses_copy(course):
    """Whatever a student makes of the files: here they are overwritten, removed and replaced."""
    with Grader(ReleasedSet(course, "hw1"), Confinement()) as grader:
        times = (
            "import os\npath = os.path.realpath('data/one')\n"
            "print([os.stat(one).st_atime_ns for one in (path, os.path.dirname(path))])"
        )
        before = grade(grader, course, f"{times}\n{RIGHT}").cells[-1].output
        done = grade(grader, course, RIGHT)
        assert (done.points, done.visible) == (5, {"total": True})
        assert [one.error for one in done.cells] == [None, None]
        assert grade(grader, course, "def total(path):\n    return 14").points < 5
        writing = (
            "import os\nfor path in ['numbers.csv', os.path.realpath('numbers.csv')]:\n"
            "    try:\n        open(path, 'a').write('5')\n        print('WRITTEN')\n"
            "    except OSError:\n        print('refused')"
        )
        replacing = (
            "os.listdir(os.path.dirname(os.path.realpath('data/one')))\n"
            "for path in ['numbers.csv', 'data/one']:\n    os.remove(path)\n"
            "    open(path, 'w').write('1000')\nos.mkdir('away')\nos.chdir('away')"
        )
        in_the_way = (
            "import os, shutil\nos.makedirs('numbers.csv.changed/x')\nos.remove('numbers.csv')\n"
            "os.makedirs('numbers.csv/x')\nshutil.rmtree('data')\n"
        )
        for data in ("open('data', 'w').write('1000')", "os.symlink('/nowhere', 'data')"):
            done = grade(grader, course, RIGHT, in_the_way + data)
            assert (done.points, done.visible) == (5, {"total": True})
        done = grade(grader, course, RIGHT, writing, replacing)
        assert (done.points, done.visible) == (5, {"total": True})
        assert done.cells[-1].error is None
        assert done.cells[-1].output.split() == ["refused", "refused"]
        done = grade(grader, course, f"{times}\n{RIGHT}")  # nothing is left of those before
        assert done.state is State.GRADED and done.cells[-1].output == before
    assert (course.folder / "hw1" / FOLDER / "numbers.csv").read_text() == FILES["numbers.csv"]


@pytest.mark.sandbox
@pytest.mark.exhaustive
@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become others")
@pytest.mark.parametrize(("uid", "tier"), [(0, "A-fresh"), (0, "B"), (NOBODY, "A"), (NOBODY, "B")])
def test_so_it_is_in_other_tiers_and_as_an_ordinary_user(uid, tier):
    path = Path(__file__).relative_to(ROOT)
    run_tests(uid, str(path), "-k", "read_the_courses_copy", **{FORCE_TIER: tier})


def test_check_says_what_the_notebook_needs_and_lacks(course):
    def missing():
        return [line.partition(": ")[2] for line in files_missing(release.build(source))]

    source = course.folder / "hw1" / "notebook.py"
    assert missing() == []
    problem_set = course.problem_set("hw1")
    (course.folder / "hw1" / FOLDER / "numbers.csv").rename(course.folder / "away")
    with pytest.raises(GraderError, match=r"FileNotFoundError: .* it reads numbers.csv, which is"):
        check_set(problem_set, release.build(source), with_mutants=False)
    (course.folder / "away").rename(course.folder / "hw1" / FOLDER / "numbers.csv")
    source.write_text(
        source.read_text()
        + """# %%
import nothing_of_this_name
open("made.txt", "w"); print(open("made.txt"), open("https://a.org/b.csv"))
Path("b.txt").write_text(open("lost.csv").read()); Path("b.txt").read_text()
!wget https://a.org/c.csv
open("./helpers.py"), read("c.csv"), load("c.csv")

# %% [markdown]
# ![A figure](fig.png) <img src="https://a.org/c.png"> [b](b.html)
"""
    )
    assert missing() == [
        "it reads lost.csv, which is not in files/: it is not handed out",
        "it imports nothing_of_this_name, which is neither installed nor in files/",
        "it reads fig.png, which is not in files/: it is not handed out",
    ]


def spoil_link(folder):
    (folder / "numbers.csv").unlink()
    (folder / "numbers.csv").symlink_to("/etc/passwd")


def spoil_number(folder):
    for number in range(1001 - len(FILES)):
        (folder / f"{number}.txt").touch()


def spoil_folder(folder):
    (folder / "more").symlink_to(folder.parent.parent)


def spoil_name(*paths):
    for path in paths:
        path.touch()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (spoil_link, r"numbers\.csv cannot be handed out: it is a link"),
        (spoil_folder, r"more cannot be handed out: it is a link"),
        (lambda folder: os.mkfifo(folder / "pipe"), "pipe cannot be handed out: it is no plain"),
        (lambda folder: (folder / "a.ipynb").touch(), r"a\.ipynb cannot .* a set of its own"),
        (lambda folder: (folder / "AGENTS.md").touch(), "of that name is written beside notebooks"),
        (lambda folder: (folder / "random.py").touch(), "instead of the module random"),
        (lambda folder: (folder / "hw1.IPYNB").touch(), "a set of its own"),
        (
            lambda folder: (folder / "hw1.ipynb").mkdir() or spoil_name(folder / "hw1.ipynb/a"),
            "own",
        ),
        (lambda folder: (folder / "Helpers.py").touch(), "in capitals alone"),
        (
            lambda folder: (folder / "DATA").mkdir() or spoil_name(folder / "DATA/two"),
            "in capitals",
        ),
        (lambda folder: spoil_name(folder / "\u00e9", folder / "e\u0301"), "how accents are spelt"),
        (lambda folder: shutil.rmtree(folder) or folder.touch(), "cannot be read: Not a directory"),
        (lambda folder: (folder / "a:b").touch(), "some system cannot have a file of that name"),
        (lambda folder: (folder / "con.txt").touch(), "some system cannot have a file of that"),
        (
            lambda folder: os.truncate(folder / "numbers.csv", MOST_BYTES),
            f"at most {MOST_BYTES} can be put into the sandbox",
        ),
        (spoil_number, "hands out 1001 files; at most 1000 can be"),
    ],
)
def test_what_cannot_be_handed_out_is_named_and_nothing_is_released(course, spoil, reason):
    spoil(course.folder / "hw1" / FOLDER)
    with pytest.raises(GraderError, match=reason):
        _ = ReleasedSet(course, "hw1").notebooks


def test_hidden_files_and_caches_are_no_part_of_it(tmp_path):
    for name in (".DS_Store", "__pycache__/a.pyc", ".git/config", "b.pyc", "kept.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list(read_files(tmp_path)) == list(files_beside(tmp_path)) == ["kept.txt"]
    assert read_files(tmp_path / "nowhere") == {}


def test_of_names_that_some_system_takes_for_one_adopt_hands_out_the_first(tmp_path):
    for name in ("A.csv", "a.csv", "hw1.ipynb"):
        (tmp_path / name).touch()
    files, left = to_hand_out(tmp_path)
    assert list(files) == ["A.csv"] and list(left) == ["a.csv"]


def test_while_checks_run_the_files_lie_in_a_working_folder_that_is_a_copy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = sys.modules.setdefault("helpers", sys)
    path, files = list(sys.path), {name: text.encode() for name, text in FILES.items()}
    with beside(files):
        import helpers

        assert helpers.twice(2) == 4
        assert Path("data/one").read_text() == "1"
        Path("made").touch()
    assert os.getcwd() == str(tmp_path) and list(tmp_path.iterdir()) == []
    assert sys.path == path and sys.modules.pop("helpers") is other


def test_module_that_a_check_keeps_opens_what_lies_beside_it(course):
    (course.folder / "hw1" / FOLDER / "helpers.py").write_text(
        "from pathlib import Path\n\nHERE = Path(__file__).parent\n\n"
        "def twice(n):\n    return n * (1 + int((HERE / 'data/one').read_text()))\n"
    )
    (check,) = course.problem_set("hw1").checks
    files = released(course).files
    for _ in range(2):
        with beside(files):
            import helpers

            assert check.reference("numbers.csv") == 14
            assert helpers.twice is check.reference.__globals__["twice"]
    assert "helpers" not in sys.modules


def released(course):
    return ReleasedSet(course, "hw1")


def test_files_lie_beside_every_version_and_nothing_that_somebody_made_is_lost(course, tmp_path):
    own, out = course.folder / "hw1" / FOLDER, tmp_path / "out"
    release.write(released(course).notebooks, out)
    for version in ("release", "source", "solution"):
        assert {name: (out / version / "hw1" / name).read_text() for name in FILES} == FILES
    (out / "release/hw1/numbers.csv").write_text("mine")
    (out / "release/hw1/own.csv").write_text("mine, too")
    (own / "data/one").unlink()
    (own / "numbers.csv").write_text("5")
    release.write(released(course).notebooks, out)
    assert (out / "release/hw1/numbers.csv").read_text() == "5"
    (kept,) = (out / "kept/release").glob("numbers-*.csv")
    assert kept.read_text() == "mine"
    assert (out / "release/hw1/own.csv").read_text() == "mine, too"
    assert not (out / "release/hw1/data/one").exists()  # handed out no more


def test_what_a_student_changed_stays_until_the_release_changes_and_then_beside_it(
    course, tmp_path
):
    def bring():
        return bring_files("hw1", released(course).files, tmp_path)

    work, own = tmp_path / "hw1", course.folder / "hw1" / FOLDER
    assert bring() == [] and (work / "data/one").read_text() == "1"
    (work / "numbers.csv").write_text("mine")
    (own / "helpers.py").write_text("twice = abs")
    assert bring() == [] and (work / "numbers.csv").read_text() == "mine"
    assert (work / "helpers.py").read_text() == "twice = abs"  # nobody had changed it
    (own / "numbers.csv").write_text("5")
    (line,) = bring()
    (kept,) = work.glob("numbers-*.csv")
    assert kept.name in line and kept.read_text() == "mine"
    assert (work / "numbers.csv").read_text() == "5" and bring() == []


@pytest.mark.parametrize("n_before", range(4))
def test_killed_while_a_newer_file_comes_it_comes_with_the_next_run(
    course, tmp_path, monkeypatch, n_before
):
    folder = tmp_path / "hw1"
    bring_files("hw1", {"numbers.csv": b"1"}, tmp_path)
    (folder / "numbers.csv").write_text("mine")
    replace, done = os.replace, []

    def killed(*places):
        if len(done) == n_before:
            raise KeyboardInterrupt
        done.append(replace(*places))

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with contextlib.suppress(KeyboardInterrupt):
            bring_files("hw1", {"numbers.csv": b"2"}, tmp_path)
    bring_files("hw1", {"numbers.csv": b"2"}, tmp_path)
    assert (folder / "numbers.csv").read_text() == "2"
    assert "mine" in {path.read_text() for path in folder.glob("numbers-*.csv")}


def test_workspace_and_edition_bring_them_and_a_released_folder_alone_does(course, tmp_path):
    run = CliRunner().invoke
    at = ["--course", str(course.folder)]
    assert run(main, [*at, "release", "hw1", "--out", str(tmp_path / "out")]).exit_code == 0
    assert run(main, [*at, "work", "--work", str(tmp_path / "one")]).exit_code == 0
    alone = ["work", "--from", str(tmp_path / "out/release"), "--work", str(tmp_path / "two")]
    assert run(main, alone).exit_code == 0
    for folder in ("one", "two"):
        found = {name: (tmp_path / folder / "hw1" / name).read_text() for name in FILES}
        assert found == FILES
    edition = make(course).files
    assert edition["problem_sets/hw1/numbers.csv"].decode() == FILES["numbers.csv"]


def test_file_that_holds_a_solution_or_a_check_is_not_released(course, tmp_path):
    secret = (course.folder / "hw1" / "problem_set.py").read_text()
    (course.folder / "hw1" / FOLDER / "notes.txt").write_text(secret.split("\n\n")[-1])
    arguments = ["--course", str(course.folder), "release", "hw1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == FINDINGS and not (tmp_path / "out").exists()
    said = "files/notes.txt gives away a check of problem_set.py: "
    assert f"hw1: {said}" in done.stderr
    with pytest.raises(GraderError, match=f"hw1 is not packed: {said}"):
        gradescope_package.write_package(course, "hw1", tmp_path)
    checked = CliRunner().invoke(main, [*arguments[:2], "check", "hw1", "--no-mutants", "--json"])
    assert said in checked.stdout


def test_what_checks_import_and_archives_that_cannot_be_read_give_nothing_away(course):
    checks, own = course.folder / "hw1" / "problem_set.py", course.folder / "hw1" / FOLDER
    imports = (
        "from collections.abc import Iterator, Sequence\nfrom dataclasses import dataclass\n"
        "from pathlib import (\n    Path,\n    PurePath,\n)\n"
    )
    for path in (checks, own / "helpers.py"):
        path.write_text(imports + path.read_text())
    (own / "damaged.zip").write_bytes(b"no archive")
    assert given_away(released(course)) == ()
    (own / "damaged.zip").write_text(checks.read_text())
    assert given_away(released(course)) != ()


def test_what_handed_out_modules_import_is_held_ready_and_not_hidden(course):
    """As the notebook's own imports are, though a check imports the same."""
    files, checks = course.folder / "hw1" / FOLDER, course.folder / "hw1" / "problem_set.py"
    checks.write_text("import click\n" + checks.read_text())
    hidden = private_packages([checks], released(course).notebooks.student, released(course).files)
    assert any(path.name == "click" for path in hidden)
    (files / "helpers.py").write_text("import click\nimport torch\n" + FILES["helpers.py"])
    made = released(course)
    hidden = private_packages([checks], made.notebooks.student, made.files)
    assert not any(path.name == "click" for path in hidden)
    assert libraries_for(made.problem_set, made.notebooks.student, made.files) == ("torch",)


def test_gradescope_package_holds_them(course):
    (course.folder / "hw1" / FOLDER / "head.safetensors").touch()
    needs = gradescope_package._needs(course, "hw1")
    assert not any("tqdm" in package for package in needs.requirements)
    with (course.folder / "hw1" / FOLDER / "helpers.py").open("a") as file:
        file.write("def show():\n    import tqdm\n")
    needs = gradescope_package._needs(course, "hw1")
    assert any("tqdm" in package for package in needs.requirements)
    packed = dict(gradescope_package._files(course, "hw1", needs))
    assert {f"course/hw1/files/{name}" for name in FILES} <= packed.keys()
    assert "course/hw1/files/head.safetensors" in packed


def test_changed_file_has_grades_made_again(course):
    before = input_digests(released(course))
    (course.folder / "hw1" / FOLDER / "numbers.csv").write_text("5")
    after = input_digests(released(course))
    assert [name for name in after if after[name] != before[name]] == ["files handed out"]


def test_own_notebook_is_graded_beside_the_courses_files(course, tmp_path):
    path, notebook = tmp_path / "hw1.ipynb", released(course).notebooks.student
    for one in notebook.cells:
        one.source = RIGHT if one.id == "total_answer" else one.source
    path.write_text(as_text(notebook))
    (tmp_path / "numbers.csv").write_text("1000")
    assert grade_own(released(course), path).grade.points == 5


def test_check_under_plain_nbgrader_runs_beside_them(course, tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_COURSE", str(course.folder))
    monkeypatch.chdir(tmp_path)  # where nbgrader has put a student's notebook, and the files
    (tmp_path / "data").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    namespace = {}
    exec(f"{FILES['helpers.py']}\n{RIGHT}", namespace)
    assert nbgrader_cell.score("hw1", "total", namespace) == 5
    assert Path.cwd() == tmp_path


def test_page_of_the_assignment_on_a_platform_names_them(course):
    text = teaching_commands._handed_out(course, "hw1").text
    assert f"you are given {', '.join(sorted(FILES))}." in text
