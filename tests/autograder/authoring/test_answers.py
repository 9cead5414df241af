"""Answers to try, as cells of one file: what is read, and what is refused."""

import re

import pytest

from autograder.authoring.answers import KnownAnswer, read_answers
from autograder.records import GraderError

TWO = """\
# %% right: the library adds
total = sum


# %% wrong: an empty list has no sum
# It asks for a first number.
# shows: []
import math

def total(numbers):
    return math.fsum([numbers[0], *numbers[1:]])
"""


@pytest.fixture
def write(tmp_path):
    """Writes a file of answers, and reads the folder of the set."""

    def write(text, name="answers/total.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return read_answers(tmp_path, ["total", "mean"])

    return write


def test_each_marked_cell_is_an_answer_that_runs_by_itself(write):
    found = write(TWO)
    assert found["mean"] == ()
    right, wrong = found["total"]
    assert right == KnownAnswer(True, "the library adds", "total = sum\n")
    assert (wrong.is_right, wrong.name) == (False, "an empty list has no sum")
    assert wrong.source.startswith("# It asks") and wrong.run_in({})["total"]([1, 2]) == 3
    assert "math" not in right.run_in({})


def test_set_without_answers_has_none(tmp_path):
    assert read_answers(tmp_path, ["total"]) == {"total": ()}


CELL = "# %% right: a\ntotal = sum\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("total = sum\n" + CELL, "1: 'total = sum' is not a mark; write '# %% right: name'"),
        (CELL + "# %% rihgt: b\ntotal = sum", "3: '# %% rihgt: b' is not a mark"),
        (CELL + "#%% right: b\ntotal = sum", "3: '#%% right: b' is not a mark"),
        (CELL + "# %% right:\ntotal = sum", "3: '# %% right:' is not a mark"),
        (CELL + CELL, "3: the name 'a' is used twice"),
        (CELL.replace("total = sum", "# to do"), "1: 'a' is empty"),
        (CELL.replace("total", "mean"), "1: 'a' defines no total"),
        (CELL.replace("= sum", "sum"), "1: 'a' is not Python: invalid syntax, line 1"),
        (CELL.replace("right", "wrong"), "1: 'a' shows nothing; name an input that gives it away"),
    ],
)
def test_file_that_is_not_as_it_should_be_names_line_and_rule(write, text, complaint):
    with pytest.raises(GraderError, match=rf"total\.py:{re.escape(complaint)}"):
        write(text)


@pytest.mark.parametrize("name", ["answers/sum.py", "answers/more/total.py"])
def test_file_that_is_about_no_item_is_refused(write, name):
    with pytest.raises(GraderError, match=f"{name}: it must lie in .*mean.py, total.py"):
        write(CELL, name)
