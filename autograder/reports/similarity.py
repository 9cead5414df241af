"""Find answers that resemble each other, or the package's source, more than chance explains.

An answer becomes a sequence of tokens without comments, layout, annotations, refused arguments, the
content of strings and the names that its author chose; of every few neighbouring runs of K tokens
one hash is kept (winnowing: Schleimer, Wilkerson and Aiken 2003). Renaming and reformatting leave
all hashes as they were, moving functions or statements around leaves most.

How much a shared hash says depends on how many others have it: log(n / m) nats where m of n
independent answers do. The course's own right answers count among these, and what stands in the
released notebook weighs nothing, so the usual way to write a short function is no evidence, even in
a class of two. Who writes plainly comes near the course's own solution: of each item, what a pair
shares with that counts no more than that two people did so. What comes out is a reason to look, and
no verdict.
"""

import ast
import bisect
import builtins
import functools
import itertools
import keyword
import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.reports.html import PYTHON_STRING

K = 6
"""Tokens in each hashed run."""
WINDOW = 4
"""Of so many neighbouring hashes one is kept, so every copy of K + WINDOW - 1 tokens shows."""

MOST_LISTED = 200
"""Pairs of students that are reported at most, the most similar ones."""

_SHARE = 0.6  # of what the poorer of two answers has, from which on an item counts
_LEAST_ITEM = 5.0  # nats; below it an item is too short to say anything
_CHANCE = 3.5  # nats beyond what the best of all pairs reaches by chance
# One token stands in K runs, of which this many are kept on average: evidence counts it so often.
_TIMES_COUNTED = 2 * K / (WINDOW + 1)
_LEAST_HASHES = 8  # shorter functions of the package are what everybody writes
_LEAST_SHARED = 24  # by a pair, about 60 tokens: shorter answers are alike of themselves
_LEAST_PAIRS = 435  # of a class of thirty: two people are not alike sooner because they are alone

_MAX_CHARACTERS = 100_000
_KEPT_WORDS = frozenset(keyword.kwlist) | frozenset(dir(builtins))
_TOKEN = re.compile(
    rf"(?P<string>{PYTHON_STRING})"
    r"|(?P<skip>#[^\n]*|\\\n)|(?P<line>\n)|(?P<name>[^\W\d]\w*)|(?P<other>\d[\w.]*|[^\s\w])"
)


@dataclass(frozen=True)
class Print:
    """The fingerprint of one piece of code: each kept hash, and the lines where it stands."""

    lines: Mapping[int, frozenset[int]]

    @functools.cached_property
    def hashes(self) -> frozenset[int]:
        """The kept hashes."""
        return frozenset(self.lines)


@dataclass(frozen=True)
class Match:
    """Two pieces of code that share more than chance explains.

    Attributes:
        left: the student's name.
        right: another student's name, or that of a function of the package.
        share: of the weight of the piece that has less, between 0 and 1.
        evidence: weight of what they share, in nats.
    """

    item: str
    left: str
    right: str
    share: float
    evidence: float
    shared: frozenset[int]


@dataclass(frozen=True)
class Likeness:
    """A student's answers that are like another's or like the package, the most similar first.

    Attributes:
        right: the other student; empty where the answers are like the package.
    """

    left: str
    right: str
    matches: tuple[Match, ...]

    @property
    def evidence(self) -> float:
        """In nats, of all items together."""
        return sum(match.evidence for match in self.matches)


@dataclass(frozen=True)
class Material:
    """What one item is compared with.

    Attributes:
        answers: each student's; of a set, all items have the same students.
        solution: the course's own answer, which may well be like the package.
        alternatives: right answers that were written independently of both.
    """

    item: str
    answers: Mapping[str, str]
    solution: str = ""
    alternatives: Sequence[str] = ()


def similar_students(items: Sequence[Material], released: str) -> tuple[Likeness, ...]:
    """Find pairs of students whose answers are nearly the same, the most similar first.

    Args:
        released: the code that stands in every student's notebook.
    """
    background = fingerprint_code(released).hashes
    classes = [_Class(material, background) for material in items]
    if not classes or not classes[0].names:
        return ()
    names = classes[0].names
    total = np.zeros((len(names), len(names)), dtype=np.float32)
    n_shared = np.zeros_like(total)
    for one in classes:
        evidence, count = one.evidence()
        total += evidence
        n_shared += count
    least = _beyond_chance(max(_LEAST_PAIRS, len(names) * (len(names) - 1) / 2))
    pairs = np.argwhere(np.triu((total >= least) & (n_shared >= _LEAST_SHARED), k=1))
    order = np.argsort(-total[pairs[:, 0], pairs[:, 1]], kind="stable")
    likenesses = []
    for i, j in pairs[order[:MOST_LISTED]]:
        matches = [match for one in classes if (match := one.match(i, j)) is not None]
        likenesses.append(_likeness(names[i], names[j], matches))
    return tuple(likenesses)


def like_package(
    items: Iterable[Material], released: str, functions: Mapping[str, str]
) -> tuple[Likeness, ...]:
    """Find students whose answers hold functions of the package, or parts of them.

    What right answers that were written without it share with the package counts for little, and a
    function that one of them repeats as a whole is not looked for: that is what everybody writes.
    Neither the course's solution nor the class is asked what is usual: the first was written by who
    knows the package, and of the second all may have copied.
    """
    background = fingerprint_code(released).hashes
    prints = {name: fingerprint_code(code) for name, code in functions.items()}
    prints = {name: one for name, one in prints.items() if len(one.hashes) >= _LEAST_HASHES}
    least = _beyond_chance(len(prints))
    matches_of: defaultdict[str, list[Match]] = defaultdict(list)
    for material in items:
        item = _AgainstPackage(material, background, prints, least)
        for student, code in material.answers.items():
            match = item.best_match(student, code)
            if match is not None:
                matches_of[student].append(match)
    likenesses = [_likeness(student, "", matches) for student, matches in matches_of.items()]
    likenesses = [likeness for likeness in likenesses if likeness.evidence >= least]
    return tuple(sorted(likenesses, key=lambda likeness: -likeness.evidence))


def package_functions(sources: Mapping[str, str]) -> dict[str, str]:
    """Return the source of every function and method in some files, by its full name.

    Args:
        sources: of each file, by the name of its module.
    """
    functions = {}
    for module, source in sources.items():
        for name, node in _functions(ast.parse(source), module):
            functions[name] = ast.get_source_segment(source, node) or ""
    return functions


def _functions(node: ast.AST, name: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for inner in ast.iter_child_nodes(node):
        full = f"{name}.{getattr(inner, 'name', '')}".rstrip(".")
        if isinstance(inner, ast.FunctionDef):
            yield full, inner
        yield from _functions(inner, full)


@functools.lru_cache(maxsize=100_000)
def fingerprint_code(code: str) -> Print:
    """Return the fingerprint of Python source, also of such as does not compile."""
    tokens = list(_normal_tokens(code[:_MAX_CHARACTERS]))
    words = [word for word, _ in tokens]
    hashes = [zlib.crc32("\0".join(words[i : i + K]).encode()) for i in range(len(words) - K + 1)]
    lines_of: defaultdict[int, set[int]] = defaultdict(set)
    for start in range(min(1, len(hashes)) and max(1, len(hashes) - WINDOW + 1)):
        window = hashes[start : start + WINDOW]
        least = min(window)
        # The last of equal ones, so that of a run of equal hashes few are kept.
        at = start + len(window) - 1 - window[::-1].index(least)
        lines_of[least].update(line for _, line in tokens[at : at + K])
    return Print({value: frozenset(lines) for value, lines in lines_of.items()})


def _normal_tokens(code: str) -> Iterator[tuple[str, int]]:
    """Yield each token that computes something, and its line, counted from 0."""
    line, depth, starts, after_dot = 0, 0, True, False
    left_out = bytearray(len(code))
    for start, end in _spans_without_effect(code):
        left_out[start:end] = b"1" * (end - start)
    for match in _TOKEN.finditer(code):
        kind, text = match.lastgroup, match[0]
        if left_out[match.start()]:
            kind = "skip"
        if kind == "line":
            starts = starts or depth == 0
        elif kind == "string":
            if not (starts and _ends_line(code, match.end())):  # one that stands alone explains
                yield "s", line
                starts = False
        elif kind == "name":
            yield (text if after_dot or text in _KEPT_WORDS else "v"), line
            starts = False
        elif kind == "other":
            depth = max(0, depth + (text in "([{") - (text in ")]}"))
            yield text, line
            starts = False
        after_dot = text == "." and kind != "skip"
        line += text.count("\n")


def _spans_without_effect(code: str) -> Iterator[tuple[int, int]]:
    """Yield what somebody who copies may leave out: annotations, `self.`, refusals, assertions."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a student may write anything
        return
    lines = [line + "\n" for line in code.split("\n")]
    starts = [0, *itertools.accumulate(map(len, lines))]

    @functools.cache  # all of a student's code may stand in one line
    def n_bytes_before(line: int) -> list[int]:
        return [0, *itertools.accumulate(len(char.encode()) for char in lines[line - 1])]

    def place(line: int, n_bytes: int) -> int:
        return starts[line - 1] + bisect.bisect_left(n_bytes_before(line), n_bytes)

    def begin(node: Any) -> int:
        return place(node.lineno, node.col_offset)

    def end(node: Any) -> int:
        return place(node.end_lineno, node.end_col_offset)

    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name, annotation=ast.expr() as annotation):
                yield begin(node) + len(name), end(annotation)
            case ast.AnnAssign(target=target, annotation=annotation):
                yield end(target), end(annotation)
            case ast.FunctionDef(returns=ast.expr() as annotation):
                yield code.rindex("->", 0, begin(annotation)), end(annotation)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                yield begin(node), end(node) - len(name)
            case ast.If(body=[ast.Raise()], orelse=[]) | ast.Assert():
                yield begin(node), end(node)


def _ends_line(code: str, at: int) -> bool:
    rest = code[at : at + 200].lstrip(" \t")
    return rest[:1] in ("", "\n", "#", "\r")


# ------------------------------------------------------------------ how much is shared
def _weight(n: int, m: int) -> float:
    return math.log((n + 1) / (m + 1))


def _likeness(left: str, right: str, matches: Iterable[Match]) -> Likeness:
    return Likeness(left, right, tuple(sorted(matches, key=lambda match: -match.evidence)))


def _beyond_chance(n_compared: float) -> float:
    """Evidence that none of so many comparisons should reach, were all answers independent."""
    return _TIMES_COUNTED * (math.log(max(1.0, n_compared)) + _CHANCE)


class _Class:
    """The answers of a class to one item."""

    def __init__(self, material: Material, background: frozenset[int]) -> None:
        self._item = material.item
        self.names = list(material.answers)
        self._prints = [
            fingerprint_code(material.answers[name]).hashes - background for name in self.names
        ]
        known = [fingerprint_code(c).hashes for c in (material.solution, *material.alternatives)]
        self._solution = known[0]
        # Two write as the course does: as unlikely as if no other independent answer had.
        self._most_plain = _TIMES_COUNTED * _weight(len(material.alternatives), 0)
        counts = Counter(value for one in (*self._prints, *known) for value in one)
        # Of a pair that shares a hash, both have it: how many of the others do?
        n_others = len(self._prints) + len(known) - 2
        self._weights = {v: _weight(max(n_others, m - 2), max(m, 2) - 2) for v, m in counts.items()}
        self._own = np.array([self._total(one) for one in self._prints], dtype=np.float32)

    def evidence(self) -> tuple[Any, Any]:
        """For each pair of students, the nats and the hashes that they share; 0 without a match."""
        holders: defaultdict[int, list[int]] = defaultdict(list)
        for index, one in enumerate(self._prints):
            for value in one:
                holders[value].append(index)
        plain, own, count = np.zeros((3, len(self.names), len(self.names)), dtype=np.float32)
        for value, having in holders.items():
            if len(having) > 1:
                both = np.ix_(having, having)
                (plain if value in self._solution else own)[both] += self._weights[value]
                count[both] += 1
        shared = plain + own
        enough = (shared >= _SHARE * np.minimum.outer(self._own, self._own)) & (
            shared >= _LEAST_ITEM
        )
        counted = own + np.minimum(plain, self._most_plain)
        return np.where(enough, counted, 0), np.where(enough, count, 0)

    def match(self, i: int, j: int) -> Match | None:
        """What two students share, or None where it is not enough."""
        both = self._prints[i] & self._prints[j]
        evidence, least = self._total(both), float(min(self._own[i], self._own[j]))
        if evidence < max(_LEAST_ITEM, _SHARE * least):
            return None
        share = min(1.0, evidence / least)
        plain = self._total(both & self._solution)
        counted = evidence - plain + min(plain, self._most_plain)
        return Match(self._item, self.names[i], self.names[j], share, counted, both)

    def _total(self, hashes: Iterable[int]) -> float:
        return math.fsum(self._weights[value] for value in hashes)


class _AgainstPackage:
    """The functions of the package that answers to one item are compared with.

    Args:
        least: evidence from which on a right answer repeats a function as a whole.
    """

    def __init__(
        self,
        material: Material,
        background: frozenset[int],
        functions: Mapping[str, Print],
        least: float,
    ) -> None:
        self._item, self._background = material.item, background
        known = [fingerprint_code(code).hashes - background for code in material.alternatives]
        self._n_known, self._counts = len(known), Counter(v for one in known for v in one)
        self._functions = {name: one.hashes - background for name, one in functions.items()}
        for name in {name for one in known for name, e, _ in self._alike(one) if e >= least}:
            del self._functions[name]

    def best_match(self, student: str, code: str) -> Match | None:
        """Return the function that an answer shares most with, or None if it shares too little."""
        mine = fingerprint_code(code).hashes - self._background
        name, evidence, least = max(self._alike(mine), key=lambda f: f[1], default=("", 0.0, 0.0))
        if not name:
            return None
        share = min(1.0, evidence / least)
        return Match(self._item, student, name, share, evidence, mine & self._functions[name])

    def _alike(self, mine: frozenset[int]) -> Iterator[tuple[str, float, float]]:
        """Yield each function that shares enough: its name, the evidence, and of how much it is."""
        own = self._total(mine)
        for name, function in self._functions.items():
            shared = mine & function
            if len(shared) < _LEAST_HASHES / 2:
                continue
            evidence, least = self._total(shared), min(own, self._total(function))
            if evidence >= max(_LEAST_ITEM, _SHARE * least):
                yield name, evidence, least

    def _total(self, hashes: Iterable[int]) -> float:
        return math.fsum(_weight(self._n_known + 1, self._counts[value]) for value in hashes)
