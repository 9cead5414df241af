import copy
import json
import shutil
import time
import warnings

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.authoring.notebooks import as_text, grading
from autograder.authoring.release import ReleasedSet
from autograder.intake.repair import repair
from autograder.records import SubmissionRefused

DOUBLE = "def double(numbers):\n    return [2 * n for n in numbers]"
MEAN = "def mean(numbers):\n    return sum(numbers) / len(numbers)"


@pytest.fixture
def released(toy_course):
    return ReleasedSet(toy_course, "toy")


@pytest.fixture
def answered(released):
    """A diligent student's notebook, free to be damaged."""
    notebook = copy.deepcopy(released.notebooks.student)
    _cell(notebook, "toy_double_answer").source = DOUBLE
    _cell(notebook, "toy_mean_answer").source = MEAN
    _cell(notebook, "toy_essay").source = "Because I say so."
    return notebook


def _cell(notebook, name):
    return next(cell for cell in notebook.cells if cell.id == name)


def _repair(notebook, released):
    text = notebook if isinstance(notebook, str) else as_text(notebook)
    return repair(text.encode(), released)


def _runs(repaired):
    return [cell for cell in repaired.cells if cell in (DOUBLE, MEAN, "import math")]


def test_untouched_notebook_is_repaired_by_nothing(released, answered):
    repaired = _repair(answered, released)
    assert repaired.reasons == ()
    assert list(repaired.cells) == ["import math", DOUBLE, MEAN]
    assert dict(repaired.answers) == {"toy_double": DOUBLE, "toy_mean": MEAN}
    assert repaired.blank == frozenset()


@pytest.fixture
def other(released):
    """Another set of the same course."""
    folder = released.course.folder
    shutil.copytree(folder / "toy", folder / "game")
    for path in (folder / "game").glob("*.py"):
        path.write_text(path.read_text().replace("toy_", "game_").replace('"toy"', '"game"'))
    return ReleasedSet(released.course, "game")


def test_notebook_of_another_set_is_named(answered, other):
    for cell in answered.cells:
        if cell.id.endswith("_answer"):
            cell.source = "def another_function():\n    return 1"
    with pytest.raises(SubmissionRefused, match="this is the notebook of toy, not of game"):
        _repair(answered, other)


def test_answers_written_into_another_sets_notebook_count(answered, other):
    assert dict(_repair(answered, other).answers) == {"game_double": DOUBLE, "game_mean": MEAN}


def test_visible_tests_and_workshop_cells_are_not_run(released, answered):
    cells = "\n".join(_repair(answered, released).cells)
    assert "assert" not in cells
    assert "workshop" not in cells


def test_stub_counts_as_blank(released):
    assert _repair(released.notebooks.student, released).blank == {
        "toy_double",
        "toy_mean",
        "toy_essay",
    }


def test_deleted_locked_cell_is_put_back_where_it_was(released, answered):
    answered.cells = [c for c in answered.cells if c.id not in ("toy_imports", "toy_double")]
    repaired = _repair(answered, released)
    assert _runs(repaired) == ["import math", DOUBLE, MEAN]
    assert repaired.reasons == (
        "2 locked cells were missing; they were put back: toy_imports, toy_double",
    )
    order = [cell.id for cell in repaired.notebook.cells]
    assert order == [cell.id for cell in released.notebooks.student.cells]


def test_changed_locked_cell_is_put_back(released, answered):
    _cell(answered, "toy_imports").source = "import math\nmath.nan = 0"
    repaired = _repair(answered, released)
    assert _runs(repaired) == ["import math", DOUBLE, MEAN]
    assert repaired.reasons == ("the locked cell toy_imports was changed; it was put back",)


def test_moved_locked_cell_is_put_back(released, answered):
    moved = _cell(answered, "toy_imports")
    answered.cells.remove(moved)
    answered.cells.append(moved)
    repaired = _repair(answered, released)
    assert _runs(repaired) == ["import math", DOUBLE, MEAN]
    assert repaired.reasons == ("the locked cell toy_imports was moved; it was put back",)


def test_copied_cells_are_harmless_and_noticed(released, answered):
    second = copy.deepcopy(_cell(answered, "toy_double_answer"))
    second.id, second.source = "copy-1", DOUBLE.replace("2 *", "2.0 *")
    test = copy.deepcopy(_cell(answered, "toy_double"))
    test.id = "copy-2"
    answered.cells += [second, test]
    repaired = _repair(answered, released)
    assert repaired.cells[-1] == second.source
    assert repaired.answers["toy_double"] == f"{DOUBLE}\n\n{second.source}"
    assert set(repaired.reasons) == {
        "several cells are named toy_double_answer; all were used, in order",
        "a copy of the locked cell toy_double was left out",
    }
    ids = [cell.id for cell in repaired.notebook.cells]
    assert len(ids) == len(set(ids))


def test_answer_in_a_new_cell_counts(released, answered):
    answered.cells = [c for c in answered.cells if c.id != "toy_double_answer"]
    answered.cells.insert(3, nbformat.v4.new_code_cell(DOUBLE))
    repaired = _repair(answered, released)
    assert repaired.answers["toy_double"] == DOUBLE
    assert "toy_double" not in repaired.blank
    assert repaired.reasons == ("the answer cell toy_double_answer is missing",)


def test_answer_split_over_cells_runs_whole(released, answered):
    _cell(answered, "toy_double_answer").source = "FACTOR = 2"
    own = nbformat.v4.new_code_cell(
        "def double(numbers):\n    return [FACTOR * n for n in numbers]"
    )
    place = answered.cells.index(_cell(answered, "toy_double_answer"))
    answered.cells.insert(place + 1, own)
    repaired = _repair(answered, released)
    assert repaired.cells[1:3] == ("FACTOR = 2", own.source)
    assert repaired.answers["toy_double"] == f"FACTOR = 2\n\n{own.source}"


def test_answer_written_into_a_locked_cell_still_counts(released, answered):
    _cell(answered, "toy_double_answer").source = ""
    _cell(answered, "toy_double").source += "\n" + DOUBLE
    repaired = _repair(answered, released)
    assert DOUBLE in repaired.cells[1]
    assert any("holds an answer" in reason for reason in repaired.reasons)


def test_lost_metadata_is_found_again_by_cell_id_or_text(released, answered):
    for cell in answered.cells:
        cell.metadata = {}
    repaired = _repair(answered, released)
    assert repaired.cells == ("import math", DOUBLE, MEAN)
    assert repaired.reasons == ("the marks of 6 cells were changed; that has no effect",)
    for index, cell in enumerate(answered.cells):
        cell.id = f"other-{index}"
    repaired = _repair(answered, released)
    assert repaired.cells == ("import math", DOUBLE, MEAN)
    assert dict(repaired.answers) == {"toy_double": DOUBLE, "toy_mean": MEAN}
    texts = [cell.source for cell in repaired.notebook.cells]
    assert texts == [cell.source for cell in _repair(answered, released).notebook.cells]


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("toy_double", "points", 1000),
        ("toy_double", "grade", False),
        ("toy_double_answer", "grade", True),
        ("toy_double_answer", "locked", True),
    ],
)
def test_forged_marks_have_no_effect(released, answered, name, key, value):
    grading(_cell(answered, name))[key] = value
    repaired = _repair(answered, released)
    assert repaired.cells == ("import math", DOUBLE, MEAN)
    assert repaired.reasons == (f"the marks of cell {name} were changed; that has no effect",)
    assert grading(_cell(repaired.notebook, name)) == grading(
        _cell(released.notebooks.student, name)
    )


def test_notebook_of_an_older_release_is_no_student_s_doing(toy_course, released, answered):
    """The instructor has changed a test, points, the order, and added a locked cell since."""
    path = toy_course.source("toy")
    tests = [cell.source for cell in answered.cells if cell.id == "toy_double"]
    text = path.read_text().replace(tests[0].splitlines()[0], f"# Newer.\n{tests[0]}", 1)
    text = text.replace('"points": 10', '"points": 20').replace('"points": 30', '"points": 40')
    newer = text.replace("toy_imports", "toy_setup")
    path.write_text(newer)
    today = ReleasedSet(toy_course, "toy")
    assert _repair(answered, today).reasons == ()
    grading(_cell(answered, "toy_mean"))["points"] = 90  # which a student has done
    assert _repair(answered, today).reasons == (
        "the marks of cell toy_mean were changed; that has no effect",
    )


def test_answer_that_bears_a_locked_cell_s_mark_is_run_all_the_same(released, answered):
    cell = _cell(answered, "toy_double_answer")
    cell.metadata = copy.deepcopy(_cell(answered, "toy_mean").metadata)
    repaired = _repair(answered, released)
    assert DOUBLE in repaired.cells
    assert any("run as the student's own" in reason for reason in repaired.reasons)


def test_answer_turned_into_text_is_read_as_code(released, answered):
    cells = json.loads(as_text(answered))
    for cell in cells["cells"]:
        if cell["id"] == "toy_double_answer":
            cell["cell_type"] = "markdown"
    repaired = _repair(json.dumps(cells), released)
    assert DOUBLE in repaired.cells
    assert repaired.reasons == (
        "the answer toy_double_answer was a markdown cell; it was read as code",
    )


@pytest.mark.parametrize("tags", [["workshop", 3], ["workshop", "workshop"], ["workshop", {}]])
def test_repaired_notebook_is_valid_whatever_a_student_has_tagged(released, answered, tags):
    text = json.loads(as_text(answered))
    for cell in text["cells"]:
        cell["metadata"] = {**cell["metadata"], "tags": tags, "collapsed": "perhaps"}
    own = {"cell_type": "code", "source": "x = 1", "metadata": {"tags": tags}}
    text["cells"].append({**own, "outputs": [3], "execution_count": "many", "id": "my cell!"})
    nbformat.validate(_repair(json.dumps(text), released).notebook)


def test_other_kernel_is_noticed_and_run_as_python(released, answered):
    answered.metadata.kernelspec = {"name": "ir", "display_name": "R", "language": "R"}
    repaired = _repair(answered, released)
    assert repaired.cells == ("import math", DOUBLE, MEAN)
    assert repaired.reasons == ("the notebook is set to the language 'R'; it was run as Python",)


def test_own_environment_s_name_is_no_problem(released, answered):
    answered.metadata.kernelspec = {"name": "conda-nlp", "display_name": "x", "language": "python"}
    assert _repair(answered, released).reasons == ()


def test_old_format_is_converted(released, answered):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = nbformat.writes(nbformat.convert(answered, 3), version=3)
    repaired = _repair(old, released)
    assert DOUBLE in repaired.cells and MEAN in repaired.cells
    assert repaired.reasons[0] == "the notebook had the old format 3; it was converted"
    assert dict(repaired.answers) == {"toy_double": DOUBLE, "toy_mean": MEAN}


def test_damaged_cells_are_left_out_one_by_one(released, answered):
    loaded = json.loads(as_text(answered))
    loaded["cells"] += [
        None,
        {"cell_type": "code"},
        {"cell_type": "code", "source": 3},
        {"cell_type": "cell", "source": ""},
        {"cell_type": "code", "source": "x" * (1 << 21)},
    ]
    loaded["cells"].append({"cell_type": "code", "source": ["y = ", "1"], "metadata": "none"})
    repaired = _repair(json.dumps(loaded), released)
    assert len([reason for reason in repaired.reasons if "is damaged" in reason]) == 5
    assert repaired.cells[-1] == "y = 1"


def test_notebook_of_thousands_of_damaged_cells_has_as_many_reasons_as_anybody_reads(
    released, answered
):
    loaded = json.loads(as_text(answered))
    loaded["cells"] = [*[None] * 1_900, *loaded["cells"][1:]]
    locked = [cell for cell in loaded["cells"][1_900:] if cell["metadata"].get("nbgrader")]
    loaded["cells"].remove(locked[0])
    reasons = _repair(json.dumps(loaded), released).reasons
    assert reasons[:2] == tuple(f"cell {n} is damaged; it was left out" for n in (1, 2))
    assert len(reasons) == 22 and reasons[20] == "1880 more like these"
    assert "missing" in reasons[21]  # which concerns an answer or a test, and comes once


def test_answer_in_thousands_of_cells_is_put_together_once(released, answered):
    """Each cell was added to all before it: 19 s of CPU for a notebook of 16 MB."""
    loaded = json.loads(as_text(answered))
    source = "\n\nmean = double = 1\ndouble = mean\n#" + "x" * 7_900 + "\n\n"
    cell = {"cell_type": "code", "metadata": {}, "source": source}
    text = json.dumps(loaded | {"cells": [*loaded["cells"], *[cell] * 1_900]})
    started = time.process_time()
    json.loads(text)
    read = time.process_time()
    double = _repair(text, released).answers["toy_double"]
    assert time.process_time() - read < 20 * max(read - started, 0.01)
    assert double.startswith(f"{DOUBLE}\n\n\n\nmean = double = 1\n")
    assert double.count("x\n\n\n\nmean") == (1 << 20) // len(source)
    assert len(double) == 1 << 20  # each of the targets had all of the notebook


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"  \n", "the file is empty"),
        (b"hello", "not JSON"),
        (b"[1, 2]", "a JSON list, not a notebook"),
        (b'"text"', "a JSON str, not a notebook"),
        (b"null", "a JSON NoneType, not a notebook"),
        (b'{"cells": []}', "has no cells"),
        (b'{"nbformat": 4}', "no list of cells"),
        (b'{"nbformat": 4, "cells": {}}', "no list of cells"),
        (b'{"nbformat": 3, "worksheets": 7}', "old format 3, but no worksheets"),
        (b'{"nbformat": 3, "worksheets": []}', "has no cells"),
        (b'{"nbformat": 4, "cells": [\xff]}', "not UTF-8 text"),
        (
            b'{"nbformat": ' + b"9" * 10_000 + b"}",
            "holds a number of more than 4300 digits; open it",
        ),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 300_000, "more than 200000 lists"),
        (b'{"cells": [' + b"{}," * 3000 + b"{}]}", "has 3001 cells; at most 2000"),
    ],
)
def test_repair_rejects_what_is_no_notebook(released, data, reason):
    with pytest.raises(SubmissionRefused, match=reason):
        repair(data, released)


def test_byte_order_mark_and_windows_line_ends_are_no_problem(released, answered):
    _cell(answered, "toy_double_answer").source = DOUBLE.replace("\n", "\r\n")
    data = b"\xef\xbb\xbf" + as_text(answered).encode()
    assert repair(data, released).cells == ("import math", DOUBLE, MEAN)


def test_half_a_surrogate_pair_becomes_harmless(released, answered):
    text = as_text(answered).replace("Because I say so.", "\\ud800")
    assert b"\\ud800" not in as_text(_repair(text, released).notebook).encode()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
_CELL = st.fixed_dictionaries(
    {},
    optional={
        "cell_type": st.sampled_from(["code", "markdown", "raw", "heading", "x"]) | _JSON,
        "source": _JSON | st.just(DOUBLE),
        "id": st.sampled_from(["toy_double", "toy_mean_answer", "own-1", ""]) | _JSON,
        "metadata": _JSON
        | st.fixed_dictionaries(
            {
                "nbgrader": _JSON
                | st.fixed_dictionaries(
                    {"grade_id": st.sampled_from(["toy_double", "toy_double_answer"]) | _JSON}
                ),
                "tags": _JSON | st.just(["workshop"]),
            }
        ),
    },
)


@settings(max_examples=200)
@given(cells=st.lists(_CELL, max_size=8), version=st.integers(-1, 6) | _JSON, metadata=_JSON)
def test_repair_never_fails_in_another_way(request, cells, version, metadata):
    """Whatever JSON arrives, it is repaired into a valid notebook or refused with a reason."""
    if not hasattr(request.config, "toy_released"):
        course = request.getfixturevalue("toy_course")
        request.config.toy_released = ReleasedSet(course, "toy")
    released = request.config.toy_released
    sheets = [{"cells": cells}] if version == 3 else cells
    notebook = {"nbformat": version, "metadata": metadata, "cells": cells, "worksheets": sheets}
    data = json.dumps(notebook).encode()
    try:
        repaired = repair(data, released)
    except SubmissionRefused:
        return
    nbformat.validate(repaired.notebook)
    graded = [cell.id for cell in repaired.notebook.cells if grading(cell).get("grade")]
    assert graded == ["toy_double", "toy_mean", "toy_essay"]
