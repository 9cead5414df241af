import copy
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbgrader.utils import compute_checksum

from autograder import files
from autograder.authoring import fingerprints, release, workspace
from autograder.authoring.assistant_rules import bring_rules
from autograder.authoring.fingerprints import has_work, read_notebook
from autograder.authoring.notebooks import as_text, grading
from autograder.authoring.workspace import bring, copy_of, keep_beside, rescue, take_over
from autograder.class_run.build_folder import empty
from autograder.intake.repair import repair
from autograder.records import GraderError

NEWER = (
    ("# Write two functions.", "# Write two functions, and run their tests."),
    ("assert double([1, 2]) == [2, 4]", "assert double([1, 2]) == [2, 4] != double([1])"),
    ("# ## 1. Double", "# A new cell.\n\n# %% [markdown]\n# ## 1. Double"),
)


@pytest.fixture(scope="module")
def toy(tmp_path_factory, toys):
    """Two releases of the toy set: the second has other prose, a stricter test and a new cell."""
    course = toys.make_course(tmp_path_factory.mktemp("workspace"))
    source = course.source("toy")
    first = release.ReleasedSet(course, "toy")
    old, text = _student(first), source.read_text()
    for before, after in NEWER:
        assert before in text
        text = text.replace(before, after)
    source.write_text(text)
    second = release.ReleasedSet(course, "toy")
    return SimpleNamespace(old=old, new=_student(second), set=second)


def _student(released):
    return read_notebook(as_text(released.notebooks.student).encode())


def _write(work, notebook):
    path = copy_of("toy", work)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook))
    return path


def _read(work):
    return read_notebook(copy_of("toy", work).read_bytes())


def _edited(work, **sources):
    """Change cells of the copy as an editor would, and return its bytes."""
    notebook = _read(work)
    for cell in notebook["cells"]:
        cell["source"] = sources.get(cell["id"], cell["source"])
    return _write(work, notebook).read_bytes()


def _sources(notebook):
    return [cell["source"] for cell in notebook["cells"]]


def test_checksum_is_that_of_nbgrader_and_every_released_cell_is_known_as_such(toy):
    notebook = nbformat.from_dict(copy.deepcopy(toy.old))
    graded = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert len(graded) == 6
    for cell in graded:
        assert fingerprints.checksum(cell) == compute_checksum(cell)
    assert all(map(workspace.is_as_released, toy.old["cells"]))
    for cell in copy.deepcopy(toy.old)["cells"]:
        cell["source"] += "#"
        assert not workspace.is_as_released(cell)


def test_a_notebook_is_put_there_once_and_stays_byte_for_byte(toy, tmp_path):
    update = bring("toy", toy.old, tmp_path)
    assert update.is_new and update.path == tmp_path / "toy" / "toy.ipynb"
    assert str(update.path) in update.line
    assert _sources(_read(tmp_path)) == _sources(toy.old)
    nbformat.validate(nbformat.read(update.path, as_version=4))
    notebook = _read(tmp_path)
    del notebook["cells"][0]  # whatever somebody does to it
    notebook["cells"][3]["source"] = "def double(numbers): ..."
    before = _write(tmp_path, notebook).read_bytes()
    update = bring("toy", toy.old, tmp_path)
    assert update.line == "" and update.path.read_bytes() == before
    assert list(update.path.parent.iterdir()) == [update.path]


def test_a_newer_release_takes_over_answers_and_own_cells_and_keeps_the_former_file(toy, tmp_path):
    bring("toy", toy.old, tmp_path)
    notebook = _read(tmp_path)
    places = {cell["id"]: place for place, cell in enumerate(notebook["cells"])}
    notebook["cells"][places["toy_double_answer"]] |= {
        "source": "def double(numbers):\n    return helper(numbers)",
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["seen"]}],
    }
    essay = notebook["cells"][places["toy_essay"]]
    essay |= {"source": "![](attachment:a.png)", "attachments": {"a.png": {"image/png": "eA=="}}}
    own = {"cell_type": "code", "metadata": {"mine": 1}, "source": "def helper(n): ...", "id": "h"}
    own |= {"outputs": [], "execution_count": 3}
    notebook["cells"].insert(places["toy_double_answer"], own)
    before = _write(tmp_path, notebook).read_bytes()
    os.utime(copy_of("toy", tmp_path), (1_700_000_000, 1_700_000_000))

    update = bring("toy", toy.new, tmp_path)

    assert (update.n_answers, update.n_own, update.renewed) == (2, 1, ())
    assert re.fullmatch(r"toy-2023-11-1\d-\d{4}\.ipynb", update.kept.name)
    assert update.kept.read_bytes() == before
    assert "2 answers and 1 cell of yours went over" in update.line
    assert update.kept.name in update.line and "\n" not in update.line
    assert "where it is open, reload it" in update.line
    merged = _read(tmp_path)
    nbformat.validate(nbformat.from_dict(merged))
    cells = {cell["id"]: cell for cell in merged["cells"]}
    assert cells["h"] == own
    order = list(cells)
    # The new release has another cell before the answer; the own cell stays right above that.
    assert order.index("h") == order.index("toy_double_answer") - 1
    assert cells["toy_double_answer"]["source"].endswith("return helper(numbers)")
    assert cells["toy_double_answer"]["outputs"][0]["text"] == ["seen"]
    assert cells["toy_essay"]["attachments"] == {"a.png": {"image/png": "eA=="}}
    assert "!= double([1])" in cells["toy_double"]["source"]
    assert [s for s in _sources(merged) if s not in _sources(notebook)] == [
        s for s in _sources(toy.new) if s not in _sources(toy.old)
    ]
    # It is a submission like any other: nothing has to be repaired.
    repaired = repair(copy_of("toy", tmp_path).read_bytes(), toy.set)
    assert repaired.reasons == () and "helper" in repaired.answers["toy_double"]
    assert bring("toy", toy.new, tmp_path).line == ""


def test_what_a_release_took_away_stays_and_finds_its_place_again(toy, tmp_path):
    fewer = copy.deepcopy(toy.new)
    fewer["cells"] = [c for c in fewer["cells"] if not c["id"].startswith("toy_mean")]
    bring("toy", toy.old, tmp_path)
    _edited(tmp_path, toy_mean_answer="def mean(numbers):\n    return 42")
    update = bring("toy", fewer, tmp_path)
    assert (update.n_answers, update.n_own) == (0, 1)
    assert _sources(_read(tmp_path)).count("def mean(numbers):\n    return 42") == 1
    update = bring("toy", toy.new, tmp_path)
    assert (update.n_answers, update.n_own) == (1, 0)
    cells = {cell["id"]: cell["source"] for cell in _read(tmp_path)["cells"]}
    assert [*cells] == [cell["id"] for cell in toy.new["cells"]]
    assert cells["toy_mean_answer"] == "def mean(numbers):\n    return 42"


def test_an_answer_goes_over_also_where_the_release_has_changed_its_stub(toy, tmp_path):
    newer = copy.deepcopy(toy.new)
    (stub,) = (cell for cell in newer["cells"] if cell["id"] == "toy_mean_answer")
    stub["source"] = stub["source"].replace("(numbers)", "(numbers, weights)")
    stub["metadata"]["nbgrader"]["checksum"] = fingerprints.checksum(stub)
    bring("toy", toy.old, tmp_path)
    assert "without answers" in bring("toy", newer, tmp_path).line  # nothing written: the new stub
    assert stub["source"] in _sources(_read(tmp_path))
    _write(tmp_path, toy.old)
    _edited(tmp_path, toy_mean_answer="def mean(numbers): return 1")
    update = bring("toy", newer, tmp_path)
    assert update.renewed == ("toy_mean_answer",) and "look again at" in update.line
    assert "def mean(numbers): return 1" in _sources(_read(tmp_path))


def test_cells_that_were_split_locked_or_lost_their_ids_lose_nothing(toy, tmp_path):
    bring("toy", toy.old, tmp_path)
    notebook = _read(tmp_path)
    (place,) = (n for n, c in enumerate(notebook["cells"]) if c["id"] == "toy_double_answer")
    split = copy.deepcopy(notebook["cells"][place])
    notebook["cells"][place]["source"] = "def double(numbers):"
    notebook["cells"].insert(place + 1, split | {"id": "x1", "source": "    return 2"})
    notebook["cells"][place + 2]["source"] += "\nassert double([3]) == [6]  # mine"
    for cell in notebook["cells"]:
        del cell["id"]  # as some hosts do
    notebook |= {"nbformat_minor": 4}
    _write(tmp_path, notebook)
    bring("toy", toy.new, tmp_path)
    merged = _read(tmp_path)
    nbformat.validate(nbformat.from_dict(merged))
    text = "\n".join(_sources(merged))
    assert text.index("def double(numbers):") < text.index("    return 2") < text.index("# mine")
    changed = next(cell for cell in merged["cells"] if "# mine" in cell["source"])
    assert "nbgrader" not in changed["metadata"] and "editable" not in changed["metadata"]
    assert text.count("## 3. Why?") == 1  # recognised by its text


@pytest.mark.parametrize("beside", ["comment", "picture", "output"])
def test_what_stands_beside_a_cells_text_is_kept_with_the_former_file(toy, tmp_path, beside):
    """Comments of an extension, say, where the text of every cell is as it was released."""
    bring("toy", toy.old, tmp_path)
    notebook = _read(tmp_path)
    cells = {cell["id"]: cell for cell in notebook["cells"]}
    if beside == "comment":
        notebook["cells"][0]["metadata"]["comments"] = ["written"]
    elif beside == "picture":
        notebook["cells"][0]["attachments"] = {"a.png": {"image/png": "written"}}
    else:
        cells["toy_double"]["outputs"] = [
            {"output_type": "stream", "name": "stdout", "text": ["written"]}
        ]
    before = _write(tmp_path, notebook).read_bytes()
    assert bring("toy", toy.new, tmp_path).kept.read_bytes() == before


def test_a_notebook_that_was_only_opened_and_saved_leaves_no_copy(toy, tmp_path):
    bring("toy", toy.old, tmp_path)
    notebook = _read(tmp_path)
    notebook["metadata"]["language_info"] = {"name": "python", "version": "3.12.1"}
    _write(tmp_path, notebook)
    for newer in (toy.new, toy.old, toy.new):
        assert "without answers" in bring("toy", newer, tmp_path).line
    assert list(copy_of("toy", tmp_path).parent.iterdir()) == [copy_of("toy", tmp_path)]


def test_a_notebook_that_has_lost_its_mark_alone_stays_as_it_is(toy, tmp_path):
    bring("toy", toy.old, tmp_path)
    notebook = _read(tmp_path)
    del notebook["metadata"]["autograder"]
    path = _write(tmp_path, notebook)
    before = path.read_bytes()
    assert bring("toy", toy.old, tmp_path) == workspace.Update("toy", path)
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("lost", ["metadata", "names"])
def test_an_answer_is_known_by_what_it_defines_where_nothing_else_is_left(toy, tmp_path, lost):
    """Else the released stub would come behind it, and define the function anew."""
    bring("toy", toy.old, tmp_path)
    _edited(tmp_path, toy_double_answer="def double(numbers):\n    return mine")
    notebook = _read(tmp_path)
    for number, cell in enumerate(notebook["cells"]):
        if lost == "metadata":
            cell |= {"metadata": {}, "id": f"x{number}"}
        elif grading(cell):  # an older release called its tasks otherwise
            cell["metadata"]["nbgrader"]["grade_id"] = cell["id"] = f"old_{number}"
            sum_ = fingerprints.checksum(cell)
            cell["metadata"]["nbgrader"]["checksum"] = sum_ if "mine" not in cell["source"] else "x"
    _write(tmp_path, notebook)
    update = bring("toy", toy.new, tmp_path)
    assert update.n_answers == 1 and update.renewed == ()
    cells = {cell["id"]: cell["source"] for cell in _read(tmp_path)["cells"]}
    assert cells["toy_double_answer"] == "def double(numbers):\n    return mine"
    assert sum("def double" in source for source in cells.values()) == 1


@pytest.mark.parametrize(
    "save",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"{text}\n",
        lambda text: re.sub(r"[ \t]+$", "", text, flags=re.M),
    ],
)
def test_how_an_editor_ends_lines_is_no_answer_and_doubles_no_cell(toy, tmp_path, save):
    bring("toy", toy.old, tmp_path)
    _edited(tmp_path, toy_mean_answer="def mean(numbers): return mine")
    notebook = _read(tmp_path)
    for cell in notebook["cells"]:
        cell["source"] = save(cell["source"])
    _write(tmp_path, notebook)
    update = bring("toy", toy.new, tmp_path)
    assert (update.n_answers, update.n_own) == (1, 0)
    assert [cell["id"] for cell in _read(tmp_path)["cells"]] == [c["id"] for c in toy.new["cells"]]


@pytest.mark.parametrize("place", ["toy/toy-ada.ipynb", "former/former.ipynb"])
def test_who_gets_a_new_notebook_is_told_where_their_answers_are(toy, tmp_path, place):
    """They, or the course, have renamed the notebook: an empty one must not look like a loss."""
    bring("toy", toy.old, tmp_path)
    other = tmp_path / place
    other.parent.mkdir(exist_ok=True)
    copy_of("toy", tmp_path).rename(other)
    assert "answers" not in bring("toy", toy.new, tmp_path).line
    other.unlink()
    _edited(tmp_path, toy_mean_answer="mine")
    copy_of("toy", tmp_path).rename(other)
    assert f"answers to it are in {other}" in bring("toy", toy.new, tmp_path).line


def test_no_notebook_is_kept_aside_and_never_written_over(toy, tmp_path):
    path = copy_of("toy", tmp_path)
    path.parent.mkdir(parents=True)
    for n, damaged in enumerate((b"half of a noteb", b'{"cells": 3}', b"\xff\xfe")):
        path.write_bytes(damaged)
        os.utime(path, (1_700_000_000, 1_700_000_000))  # all within one minute
        update = bring("toy", toy.old, tmp_path)
        assert "no notebook" in update.line and update.kept.read_bytes() == damaged
        assert len(list(path.parent.iterdir())) == n + 2
    assert _sources(_read(tmp_path)) == _sources(toy.old)


@pytest.mark.parametrize("is_answered", [True, False])
def test_who_lost_a_notebook_is_led_to_the_copy_that_jupyter_has(toy, tmp_path, is_answered):
    path = _write(tmp_path, toy.old)
    if is_answered:
        _edited(tmp_path, toy_double_answer="answer")
    checkpoint = path.parent / ".ipynb_checkpoints" / "toy-checkpoint.ipynb"
    checkpoint.parent.mkdir()
    shutil.copy(path, checkpoint)
    path.write_bytes(b"")  # the disk was full when it was saved
    line = bring("toy", toy.old, tmp_path).line
    assert (str(checkpoint) in line) is is_answered


def test_a_link_to_a_notebook_elsewhere_stays_a_link(toy, tmp_path):
    bring("toy", toy.old, tmp_path / "cloud")
    _edited(tmp_path / "cloud", toy_mean_answer="mine")
    path = copy_of("toy", tmp_path / "work")
    path.parent.mkdir(parents=True)
    path.symlink_to(copy_of("toy", tmp_path / "cloud"))
    update = bring("toy", toy.new, tmp_path / "work")
    assert path.is_symlink() and "mine" in _sources(_read(tmp_path / "cloud"))
    assert update.kept.parent == tmp_path / "cloud" / "toy"


@pytest.mark.parametrize("link", ["", "toy", "toy/toy.ipynb"])
def test_where_a_drive_is_missing_nothing_is_written(toy, tmp_path, link):
    place = tmp_path / "work" / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(tmp_path / "drive" / "there")
    with pytest.raises(GraderError, match=f"{place} is a link to .*drive/there, which is not ther"):
        bring("toy", toy.old, tmp_path / "work")
    assert not (tmp_path / "drive").exists()


def test_what_an_editor_saves_at_that_very_moment_is_not_lost(toy, tmp_path, monkeypatch):
    bring("toy", toy.old, tmp_path)
    _edited(tmp_path, toy_mean_answer="first")
    merge, saved = workspace.merge, []

    def meanwhile(*notebooks):
        if not saved:
            saved.append(_edited(tmp_path, toy_double_answer="second"))
        return merge(*notebooks)

    monkeypatch.setattr(workspace, "merge", meanwhile)
    bring("toy", toy.new, tmp_path)
    assert {"first", "second"} <= set(_sources(_read(tmp_path)))


def test_a_notebook_that_is_closed_to_others_stays_closed_and_so_does_what_is_kept(toy, tmp_path):
    bring("toy", toy.old, tmp_path)
    _edited(tmp_path, toy_mean_answer="mine")
    copy_of("toy", tmp_path).chmod(0o600)
    update = bring("toy", toy.new, tmp_path)
    assert [path.stat().st_mode & 0o777 for path in (update.path, update.kept)] == [0o600] * 2


@pytest.mark.parametrize("modified", [-1e12, 1e12])  # some file systems hold such times
def test_a_clock_of_another_age_keeps_nobody_from_their_notebook(tmp_path, modified):
    assert keep_beside(tmp_path / "toy.ipynb", b"mine", modified).read_bytes() == b"mine"


@pytest.mark.parametrize("place", ["toy_mean_answer", "toy_double", "own"])
def test_half_a_character_goes_over_as_it_is(toy, tmp_path, place):
    """JavaScript cuts text between the halves, and JSON spells them."""
    bring("toy", toy.old, tmp_path)
    notebook = _read(tmp_path)
    half = {"cell_type": "markdown", "metadata": {}, "source": "a \ud83d", "id": "own"}
    if place == "own":
        notebook["cells"].insert(0, half)
    for cell in notebook["cells"]:
        cell["source"] = half["source"] if cell["id"] == place else cell["source"]
    _write(tmp_path, notebook)
    assert has_work(copy_of("toy", tmp_path).read_bytes())
    bring("toy", toy.new, tmp_path)
    assert half["source"] in _sources(_read(tmp_path))


def test_lists_within_lists_without_end_are_no_notebook(toy, tmp_path):
    path = copy_of("toy", tmp_path)
    path.parent.mkdir()
    path.write_text("[" * 200_000)
    assert "too deep" in bring("toy", toy.old, tmp_path).problem


def test_who_has_written_in_the_released_notebook_finds_it_beside_their_own(toy, tmp_path):
    """A newer edition, unpacked over this one, replaces the file in which they wrote."""
    released, work = copy_of("toy", tmp_path / "problem_sets"), tmp_path / "work"
    bring("toy", toy.old, work)
    bring("toy", toy.old, tmp_path / "problem_sets")
    assert rescue("toy", released, work) == ""
    answered = _edited(tmp_path / "problem_sets", toy_mean_answer="mine")
    for _ in range(2):
        assert "somebody has written in" in rescue("toy", released, work)
    (kept,) = set((work / "toy").iterdir()) - {copy_of("toy", work)}
    assert kept.read_bytes() == answered
    kept.unlink()
    shutil.copy(released, copy_of("toy", work))
    assert rescue("toy", released, work) == ""  # their own has it all


@pytest.mark.parametrize("n_whole", [0, 1])
def test_a_full_disk_changes_nothing_and_the_next_try_goes_on(toy, tmp_path, monkeypatch, n_whole):
    bring("toy", toy.old, tmp_path)
    before = _edited(tmp_path, toy_mean_answer="mine")
    written, replace = [], os.replace

    def full(source, target):
        written.append(target)
        if len(written) > n_whole:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(GraderError, match=r"No space left on device; .*toy\.ipynb is as it was"):
        bring("toy", toy.new, tmp_path)
    assert copy_of("toy", tmp_path).read_bytes() == before
    monkeypatch.undo()
    update = bring("toy", toy.new, tmp_path)
    assert update.kept.read_bytes() == before and "mine" in _sources(_read(tmp_path))
    assert len(list(update.path.parent.iterdir())) == 2  # not another copy for each try


def test_answers_written_in_the_folder_of_releases_are_taken_over(toy, tmp_path):
    found, work = copy_of("toy", tmp_path / "release"), tmp_path / "work"
    bring("toy", toy.old, tmp_path / "release")
    assert not has_work(found.read_bytes()) and take_over("toy", found, work) == ""
    assert found.exists() and not work.exists()
    answered = _edited(tmp_path / "release", toy_mean_answer="mine")
    line = take_over("toy", found, work)
    assert str(copy_of("toy", work)) in line and not found.exists()
    assert copy_of("toy", work).read_bytes() == answered
    # A second one, of somebody who has gone on here and there, stays beside the first.
    bring("toy", toy.old, tmp_path / "release")
    other = _edited(tmp_path / "release", toy_mean_answer="mine, too")
    assert "toy-" in take_over("toy", found, work) and not found.exists()
    contents = {path.read_bytes() for path in (work / "toy").iterdir()}
    assert contents == {answered, other}


def test_release_keeps_a_notebook_that_somebody_has_worked_in(toy, tmp_path):
    release.write(toy.set.notebooks, tmp_path)
    path = tmp_path / "release" / "toy" / "toy.ipynb"
    notebook = read_notebook(path.read_bytes())
    notebook["cells"][-1]["source"] += "# mine"
    path.write_text(json.dumps(notebook))
    before = path.read_bytes()
    made_before_lists = path.parents[2] / files.OWN_FILES
    made_before_lists.unlink()
    for _ in range(2):
        release.write(toy.set.notebooks, tmp_path)
        (kept,) = (tmp_path / "kept" / "release").iterdir()
        assert kept.read_bytes() == before and not has_work(path.read_bytes())
        # nbgrader hands out whatever lies beside a released notebook.
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("version", ["source", "release", "solution"])
def test_release_and_clean_keep_what_an_instructor_has_written_into_a_notebook(
    toy, tmp_path, version
):
    out = tmp_path / "_build" / "course"
    release.write(toy.set.notebooks, out)
    path = out / version / "toy" / "toy.ipynb"
    notebook = read_notebook(path.read_bytes())
    (answer,) = (cell for cell in notebook["cells"] if cell["id"] == "toy_double_answer")
    answer["source"] = f"# A remark for the tutors.\n{answer['source']}"
    path.write_text(json.dumps(notebook))
    before = path.read_bytes()
    assert any(str(path) in line for line in empty(tmp_path / "_build"))
    for _ in range(2):
        release.write(toy.set.notebooks, out)
        (kept,) = (out / "kept" / version).iterdir()
        assert kept.read_bytes() == before != path.read_bytes()
    (line,) = empty(tmp_path / "_build")
    assert str(kept) in line and kept.read_bytes() == before


@pytest.mark.parametrize("version", ["source", "solution"])
def test_release_replaces_no_notebook_that_it_has_not_written(toy, tmp_path, version):
    release.write(toy.set.notebooks, tmp_path)
    release.write(toy.set.notebooks, tmp_path)
    path = tmp_path / version / "toy" / "toy.ipynb"
    theirs = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
    path.write_text(nbformat.writes(theirs))
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.ipynb")}
    with pytest.raises(GraderError, match=f"{path} is not a notebook that `release` has written"):
        release.write(toy.set.notebooks, tmp_path)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*.ipynb")} == before


def test_rules_for_assistants_come_in_and_stay_as_a_student_has_them(tmp_path):
    """Newer ones replace older ones, but never what somebody wrote there."""
    released, work = tmp_path / "AGENTS.md", tmp_path / "work"
    assert bring_rules(released, work) == "" and not work.exists()  # the course has none
    released.write_text("# Tutor\n")
    assert str(work / "AGENTS.md") in bring_rules(tmp_path / "toy.ipynb", work)
    assert bring_rules(released, work) == ""
    released.write_text("# Tutor, do not solve\n")
    assert bring_rules(released, work)
    mine = work / "AGENTS.md"
    assert mine.read_text().startswith("# Tutor, do not solve\n")
    for own in ("# My own\n", mine.read_text() + "And mine.\n", "And mine.\n" + mine.read_text()):
        mine.write_text(own)
        assert bring_rules(released, work) == "" and mine.read_text() == own
    mine.write_bytes(b"\xff")
    with pytest.raises(GraderError, match="AGENTS"):
        bring_rules(released, work)


def test_released_notebooks_alone_need_nothing_but_python(toy, tmp_path):
    """As a student has them who was given no grader: its few files, and no package beside them."""
    root = Path(workspace.__file__).parents[2]
    authoring = ("__init__", "notebooks", "assistant_rules", "fingerprints", "newer_release")
    alone = ("__init__", "files", "records", "handed_out")
    for name in (*alone, *(f"authoring/{name}" for name in authoring)):
        (tmp_path / "autograder" / "authoring").mkdir(parents=True, exist_ok=True)
        shutil.copy(root / f"autograder/{name}.py", tmp_path / f"autograder/{name}.py")
    shutil.copy(workspace.__file__, tmp_path / "autograder" / "authoring")
    _write(tmp_path / "problem_sets", toy.old)
    (tmp_path / "problem_sets/toy/data.csv").write_text("1,2")
    command = [sys.executable, "-I", "-S", "-c"]
    command += [
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; sys.argv[1:] = ['problem_sets'];"
        "import runpy; runpy.run_module('autograder.authoring.workspace', run_name='__main__')"
    ]
    run = lambda: subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)  # noqa: E731
    assert "toy: put into work" in run().stdout
    assert (tmp_path / "work/toy/data.csv").read_text() == "1,2"
    _edited(tmp_path / "work", toy_mean_answer="mine")
    _write(tmp_path / "problem_sets", toy.new)
    assert "1 answer and 0 cells of yours went over" in run().stdout
    assert "mine" in _sources(_read(tmp_path / "work"))
