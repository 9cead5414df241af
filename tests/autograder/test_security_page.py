"""Every promise of SECURITY.md names tests, and they exist."""

import ast
import re

import pytest

from tests.autograder.users import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| (`[^|]*\.py[^|]*) \|$", PAGE, flags=re.MULTILINE)


def test_there_are_promises():
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("promise", "tests"), ROWS, ids=[promise for promise, _ in ROWS])
def test_promise_is_held_by_tests_that_exist(promise, tests):
    named = re.findall(r"`([^`]+)`", tests)
    assert named
    for name in named:
        file, _, function = name.partition("::")
        tree = ast.parse((ROOT / "tests/autograder" / file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert function in functions or not function
