"""What statements do with a notebook's names."""

import ast

import pytest

from autograder.authoring.statements import makes, without_magics


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("with open('a') as file:\n    rows = list(file)", {"file", "rows"}),
        ("for one in rows:\n    seen.append(one)", {"one", "seen"}),
        ("seen['a'].append(1)", {"seen"}),
        ("seen['a'][0] = 1", {"seen"}),
        ("table.rows = 1", {"table"}),
        ("np.random.seed(0)", set()),  # a module
        ("print(seen)", set()),
        ("def f():\n    seen.append(1)", {"f"}),
    ],
)
def test_statement_makes_what_it_binds_or_changes(source, names):
    (statement,) = ast.parse(source).body
    assert makes(statement, modules={"np"}) == names


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("%matplotlib inline\nx = 1", "x = 1"),
        ("!ls\nx = 1", "x = 1"),
        ("x = 1  # as it stands", "x = 1  # as it stands"),
        ("%%bash\nls", ""),
        ("%%time\nx = 1", "\nx = 1"),
        ("x = ", "x = "),  # which is wrong, and to be said by whoever runs it
    ],
)
def test_cell_without_its_commands_to_jupyter(source, plain):
    assert without_magics(source) == plain
