"""Build dicts and sets from keys that an adversary has chosen, in bounded time.

What Python hashes a number to is known to everybody. So numbers can be chosen that find nearly
every place of a table taken where they look: equal hashes, and also different ones whose ways
through the table meet. Fifty thousand of those take a minute where others take a hundredth of a
second, and twice as many four times as long.
"""

import time
from collections.abc import Sequence
from typing import Any

from autograder.inside.messages import WireError

_SIMPLE = {type(None), bool, int, float, str, bytes}
_MOST_EQUAL_HASHES = 64  # rare by chance; a thousand would take a million comparisons
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
    if not set(map(type, keys)) <= _SIMPLE:
        for key in keys:
            _check(key)
    if len(keys) <= _MOST_EQUAL_HASHES:
        return _all_different(_made(kind, keys, values), keys)
    started = time.thread_time()
    hashes = sorted(map(hash, keys))
    equal = sum(map(int.__eq__, hashes, hashes[1:]))
    if equal > _MOST_EQUAL_HASHES:
        raise WireError("too many keys share a hash")
    hashing = time.thread_time() - started
    if kind is frozenset and len(keys) > MOST_FROZEN:
        raise WireError(f"a frozenset of more than {MOST_FROZEN} elements")
    built: Any = {} if kind is dict else set()
    step = _AT_ONCE if len(keys) > _FEW else max(len(keys), 1)
    most = started + hashing + _SECONDS + _SECONDS_EACH * len(keys) + _TIMES_HASHED * hashing
    for i in range(0, len(keys), step):
        some = keys[i : i + step]
        built.update(zip(some, values[i : i + step], strict=True) if kind is dict else some)
        if step == _AT_ONCE and time.thread_time() > most:
            raise WireError("keys that were chosen to make a table slow")
    return _all_different(frozenset(built) if kind is frozenset else built, keys)


def _made(kind: Any, keys: Sequence[Any], values: Sequence[Any]) -> Any:
    return dict(zip(keys, values, strict=True)) if kind is dict else kind(keys)


def _all_different(built: Any, keys: Sequence[Any]) -> Any:
    if len(built) != len(keys):
        raise WireError("a key or element comes twice")
    return built


def _check(key: Any) -> None:
    if type(key) in (tuple, frozenset):
        for part in key:
            _check(part)
    elif type(key) not in _SIMPLE:
        raise WireError(f"a {type(key).__name__} cannot be a key or an element of a set")
