# ruff: noqa: N802 - Dice has the names that atheris gives
"""Fuzz what reads untrusted bytes: `python -m tests.autograder.fuzz TARGET -max_total_time=60`.

    wire        messages out of the sandbox
    archives    zip files of submissions
    notebooks   a student's notebook

atheris (pip install atheris) sees which branches an input reaches and breeds what reaches more.
Nothing but the one error that a reader promises may come out of it, and what it accepts must keep
what is asserted here; libFuzzer watches memory and time. Its options may follow.
"""

import contextlib
import io
import json
import random
import struct
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

_DTYPES = ("int8", "uint16", "float32", "float64", "complex64", "bfloat16", "object", "bool", "")
WORDS = [
    *("dict", "list", "tuple", "set", "frozenset", "str", "bytes", "floats", "chunks", "rows"),
    *("array", "tensor", *_DTYPES),
]
NAMES = [
    *("ada.ipynb", "bo/toy.ipynb", "bo/toy/toy.ipynb", "submitted/cy/toy/toy.ipynb", "../x.ipynb"),
    *("lovelaceada_LATE_12345_67890_toy.ipynb", "anon_x_1_toy.ipynb", "x_1_text.html", "/x.ipynb"),
    *("Ada L_1_assignsubmission_file_/toy.ipynb", "Ada L_1_assignsubmission_onlinetext/o.html"),
    *("ada+toy+2026-02-03 16:00:00.000000 UTC+x/toy.ipynb", "bo/toy/timestamp.txt", "a\0b.ipynb"),
    *("folder/", "\\x\\y.ipynb", ".hidden/toy.ipynb", "__MACOSX/._x", "C:x.ipynb", "a//./b", "/"),
]
FIELDS = [
    *("cells", "metadata", "nbgrader", "cell_type", "source", "id", "outputs", "worksheets"),
    *("nbformat", "nbformat_minor", "kernelspec", "language_info", "name", "language", "input"),
    *("grade_id", "grade", "solution", "locked", "task", "points", "schema_version", "attachments"),
    *("code", "markdown", "raw", "toy_double", "toy_double_answer", "toy_mean", "toy_essay", ""),
]
ODD = [
    None,
    True,
    False,
    -1,
    1.5,
    float("inf"),
    1 << 31,
    1 << 5000,
    "\udc80",
    "\0",
    "%%html",
    [],
    {},
]


class Dice:
    """Stands in for atheris's FuzzedDataProvider where no input was bred: throws dice."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self.ConsumeIntInRange = self._random.randint
        self.PickValueInList = self._random.choice
        self.ConsumeRegularFloat = self._random.random

    def ConsumeBool(self):
        return self._random.random() < 0.5

    def ConsumeBytes(self, most):
        return self._random.randbytes(self._random.randint(min(most, 1), min(most, 256)))

    def ConsumeUnicode(self, most):
        return "".join(chr(self._random.randint(0, 0x2FFF)) for _ in range(most))

    ConsumeUnicodeNoSurrogates = ConsumeUnicode


def plain(provider, words, depth=0):
    """Breed a value of JSON, mostly of words that mean something."""
    kind = provider.ConsumeIntInRange(0, 9 if depth < 6 else 5)
    if kind <= 1:
        return provider.PickValueInList(words)
    if kind == 2:
        return provider.ConsumeIntInRange(0, 64)
    if kind == 3:
        return provider.PickValueInList(ODD)
    if kind == 4:
        return provider.ConsumeRegularFloat()
    if kind == 5:
        return provider.ConsumeUnicode(4)
    parts = range(provider.ConsumeIntInRange(0, 6))
    if kind == 6:
        return {provider.PickValueInList(words): plain(provider, words, depth + 1) for _ in parts}
    return [provider.PickValueInList(words), *(plain(provider, words, depth + 1) for _ in parts)]


def flipped(provider, data):
    """Change a few bytes, and seldom cut the end off; without any more input, change nothing."""
    changed = bytearray(data)
    for _ in range(provider.ConsumeIntInRange(0, 8)):
        place = provider.ConsumeIntInRange(0, max(0, len(changed) - 1))
        changed[place : place + 1] = provider.ConsumeBytes(1)
    cut = (
        provider.ConsumeIntInRange(0, len(changed)) if provider.ConsumeIntInRange(0, 9) == 9 else 0
    )
    return bytes(changed[: len(changed) - cut])


# ------------------------------------------------------------------ messages
def message(provider):
    """Make a message: any bytes, any with the lengths that they need, or a bred header."""
    kind = provider.ConsumeIntInRange(0, 3)
    if kind == 0:
        return provider.ConsumeBytes(1 << 12)
    if kind == 1:
        start = provider.ConsumeBytes(provider.ConsumeIntInRange(0, 1 << 11))
    else:
        start = json.dumps(plain(provider, WORDS)).encode()
    body = provider.ConsumeBytes(1 << 12)
    return struct.pack(">IQ", len(start), len(body)) + start + body


def read_messages():
    """Return what decodes one message and encodes it again."""
    from autograder.inside import wire
    from autograder.inside.messages import WireError

    bounds = wire.Bounds(header_bytes=1 << 16, body_bytes=1 << 16, items=1 << 12)

    def decode_any(provider):
        try:
            value = wire.decode(message(provider), bounds)
        except WireError:
            return
        again = wire.decode(wire.encode(value, bounds), bounds)
        assert type(again) is type(value), (value, again)

    return decode_any


# ------------------------------------------------------------------ archives
def archive(provider):
    """Make a zip file of odd members, damaged or not, or any bytes."""
    if provider.ConsumeIntInRange(0, 9) == 9:
        return provider.ConsumeBytes(1 << 12)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for _ in range(provider.ConsumeIntInRange(0, 6)):
            name = provider.PickValueInList(NAMES)
            if provider.ConsumeIntInRange(0, 3) == 0:
                name = provider.ConsumeUnicodeNoSurrogates(40)
            info = zipfile.ZipInfo("x")
            info.filename = name  # ZipInfo would cut it at a zero byte
            info.compress_type = provider.PickValueInList([0, 8])
            info.external_attr = provider.ConsumeIntInRange(0, (1 << 32) - 1)
            made.writestr(info, provider.ConsumeBytes(100))
    return flipped(provider, file.getvalue())


def read_archives():
    """Return what collects an archive and reads every notebook in it."""
    from autograder.intake.collection import collect, read_notebook
    from autograder.records import GraderError, SubmissionRefused

    path = Path(tempfile.mkdtemp()) / "class.zip"

    def collect_any(provider):
        path.write_bytes(archive(provider))
        try:
            found = collect(path, "toy")
        except GraderError:
            return
        assert len({one.student for one in found}) == len(found.submissions)
        for one in found:
            assert one.student and "\n" not in one.student and len(one.student.encode()) <= 120, one
            parts = one.delivered.parts if one.delivered is not None else ()
            assert not {"", ".", ".."} & set(parts) and "/" not in "".join(parts), parts
            with contextlib.suppress(SubmissionRefused):
                read_notebook(one)

    return collect_any


# ------------------------------------------------------------------ notebooks
def notebook(provider, released):
    """Make a notebook of which parts are odd, damaged or not, or any value of JSON."""
    if provider.ConsumeIntInRange(0, 9) == 9:
        return json.dumps(plain(provider, FIELDS)).encode()
    made = json.loads(released)
    for _ in range(provider.ConsumeIntInRange(1, 6)):
        place = made
        for _ in range(provider.ConsumeIntInRange(0, 5)):
            inner = list(place.values() if isinstance(place, dict) else place)
            inner = [each for each in inner if isinstance(each, dict | list) and each]
            if not inner:
                break
            place = inner[provider.ConsumeIntInRange(0, len(inner) - 1)]
        if isinstance(place, list):
            spot = provider.ConsumeIntInRange(0, len(place) - 1)
            value = place[-1 - spot] if provider.ConsumeBool() else plain(provider, FIELDS)
            place[spot : spot + provider.ConsumeIntInRange(0, 1)] = [value]
        else:
            key = provider.PickValueInList([*place, *FIELDS])
            place[key] = plain(provider, FIELDS)
    return flipped(provider, json.dumps(made).encode()) if provider.ConsumeBool() else made


def read_notebooks():
    """Return what repairs one notebook."""
    import nbformat

    from autograder.authoring.notebooks import as_text
    from autograder.authoring.release import ReleasedSet
    from autograder.intake.repair import repair
    from autograder.records import SubmissionRefused
    from tests.autograder.conftest import make_toy_course

    released = ReleasedSet(make_toy_course(Path(tempfile.mkdtemp()) / "course"), "toy")
    text = as_text(released.notebooks.student)
    marked = {cell.id for cell in released.notebooks.student.cells if "nbgrader" in cell.metadata}

    def repair_any(provider):
        made = notebook(provider, text)
        try:
            repaired = repair(made if type(made) is bytes else json.dumps(made).encode(), released)
        except SubmissionRefused:
            return
        nbformat.validate(repaired.notebook)
        ids = [cell.id for cell in repaired.notebook.cells]
        assert len(set(ids)) == len(ids) and marked <= set(ids), ids
        as_text(repaired.notebook).encode()

    return repair_any


TARGETS = {"wire": read_messages, "archives": read_archives, "notebooks": read_notebooks}


def main():
    """Fuzz until libFuzzer's options say that it is enough."""
    import atheris  # here, so that whoever does not have it can still import this file

    target = sys.argv[1] if len(sys.argv) > 1 else ""
    if target not in TARGETS:
        sys.exit(f"the target is {target!r}; it must be one of {', '.join(TARGETS)}")
    warnings.simplefilter("ignore")  # zipfile's, of names that occur twice
    with atheris.instrument_imports(include=["autograder.inside.wire", "autograder.intake"]):
        read = TARGETS[target]()
    limits = ["-max_len=4096", "-rss_limit_mb=2048", "-timeout=10", "-len_control=0"]
    options = [sys.argv[0], *limits, *sys.argv[2:]]
    atheris.Setup(options, lambda data: read(atheris.FuzzedDataProvider(data)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
