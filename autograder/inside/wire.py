"""Messages across the wall of the sandbox: a JSON header and raw array bytes, never pickle.

A message is `length of header (4 bytes), length of body (8 bytes), header, body`, big-endian. The
header is one JSON value in which a container is a list whose first element is its tag; long texts
and arrays stand in the body, in the order in which the header names them. What comes out of the
sandbox was written by an adversary: `decode` returns plain data of exact types or raises WireError,
and every size, count and depth is checked before memory is spent on it.

Encoding goes by exact type and never calls a method that a student's class could have overridden.
Both ends import this file: it is mounted into the sandbox with its folder.
"""

import json
import math
import re
import struct
import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.inside import keyed
from autograder.inside.messages import WireError

PREFIX = struct.Struct(">IQ")
_DTYPES = frozenset({"bool", "float16", "float32", "float64", "complex64", "complex128"}) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_TENSOR_DTYPES = _DTYPES | {"bfloat16"}
_MANY = 16  # floats of a list are packed from here on: a tenth of the time of digits
_ROWS = 4  # tuples of one length are sent column by column from here on
_SHORT_TEXT = 256  # characters; longer texts go into the body


@dataclass(frozen=True)
class Bounds:
    """How large a message may be.

    Attributes:
        depth: nesting of containers; a dict is two deep, as it travels as lists.
        items: values in all, arrays counting as one.
        int_bits: length of a whole number.
    """

    header_bytes: int = 8 << 20
    body_bytes: int = 64 << 20
    depth: int = 64
    items: int = 1 << 19
    int_bits: int = 4096
    dimensions: int = 16


DEFAULT_BOUNDS = Bounds()
QUESTION_BOUNDS = Bounds(header_bytes=1 << 20, body_bytes=4 << 20, items=1 << 16)
"""Of each of the many messages that a probe may send while it runs."""
_QUESTION = b'["dict",["list","ask"],'


def encode(value: Any, bounds: Bounds = DEFAULT_BOUNDS) -> bytes:
    """Turn a plain value into a message.

    Raises:
        WireError: if it holds a type that does not travel, or is too large; names which.
    """
    encoder = _Encoder(bounds)
    header = _as_json(encoder.node(value, 0)).encode("ascii")
    _check_sizes(len(header), encoder.n_bytes, bounds)
    return b"".join([PREFIX.pack(len(header), encoder.n_bytes), header, *encoder.body])


def decode(message: bytes | bytearray | memoryview, bounds: Bounds = DEFAULT_BOUNDS) -> Any:
    """Turn a message back into the value.

    Raises:
        WireError: if it breaks the format or the bounds.
    """
    view = memoryview(message)
    if len(view) < PREFIX.size:
        raise WireError(f"a message of {len(view)} bytes has no length prefix")
    n_header, n_body = PREFIX.unpack(view[: PREFIX.size])
    _check_sizes(n_header, n_body, bounds)
    if len(view) != PREFIX.size + n_header + n_body:
        raise WireError(f"a message has {len(view)} bytes where its prefix promises another number")
    header = bytes(view[PREFIX.size : PREFIX.size + n_header])
    decoder = _Decoder(view[PREFIX.size + n_header :], bounds)
    value = decoder.node(_parse(header, bounds), 0)
    if decoder.offset != n_body:
        raise WireError(f"{n_body - decoder.offset} bytes of the body belong to no value")
    return value


def length_of_rest(prefix: bytes | bytearray, bounds: Bounds = DEFAULT_BOUNDS) -> int:
    """Return how many bytes of a message follow its first ones.

    Raises:
        WireError: if they are more than may travel.
    """
    n_header, n_body = PREFIX.unpack(prefix)
    _check_sizes(n_header, n_body, bounds)
    return int(n_header + n_body)


def is_question(message: bytes) -> bool:
    """Whether a message says that it is a dict with the one key "ask", and looks no further."""
    return message.startswith(_QUESTION, PREFIX.size)


def check_question(message: bytes) -> None:
    """Look at how long a question is, without looking into it.

    Raises:
        WireError: if it is longer than one may be.
    """
    n_header, n_body = PREFIX.unpack(message[: PREFIX.size])
    _check_sizes(n_header, n_body, QUESTION_BOUNDS)


def most_memory(message: bytes) -> int:
    """Return more bytes than what a message holds can take once it is decoded.

    An empty set takes two hundred for seven of the header; a tuple of one float, eighty for eight
    of the body; a tensor of one number, eleven hundred for twenty of the header.
    """
    n_header, n_body = PREFIX.unpack(message[: PREFIX.size])
    n_tensors = message.count(b'"tensor"', PREFIX.size, PREFIX.size + n_header)
    return int(32 * n_header + 10 * n_body + 512 * n_tensors)


def normal_form(value: Any, bounds: Bounds = DEFAULT_BOUNDS) -> Any:
    """Return the value as it would arrive on the other side.

    Raises:
        WireError: as `encode`.
    """
    return decode(encode(value, bounds), bounds)


def _check_sizes(n_header: int, n_body: int, bounds: Bounds) -> None:
    if n_header > bounds.header_bytes:
        raise WireError(f"a header of {n_header} bytes; at most {bounds.header_bytes} may travel")
    if n_body > bounds.body_bytes:
        raise WireError(f"a body of {n_body} bytes; at most {bounds.body_bytes} may travel")


class _Counted:
    """Counts the values of a message against the bound."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._left = bounds.items

    def _count(self, n_values: int) -> None:
        self._left -= n_values
        if self._left < 0:
            raise WireError(f"more than {self.bounds.items} values; an array counts as one")


class _Encoder(_Counted):
    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self.body: list[bytes] = []
        self.n_bytes = 0

    def node(self, value: Any, depth: int) -> Any:
        """Return the JSON form of a value, putting its bytes into the body."""
        self._count(1)
        if depth > self.bounds.depth:
            raise WireError(f"containers nested deeper than {self.bounds.depth}")
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value
        if kind is int:
            if value.bit_length() > self.bounds.int_bits:
                raise WireError(f"a whole number of more than {self.bounds.int_bits} bits")
            return value
        if kind is str:
            return self._text(value)
        if kind is bytes:
            return ["bytes", self._put(value)]
        if kind in (list, tuple) and len(value) > 1:
            packed = self._packed(value, kind.__name__, depth)
            if packed is not None:
                return packed
        if kind in _SEQUENCES:
            return [kind.__name__, *self._nodes(value, depth + 1)]
        if kind is dict:
            # Their bytes stand in the body in this order too: all keys, then all values.
            columns = list(value), list(value.values())
            return ["dict", *(self.node(column, depth + 1) for column in columns)]
        return self._array(value)

    def _packed(self, value: Any, kind: str, depth: int) -> Any:
        """Return many values of one kind as one, or None where that does not pay."""
        kinds = set(map(type, value))
        if kinds == {float} and len(value) >= _MANY:
            self._count(len(value))
            return ["floats", kind, self._put(np.array(value).tobytes())]
        if kinds == {bytes}:
            self._count(len(value))
            self._put(b"".join(value))
            return ["chunks", kind, *map(len, value)]
        if kinds == {tuple} and len(value) >= _ROWS and len(set(map(len, value))) == 1 and value[0]:
            self._count(len(value))
            columns = zip(*value, strict=True)
            return ["rows", kind, *(self.node(list(column), depth + 1) for column in columns)]
        return None

    def _nodes(self, values: Collection[Any], depth: int) -> Collection[Any]:
        """Do as `node` for many; plain ones, the usual case, without a call for each."""
        kinds = set(map(type, values))
        if _all_plain(values, kinds, self.bounds) and _all_short(values, kinds):
            self._count(len(values))
            return values
        return [self.node(value, depth) for value in values]

    def _text(self, value: str) -> Any:
        # JSON would join two halves of a surrogate pair that stand apart in the text.
        data = value.encode("utf-8", "surrogatepass")
        if len(value) <= _SHORT_TEXT and (value.isascii() or b"\xed" not in data):
            return value
        return ["str", self._put(data)]

    def _array(self, value: Any) -> Any:
        kind = type(value)
        if kind is np.ndarray:
            name = value.dtype.name
            self._check_array(name, _DTYPES, value.size * value.itemsize)
            native = np.ascontiguousarray(value, value.dtype.newbyteorder("="))
            self._put(native.tobytes())
            return ["array", name, *map(int, value.shape)]
        torch = sys.modules.get("torch")
        if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
            return self._tensor(value, torch)
        if issubclass(kind, np.generic) and kind.__module__ == "numpy":
            plain = value.item()
            if type(plain) in (bool, int, float, str, bytes):
                return self.node(plain, 0)
        raise WireError(f"a value of type {kind.__name__} is not plain data")

    def _tensor(self, value: Any, torch: Any) -> Any:
        name = str(value.dtype).removeprefix("torch.")
        if value.layout is not torch.strided or value.device.type == "meta":
            raise WireError("a tensor without plain storage does not travel")
        self._check_array(name, _TENSOR_DTYPES, value.numel() * value.element_size())
        plain = value.detach().cpu().resolve_conj().resolve_neg()
        # NumPy does not know bfloat16.
        same = plain if name in _DTYPES else plain.view(torch.int16)
        self._put(same.numpy().tobytes())
        return ["tensor", name, *map(int, value.shape)]

    def _check_array(self, name: str, allowed: frozenset[str], n_bytes: int) -> None:
        if name not in allowed:
            raise WireError(f"an array of dtype {name} does not travel")
        # Before copying: an expanded tensor may claim more than the machine has.
        _check_sizes(0, self.n_bytes + n_bytes, self.bounds)

    def _put(self, data: bytes) -> int:
        self.body.append(data)
        self.n_bytes += len(data)
        return len(data)


_SEQUENCES = (list, tuple, set, frozenset)
_BUILD: dict[str, Any] = {kind.__name__: kind for kind in _SEQUENCES}
_PLAIN = {int, float, bool, type(None), str}


def _all_plain(values: Collection[Any], kinds: set[type], bounds: Bounds) -> bool:
    """Whether all these are values that stand in a header as they are."""
    if not kinds <= _PLAIN:
        return False
    if int not in kinds:
        return True
    numbers = values if len(kinds) == 1 else [value for value in values if type(value) is int]
    largest: int = max(max(numbers), -min(numbers))
    return largest.bit_length() <= bounds.int_bits


def _all_short(values: Collection[Any], kinds: set[type]) -> bool:
    texts = [value for value in values if type(value) is str] if str in kinds else []
    return max(map(len, texts), default=0) <= _SHORT_TEXT and all(map(str.isascii, texts))


def _parse(header: bytes, bounds: Bounds) -> Any:
    # Each value costs at least one of these, so this bounds what the parser can build.
    if header.count(b",") + header.count(b"[") > 4 * bounds.items:
        raise WireError(f"a header of more than {bounds.items} values")
    # A decimal digit holds more than three bits. Long numbers are slow to read; to find them is
    # not, as only a number's first digit can begin a match.
    if re.search(rb"(?<![0-9])[0-9]{%d}" % (bounds.int_bits // 3 + 3), header):
        raise WireError(f"a whole number of more than {bounds.int_bits} bits")
    try:
        return _from_json(header.decode("ascii"))
    except RecursionError:
        raise WireError(f"containers nested deeper than {bounds.depth}") from None
    except ValueError as error:
        raise WireError(f"a header that is not JSON: {error}") from None


def _refuse_object(pairs: list[tuple[str, Any]]) -> Any:
    raise WireError("a JSON object has no place in a header")


# Made once: for a small message that takes as long as the message itself.
_as_json = json.JSONEncoder(separators=(",", ":")).encode
_from_json = json.JSONDecoder(object_pairs_hook=_refuse_object).decode


class _Decoder(_Counted):
    def __init__(self, body: memoryview, bounds: Bounds) -> None:
        super().__init__(bounds)
        self.body = body
        self.offset = 0

    def node(self, node: Any, depth: int) -> Any:
        """Return the value of one parsed JSON node."""
        self._count(1)
        if depth > self.bounds.depth:
            raise WireError(f"containers nested deeper than {self.bounds.depth}")
        if type(node) is not list:
            if type(node) is int and node.bit_length() > self.bounds.int_bits:
                raise WireError(f"a whole number of more than {self.bounds.int_bits} bits")
            return node
        if not node or type(node[0]) is not str:
            raise WireError("a list in the header has no tag")
        tag, parts = node[0], node[1:]
        if tag not in _BUILD:
            return self._other(tag, parts, depth)
        if _all_plain(parts, set(map(type, parts)), self.bounds):
            self._count(len(parts))
            values = parts
        else:
            values = [self.node(part, depth + 1) for part in parts]
        if tag in ("set", "frozenset"):
            return keyed.build(_BUILD[tag], values)
        return _BUILD[tag](values)

    def _other(self, tag: str, parts: list[Any], depth: int) -> Any:
        """Return the value of a node that is no plain sequence."""
        if tag in ("str", "bytes"):
            return self._bytes(tag, parts)
        if tag in ("array", "tensor"):
            return self._array(tag, parts)
        if tag in ("floats", "chunks", "rows"):
            return self._packed(tag, parts, depth)
        if tag == "dict":
            return _build_dict([self.node(part, depth + 1) for part in parts])
        raise WireError(f"a list in the header has the unknown tag {tag[:20]!r}")

    def _bytes(self, tag: str, parts: list[Any]) -> str | bytes:
        if len(parts) != 1:
            raise WireError(f"a {tag} in the body needs one length, not {len(parts)}")
        data = bytes(self._take(parts[0]))
        if tag == "bytes":
            return data
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise WireError(f"a text that is not UTF-8: {error.reason}") from None

    def _packed(self, tag: str, parts: list[Any], depth: int) -> Any:
        kind, parts = (parts[0], parts[1:]) if parts else (None, [])
        if kind not in ("list", "tuple"):
            raise WireError(f"{tag} in the body are neither a list nor a tuple")
        if tag == "rows":
            columns = [self.node(part, depth + 1) for part in parts]
            _check_columns(columns)
            self._count(len(columns[0]))
            return _BUILD[kind](list(zip(*columns, strict=True)))
        if tag == "chunks":
            self._count(len(parts))
            return _BUILD[kind]([bytes(self._take(length)) for length in parts])
        if len(parts) != 1:
            raise WireError(f"floats in the body need one length, not {len(parts)}")
        data = self._take(parts[0])
        if len(data) % 8:
            raise WireError(f"floats in the body have {len(data)} bytes, no multiple of 8")
        self._count(len(data) // 8)
        return _BUILD[kind](np.frombuffer(data).tolist())

    def _array(self, tag: str, parts: list[Any]) -> Any:
        name, shape = (parts[0], tuple(parts[1:])) if parts else (None, ())
        if type(name) is not str or name not in (_DTYPES if tag == "array" else _TENSOR_DTYPES):
            raise WireError(f"an {tag} has the unknown dtype {str(name)[:20]!r}")
        if len(shape) > self.bounds.dimensions:
            raise WireError(f"an array of more than {self.bounds.dimensions} dimensions")
        if any(type(n) is not int or not 0 <= n < 1 << 31 for n in shape):
            raise WireError("an array has an impossible shape")
        itemsize = 2 if name == "bfloat16" else np.dtype(name).itemsize
        data = bytearray(self._take(itemsize * math.prod(shape)))
        # An empty array may still claim an extent that overflows: (0, 2**31 - 1, 2**31 - 1, ...).
        if math.prod(n for n in shape if n) > 1 << 40:
            raise WireError("an array has an impossible shape")
        if name == "bool" and data.translate(None, b"\0\1"):
            raise WireError("a boolean array holds a byte that is neither 0 nor 1")
        if tag == "array":
            return np.frombuffer(data, dtype=name).reshape(shape)
        try:
            import torch  # only where tensors travel: it takes a second
        except ImportError:
            raise WireError("a tensor came, but torch is not installed here") from None
        dtype = getattr(torch, name)
        if not data:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(data, dtype=dtype).reshape(shape)

    def _take(self, n_bytes: Any) -> memoryview:
        left = len(self.body) - self.offset
        if type(n_bytes) is not int or not 0 <= n_bytes <= left:
            raise WireError(f"a value claims more bytes than the {left} that are left in the body")
        self.offset += n_bytes
        return self.body[self.offset - n_bytes : self.offset]


def _build_dict(columns: list[Any]) -> Any:
    if len(columns) != 2:
        raise WireError(f"a dict has keys and values, not {len(columns)} parts")
    _check_columns(columns)
    return keyed.build(dict, *columns)


def _check_columns(columns: list[Any]) -> None:
    if not columns or set(map(type, columns)) != {list} or len(set(map(len, columns))) != 1:
        raise WireError("keys and values, and columns, are lists of one length")
