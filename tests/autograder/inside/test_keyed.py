"""Keys from whoever would slow the grader down: refused in time, and nobody else's."""

import pytest

from autograder.inside import keyed
from autograder.inside.messages import WireError
from tests.autograder.attacks.colliding import meeting_keys


def test_keys_whose_ways_meet_are_refused_in_time():
    keys = meeting_keys(17, 43_600)
    assert len(set(map(hash, keys))) == len(keys)
    with pytest.raises(WireError, match="slow"):
        keyed.build(dict, keys, keys)


@pytest.mark.parametrize(
    "keys",
    [
        list(range(200_000)),
        [k << 40 for k in range(100_000)],
        [k / 7 for k in range(100_000)],
        [(k, k + 1, str(k)) for k in range(50_000)],
        [tuple(range(k, k + 200)) for k in range(2_000, 5_000)],
        ["token " + str(k) for k in range(100_000)],
    ],
    ids=["whole", "shifted", "floats", "n-grams", "long", "words"],
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
