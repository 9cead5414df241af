"""The folder that is mounted into the sandbox needs nothing else of ours."""

import ast
import sys
from pathlib import Path

import pytest

import autograder.inside

MODULES = sorted(Path(autograder.inside.__file__).parent.glob("*.py"))
# Torch takes a second to load and not every course needs it; IPython only the worker does.
AT_ONCE, LATER = {"numpy"}, {"numpy", "torch", "IPython"}


def imported(nodes):
    """Return the top-level packages that these statements import, ours as `autograder.folder`."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import could lead out of the folder"
            names.add(str(node.module))
    parts = [name.split(".") for name in names]
    return {".".join(each[: 2 if each[0] == "autograder" else 1]) for each in parts}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_module_imports_only_the_standard_library_numpy_and_its_own_folder(path):
    tree = ast.parse(path.read_text())
    own = set(sys.stdlib_module_names) | {"autograder.inside"}
    assert imported(tree.body) <= own | AT_ONCE
    assert imported(ast.walk(tree)) <= own | LATER


def test_every_part_is_looked_at():
    assert {path.stem for path in MODULES} >= {"worker", "wire", "isolation", "seccomp", "landlock"}
