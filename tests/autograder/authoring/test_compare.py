import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring.compare import agree, refusing, saying
from tests.autograder.attacks.echoes import echoes, numbers_in

judge = agree()
DTYPES = {"float16", "float32", "float64", "bfloat16", "complex64", "complex128", "bool"}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_value_agrees_with_itself(value):
    assert judge(value, value, {}) is None


@given(values, values)
def test_judge_always_answers_in_one_line(observed, expected):
    message = judge(observed, expected, {})
    assert message is None or (message and "\n" not in message)


@pytest.mark.parametrize(
    ("observed", "expected", "message"),
    [
        (1.0, 2.0, "the value is too small"),
        (3, 2, "the value is too large"),
        (math.nan, 2.0, "the value is nan"),
        (2.0, math.nan, "the value is wrong"),
        (math.inf, 2.0, "the value is too large"),
        ("a", "b", "the value is wrong"),
        (1.0, 1, "the result is a float where a whole number is expected"),
        (True, 1, "the result is True or False where a whole number is expected"),
        (None, 1, "the result is None where a whole number is expected"),
        ((1,), [1], "the result is a tuple where a list is expected"),
        ([1], [1, 2], "the result has too few items"),
        ([1.0, 2.0], [1.0, 3.0], "one of the values is too small"),
        ([2.0, 1.0], [1.0, 2.0], "all of the values are wrong"),
        ((1, 2.0), (1, 3.0), "one of the values is too small in the second item of the result"),
        ((2, 2.0), (1, 3.0), "all of the values are wrong"),
        (
            [("a", "b"), ("a", "c")],
            [("a", "x"), ("a", "y")],
            "some of the values are wrong in the second item of an item of the result",
        ),
        (([1.0, 2.0], 1), ([1.5, 2.5], 1), "most of the values are too small in the first item"),
        ([0.0, 0.0, 1.0], [1.0, 1.0, 1.0], "most of the values are too small"),
        ([(1, "a")], [(1, 2)], "the second item of an item of the result is a string where a"),
        ((1,) * 9, (*(1,) * 8, "a"), "an item of the result is a whole number where a string"),
        ({"a": 1}, {"b": 1}, "the result lacks keys and has keys too many"),
        ({1: 0}, {True: 0}, "the result lacks keys and has keys too many"),
        ({}, {True: 0}, "the result lacks keys"),
        ({(1, 2): 0.0}, {(1, 2): 1.0}, "the value is too small"),
        ({"a": [1]}, {"a": (1,)}, "a value of the result is a list where a tuple is expected"),
        ({1, 2}, {1}, "the result has elements too many"),
        (frozenset({1}), {1}, "the result is a frozenset where a set is expected"),
        (np.ones((2, 3)), np.ones((3, 2)), "the first axis of the result is too short"),
        (torch.ones(2, 3), torch.ones(2, 2), "the second axis of the result is too long"),
        ([np.ones(2)], [np.ones((2, 1))], "an item of the result has too few axes"),
        (np.ones((*(1,) * 9, 2)), np.ones((1,) * 10), "an axis of the result is too long"),
        (np.ones(2), np.ones(2, int), "the result holds floats where whole numbers are expected"),
        (np.ones(2), torch.ones(2), "the result is a NumPy array where a tensor is expected"),
        (np.zeros(3), np.ones(3), "all of the values are too small"),
        (
            np.array([True, False]),
            np.array([True, True]),
            "one of the values is False where True is expected",
        ),
        ([True, 1], [False, 1], "one of the values is True where False is expected"),
        ([True, False], [False, True], "all of the values are wrong"),
        (np.array([1, 5]), np.array([1, 4]), "one of the values is too large"),
        (np.array([math.nan, 1.0]), np.ones(2), "one of the values is nan"),
        (torch.tensor(1.0), torch.tensor(2.0), "the value is too small"),
        (torch.tensor([1 + 1j]), torch.tensor([1 + 2j]), "one of the values is too small"),
        (np.arange(5), np.array([0, 1, 2, 0, 0]), "some of the values are too large"),
    ],
)
def test_difference_is_named_in_words(observed, expected, message):
    assert judge(observed, expected, {}).startswith(message)


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (1, 1.0),
        ([1, 2.0], [1.0, 2.0]),
        (1.0 + 1e-10, 1.0),
        (1e-13, 0.0),
        (math.inf, math.inf),
        (math.nan, math.nan),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.array([math.inf, math.nan]), np.array([math.inf, math.nan])),
        (np.ones(2, np.int32), np.ones(2, np.int64)),
        (torch.ones(2), torch.ones(2, dtype=torch.float64)),
        (torch.full((2,), 0.1), torch.full((2,), 0.1, dtype=torch.float64)),
        (torch.tensor([0.1], dtype=torch.bfloat16), torch.tensor([0.1])),
        (torch.empty(0, 3), torch.empty(0, 3)),
        (10**400, 10**400),
    ],
)
def test_equal_values_agree(observed, expected):
    assert judge(observed, expected, {}) is None


def test_whole_number_beyond_every_float_is_too_large():
    assert judge(10**400, 1.0, {}) == "the value is too large"
    assert judge(-(10**400), 1.0, {}) == "the value is too small"


def test_tolerance_is_the_authors():
    assert judge(1.001, 1.0, {}) is not None
    assert agree(rtol=1e-2)(1.001, 1.0, {}) is None
    assert agree(atol=1e-2)(np.array([0.001]), np.array([0.0]), {}) is None


def test_nan_disagrees_on_demand():
    strict = agree(equal_nan=False)
    assert strict(math.nan, math.nan, {}) is not None
    assert strict(np.array([math.nan]), np.array([math.nan]), {}) is not None


def test_dtype_is_compared_on_demand():
    strict = agree(exact_dtype=True)
    message = strict(torch.ones(2), torch.ones(2, dtype=torch.float64), {})
    assert message == "the result is of dtype float32 where float64 is expected"


def test_coarse_dtype_widens_the_tolerance_a_little_only():
    exact = torch.ones(2)
    assert judge(exact * (1 + 5e-7), exact, {}) is None
    assert judge(exact * (1 + 5e-6), exact, {}) is not None


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=30), st.data())
def test_long_list_agrees_as_its_items_do(expected, data):
    observed = [data.draw(st.sampled_from([x, x + 1.0])) for x in expected]
    one_by_one = [judge(a, b, {}) is None for a, b in zip(observed, expected, strict=True)]
    assert (judge(observed, expected, {}) is None) == all(one_by_one)


VOCABULARY = {
    *(
        "the",
        "result",
        "value",
        "values",
        "is",
        "are",
        "has",
        "lacks",
        "one",
        "some",
        "most",
        "all",
    ),
    *(
        "of",
        "too",
        "large",
        "small",
        "long",
        "short",
        "many",
        "few",
        "wrong",
        "nan",
        "and",
        "in",
        "where",
    ),
    *("expected", "an", "a", "None", "True", "or", "False", "whole", "number", "numbers", "float"),
    *("floats", "string", "bytes", "object", "list", "tuple", "dict", "set", "frozenset", "NumPy"),
    *("array", "tensor", "booleans", "complex", "holds", "dtype", "item", "items", "key", "keys"),
    *("element", "elements", "axis", "axes", "first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "type"),
}


@given(values, st.data())
def test_messages_have_a_closed_vocabulary(expected, data):
    for observed in (data.draw(values), *echoes(expected)):
        message = agree(exact_dtype=True)(observed, expected, {}) or ""
        assert not numbers_in(message)
        assert {word for word in message.split() if "int" not in word} <= VOCABULARY | DTYPES


def test_members_are_called_as_the_task_calls_them():
    pairs = agree(item="pair", members=("first sentence", "second sentence"))
    expected = [("a", "b"), ("b", "c")]
    wrong = pairs([("a", "b"), ("b", "x")], expected, {})
    assert wrong == "one of the values is wrong in the second sentence of a pair of the result"
    wrong = pairs([("a", "b"), ("b", 1.0)], expected, {})
    kinds = "a float where a string is expected"
    assert wrong == f"the second sentence of a pair of the result is {kinds}"


def test_what_a_probe_looked_at_is_said_in_words_of_its_own():
    looks = saying("", "{} in the norm", "the list changes")
    right = ([1.0], 2.0, True)
    assert looks(right, right, {}) is None
    assert looks(([1.5], 3.0, False), right, {}) == "the value is too large"
    assert looks(([1.0], 3.0, False), right, {}) == "the value is too large in the norm"
    assert looks(([1.0], 2.0, False), right, {}) == "the list changes"
    assert looks(([1.0], 2.0), right, {}) == "the result has too few items"
    assert saying("no error is raised")(False, True, {}) == "no error is raised"


def test_refusal_is_told_from_every_result():
    refused = ("ValueError",)
    for observed, said in [
        (refused, None),
        (None, "there is a result where a ValueError is expected"),
        ("a", "there is a result where a ValueError is expected"),
    ]:
        assert refusing()(observed, refused, {}) == said
        assert refusing()(["b", observed], ["b", refused], {}) == said
    assert refusing()(refused, "a", {}) == "a ValueError is raised where a result is expected"
    assert refusing()(["c", refused], ["b", refused], {}) == "one of the values is wrong"


def test_message_shows_no_expected_value():
    secret = {"the secret key": 123456.789}
    for observed in ({}, {"other": 1.0}, {"the secret key": 1.0}, [1], 5):
        message = judge(observed, secret, {})
        assert "123" not in message and "secret" not in message
