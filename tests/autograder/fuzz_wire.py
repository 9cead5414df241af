"""Fuzz the reader of messages: `python tests/autograder/fuzz_wire.py -max_total_time=60`.

atheris (pip install atheris) sees which branches an input reaches and breeds what reaches more.
Nothing but a WireError may come out of `decode`, and what it accepts must survive being sent again;
libFuzzer watches memory and time. Its options may follow.
"""

import json
import struct
import sys

WORDS = [
    *(
        "dict",
        "list",
        "tuple",
        "set",
        "frozenset",
        "str",
        "bytes",
        "floats",
        "chunks",
        "rows",
        "array",
        "tensor",
    ),
    *("bool", "int8", "uint16", "float32", "float64", "complex64", "bfloat16", "object", ""),
]


def header(provider, depth=0):
    """Breed a header that is at least JSON, mostly with words that mean something."""
    kind = provider.ConsumeIntInRange(0, 9 if depth < 6 else 5)
    if kind <= 1:
        return provider.PickValueInList(WORDS)
    if kind == 2:
        return provider.ConsumeIntInRange(0, 64)
    if kind == 3:
        return provider.PickValueInList([None, True, False, -1, 1.5, 1 << 31, 1 << 5000])
    if kind == 4:
        return provider.ConsumeRegularFloat()
    if kind == 5:
        return provider.ConsumeUnicode(4)
    parts = range(provider.ConsumeIntInRange(0, 6))
    return [provider.PickValueInList(WORDS), *(header(provider, depth + 1) for _ in parts)]


def message(provider):
    """Make a message: any bytes, any with the lengths that they need, or a bred header."""
    kind = provider.ConsumeIntInRange(0, 3)
    if kind == 0:
        return provider.ConsumeBytes(1 << 12)
    if kind == 1:
        start = provider.ConsumeBytes(provider.ConsumeIntInRange(0, 1 << 11))
    else:
        start = json.dumps(header(provider)).encode()
    body = provider.ConsumeBytes(1 << 12)
    return struct.pack(">IQ", len(start), len(body)) + start + body


def main():
    """Fuzz until libFuzzer's options say that it is enough."""
    import atheris  # here, so that whoever does not have it can still import this file

    with atheris.instrument_imports(include=["autograder.inside.wire"]):
        from autograder.inside import wire
        from autograder.inside.messages import WireError
    bounds = wire.Bounds(header_bytes=1 << 16, body_bytes=1 << 16, items=1 << 12)

    def decode_any(data):
        try:
            value = wire.decode(message(atheris.FuzzedDataProvider(data)), bounds)
        except WireError:
            return
        again = wire.decode(wire.encode(value, bounds), bounds)
        assert type(again) is type(value), (value, again)

    limits = ["-max_len=4096", "-rss_limit_mb=2048", "-timeout=10"]
    atheris.Setup([sys.argv[0], *limits, *sys.argv[1:]], decode_any)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
