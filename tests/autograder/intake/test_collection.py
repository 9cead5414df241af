import json
import os
import warnings
import zipfile

import nbformat
import pytest
from nbgrader.utils import compute_checksum

from autograder.intake import collection
from autograder.intake.collection import collect, read_notebook
from autograder.records import GraderError, SubmissionRefused


def _names(found):
    return {entry.student: entry.path and entry.path.name for entry in found}


def _touch(path, text="{}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_collect_finds_every_layout_and_each_student_once(tmp_path):
    _touch(tmp_path / "ada.ipynb")
    _touch(tmp_path / "bo" / "ps1" / "ps1.ipynb")
    _touch(tmp_path / "bo" / "ps2" / "ps2.ipynb")
    _touch(tmp_path / "cy" / "homework final (2).ipynb")
    _touch(tmp_path / "dee" / "notes.txt")
    _touch(tmp_path / "grades.csv")
    _touch(tmp_path / ".ipynb_checkpoints" / "ada-checkpoint.ipynb")
    _touch(tmp_path / "__MACOSX" / "ada.ipynb")
    found = collect(tmp_path, "ps1")
    assert _names(found) == {
        "ada": "ada.ipynb",
        "bo": "ps1.ipynb",
        "cy": "homework final (2).ipynb",
        "dee": None,
    }
    (dee,) = [one for one in found if one.path is None]
    nothing = "the folder holds no notebook of this set, only notes.txt"
    assert dee.reasons == (f"{nothing}; hand in ps1.ipynb itself",)


def test_what_comes_nearest_to_the_notebook_is_named_first(tmp_path):
    for name in ("data.csv", "helper.py", "notes.txt", "ps1.py"):
        _touch(tmp_path / "ada" / name)
    (found,) = collect(tmp_path, "ps1")
    assert found.reasons[0].endswith("only ps1.py, data.csv, helper.py; hand in ps1.ipynb itself")


def test_collect_looks_into_the_folder_submitted(tmp_path):
    _touch(tmp_path / "submitted" / "ada" / "ps1" / "ps1.ipynb")
    _touch(tmp_path / "release" / "ps1" / "ps1.ipynb")
    assert _names(collect(tmp_path, "ps1")) == {"ada": "ps1.ipynb"}


def test_collect_chooses_the_set_s_own_file_and_says_so_when_there_are_several(tmp_path):
    _touch(tmp_path / "ada" / "ps1.ipynb")
    _touch(tmp_path / "ada" / "a first try.ipynb")
    (found,) = collect(tmp_path, "ps1")
    assert found.path.name == "ps1.ipynb"
    assert found.reasons == ("2 notebooks (a first try.ipynb, ps1.ipynb); ps1.ipynb was graded",)


def test_of_thousands_of_notebooks_some_are_named(tmp_path):
    for number in range(1_000):
        _touch(tmp_path / "ada" / f"ps1 {number:04} {'n' * 200}.ipynb")
    (found,) = collect(tmp_path, "ps1")
    (reason,) = found.reasons
    assert reason.startswith("1000 notebooks (ps1 0000 nnn") and len(reason) < 3_000
    assert "ps1 0009 " in reason and "ps1 0010 " not in reason and ", ...); ps1 0000 " in reason


def test_nothing_is_said_to_be_graded_that_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as packed, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the two files of one name
        for name in ("ada/ps1.ipynb", "ada/ps1.ipynb", "bo/ps1.ipynb"):
            packed.writestr(name, "{}")
    ada, _ = collect(tmp_path / "class.zip", "ps1")
    assert ada.reasons == () and "holds 2 files named ada/ps1.ipynb" in ada.delivered.refusal


def test_collect_joins_a_student_s_file_and_folder(tmp_path):
    _touch(tmp_path / "ada.ipynb")
    _touch(tmp_path / "ada" / "ps1.ipynb")
    (found,) = collect(tmp_path, "ps1")
    assert found.path == tmp_path / "ada" / "ps1.ipynb"


@pytest.mark.parametrize("make", ["missing", "empty"])
def test_collect_rejects_a_folder_without_submissions(tmp_path, make):
    folder = tmp_path / "class"
    if make == "empty":
        folder.mkdir()
    with pytest.raises(GraderError, match=r"class"):
        collect(folder, "ps1")


@pytest.mark.parametrize("kind", ["file", "folder", "set folder", "inner file"])
def test_symbolic_link_is_recorded_but_never_followed(tmp_path, kind):
    secret = tmp_path / "secret"
    _touch(secret / "ps1.ipynb", "the solution")
    folder = tmp_path / "class"
    folder.mkdir()
    if kind == "file":
        (folder / "eve.ipynb").symlink_to(secret / "ps1.ipynb")
    elif kind == "folder":
        (folder / "eve").symlink_to(secret)
    else:
        (folder / "eve").mkdir()
        inner = "ps1" if kind == "set folder" else "ps1.ipynb"
        target = secret if kind == "set folder" else secret / "ps1.ipynb"
        (folder / "eve" / inner).symlink_to(target)
    (found,) = collect(folder, "ps1")
    assert found.student == "eve"
    with pytest.raises(SubmissionRefused, match=r"symbolic link|no notebook"):
        read_notebook(found)


def test_read_notebook_rejects_what_is_no_plain_file(tmp_path):
    os.mkfifo(tmp_path / "eve.ipynb")
    (tmp_path / "bob.ipynb").mkdir()
    for found in collect(tmp_path, "ps1"):
        with pytest.raises(SubmissionRefused, match=r"not a plain file|no notebook"):
            read_notebook(found)


def _notebook(answer, output=""):
    released = {"source": "# YOUR CODE HERE", "cell_type": "code", "metadata": {}}
    released["metadata"] = {"nbgrader": {"solution": True, "grade_id": "answer"}}
    released["metadata"]["nbgrader"]["checksum"] = compute_checksum(nbformat.from_dict(released))
    shown = {"output_type": "stream", "name": "stdout", "text": output}
    return json.dumps({"cells": [released | {"source": answer, "outputs": [shown]}]})


@pytest.mark.parametrize("copy", ["ps1 (1).ipynb", "ps1-Copy1.ipynb", "ps1_2.ipynb"])
def test_copy_with_answers_counts_beside_a_notebook_without(tmp_path, copy):
    _touch(tmp_path / "ada" / "ps1.ipynb", _notebook("# YOUR CODE HERE"))
    _touch(tmp_path / "ada" / copy, _notebook("def f(): pass"))
    _touch(tmp_path / "ada" / "ps10.ipynb", _notebook("def g(): pass"))
    (found,) = collect(tmp_path, "ps1")
    assert found.path.name == copy
    assert found.reasons[0].endswith(f"{copy} was graded, as nothing is written in ps1.ipynb")
    _touch(tmp_path / "ada" / "ps1.ipynb", _notebook("def h(): pass"))
    (found,) = collect(tmp_path, "ps1")
    assert found.path.name == "ps1.ipynb" and found.reasons[0].endswith("ps1.ipynb was graded")


@pytest.mark.parametrize("copy", ["one (1).ipynb", "one-Copy1.ipynb"])
def test_copy_counts_where_an_assignment_has_several_notebooks_too(tmp_path, copy):
    for name in ("one", "two"):
        _touch(tmp_path / "ada" / "hw1" / f"{name}.ipynb", _notebook("# YOUR CODE HERE"))
    _touch(tmp_path / "ada" / "hw1" / "one two.ipynb", _notebook("def g(): pass"))
    _touch(tmp_path / "ada" / "hw1" / copy, _notebook("def f(): pass"))
    others = {"one": frozenset({"two.ipynb"}), "two": frozenset({"one.ipynb"})}
    found = {name: collect(tmp_path, f"hw1+{name}", others_files=others[name]) for name in others}
    assert [one.path.name for one in found["one"]] == [copy]
    assert [one.path.name for one in found["two"]] == ["two.ipynb"]


def test_notebook_that_its_outputs_make_too_large_is_read_without_them(tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "MAX_NOTEBOOK_BYTES", 2000)
    _touch(tmp_path / "ada.ipynb", _notebook("def f(): pass", "x" * 3000))
    _touch(tmp_path / "bo.ipynb", _notebook(f"text = '{'x' * 3000}'"))
    ada, bo = collect(tmp_path, "ps1")
    (cell,) = json.loads(read_notebook(ada))["cells"]
    assert (cell["source"], cell["outputs"]) == ("def f(): pass", [])
    with pytest.raises(
        SubmissionRefused, match=r"at most 2000 are read, outputs not .* take that out"
    ):
        read_notebook(bo)


def test_read_notebook_rejects_a_huge_file_without_reading_it_all(tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "_MAX_BYTES_WITH_OUTPUTS", 100)
    monkeypatch.setattr(collection, "MAX_NOTEBOOK_BYTES", 100)
    with open(tmp_path / "eve.ipynb", "wb") as file:
        file.truncate(1 << 40)  # sparse: a terabyte that fills no disk
    (found,) = collect(tmp_path, "ps1")
    with pytest.raises(SubmissionRefused, match="1099511627776 bytes; at most 100"):
        read_notebook(found)


def test_read_notebook_returns_the_bytes(tmp_path):
    _touch(tmp_path / "ada.ipynb", "hello")
    assert read_notebook(collect(tmp_path, "ps1").submissions[0]) == b"hello"


def test_student_name_that_is_no_utf8_stays_printable(tmp_path):
    (tmp_path / os.fsdecode(b"j\xf6rg.ipynb")).write_text("{}")
    (found,) = collect(tmp_path, "ps1")
    assert found.student.startswith("j\ufffdrg~")
    assert read_notebook(found) == b"{}"
