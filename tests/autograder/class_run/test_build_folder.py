"""What `make clean` leaves, and the class that older versions kept where it deletes."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.authoring.fingerprints import read_notebook
from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet, write
from autograder.authoring.workspace import bring, copy_of
from autograder.class_run.build_folder import empty
from autograder.records import GraderError
from autograder.store.class_folder import claim_class, claim_names, class_folder, holds_class
from autograder.store.journal import Journal

ROOT = Path(__file__).parents[3]


def _class(folder, grade="90"):
    """A folder as grading leaves it, so far as anything here looks."""
    for name in ("gradebook.db", "records/salt", "records/ps1/ada.json", "feedback/ada/ps1.html"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(grade)
    return folder


def _files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_all_that_can_be_made_again_goes(tmp_path, toy_course):
    build = tmp_path / "_build"
    _class(build / "sample_class")
    write(ReleasedSet(toy_course, "toy").notebooks, build / "course")
    (build / "html").mkdir()
    (build / "cells.json").write_text("{}")
    theirs = tmp_path / "elsewhere"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("mine")
    (build / "link").symlink_to(theirs)
    assert empty(build) == () and not build.exists()
    assert (theirs / "thesis.txt").read_text() == "mine"
    assert empty(build) == ()


@pytest.mark.parametrize("place", ["course", "trial/of/mine"])
def test_a_class_stays_and_is_named(tmp_path, place):
    build = tmp_path / "_build"
    before = _files(_class(build / place))
    (build / "html").mkdir()
    (line,) = empty(build)
    assert str(build / place) in line and "grades of a class" in line
    assert _files(build / place) == before and not (build / "html").exists()


def _work_in(path):
    notebook = json.loads(path.read_text())
    notebook["cells"][-1]["source"] = ["x = 1"]
    path.write_text(json.dumps(notebook))
    return path.read_bytes()


def test_a_released_notebook_that_somebody_has_worked_in_stays_and_is_named(tmp_path, toy_course):
    build = tmp_path / "_build"
    write(ReleasedSet(toy_course, "toy").notebooks, build / "course")
    path = copy_of("toy", build / "course" / "release")
    before = _work_in(path)
    (line,) = empty(build)
    assert str(path) in line and "`make lab`" in line and path.read_bytes() == before


def test_a_workspace_that_somebody_has_below_the_build_stays_and_is_named(tmp_path, toy_course):
    """As one has who tries the student edition where it was made."""
    build = tmp_path / "_build"
    released = ReleasedSet(toy_course, "toy").notebooks.student
    work = build / "student-edition" / "work"
    bring("toy", read_notebook(as_text(released).encode()), work)
    (build / "html").mkdir()
    (build / "html" / "chapter.ipynb").write_text('{"cells": []}')
    before = _work_in(copy_of("toy", work))
    (line,) = empty(build)
    assert str(copy_of("toy", work)) in line and "move it to another folder" in line
    assert copy_of("toy", work).read_bytes() == before and not (build / "html").exists()


def test_cleaning_needs_nothing_but_python(tmp_path):
    """`make clean` runs before there is an environment, and after it is gone."""
    _class(tmp_path / "course")
    code = "import runpy, sys; sys.argv = ['', sys.argv[1]]; "
    code += "runpy.run_module('autograder.class_run.build_folder', run_name='__main__')"
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.append({str(ROOT)!r}); {code}",
    ]
    run = subprocess.run([*command, tmp_path], capture_output=True, text=True, check=True)
    assert f"left: {tmp_path / 'course'}, " in run.stdout


def test_class_of_an_older_version_is_moved_whole(tmp_path):
    before = _files(_class(tmp_path / "_build" / "course"))
    (tmp_path / "class").mkdir()
    place, line = class_folder(tmp_path)
    assert (place, holds_class(place)) == (tmp_path / "class", True)
    assert str(place) in line and "_build" in line
    moved = _files(place)
    assert {name: moved[name] for name in before} == before
    assert not holds_class(tmp_path / "_build" / "course")
    assert class_folder(tmp_path) == (place, "")


def test_class_that_was_graded_from_another_folder_is_pointed_at_unless_it_is_anothers(tmp_path):
    top, home = tmp_path / "top", tmp_path / "home"
    top.mkdir()
    old = _class(home / "_build" / "course")
    with pytest.raises(GraderError, match=f"move it to {top}/class yourself .*--out {old}"):
        class_folder(top, home)
    assert holds_class(old) and not (top / "class").exists()
    (home / "assignments").mkdir()  # another course lies there
    assert class_folder(top, home) == (top / "class", "")


def test_class_behind_a_link_whose_drive_is_missing_is_not_begun_anew(tmp_path):
    place = tmp_path / "class"
    place.symlink_to(tmp_path / "drive" / "class")
    for ask in (lambda: class_folder(tmp_path), lambda: claim_class(place)):
        with pytest.raises(GraderError, match=r"is a link to .*drive/class, which is not there"):
            ask()
    assert not (tmp_path / "drive").exists()


def test_two_classes_are_never_mixed(tmp_path):
    old, new = _class(tmp_path / "_build" / "course", "1"), _class(tmp_path / "class", "2")
    before = _files(old), _files(new)
    with pytest.raises(GraderError, match=r"two classes.*name the one you mean with --out"):
        class_folder(tmp_path)
    assert (_files(old), _files(new)) == before


def test_what_is_in_the_way_is_named_and_nothing_is_moved(tmp_path, monkeypatch):
    old = _class(tmp_path / "_build" / "course")
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "roster.csv").write_text("ada")
    with pytest.raises(GraderError, match=r"in the way\): move it .* yourself .*--out"):
        class_folder(tmp_path)
    assert holds_class(old) and (tmp_path / "class" / "roster.csv").read_text() == "ada"
    (tmp_path / "class" / "roster.csv").unlink()

    def other_disk(self, target):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "rename", other_disk)
    with pytest.raises(GraderError, match=r"cross-device link\): move it"):
        class_folder(tmp_path)
    assert holds_class(old)


def test_class_that_is_being_graded_is_not_moved(tmp_path):
    old = _class(tmp_path / "_build" / "course")
    with (
        Journal(old, "ps1").only_writer(),
        pytest.raises(GraderError, match="another grader is at work"),
    ):
        class_folder(tmp_path)
    assert holds_class(old) and not (tmp_path / "class").exists()


def test_class_is_graded_into_no_folder_of_somebody_elses(tmp_path):
    page = tmp_path / "feedback" / "index.html"
    page.parent.mkdir()
    page.write_text("mine")
    with pytest.raises(GraderError, match=f"{page.parent} is not empty, .* another folder with"):
        claim_class(tmp_path)
    claim_class(tmp_path / "new")
    claim_class(_class(tmp_path))  # there is a class already


@pytest.mark.parametrize("names", [("Ada", "ada"), ("Zoë", "Zoe\u0308"), ("bo ", "bo")])
def test_two_students_who_have_one_place_on_the_disk_are_not_graded_over_each_other(
    tmp_path, monkeypatch, names
):
    """As on macOS and Windows, also where a container writes there."""
    mkdir, folded = os.mkdir, {"zoë": "zoe\u0308"}

    def as_there(path, *rest):
        place = Path(path)
        if place.parent.name.startswith(".names-"):
            name = place.name.casefold().strip()
            place = place.with_name(folded.get(name, name))
        mkdir(place, *rest)

    everybody = [*names, "carl"]
    claim_names(tmp_path, everybody)  # here they have a place each
    monkeypatch.setattr(os, "mkdir", as_there)
    with pytest.raises(GraderError, match=r"are the same name: .* a folder on another disk"):
        claim_names(tmp_path, everybody)
    claim_names(tmp_path, everybody[1:])
    record = Journal(tmp_path, "toy")._record(names[0])  # graded earlier
    record.parent.mkdir(parents=True)
    record.write_text("{}")
    with pytest.raises(GraderError, match="one grade would overwrite the other"):
        claim_names(tmp_path, everybody[1:])
    claim_names(tmp_path, ["carl"])
    assert [path.name for path in tmp_path.iterdir()] == ["records"]
