import ast

import pytest

from autograder.authoring.assertions import Claim, read_claim, read_claims


def read(source):
    (statement,) = ast.parse(source).body
    return read_claim(statement)


CALL = "{'args': (3,), 'kwargs': {}}"


@pytest.mark.parametrize(
    ("source", "judge"),
    [
        ("assert f(3) == [0, 1, 4]", "equals"),
        ("assert {'a': -1} == f(3), 'words'", "equals"),
        ("assert_equal(f(3), 9)", "equals"),
        ("self.assertEqual(f(3), 9)", "equals"),
        # The defaults are those of each function's own documentation.
        ("assert abs(f(3) - 2.5) < 1e-3", "close(rtol=0.0, atol=0.001)"),
        ("assert abs(2.5 - f(3)) <= 1e-3", "close(rtol=0.0, atol=0.001)"),
        ("assert math.isclose(f(3), 2.5)", "close(rtol=1e-09, atol=0.0)"),
        ("assert isclose(f(3), 2.5, abs_tol=0.1)", "close(rtol=1e-09, atol=0.1)"),
        ("assert np.isclose(f(3), 2.5, rtol=0.1)", "close(rtol=0.1, atol=1e-08)"),
        ("assert np.allclose(f(3), [1, 2], 0.1, 0.2)", "close(rtol=0.1, atol=0.2)"),
        ("np.testing.assert_allclose(f(3), [1, 2])", "close(rtol=1e-07, atol=0.0)"),
        ("np.testing.assert_allclose(f(3), 1, err_msg='no')", "close(rtol=1e-07, atol=0.0)"),
        ("assert round(f(3), 2) == 2.53", "close(rtol=0.0, atol=0.005)"),
        ("assert f(3) == pytest.approx(2.5, abs=0.5)", "close(rtol=1e-06, atol=0.5)"),
        ("assert_almost_equal(f(3), 2.5, 2)", "close(rtol=0.0, atol=0.015)"),
        ("self.assertAlmostEqual(f(3), 2.5, places=2)", "close(rtol=0.0, atol=0.005)"),
        ("self.assertAlmostEqual(f(3), 2.5, delta=0.25)", "close(rtol=0.0, atol=0.25)"),
    ],
)
def test_simple_assertion_is_read(source, judge):
    assert read(source) == Claim("f", CALL, judge)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = f(3)", "it is no assertion"),
        ("print(f(3))", "it is no assertion"),
        ("assert f(3)", "no comparison of a call with a literal"),
        ("assert f(3) != 4", "no comparison of a call with a literal"),
        ("assert 1 < f(3) < 4", "no comparison of a call with a literal"),
        ("assert f(3) == g(4)", "what it compares with is no literal"),
        ("assert f(x) == 4", "it calls with more than literals"),
        ("assert f(*[3]) == 4", "it calls with more than literals"),
        ("assert f(3j) == 4", "it calls with more than literals"),
        ("assert f(**{'a': 3}) == 4", r"it calls with \*\*"),
        ("assert f(3)[0] == 4", "is no call of a function by its name"),
        ("assert model.f(3) == 4", "is no call of a function by its name"),
        ("assert 3 == 4", "is no call of a function by its name"),
        ("assert abs(f(3) - 4) < eps", "eps is no tolerance"),
        ("assert abs(f(3) - 4) < -1", "-1 is no tolerance"),
        ("assert np.isclose(f(3), 4, equal_nan=True)", "keyword equal_nan is not understood"),
        ("assert_almost_equal(f(3), 4, places=2)", "keyword places is not understood"),
        ("t.assertAlmostEqual(f(3), 4, 2, places=2, delta=1)", "keyword delta is not understood"),
    ],
)
def test_any_other_statement_is_refused_with_a_reason(source, reason):
    with pytest.raises(ValueError, match=reason):
        read(source)


def test_names_of_a_cell_stand_for_what_they_were_given():
    cell = """
'words'
import math
right = 1 / 3
n, found = 3, f(3)
n = 3
assert abs(right - f(n)) < 0.1 ** 2
found = f(n)
assert found == [0.5, -1]
n += 1
assert f(n) == 4
assert f(1 / 0) == 4
"""
    claims, others = read_claims(ast.parse(cell))
    assert claims == [
        Claim("f", CALL, "close(rtol=0.0, atol=0.010000000000000002)"),
        Claim("f", CALL, "equals"),
    ]
    assert [(line, why.partition(":")[0]) for line, why in others] == [
        (5, "it is no assertion"),
        (10, "it is no assertion"),
        (11, "it calls with more than literals"),
        (12, "it calls with more than literals"),
    ]


def test_name_whose_value_a_statement_may_change_is_forgotten():
    tests = ast.parse("x = [1]\nassert f(x) == 1\nx.append(2)\nassert f(x) == 3")
    claims, others = read_claims(tests)
    assert [claim.arguments for claim in claims] == ["{'args': ([1],), 'kwargs': {}}"]
    assert [line for line, _ in others] == [3, 4]
