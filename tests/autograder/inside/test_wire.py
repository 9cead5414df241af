import gc
import json
import math
import pickle
import resource
import struct
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.inside import wire
from autograder.inside.messages import WireError

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 4000), 1 << 4000)
    | st.floats(allow_nan=False)
    | st.text(alphabet=st.characters(), max_size=400)
    | st.binary(max_size=300)
)
keys = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)
plain = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=20)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(keys, max_size=4)
        | st.frozensets(keys, max_size=4)
    ),
    max_leaves=20,
)


def message(header, body=b""):
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">IQ", len(data), len(body)) + data + body


def same(one, two):
    """Equal in value and in every type, the sign of zero included."""
    assert type(one) is type(two)
    if type(one) in (list, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if type(one) is dict:
        return same(list(one.items()), list(two.items()))
    return repr(one) == repr(two) if type(one) is float else one == two


@given(plain)
def test_plain_value_round_trips(value):
    assert same(wire.normal_form(value), value)


def test_bytes_among_keys_and_values_of_a_dict_round_trips():
    value = {None: b"\x01", b"\x00": None, b"key": b"value", (b"a",): [b"b", "\ud800"]}
    assert same(wire.normal_form(value), value)


@given(st.lists(st.floats(), min_size=16, max_size=40))
def test_list_of_floats_round_trips(value):
    arrived = wire.normal_form({"list": value, "tuple": tuple(value)})
    assert np.array(arrived["list"]).tobytes() == np.array(value).tobytes()
    assert type(arrived["tuple"]) is tuple


@given(st.lists(st.binary(max_size=9), max_size=6))
def test_list_of_bytes_round_trips(value):
    assert same(wire.normal_form([value, tuple(value), "end"]), [value, tuple(value), "end"])


@given(st.lists(st.tuples(keys, st.floats(allow_nan=False), scalars), max_size=9))
def test_rows_round_trip(value):
    assert same(wire.normal_form([value, tuple(value), "end"]), [value, tuple(value), "end"])


def test_empty_rows_and_rows_of_several_lengths_round_trip():
    value = [[()] * 9, [(1,), (1, 2), (3,), (4,)], [((1, 2), 3)] * 5, {(1, "a"): 0.5}]
    assert same(wire.normal_form(value), value)


def test_deeply_nested_columns_are_refused():
    nested = ["list", 1]
    for _ in range(70):
        nested = ["list", ["rows", "list", nested]]
    for header in (nested, ["dict", nested, nested]):
        with pytest.raises(WireError, match="deeper than 64"):
            wire.decode(message(header))


@given(st.lists(st.integers(-(1 << 70), 1 << 70) | st.text(max_size=300) | st.booleans()))
def test_mixture_of_numbers_and_texts_round_trips(value):
    assert same(wire.normal_form({"list": value, "end": 1}), {"list": value, "end": 1})


@pytest.mark.parametrize("value", [math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308])
def test_extreme_float_round_trips(value):
    assert repr(wire.normal_form(value)) == repr(value)


def test_nan_round_trips():
    assert math.isnan(wire.normal_form(math.nan))


@pytest.mark.parametrize("name", sorted(wire._DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 5), (2, 3, 5)])
def test_array_round_trips(name, shape):
    array = (np.arange(math.prod(shape)) % 2).reshape(shape).astype(name)
    arrived = wire.normal_form(array)
    assert arrived.dtype == array.dtype and np.array_equal(arrived, array)
    assert arrived.shape == shape and arrived.flags.writeable


@pytest.mark.parametrize("array", [np.arange(6).reshape(2, 3).T, np.arange(4, dtype=">i4")[::-2]])
def test_array_of_any_layout_round_trips(array):
    assert np.array_equal(wire.normal_form(array), array)


@pytest.mark.parametrize("name", sorted(wire._TENSOR_DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 5), (2, 3, 5)])
def test_tensor_round_trips(name, shape):
    dtype = getattr(torch, name)
    tensor = (torch.arange(math.prod(shape)) % 2).reshape(shape).to(dtype)
    arrived = wire.normal_form(tensor)
    assert type(arrived) is torch.Tensor and arrived.dtype is dtype
    assert torch.equal(arrived, tensor)


def test_tensor_is_refused_where_torch_is_not_installed(monkeypatch):
    """A submission can send one to a grader that has none, and must not stop it."""
    sent = wire.encode(torch.ones(2))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(WireError, match="torch is not installed"):
        wire.decode(sent)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).reshape(2, 3).t(),
        torch.ones(3, requires_grad=True),
        torch.nn.Parameter(torch.ones(2)),
        torch.tensor([1 + 2j]).conj(),
        torch.arange(10.0).reshape(2, 5).T[:1, :1],
        torch.ones(1).expand(5, 7),
    ],
)
def test_tensor_of_any_layout_round_trips(tensor):
    arrived = wire.normal_form(tensor)
    assert torch.equal(arrived, tensor.detach()) and not arrived.requires_grad


@pytest.mark.parametrize("value", [np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("x")])
def test_numpy_scalar_arrives_as_python_scalar(value):
    assert same(wire.normal_form(value), value.item())


class Hostile:
    """Answers every question as a plain value would."""

    __class__ = dict
    __eq__ = __ne__ = lambda self, other: True
    __hash__ = object.__hash__

    def __reduce__(self):
        raise AssertionError("nobody may pickle")

    def items(self):
        raise AssertionError("nobody may call this")


SUBCLASSES = [
    type(f"Own{base.__name__}", (base,), {"__repr__": lambda self: "1.0"})()
    for base in (int, float, str, bytes, list, tuple, dict, set, frozenset)
]


@pytest.mark.parametrize(
    "value",
    [
        Hostile(),
        *SUBCLASSES,
        object(),
        1j,
        len,
        np.array(["text"]),
        np.array([None]),
        np.zeros(1, np.longdouble),
        np.matrix([[1]]),
        torch.ones(1, device="meta"),
        torch.eye(2).to_sparse(),
        torch.zeros(1).as_subclass(type("Own", (torch.Tensor,), {})),
        np.datetime64("2001-01-01"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_encode_rejects_what_is_not_plain(value):
    with pytest.raises(WireError, match=r"plain|dtype|storage"):
        wire.encode([value])


def test_encode_rejects_what_is_too_much():
    endless = []
    endless.append(endless)
    for value, words in (
        (endless, "deeper than 64"),
        ([[0] * 1000] * 1000, "more than 524288 values"),
        (1 << 4097, "more than 4096 bits"),
        (torch.zeros(1).expand(1 << 40), "a body of 4398046511104 bytes"),
        (bytes(65 << 20), "a body of 68157440 bytes"),
    ):
        with pytest.raises(WireError, match=words):
            wire.encode(value)


@pytest.mark.parametrize(
    ("header", "body", "words"),
    [
        (b"", b"", "not JSON"),
        (b"\xff", b"", "not JSON"),
        (b"[" * 100_000, b"", "deeper"),
        ({"a": 1}, b"", "object"),
        ([], b"", "no tag"),
        ([1, 2], b"", "no tag"),
        (["object", 1], b"", "unknown tag 'object'"),
        (["dict", ["list", 1]], b"", "not 1 parts"),
        (["dict", ["list", 1], ["list"]], b"", "lists of one length"),
        (["dict", ["list", 1], ["tuple", 1]], b"", "lists of one length"),
        (["dict", "a", "b"], b"", "lists of one length"),
        (["dict", ["list", 1, 1], ["list", 2, 3]], b"", "twice"),
        (["dict", ["list", 1, 1.0], ["list", 2, 3]], b"", "twice"),
        (["set", 1, True], b"", "twice"),
        (["dict", ["list", ["list"]], ["list", 2]], b"", "list cannot be a key"),
        (["dict", ["list", ["tuple", ["list"]]], ["list", 2]], b"", "list cannot be a key"),
        (["set", ["array", "int8", 1]], b"\0", "ndarray cannot be a key"),
        (["str", 3], b"ab", "more bytes"),
        (["str", -1], b"", "more bytes"),
        (["str", True], b"a", "more bytes"),
        (["str", 1], b"\xff", "not UTF-8"),
        (["str"], b"", "one length"),
        (1, b"extra", "5 bytes of the body"),
        (["array"], b"", "unknown dtype"),
        (["array", "object", 1], b"\0" * 8, "unknown dtype 'object'"),
        (["array", "bfloat16", 1], b"\0" * 2, "unknown dtype"),
        (["array", ["list"], 1], b"", "unknown dtype"),
        (["array", "int8", -1], b"", "impossible shape"),
        (["array", "int8", 1.0], b"\0", "impossible shape"),
        (["array", "int8", True], b"\0", "impossible shape"),
        (["array", "int8", 1 << 40], b"", "impossible shape"),
        (["array", "int8", 0, 1 << 30, 1 << 30], b"", "impossible shape"),
        (["tensor", "int8", 0, 1 << 30, 1 << 30], b"", "impossible shape"),
        (["array", "int8", *[1] * 17], b"\0", "more than 16 dimensions"),
        (["array", "int16", 3], b"\0" * 5, "more bytes"),
        (["array", "bool", 1], b"\2", "neither 0 nor 1"),
        (["floats", "list"], b"", "one length, not 0"),
        (["floats", "dict", 8], b"\0" * 8, "neither a list nor a tuple"),
        (["floats", "list", 7], b"\0" * 7, "multiple of 8"),
        (["chunks"], b"", "neither a list nor a tuple"),
        (["chunks", "set", 1], b"a", "neither a list nor a tuple"),
        (["rows", "set", ["list", 1]], b"", "neither a list nor a tuple"),
        (["rows", "list"], b"", "lists of one length"),
        (["rows", "list", ["list", 1], ["list"]], b"", "lists of one length"),
        (["rows", "list", ["tuple", 1]], b"", "lists of one length"),
        (["rows", "list", 1, 2], b"", "lists of one length"),
        (["chunks", "list", 1, -1], b"a", "more bytes"),
        (["chunks", "list", 1, True], b"ab", "more bytes"),
        (["tuple", "a", 1 << 4096], b"", "more than 4096 bits"),
        (b"1" + b"0" * 5000, b"", "more than 4096 bits"),
        (b"[" + b'"list",' + b"[]," * 3_000_000 + b"0]", b"", "header of"),
    ],
    ids=range(51),
)
def test_decode_rejects_what_breaks_the_format(header, body, words):
    with pytest.raises(WireError, match=words):
        wire.decode(message(header, body))


def test_decode_rejects_a_pickle():
    with pytest.raises(WireError):
        wire.decode(pickle.dumps({"value": 1}))


def test_decode_rejects_keys_chosen_to_collide():
    header = ["set", *[k * ((1 << 61) - 1) for k in range(1, 50_000)]]
    with pytest.raises(WireError, match="share a hash"):
        wire.decode(message(header))


@settings(max_examples=300)
@given(st.binary(max_size=200), st.binary(max_size=100))
def test_decode_of_any_bytes_raises_nothing_else(header, body):
    for data in (header, message(header, body)):
        try:
            wire.decode(data)
        except WireError:
            continue


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(
        ["dict", "list", "set", "array", "tensor", "str", "bytes", "floats", "chunks"]
    )
    | st.sampled_from(["int8", "float64", "bool", "bfloat16"]),
    lambda inner: st.lists(inner, max_size=6),
    max_leaves=30,
)


@settings(max_examples=500)
@given(json_values, st.binary(max_size=64))
def test_decode_of_any_header_raises_nothing_else(header, body):
    try:
        value = wire.decode(message(header, body))
    except WireError:
        return
    wire.encode(value)  # whatever arrives is plain


@given(plain, st.data())
def test_decode_of_a_damaged_message_raises_nothing_else(value, data):
    damaged = bytearray(wire.encode(value))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        wire.decode(damaged)
    except WireError:
        return


def test_decode_spends_memory_in_proportion_to_its_bounds():
    header = b'["list"' + b",[]" * 1_900_000 + b"]"
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            wire.decode(message(header))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20  # refused by counting, before anything is parsed


@pytest.mark.parametrize(
    "value",
    [
        [set() for _ in range(3000)],
        [(float(n),) for n in range(3000)],
        [bytes([n % 256]) * 2 for n in range(3000)],
        [0.5 + n for n in range(3000)],
        {n: [] for n in range(3000)},
        [10**9 + n for n in range(3000)],
        "\U0001f600" + "a" * 30_000,
        np.zeros(3000),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_memory_of_a_message_is_never_more_than_is_said(value):
    message = wire.encode(value)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = wire.decode(message)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert kept is not None
    assert 0 < taken <= wire.most_memory(message)


@pytest.mark.exhaustive  # torch's memory is no part of what Python counts: the process has to grow
def test_memory_of_tensors_is_never_more_than_is_said():
    n = 100_000
    sent = message(["list", *[["tensor", "int8", 1]] * n], bytes(n))

    def taken():
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    gc.collect()
    before = taken()
    kept = wire.decode(sent)
    assert len(kept) == n
    assert 50 << 20 < taken() - before <= wire.most_memory(sent)
