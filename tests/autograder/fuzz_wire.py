"""Fuzz the reader of messages: `python tests/autograder/fuzz_wire.py -max_total_time=60`.

atheris (pip install atheris) sees which branches an input reaches and breeds what reaches more.
Nothing but a WireError may come out of `decode`, and what it accepts must survive being sent again;
libFuzzer watches memory and time. Its options may follow.
"""

import json
import struct
import sys

import atheris

with atheris.instrument_imports(include=["autograder.wire", "json"]):
    from autograder import wire
    from autograder.records import WireError

_BOUNDS = wire.Bounds(header_bytes=1 << 16, body_bytes=1 << 16, items=1 << 12)


_WORDS = (
    *("dict", "list", "tuple", "set", "frozenset", "str", "bytes", "floats", "array", "tensor"),
    *("bool", "int8", "uint16", "float32", "float64", "complex64", "bfloat16", "object", ""),
)


def _header(provider: atheris.FuzzedDataProvider, depth: int = 0) -> object:
    """Breed a header that is at least JSON, mostly with words that mean something."""
    kind = provider.ConsumeIntInRange(0, 9 if depth < 6 else 5)
    if kind <= 1:
        return provider.PickValueInList(list(_WORDS))
    if kind == 2:
        return provider.ConsumeIntInRange(0, 64)
    if kind == 3:
        return provider.PickValueInList([None, True, False, -1, 1.5, 1 << 31, 1 << 5000])
    if kind == 4:
        return provider.ConsumeRegularFloat()
    if kind == 5:
        return provider.ConsumeUnicode(4)
    tag = provider.PickValueInList(list(_WORDS))
    return [tag, *(_header(provider, depth + 1) for _ in range(provider.ConsumeIntInRange(0, 6)))]


def _message(data: bytes) -> bytes:
    """Make a message of bytes: any, any with the lengths that they need, or a bred one."""
    provider = atheris.FuzzedDataProvider(data)
    kind = provider.ConsumeIntInRange(0, 3)
    if kind == 0:
        return provider.ConsumeBytes(1 << 12)
    if kind == 1:
        header = provider.ConsumeBytes(provider.ConsumeIntInRange(0, 1 << 11))
    else:
        header = json.dumps(_header(provider)).encode()
    body = provider.ConsumeBytes(1 << 12)
    return struct.pack(">IQ", len(header), len(body)) + header + body


def decode_any(data: bytes) -> None:
    """Decode, and send again whatever was accepted."""
    try:
        value = wire.decode(_message(data), _BOUNDS)
    except WireError:
        return
    again = wire.decode(wire.encode(value, _BOUNDS), _BOUNDS)
    assert type(again) is type(value), (value, again)


if __name__ == "__main__":
    limits = ["-max_len=4096", "-rss_limit_mb=2048", "-timeout=10"]
    atheris.Setup([sys.argv[0], *limits, *sys.argv[1:]], decode_any)
    atheris.Fuzz()
