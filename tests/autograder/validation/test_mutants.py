"""One-operator mutants: which changes are made, and which are not."""

import ast

import pytest

from autograder.validation.mutants import mutants


def _changes(source: str) -> list[str]:
    return [mutant.change.split("  →  ")[1] for mutant in mutants(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", ["a <= b", "a >= b", "pass"]),
        ("x = a + b", ["x = a - b", "pass"]),
        ("x = a // b", ["x = a / b", "pass"]),
        ("x = a and b", ["x = a or b", "pass"]),
        ("x = not a", ["x = a", "pass"]),
        ("x = 3", ["x = 4", "x = 2", "pass"]),
        ("x = True", ["x = False", "pass"]),
        ("x = a in b", ["x = a not in b", "pass"]),
        ("x = a[i:]", ["x = a[:]", "x = a[i + 1:]", "x = a[i - 1:]", "pass"]),
        ("x = f(a, b)", ["x = f(b, a)", "pass"]),
        ("x = [a for a in b if a]", ["x = [a for a in b]", "pass"]),
        ("def f():\n    return x", ["return None"]),
        ("while a:\n    break", ["while not a:", "pass", "pass"]),
    ],
)
def test_mutants_change_one_operator(source, expected):
    assert sorted(_changes(source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        'def f(a: "x < 1") -> "1":\n    """Text of 1 + 1."""\n    pass',
        "x = max(a, b)",
        "x = f(a, a)",
        "def f():\n    return None",
        'x = "text"',
    ],
)
def test_mutants_leave_alone_what_does_not_compute(source):
    assert set(_changes(source)) <= {"pass"}


def test_mutants_leave_the_source_alone_and_differ_from_it():
    source = "def f(a, b=2):\n    if a > b:\n        a -= 1\n    return a[b:]\n"
    made = mutants(source)
    assert len(made) == len({mutant.change for mutant in made}) == len({m.source for m in made})
    for mutant in made:
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(source))


def test_mutants_number_equal_changes():
    changes = [mutant.change for mutant in mutants("x = 1\nx = 1\n")]
    assert "x = 1  →  x = 2" in changes
    assert "x = 1  →  x = 2  (place 2)" in changes
