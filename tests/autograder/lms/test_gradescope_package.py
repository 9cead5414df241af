"""The package for Gradescope, run as Gradescope would, in a folder of ours."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest

from autograder.authoring.notebooks import as_text
from autograder.grading import grader
from autograder.lms import gradescope_run
from autograder.lms.gradescope_package import VISIBILITIES, _files, _Needs, write_package
from autograder.records import GraderError, SandboxUnavailable

# gradescope-autograders.readthedocs.io, "Autograder Specifications": the output format.
_TEXT_FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
_VISIBILITY = {"enum": ["hidden", "after_due_date", "visible", "after_published"]}
_SCHEMA = {
    "type": "object",
    "required": ["score", "tests"],
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "number", "minimum": 0},
        "output": {"type": "string"},
        "output_format": _TEXT_FORMAT,
        "test_output_format": _TEXT_FORMAT,
        "test_name_format": _TEXT_FORMAT,
        "visibility": _VISIBILITY,
        "stdout_visibility": _VISIBILITY,
        "extra_data": {"type": "object"},
        "leaderboard": {"type": "array"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "output", "visibility"],
                "additionalProperties": False,
                "properties": {
                    "score": {"type": "number", "minimum": 0},
                    "max_score": {"type": "number", "minimum": 0},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "name_format": _TEXT_FORMAT,
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": _TEXT_FORMAT,
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": _VISIBILITY,
                    "extra_data": {"type": "object"},
                },
                "dependentRequired": {"score": ["max_score"], "max_score": ["score", "status"]},
            },
        },
    },
}
# Nobody's file shows in a traceback or a result: the checks are hidden.
_METADATA = {
    "id": 123456,
    "created_at": "2026-07-01T14:22:32.365935-07:00",
    "users": [{"email": "Ada@uni.example", "id": 1234, "name": "Ada"}],
}


@pytest.fixture(scope="module")
def course(toys, tmp_path_factory):
    """A course with a second set, which has no place in the package of the first.

    What its notebook imports at the end, neither its checks nor the grader do.
    """
    course = toys.make_course(tmp_path_factory.mktemp("course") / "course")
    with course.source("toy").open("a") as file:
        file.write("\n# %%\nimport tqdm\n")
    (course.folder / "other").mkdir()
    for name in ("notebook", "problem_set"):
        (course.folder / "other" / f"{name}.py").write_text("secret = 1")
    return course


@pytest.fixture(scope="module")
def package(course):
    return write_package(course, "toy", course.folder.parent / "out")


@pytest.fixture
def gradescope(package, tmp_path):
    """Unpack as Gradescope does, hand in files, run, and return what it would read."""
    root = tmp_path / "autograder"
    with zipfile.ZipFile(package) as archive:
        archive.extractall(root / "source")
    shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
    (root / "run_autograder").chmod(0o755)

    def run(files, **environment):
        shutil.rmtree(root / "submission", ignore_errors=True)
        (root / "submission").mkdir()
        for name, data in files.items():
            (root / "submission" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "submission" / name).write_bytes(data)
        (root / "submission_metadata.json").write_text(json.dumps(_METADATA))
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        settings = {"GRADESCOPE_ROOT": str(root)}
        if not (root / "venv").exists():
            settings["GRADESCOPE_PYTHON"] = sys.executable
        done = subprocess.run(
            [root / "run_autograder"],
            env=kept | settings | environment,
            cwd=root,
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert done.returncode == 0, done.stderr
        results = json.loads((root / "results" / "results.json").read_text())
        jsonschema.validate(results, _SCHEMA)
        assert results["stdout_visibility"] == "hidden"
        return results, done.stdout

    run.root = root
    return run


@pytest.fixture
def container(course, tmp_path, monkeypatch):
    """The folder of a container whose grader is this one."""
    given = {"course": "course", "problem_set": "toy", "salt": "s", "visibility": "visible"}
    (tmp_path / "submission").mkdir()
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "course").symlink_to(course.folder)
    (tmp_path / "source" / "grader.json").write_text(json.dumps(given))
    monkeypatch.setenv("GRADESCOPE_ROOT", str(tmp_path))
    return tmp_path


@pytest.fixture
def hand_in_there(container, tmp_path):
    """Hand in to that container, and return the results."""

    def run(files):
        for name, data in files.items():
            (tmp_path / "submission" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "submission" / name).write_bytes(data)
        assert gradescope_run.main() == 0
        results = json.loads((tmp_path / "results" / "results.json").read_text())
        jsonschema.validate(results, _SCHEMA)
        return results

    return run


def test_name_of_a_file_commands_no_terminal(hand_in_there, capsys):
    name = "\x1b]0;owned\x07\x1b[2J.txt"
    hand_in_there({name: b"", "toy.ipynb": b"{}"})
    hand_in_there({"\x1b[2J.ipynb": b"[]"})
    gradescope_run._say(f"ValueError: {name}\u202e\r\nin line 2")  # as an exception may name it
    printed = capsys.readouterr().out
    assert "owned" in printed and printed.endswith("in line 2\n")
    assert printed.replace("\n", "").isprintable()


@pytest.fixture
def set_up(gradescope, required_by, tmp_path):
    """Run `setup.sh` with what a fresh Ubuntu has, packages of Python from a folder of wheels."""
    programs, wheels = tmp_path / "programs", tmp_path / "wheels"
    version = f"python3.{sys.version_info[1]}"

    def run():
        lines = (gradescope.root / "source" / "requirements.txt").read_text().splitlines()
        wheels.mkdir()
        for distribution in required_by(line for line in lines if line[0] not in "#-"):
            _make_wheel(distribution, wheels)
        programs.mkdir()
        base = Path(sys.base_prefix, "bin", version)
        for name, script in (
            (version, f'exec {base} "$@"'),
            # Of the two versions that it is asked for, this Ubuntu has one.
            ("apt-get", f'case "$*" in *{version}*|*bubblewrap|update*) ;; *) exit 100;; esac'),
        ):
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        return subprocess.run(
            ["bash", gradescope.root / "source" / "setup.sh"],
            env={
                "PATH": f"{programs}:/usr/bin:/bin",
                "HOME": str(tmp_path),
                "GRADESCOPE_ROOT": str(gradescope.root),
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": str(wheels),
                "PIP_NO_COMPILE": "1",
                "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


def _make_wheel(distribution, folder):
    """Pack an installed distribution into a wheel again."""
    name = re.sub(r"[-_.]+", "_", distribution.metadata["Name"])
    path = folder / f"{name}-{distribution.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", strict_timestamps=False) as wheel:
        for file in distribution.files or ():
            if ".." not in file.parts and file.suffix != ".pyc" and file.locate().is_file():
                wheel.write(file.locate(), file.as_posix())


def _notebook(toys, course, **answers):
    return as_text(toys.answer(course, **answers)).encode()


def test_package_holds_what_gradescope_asks_for_and_only_this_set(package):
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
        requirements = archive.read("requirements.txt").decode()
    assert {"setup.sh", "run_autograder", "requirements.txt", "grader.json"} <= names
    assert {"course/toy/notebook.py", "course/toy/problem_set.py"} <= names
    assert "autograder/grading/grader.py" in names
    assert not any("other" in name or "__pycache__" in name for name in names)
    assert modes["run_autograder"] & 0o111 and modes["setup.sh"] & 0o111
    for library in ("numpy==", "ipython==", "nbgrader==", "jupytext==", "tqdm=="):
        assert f"\n{library}" in requirements
    assert "torch" not in requirements.partition("cpu\n")[2]  # neither set nor course asks for it
    assert "+cpu" not in requirements and "pytest" not in requirements
    assert "language-models-by-hand" not in requirements  # it goes along as files


@pytest.mark.parametrize("mention", ["", '# load_pretrained("tiny")'])
def test_weights_go_along_only_where_a_set_names_their_folder(toys, tmp_path, mention):
    course = toys.make_course(tmp_path / "course")
    source = course.source("toy")
    source.write_text(f"{source.read_text()}\n{mention}\n")
    weights = tmp_path / "package" / "tiny" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"")
    loaded = tmp_path / "package" / "__init__.py"
    loaded.write_text("")
    packed = {name for name, _ in _files(course, "toy", _Needs((loaded,), ()))}
    assert "package/__init__.py" in packed
    assert ("package/tiny/model.safetensors" in packed) == bool(mention)


@pytest.mark.slow
def test_package_made_again_is_the_same_and_asks_the_same_questions(package, course):
    before = package.read_bytes()
    assert write_package(course, "toy", course.folder.parent / "out").read_bytes() == before
    with zipfile.ZipFile(package) as archive:
        assert len(json.loads(archive.read("grader.json"))["salt"]) == 32


@pytest.mark.parametrize("script", ["setup.sh", "run_autograder"])
def test_scripts_are_sound_bash(package, script):
    with zipfile.ZipFile(package) as archive:
        text = archive.read(script)
    assert text.startswith(b"#!/usr/bin/env bash\n")
    assert subprocess.run(["bash", "-n"], input=text, capture_output=True).returncode == 0


def test_package_rejects_an_unknown_visibility(course, tmp_path):
    with pytest.raises(
        GraderError, match="visibility is 'secret'; it must be one of after_due_date"
    ):
        write_package(course, "toy", tmp_path, "secret")
    assert set(VISIBILITIES) == set(_VISIBILITY["enum"])


def test_package_replaces_nothing_else(course, tmp_path):
    path = tmp_path / "gradescope" / "toy" / "autograder.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    with pytest.raises(GraderError, match=f"{path} is not a package for Gradescope"):
        write_package(course, "toy", tmp_path)
    assert path.read_bytes() == b"mine"


def test_package_rejects_checks_that_do_not_load(course, tmp_path):
    with pytest.raises(GraderError, match="no problem set 'ps9'"):
        write_package(course, "ps9", tmp_path)


def _assert_graded_with_the_same_checks(results, stdout):
    assert results["score"] == 50, stdout
    double, average = results["tests"]
    assert (double["name"], double["score"], double["max_score"]) == ("1. Double", 20, 60)
    assert (double["status"], average["status"]) == ("failed", "passed")
    assert "Hint: Twice a number is not its square." in double["output"]
    assert {test["visibility"] for test in results["tests"]} == {"after_due_date"}
    assert "A person will grade the answers worth the other 10 points" in results["output"]
    assert "2 notebooks (scratch.ipynb, toy.ipynb); toy.ipynb was graded" in results["output"]
    assert "expected" in stdout  # the instructor's side
    assert "expected" not in json.dumps(results)


@pytest.mark.exhaustive
@pytest.mark.sandbox
def test_package_alone_sets_up_an_environment_and_grades_in_it(gradescope, set_up, toys, course):
    pytest.importorskip("ensurepip")  # the image makes an environment of its own
    done = set_up()
    assert done.returncode == 0, done.stdout + done.stderr
    if "cannot be isolated" in done.stdout:
        pytest.skip("a Python without the sandbox's programs beside it cannot isolate student code")
    assert "Graded in this image, the set's own solution earns 90 of 90 points." in done.stdout
    assert "Isolation: tier " in done.stdout and "ModuleNotFound" not in done.stdout
    python = gradescope.root / "venv" / "bin" / "python"
    absent = subprocess.run([python, "-c", "import torch"], capture_output=True, text=True)
    assert "No module named 'torch'" in absent.stderr
    notebook = _notebook(toys, course, double=toys.square, mean=toys.mean)
    results, stdout = gradescope({"toy.ipynb": notebook, "scratch.ipynb": b"{}"})
    _assert_graded_with_the_same_checks(results, stdout)
    assert "tier " in stdout


@pytest.mark.slow
@pytest.mark.sandbox
def test_gradescope_grades_with_the_same_checks_without_namespaces(gradescope, toys, course):
    notebook = _notebook(toys, course, double=toys.square, mean=toys.mean)
    files = {"toy.ipynb": notebook, "scratch.ipynb": b"{}"}
    results, stdout = gradescope(files, AUTOGRADER_TIER="B")
    if "tier B: honest code does not run" in stdout:
        pytest.skip("another user cannot read this Python, so tier B cannot be had here")
    _assert_graded_with_the_same_checks(results, stdout)
    assert "tier B" in stdout


@pytest.mark.slow
@pytest.mark.sandbox
def test_gradescope_student_learns_nothing_and_changes_nothing(gradescope, toys, course):
    thief = f"""
import glob, os
for path in glob.glob({str(gradescope.root)!r} + "/**/*", recursive=True):
    print(path)
for name in ("results/results.json", "source/grader.json"):
    try:
        open(os.path.join({str(gradescope.root)!r}, name), "w").write('{{"score": 100}}')
    except OSError:
        print("refused")
{toys.mean}"""
    results, _ = gradescope({"toy.ipynb": _notebook(toys, course, mean=thief)})
    assert results["score"] == 30
    assert str(gradescope.root) not in json.dumps(results)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "the folder holds no notebook of this set"),
        ({"homework.pdf": b"%PDF"}, "only homework.pdf"),
        ({"toy.ipynb": b"{"}, "the file is not JSON"),
        ({"deep/er/toy.ipynb": b""}, "the file is empty"),
    ],
)
def test_gradescope_says_why_a_submission_cannot_be_graded(
    hand_in_there, without_sandbox, capsys, files, reason
):
    results = hand_in_there(files)
    assert results["score"] == 0
    assert reason in results["output"]
    assert [test["max_score"] for test in results["tests"]] == [60, 30]
    assert {test["output"] for test in results["tests"]} == {"not judged"}
    assert results["extra_data"] == {"state": "refused"}


@pytest.fixture
def limited(container, hand_in_there, without_sandbox, toys, course):
    """Hand in one notebook after the other under some rules; Gradescope hands on what was before.

    What is returned is what students see before the due date, and the whole.
    """
    previous = []

    def run(rules, data=None, minute=0, **answers):
        path = container / "source" / "grader.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | rules))
        time = f"2026-07-01T14:{minute:02}:00-07:00"
        about = _METADATA | {"previous_submissions": previous, "created_at": time}
        (container / "submission_metadata.json").write_text(json.dumps(about))
        results = hand_in_there({"toy.ipynb": data or _notebook(toys, course, **answers)})
        previous.append({"submission_time": time, "score": results["score"], "results": results})
        seen = [test for test in results["tests"] if test["visibility"] == "visible"]
        return json.dumps([results["output"], seen]), results

    return run


_RULES = {"visibility": "after_due_date", "attempts": 2}


def test_gradescope_shows_before_the_due_date_what_the_course_allows(limited, toys):
    hidden = ("Every number is doubled", "empty list", "20", "squares", "not its square", "score")
    for level in ("nothing", "visible"):
        seen, results = limited(_RULES | {"feedback": level, "attempts": 0}, double=toys.square)
        assert not [mark for mark in hidden if mark in seen]
        assert ("visible test does not pass" in seen) == (level == "visible")
        assert '"2. Mean, before the due date", "output": "You left this one blank."' in seen
        only = {"nothing": "that it was received", "visible": "whether the tests pass that stand"}
        assert "What was found is shown after the due date." in seen
        assert f"Until then you read only {only[level]}" in seen
        assert results["tests"][1]["output"].startswith("You left this one blank.\n0 of 30 points")
        assert results["score"] == 20 and "not its square" in json.dumps(results)
    seen, _ = limited(_RULES | {"feedback": "properties", "attempts": 0}, double=toys.square)
    assert "- Every number is doubled.\\n+ An empty list stays empty." in seen
    assert "not its square" not in seen


def test_gradescope_grades_as_many_attempts_as_there_are(limited, toys, monkeypatch):
    asked = []
    judge = grader.Grader.judge
    monkeypatch.setattr(grader.Grader, "judge", lambda self, *a: asked.append(1) or judge(self, *a))
    rules = _RULES | {"feedback": "properties"}
    assert limited(rules, b"{", 0)[1]["extra_data"] == {"state": "refused"}
    first, results = limited(rules, None, 1, double=toys.square)
    assert "This is your attempt 1 of 2." in first and results["score"] == 20
    again, results = limited(rules, None, 2, double=toys.square)
    same = "The answers in this file are those of your last attempt, so it is no other one. "
    assert (
        results["score"] == 20 and f"{same}What stands here is about your attempt 1 of 2" in again
    )
    assert limited(rules, None, 3, double=toys.double)[1]["extra_data"]["attempt"] == 2
    for minute, data in ((4, None), (5, b"{")):
        seen, results = limited(rules, data, minute, mean=toys.mean)
        assert "This file is kept and was not graded" in seen
        assert "about your attempt 2 of 2" in seen
        assert results["score"] == 60 and results["tests"][0]["score"] == 60
    assert len(asked) == 2


@pytest.mark.parametrize("previous", [None, 1, [1], [{}], [{"results": None}], [{"results": {}}]])
def test_gradescope_counts_nothing_that_has_another_form(previous):
    assert gradescope_run._last_counted({"previous_submissions": previous}) is None


def test_package_says_what_students_read_and_refuses_to_show_more(toys, tmp_path):
    course = toys.make_course(tmp_path / "course")
    settings = course.folder / "course.toml"
    settings.write_text('[sets.toy]\nattempts = 3\nfeedback = "visible"\n')
    with zipfile.ZipFile(write_package(course, "toy", tmp_path / "out")) as archive:
        given = json.loads(archive.read("grader.json"))
    assert (given["attempts"], given["feedback"]) == (3, "visible")
    with pytest.raises(GraderError, match="limits what students read of toy"):
        write_package(course, "toy", tmp_path / "out", "visible")


def test_gradescope_without_a_sandbox_refuses_with_instructions(gradescope, toys, course, tmp_path):
    """No bubblewrap on the path, and the lower tier not asked for."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "env"):
        (programs / name).symlink_to(shutil.which(name))
    notebook = _notebook(toys, course, double=toys.double)
    results, stdout = gradescope({"toy.ipynb": notebook}, PATH=str(programs), AUTOGRADER_TIER="A")
    assert results["extra_data"] == {"state": "grader fault"}
    assert "not your fault" in results["output"] and results["tests"] == []
    assert "nothing of it was run" in stdout
    assert "autograder grade toy --submissions FOLDER" in stdout


def test_gradescope_package_that_is_damaged_still_leaves_results(container, hand_in_there, capsys):
    (container / "source" / "grader.json").write_text("{torn")
    results = hand_in_there({})
    assert results["extra_data"] == {"state": "grader fault"}
    assert "JSONDecodeError" in capsys.readouterr().out
    assert "Traceback" not in json.dumps(results)


def test_gradescope_grader_that_fails_is_no_verdict(
    hand_in_there, toys, course, monkeypatch, capsys
):
    monkeypatch.setattr(grader, "Sandbox", _Breaks)
    results = hand_in_there({"toy.ipynb": _notebook(toys, course, double=toys.double)})
    assert results["extra_data"] == {"state": "grader fault"} and results["tests"] == []
    assert "the grader failed: OSError: no space left" in capsys.readouterr().out


def test_rehearsal_fails_where_the_solution_does_not_earn_all_its_points(
    container, monkeypatch, capsys
):
    monkeypatch.setattr(grader, "Sandbox", _Breaks)
    assert gradescope_run.rehearse() == 1
    said = capsys.readouterr().out
    assert "the set's own solution earns 0 of 90 points" in said
    assert "the grader failed: OSError: no space left" in said


def test_rehearsal_leaves_open_what_the_finished_image_can_isolate(container, monkeypatch, capsys):
    def refuse(*args, **kwargs):
        raise SandboxUnavailable("bubblewrap is not installed")

    monkeypatch.setattr(grader, "Sandbox", refuse)
    assert gradescope_run.rehearse() == 0
    said = capsys.readouterr().out
    assert "cannot be isolated while this image is built: bubblewrap is not installed" in said
    assert "If that is so in the finished image too" in said


def test_student_is_named_by_address_also_in_a_group(tmp_path):
    path = tmp_path / "submission_metadata.json"
    path.write_text(json.dumps({"users": [{"email": "b@x.org"}, {"email": "A@x.org"}]}))
    assert gradescope_run._student(gradescope_run._metadata(path)) == "a@x.org+b@x.org"
    for text in ("", "[]", '{"users": []}', '{"users": [{}]}'):
        path.write_text(text)
        assert gradescope_run._student(gradescope_run._metadata(path)) == "student"


class _Breaks:
    """A sandbox in which everything goes wrong."""

    isolation = "none: a test"

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def run(self, *args, **kwargs):
        raise OSError("no space left")
