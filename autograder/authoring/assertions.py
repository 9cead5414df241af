"""Read simple assertions: a function, called with literals, gives a literal or something close.

What is read becomes a case of a check; of everything else, a reason in words says why it is not.
"""

import ast
import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.inside import wire
from autograder.inside.messages import WireError

# What is close by default, relative and absolute, as the documentation of each function says.
_CLOSE = {
    "math.isclose": (1e-9, 0.0),
    "allclose": (1e-5, 1e-8),
    "isclose": (1e-5, 1e-8),
    "assert_allclose": (1e-7, 0.0),
    "approx": (1e-6, 1e-12),
}
_EQUAL = ("assert_equal", "assertEqual", "assert_array_equal")
_ALMOST = ("assert_almost_equal", "assertAlmostEqual")  # to so many decimals, 7 if not said
_TOLERANCES = {"rtol": 0, "rel_tol": 0, "rel": 0, "atol": 1, "abs_tol": 1, "abs": 1}


@dataclass(frozen=True)
class Claim:
    """A call and how its result is compared with what is right.

    Attributes:
        function: the name that is called.
        arguments: the call's, as Python writes them: `{"args": (3,), "kwargs": {}}`.
        judge: source of the judge that compares in the same way.
    """

    function: str
    arguments: str
    judge: str


def read_claims(tests: ast.Module) -> tuple[list[Claim], list[tuple[int, str]]]:
    """Read the assertions of a test cell, with what it has given a name put in the name's place.

    Returns:
        Those that can be read; and of every other statement that tests something, its line and why
        it cannot.
    """
    claims, others = [], []
    names: dict[str, ast.expr] = {}
    for statement in tests.body:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                continue  # it tests nothing
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names[name] = _Named(names).visit(copy.deepcopy(value))
                continue
        try:
            claims.append(read_claim(_Named(names).visit(copy.deepcopy(statement))))
        except ValueError as error:
            others.append((statement.lineno, f"{error}: {ast.unparse(statement)}"))
            for node in ast.walk(statement):
                if isinstance(node, ast.Name):
                    names.pop(node.id, None)  # it may be, or hold, something else from here on
    return claims, others


class _Named(ast.NodeTransformer):
    """Puts what names stand for in their place."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name that is known."""
        known = self._names.get(node.id, node) if isinstance(node.ctx, ast.Load) else node
        return copy.deepcopy(known)


def read_claim(statement: ast.stmt) -> Claim:
    """Read one assertion.

    Raises:
        ValueError: if it is none of those that can be read; says what it is.
    """
    if isinstance(statement, ast.Assert):
        test = statement.test
    elif isinstance(statement, ast.Expr) and _last(statement.value).startswith("assert"):
        test = statement.value
    else:
        raise ValueError("it is no assertion")
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return _equal(left, right)
        case ast.Compare(
            left=ast.Call(
                func=ast.Name(id="abs"), args=[ast.BinOp(left=left, op=ast.Sub(), right=right)]
            ),
            ops=[ast.Lt() | ast.LtE()],
            comparators=[limit],
        ):
            return _claim(left, right, _close(0.0, _number(limit)))
        case ast.Call(args=[left, right, *more], keywords=keywords):
            given = {str(keyword.arg): keyword.value for keyword in keywords}
            given.pop("err_msg", None), given.pop("msg", None)
            name = _last(test)
            if name in _EQUAL and not more and not given:
                return _claim(left, right, "equals")
            if name in _ALMOST:
                return _claim(left, right, _close(0.0, _almost(name, more, given)))
            if name in _CLOSE:
                return _claim(left, right, _close(*_tolerances(_name(test), more, given)))
    raise ValueError("it is no comparison of a call with a literal, by == or by closeness")


def _almost(name: str, more: Sequence[ast.expr], given: Mapping[str, ast.expr]) -> float:
    """By how much two results may differ for unittest's function, or for NumPy's."""
    if name == "assertAlmostEqual" and not more and given.keys() == {"delta"}:
        return _number(given["delta"])
    word = "places" if name == "assertAlmostEqual" else "decimal"
    if unknown := ", ".join(sorted(given.keys() - {word})):
        raise ValueError(f"its keyword {unknown} is not understood")
    if len(more) > 1:
        raise ValueError("its arguments are not understood")
    decimals = [*more, *given.values(), ast.Constant(7)][0]
    return (0.5 if word == "places" else 1.5) * 10 ** -_number(decimals)


def _equal(left: ast.expr, right: ast.expr) -> Claim:
    """Read `a == b`, of which one side may round, or say how close the other must be."""
    for one, other in ((left, right), (right, left)):
        if _name(one) == "round" and isinstance(one, ast.Call) and len(one.args) == 2:
            return _claim(one.args[0], other, _close(0.0, 0.5 * 10 ** -_number(one.args[1])))
        if _last(one) == "approx" and isinstance(one, ast.Call):
            given = {str(keyword.arg): keyword.value for keyword in one.keywords}
            return _claim(one.args[0], other, _close(*_tolerances("approx", one.args[1:], given)))
    return _claim(left, right, "equals")


def _claim(left: ast.expr, right: ast.expr, judge: str) -> Claim:
    if not _is_literal(right):
        left, right = right, left
    if not _is_literal(right):
        raise ValueError("what it compares with is no literal")
    if not isinstance(left, ast.Call) or not isinstance(left.func, ast.Name):
        raise ValueError("what it compares is no call of a function by its name")
    try:
        args = tuple(_value(arg) for arg in left.args)
        kwargs = {str(word.arg): _value(word.value) for word in left.keywords}
        wire.encode({"args": args, "kwargs": kwargs})
    except (ValueError, WireError):
        raise ValueError("it calls with more than literals") from None
    if any(keyword.arg is None for keyword in left.keywords):
        raise ValueError("it calls with **")
    return Claim(left.func.id, repr({"args": args, "kwargs": kwargs}), judge)


def _tolerances(
    function: str, more: list[ast.expr], given: Mapping[str, ast.expr]
) -> tuple[float, float]:
    is_pythons = function in ("isclose", "math.isclose")
    short = "math.isclose" if is_pythons else function.rpartition(".")[2]
    found = list(_CLOSE[short])
    for place, value in enumerate(more[:2]):
        found[place] = _number(value)
    for keyword, value in given.items():
        if keyword not in _TOLERANCES:
            raise ValueError(f"its keyword {keyword} is not understood")
        found[_TOLERANCES[keyword]] = _number(value)
    return found[0], found[1]


def _close(rtol: float, atol: float) -> str:
    return f"close(rtol={rtol!r}, atol={atol!r})"


def _number(node: ast.expr) -> float:
    value: Any = _value(node) if _is_literal(node) else None
    if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{ast.unparse(node)} is no tolerance that can be read")
    return value


_CONSTANT = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Load),
    *(ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop),
)


def _is_literal(node: ast.expr) -> bool:
    """Whether it is made of literals alone, with arithmetic: 1 / 3, [0.5, -1]."""
    try:
        _value(node)
    except ValueError:
        return False
    return True


def _value(node: ast.expr) -> Any:
    if not all(isinstance(part, _CONSTANT) for part in ast.walk(node)):
        raise ValueError("it is no literal")
    try:
        return eval(compile(ast.Expression(node), "<literal>", "eval"), {"__builtins__": {}})
    except Exception as error:  # 1 / 0, "a" + 1, a list as a key
        raise ValueError(f"it is {type(error).__name__}") from None


def _last(node: ast.expr) -> str:
    return _name(node).rpartition(".")[2]


def _name(node: ast.expr) -> str:
    """Return what is called, such as `np.testing.assert_allclose`; empty if it is no name."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""
