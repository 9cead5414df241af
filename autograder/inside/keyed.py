"""Build dicts and sets from keys that an adversary has chosen, in bounded time.

What Python hashes a number to is known to everybody. So numbers can be chosen that find nearly
every place of a table taken where they look: equal hashes, and also different ones whose ways
through the table meet. Fifty thousand of those take a minute where others take a hundredth of a
second, and twice as many four times as long. Frozensets in frozensets make each comparison as slow
as that again.
"""

import time
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from autograder.inside.messages import WireError

_SIMPLE = {type(None), bool, int, float, str, bytes}
_NO_RUN = 64  # keys that cannot need more comparisons than are allowed
# Python gives -1 and -2 one hash, so that two columns of a grid share theirs, and all 256 tuples of
# eight such numbers.
_COMPARISONS_EACH = 256
_FEW = 2048  # keys, of which even the worst take a hundredth of a second
_AT_ONCE = 256
# CPU time of this thread, so that a busy machine refuses nobody: thirty times what others take.
_SECONDS, _SECONDS_EACH, _TIMES_HASHED = 0.05, 4e-6, 20
# A frozenset is made at once, so that nobody can stop it: the worst of this size take a second.
MOST_FROZEN = 1 << 15


def build(
    kind: type[dict[Any, Any]] | type[set[Any]] | type[frozenset[Any]],
    keys: Sequence[Any],
    values: Sequence[Any] = (),
) -> Any:
    """Return a dict, a set or a frozenset of these keys; a dict has one of the values for each.

    Raises:
        WireError: if a key cannot be one, comes twice, or is one of many chosen to make this slow.
    """
    holds_frozenset = False
    if not set(map(type, keys)) <= _SIMPLE:
        holds_frozenset = any([_check(key) for key in keys])
    if len(keys) <= _NO_RUN and not holds_frozenset:
        return _all_different(_made(kind, keys, values), keys)
    started = time.thread_time()
    hashes = sorted(map(hash, keys))
    hashing = time.thread_time() - started
    if any(map(int.__eq__, hashes, hashes[1:])):
        _check_comparisons(keys)
    if kind is frozenset and len(keys) > MOST_FROZEN:
        raise WireError(f"a frozenset of more than {MOST_FROZEN} elements")
    if len(keys) <= _FEW:
        return _all_different(_made(kind, keys, values), keys)
    seconds = _SECONDS + _SECONDS_EACH * len(keys) + _TIMES_HASHED * hashing
    # Twice: what comes into this thread's time besides, as a collection of garbage, comes once.
    for _ in range(2):
        built = _built_within(seconds, kind, keys, values)
        if built is not None:
            return _all_different(frozenset(built) if kind is frozenset else built, keys)
    raise WireError("keys that were chosen to make a table slow")


def _built_within(seconds: float, kind: Any, keys: Sequence[Any], values: Sequence[Any]) -> Any:
    """Return a dict or set of these, or None where it takes longer."""
    built: Any = {} if kind is dict else set()
    end = time.thread_time() + seconds
    for i in range(0, len(keys), _AT_ONCE):
        some = keys[i : i + _AT_ONCE]
        built.update(zip(some, values[i : i + _AT_ONCE], strict=True) if kind is dict else some)
        if time.thread_time() > end:
            return None
    return built


def _made(kind: Any, keys: Sequence[Any], values: Sequence[Any]) -> Any:
    return dict(zip(keys, values, strict=True)) if kind is dict else kind(keys)


def _all_different(built: Any, keys: Sequence[Any]) -> Any:
    if len(built) != len(keys):
        raise WireError("a key or element comes twice")
    return built


def _check(key: Any) -> bool:
    """See to it that a key can be one, and return whether there is a frozenset in it."""
    if type(key) is tuple:
        return any([_check(part) for part in key])
    if type(key) is frozenset:  # its elements were looked at when it was built
        return True
    if type(key) not in _SIMPLE:
        raise WireError(f"a {type(key).__name__} cannot be a key or an element of a set")
    return False


def _check_comparisons(keys: Sequence[Any]) -> None:
    """Refuse keys of one hash that take too many comparisons for the values that they hold."""
    for _, run in groupby(sorted(keys, key=hash), hash):
        alike = list(run)
        if len(alike) > 1:
            sizes, costs = zip(*map(_size_and_cost, alike), strict=True)
            if len(alike) * sum(costs) > _COMPARISONS_EACH * sum(sizes):
                raise WireError("too many keys share a hash")


def _size_and_cost(key: Any) -> tuple[int, int]:
    """Return how many values a key holds, and how many comparisons tell it from its like.

    In a frozenset each element may have to be compared with all.
    """
    if type(key) not in (tuple, frozenset) or not key:
        return 1, 1
    sizes, costs = zip(*map(_size_and_cost, key), strict=True)
    return 1 + sum(sizes), 1 + sum(costs) * (len(key) if type(key) is frozenset else 1)
