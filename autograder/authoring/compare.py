"""Say whether two plain values agree, in words that do not give the expected one away.

Both sides have travelled through `inside.wire`, so they are plain data of exact types: None, bool,
int, float, str, bytes, list, tuple, dict, set, frozenset, NumPy arrays and tensors. A value
of any other type never arrives here, and no method of a student's class is ever called.

Messages are read by students. They name kinds, dtypes, axes and directions, in a closed vocabulary,
and never a number, text or key: not an expected one, and none that the answer chose. Whoever may
choose a number of his own feedback (a size, a count of wrong values, the place of the first) can
carry a hidden input out through it.
"""

import math
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Agreement = Callable[[Any, Any, dict[str, Any]], str | None]

_NAMES = {
    "NoneType": "None",
    "bool": "True or False",
    "int": "a whole number",
    "float": "a float",
    "str": "a string",
    "bytes": "a bytes object",
    "list": "a list",
    "tuple": "a tuple",
    "dict": "a dict",
    "set": "a set",
    "frozenset": "a frozenset",
    "ndarray": "a NumPy array",
    "Tensor": "a tensor",
}
_KINDS = {"b": "booleans", "i": "whole numbers", "u": "whole numbers", "f": "floats"}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
# Rounding in a handful of operations; a coarser tolerance is the author's decision.
_EPS_FACTOR = 8.0


@dataclass
class _Tally:
    """How many leaves were compared, how the wrong ones differ, and where they are.

    Attributes:
        member: the name of the innermost member of a tuple that is being compared; empty for none.
        places: the members that hold what is wrong.
    """

    total: int = 0
    too_large: int = 0
    too_small: int = 0
    not_numbers: int = 0
    only_true: int = 0
    only_false: int = 0
    other: int = 0
    member: str = ""
    places: set[str] = field(default_factory=set)

    @property
    def different(self) -> int:
        numbers = self.too_large + self.too_small + self.not_numbers
        return numbers + self.only_true + self.only_false + self.other

    def describe(self) -> str:
        if self.different == self.only_true:
            how = "True where False is expected"
        elif self.different == self.only_false:
            how = "False where True is expected"
        elif self.different == self.too_large:
            how = "too large"
        elif self.different == self.too_small:
            how = "too small"
        elif self.different == self.not_numbers:
            how = "nan"
        else:
            how = "wrong"
        if self.total == 1:
            return f"the value is {how}"
        share = self.different / self.total
        many = "all" if share == 1 else "most" if share > 0.5 else "some"
        said = f"{many} of the values are {how}"
        if self.different == 1:
            said = f"one of the values is {how}"
        place = next(iter(self.places)) if len(self.places) == 1 else ""
        return f"{said} in {place}" if place else said


class _DifferenceError(Exception):
    """The structure differs; the text is for the student."""


@dataclass(frozen=True)
class _Comparison:
    rtol: float
    atol: float
    equal_nan: bool
    exact_dtype: bool
    item: str = "item"
    members: tuple[str, ...] = ()

    def walk(self, observed: Any, expected: Any, where: str, tally: _Tally) -> None:
        """Compare one node; structure by exception, numbers by tally."""
        if type(expected) is float and type(observed) is int:
            observed = _as_float(observed)
        if type(observed) is not type(expected):
            raise _DifferenceError(
                f"{where} is {_name(observed)} where {_name(expected)} is expected"
            )
        n_before, is_leaf = tally.different, True
        match expected:
            case list() | tuple():
                is_leaf = self._sequence(observed, expected, where, tally)
            case dict():
                is_leaf = False
                self._mapping(observed, expected, where, tally)
            case set() | frozenset():
                _same_members(observed, expected, where, "element")
                tally.total += 1
            case float():
                self._number(observed, expected, tally)
            case int() if type(expected) is int:
                _tally_exact(observed, expected, tally)
            case bool():
                tally.total += 1
                tally.only_true += observed and not expected
                tally.only_false += expected and not observed
            case None | str() | bytes():
                tally.total += 1
                tally.other += observed != expected
            case _:
                self._arrays(observed, expected, where, tally)
        if is_leaf and tally.different > n_before:
            tally.places.add(tally.member)

    def _sequence(self, observed: Any, expected: Any, where: str, tally: _Tally) -> bool:
        """Return whether all items were compared at once."""
        if len(observed) != len(expected):
            raise _DifferenceError(f"{where} has too {_amount(observed, expected)} items")
        kinds = {*map(type, observed), *map(type, expected)}
        if kinds == {float}:
            self._numbers(np.array(observed), np.array(expected), self.rtol, tally)
            return True
        if (kinds == {int} or kinds == {str}) and observed == expected:
            tally.total += len(expected)
            return True
        is_members = type(expected) is tuple and len(expected) <= len(ORDINALS)
        if is_members and len(expected) == len(self.members):
            names = [f"the {member} of {where}" for member in self.members]
        elif is_members:
            names = [f"the {ordinal} item of {where}" for ordinal in ORDINALS[: len(expected)]]
        else:
            names = [f"{_a(self.item)} of {where}"] * len(expected)
        for ours, theirs, name in zip(observed, expected, names, strict=True):
            outer = tally.member
            tally.member = name if is_members else outer
            self.walk(ours, theirs, name, tally)
            tally.member = outer
        return False

    def _mapping(self, observed: Any, expected: Any, where: str, tally: _Tally) -> None:
        _same_members(observed, expected, where, "key")
        tally.total += not expected
        name = f"a value of {where}"
        for key, theirs in expected.items():
            self.walk(observed[key], theirs, name, tally)

    def _arrays(self, observed: Any, expected: Any, where: str, tally: _Tally) -> None:
        if tuple(observed.shape) != tuple(expected.shape):
            raise _DifferenceError(_shapes(observed.shape, expected.shape, where))
        dtypes = _dtype_name(observed), _dtype_name(expected)
        (ours, our_eps), (theirs, their_eps) = _as_array(observed), _as_array(expected)
        kinds = _KINDS.get(ours.dtype.kind, "complex"), _KINDS.get(theirs.dtype.kind, "complex")
        if kinds[0] != kinds[1]:
            raise _DifferenceError(f"{where} holds {kinds[0]} where {kinds[1]} are expected")
        if self.exact_dtype and dtypes[0] != dtypes[1]:
            raise _DifferenceError(f"{where} is of dtype {dtypes[0]} where {dtypes[1]} is expected")
        if kinds[0] == "complex":
            ours, theirs = _split_complex(ours), _split_complex(theirs)
        elif kinds[0] != "floats":
            tally.total += theirs.size
            if kinds[0] == "booleans":
                tally.only_true += int(np.count_nonzero(ours > theirs))
                tally.only_false += int(np.count_nonzero(ours < theirs))
                return
            tally.too_large += int(np.count_nonzero(ours > theirs))
            tally.too_small += int(np.count_nonzero(ours < theirs))
            return
        self._numbers(ours, theirs, max(self.rtol, _EPS_FACTOR * max(our_eps, their_eps)), tally)

    def _number(self, observed: float, expected: float, tally: _Tally) -> None:
        """Do as `_numbers` for one float: twenty times faster for dicts of many."""
        tally.total += 1
        if observed == expected or (
            math.isfinite(observed)
            and math.isfinite(expected)
            and abs(observed - expected) <= self.atol + self.rtol * abs(expected)
        ):
            return
        if math.isnan(observed):
            tally.not_numbers += not (self.equal_nan and math.isnan(expected))
        elif math.isnan(expected):
            tally.other += 1
        else:
            tally.too_large += observed > expected
            tally.too_small += observed < expected

    def _numbers(self, observed: Any, expected: Any, rtol: float, tally: _Tally) -> None:
        with np.errstate(all="ignore"):
            close = np.abs(observed - expected) <= self.atol + rtol * np.abs(expected)
        close = close & np.isfinite(observed) & np.isfinite(expected)
        close = close | (observed == expected)  # equal infinities
        if self.equal_nan:
            close = close | (np.isnan(observed) & np.isnan(expected))
        wrong_nan = ~close & np.isnan(observed)
        tally.total += observed.size
        tally.not_numbers += int(np.count_nonzero(wrong_nan))
        tally.too_large += int(np.count_nonzero(~close & (observed > expected)))
        tally.too_small += int(np.count_nonzero(~close & (observed < expected)))
        tally.other += int(np.count_nonzero(~close & np.isnan(expected) & ~np.isnan(observed)))


def agree(
    rtol: float = 1e-9,
    atol: float = 1e-12,
    *,
    equal_nan: bool = True,
    exact_dtype: bool = False,
    item: str = "item",
    members: Sequence[str] = (),
) -> Agreement:
    """Make a judge that holds where observed and expected are the same plain value.

    Containers must be of the same type and size, arrays of the same shape and kind (booleans,
    whole numbers, floats). A float may be answered by an int of the same value, not the reverse.

    Args:
        rtol: largest relative difference of floats; in arrays coarser than float64 at least 8
            times the distance from 1 to the next number of their dtype.
        atol: largest absolute difference of floats, added to the relative one.
        equal_nan: nan agrees with nan.
        exact_dtype: float32 does not agree with float64, nor int32 with int64.
        item: what the task calls an item of a list ("pair").
        members: what it calls those of a tuple of as many ("first sentence", ...).
    """
    comparison = _Comparison(rtol, atol, equal_nan, exact_dtype, item, tuple(members))

    def judge(observed: Any, expected: Any, inputs: dict[str, Any]) -> str | None:
        tally = _Tally()
        try:
            comparison.walk(observed, expected, "the result", tally)
        except _DifferenceError as difference:
            return str(difference)
        return tally.describe() if tally.different else None

    return judge


def saying(*texts: str, judge: Agreement | None = None) -> Agreement:
    """Make a judge of what a probe has looked at, which says of each thing what is wrong with it.

        saying("", "the result shares its memory with an argument")

    judges a pair: a result, and whether it lies elsewhere. "The second value is wrong" would help
    nobody: students see neither the pair nor the question.

    Args:
        texts: one for each member of the tuple that the probe returns, or for all that it returns
            if that is no tuple; said where the member is another. In place of `{}` stands what
            `judge` says; an empty text is just that.
        judge: compares each; by default `agree()`.
    """
    same = judge or agree()

    def judge_each(observed: Any, expected: Any, inputs: dict[str, Any]) -> str | None:
        ours, theirs = observed, expected
        if type(expected) is not tuple:
            ours, theirs = (ours,), (theirs,)
        elif type(observed) is not tuple or len(observed) != len(expected):
            return same(observed, expected, inputs)
        for one, other, text in zip(ours, theirs, texts, strict=True):
            wrong = same(one, other, inputs)
            if wrong is not None:
                return (text or "{}").format(wrong)
        return None

    return judge_each


def refusing(judge: Agreement | None = None) -> Agreement:
    """Make a judge of a result, or a list of them, where some inputs are to be refused.

    In the place of a result that a ValueError prevents, the probe puts the tuple `("ValueError",)`:
    None would be right, too, for who returns nothing and refuses nothing.
    """
    same, refusal = judge or agree(), ("ValueError",)

    def judge_each(observed: Any, expected: Any, inputs: dict[str, Any]) -> str | None:
        are_lists = type(observed) is list and type(expected) is list
        pairs = zip(observed, expected, strict=False) if are_lists else [(observed, expected)]
        for ours, theirs in pairs:
            if ours == refusal != theirs:
                return "a ValueError is raised where a result is expected"
            if ours != refusal == theirs:
                return "there is a result where a ValueError is expected"
        return same(observed, expected, inputs)

    return judge_each


def _name(value: Any) -> str:
    return _NAMES.get(type(value).__name__, f"of type {type(value).__name__}")


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _amount(observed: Any, expected: Any) -> str:
    return "many" if len(observed) > len(expected) else "few"


def _shapes(observed: Any, expected: Any, where: str) -> str:
    """Say how two shapes differ: in their rank, or else in the first axis that does."""
    if len(observed) != len(expected):
        return f"{where} has too {_amount(observed, expected)} axes"
    axis = next(axis for axis, size in enumerate(expected) if observed[axis] != size)
    name = f"the {ORDINALS[axis]} axis" if axis < len(ORDINALS) else "an axis"
    how = "long" if observed[axis] > expected[axis] else "short"
    return f"{name} of {where} is too {how}"


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _same_members(observed: Iterable[Any], expected: Iterable[Any], where: str, noun: str) -> None:
    """Keys and elements agree exactly: type and value."""
    ours, theirs = ({(_types(key), key) for key in keys} for keys in (observed, expected))
    complaints = [f"lacks {noun}s"] * bool(theirs - ours) + [f"has {noun}s too many"] * bool(
        ours - theirs
    )
    if complaints:
        raise _DifferenceError(f"{where} " + " and ".join(complaints))


def _types(key: Any) -> Any:
    """Tell 1 from True and 1.0, which are equal as keys."""
    return tuple(map(_types, key)) if type(key) is tuple else type(key)


def _tally_exact(observed: int, expected: int, tally: _Tally) -> None:
    tally.total += 1
    tally.too_large += operator.gt(observed, expected)
    tally.too_small += operator.lt(observed, expected)


def _dtype_name(array: Any) -> str:
    return str(array.dtype).removeprefix("torch.")


def _as_array(array: Any) -> tuple[np.ndarray[Any, Any], float]:
    """Return the values, floats as float64, and the spacing of the original dtype at 1."""
    eps = 0.0
    if type(array) is not np.ndarray:
        torch = sys.modules["torch"]
        if array.dtype.is_floating_point or array.dtype.is_complex:
            eps = torch.finfo(array.dtype).eps
        wide = array.to(torch.float64) if array.dtype.is_floating_point else array
        array = wide.numpy()
    elif array.dtype.kind in "fc":
        eps = float(np.finfo(array.dtype).eps)
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
    return array, eps if eps > np.finfo(np.float64).eps else 0.0


def _split_complex(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.stack([array.real, array.imag]).astype(np.float64)
