"""Keys from whoever would slow the grader down: refused in time, and nobody else's."""

import itertools

import pytest

from autograder.inside import keyed, wire
from autograder.inside.messages import WireError
from tests.autograder.attacks.colliding import alike, meeting_keys


def test_keys_whose_ways_meet_are_refused_in_time():
    keys = meeting_keys(17, 43_600)
    assert len(set(map(hash, keys))) == len(keys)
    with pytest.raises(WireError, match="slow"):
        keyed.build(dict, keys, keys)


def message(header):
    return wire.PREFIX.pack(len(header), 0) + header.encode()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_sets_in_sets_that_are_slow_to_tell_apart_are_refused_before_they_are_compared(depth):
    many = message('["set",' + ",".join(alike(depth, 24 // depth, 60)) + "]")
    with pytest.raises(WireError, match="share a hash"):
        wire.decode(many)


def test_sets_in_sets_that_differ_are_taken():
    groups = {frozenset({k, k + 1, -1 - k % 2}) for k in range(5_000)}
    nested = frozenset({frozenset({frozenset({-1}), frozenset({-2})}), frozenset({("a", -1)})})
    assert wire.normal_form(groups) == groups
    assert wire.normal_form({nested: groups}) == {nested: groups}


def test_what_this_thread_does_besides_refuses_nobody(monkeypatch):
    keys, ticks = list(range(5_000)), itertools.count()
    monkeypatch.setattr(keyed.time, "thread_time", lambda: 60.0 * (next(ticks) > 5))
    assert keyed.build(dict, keys, keys) == dict(zip(keys, keys, strict=True))


@pytest.mark.parametrize(
    "keys",
    [
        list(range(200_000)),
        [k << 40 for k in range(100_000)],
        [k / 7 for k in range(100_000)],
        [(k, k + 1, str(k)) for k in range(50_000)],
        [tuple(range(k, k + 200)) for k in range(2_000, 5_000)],
        ["token " + str(k) for k in range(100_000)],
        list(itertools.product(range(-100, 100), repeat=2)),  # Python: hash(-1) == hash(-2)
        list(itertools.product((-2, -1), repeat=8)),
        [1 << k for k in range(4096)],
    ],
    ids=["whole", "shifted", "floats", "n-grams", "long", "words", "grid", "steps", "powers"],
)
@pytest.mark.parametrize("kind", [dict, set])
def test_many_keys_of_an_honest_answer_are_taken(kind, keys):
    assert len(keyed.build(kind, keys, keys)) == len(keys)


def test_what_nobody_can_stop_is_small():
    assert len(keyed.build(frozenset, list(range(keyed.MOST_FROZEN)))) == keyed.MOST_FROZEN
    with pytest.raises(WireError, match="frozenset of more than"):
        keyed.build(frozenset, list(range(keyed.MOST_FROZEN + 1)))


@pytest.mark.parametrize("n", [3, 1000, 5000])
def test_key_that_comes_twice_is_refused(n):
    for kind in (dict, set, frozenset):
        with pytest.raises(WireError, match="twice"):
            keyed.build(kind, [*range(n), 1.0], range(n + 1))
