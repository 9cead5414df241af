"""Inputs for the checks of problem set 1, drawn afresh for every student.

Sizes are small, odd and different, so that a swapped number cannot pass by luck. Tokens are words,
numbers or pairs; among the numbers is 0, which an `if token` takes for nothing.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from autograder.authoring.checks import Case, counted
from course_pkg.models import ngram

Token = Hashable
Counts = dict[tuple[Token, ...], dict[Token, int]]
Generator = np.random.Generator

NEVER = {"words": "never", "numbers": 99, "pairs": ("never", 9)}
"""A token that occurs in no drawn text, though the vocabulary has it."""


def alphabet(kind: str, size: int) -> tuple[list[Token], Token]:
    """Return `size` tokens of one kind and the eos that goes with them."""
    if kind == "words":
        return [f"w{i}" for i in range(size)], "<eos>"
    if kind == "numbers":
        return list(range(size)), size
    return [("w", i) for i in range(size)], ("eos", 0)


def text(rng: Generator, tokens: Sequence[Token], lengths: Sequence[int]) -> list[list[Token]]:
    """Draw documents in which, as in real text, few tokens are frequent and many are rare."""
    shares = 1 / np.arange(1, len(tokens) + 1)
    places = [rng.choice(len(tokens), size=n, p=shares / shares.sum()) for n in lengths]
    return [[tokens[place] for place in document] for document in places]


def count(documents: Sequence[Sequence[Token]], order: int, eos: Token) -> Counts:
    """Count with the package, which wants ids, and return plain dictionaries of tokens."""
    ids = {token: number for number, token in enumerate(dict.fromkeys(sum(documents, [eos])))}
    tokens = list(ids)
    counts = ngram.count_ngrams([[ids[t] for t in d] for d in documents], order, ids[eos])
    return {
        tuple(tokens[i] for i in history): {tokens[i]: n for i, n in row.items()}
        for history, row in counts.items()
    }


def continuations(documents: Sequence[Sequence[Token]], order: int, eos: Token) -> Counts:
    """Count, from the definition, the different tokens before each n-gram of `order` tokens."""
    before: dict[tuple[Token, ...], set[Token]] = {}
    result: Counts = {}
    for history, row in count(documents, order + 1, eos).items():
        if len(history) < order:
            result[history] = row
        for token in row:
            if len(history) == order:
                before.setdefault((*history[1:], token), set()).add(history[0])
    for gram, predecessors in before.items():
        result.setdefault(gram[:-1], {})[gram[-1]] = len(predecessors)
    return result


# -- counting ----------------------------------------------------------------------------------

_DOCUMENTS = [
    ("order 2, one document of words", "words", 2, (5,)),
    ("order 1, two documents of words", "words", 1, (4, 3)),
    ("order 3, three documents of numbers", "numbers", 3, (7, 4, 9)),
    ("order 4, two documents of pairs", "pairs", 4, (11, 6)),
    ("order 2, four documents of numbers", "numbers", 2, (13, 5, 8, 7)),
]
_EDGE_DOCUMENTS = [
    ("order 2, an empty document among others", "words", 2, (3, 0, 2)),
    ("order 5, documents shorter than the history", "numbers", 5, (1, 3, 2, 6)),
    ("order 1, an empty document among others", "pairs", 1, (0, 5, 2)),
]


def _draw_documents(
    rng: Generator, sizes: Sequence[tuple[str, str, int, tuple[int, ...]]]
) -> list[Case]:
    cases = []
    for size, kind, order, lengths in sizes:
        tokens, eos = alphabet(kind, 3)
        documents = text(rng, tokens, lengths)
        cases.append(Case(size, {"documents": documents, "order": order, "eos": eos}))
    return cases


def draw_documents(rng: Generator) -> list[Case]:
    """Documents of ordinary length."""
    return _draw_documents(rng, _DOCUMENTS)


def draw_edge_documents(rng: Generator) -> list[Case]:
    """Documents that are empty or shorter than a history."""
    return _draw_documents(rng, _EDGE_DOCUMENTS)


def draw_growing_documents(rng: Generator) -> list[Case]:
    """A document, of which the probe also counts the first half."""
    length = 2 * int(rng.integers(60, 80))
    return [Case("order 2, one long document", {"places": rng.integers(0, 40, length).tolist()})]


# -- probabilities ------------------------------------------------------------------------------


def _questions(
    rng: Generator, counts: Counts, tokens: Sequence[Token], number: int
) -> list[tuple[tuple[Token, ...], Token]]:
    """Ask for tokens, seen and not, after histories that were seen."""
    histories = list(counts)
    asked = [histories[i] for i in rng.permutation(len(histories))[:number]]
    seen = [(history, next(iter(counts[history]))) for history in asked]
    return seen + [(history, tokens[rng.integers(len(tokens))]) for history in asked]


def _inputs(
    tables: Sequence[Counts], questions: object, everything: object, settings: dict[str, Any]
) -> dict[str, Any]:
    return {
        "tables": tables,
        "several_orders": "weights" in settings or "discounts" in settings,
        "questions": questions,
        "everything": everything,
        "settings": settings,
    }


def _draw_counts(rng: Generator, *, unseen: bool, smoothed: bool) -> list[Case]:
    cases = []
    for kind, order, lengths in [
        ("words", 2, (7, 5)),
        ("numbers", 3, (11, 6, 9)),
        ("pairs", 1, (5, 8)),
        ("numbers", 2, (17, 13)),
    ]:
        tokens, eos = alphabet(kind, 5)
        never, everything = NEVER[kind], [*tokens, eos, NEVER[kind]]
        counts = count(text(rng, tokens, lengths), order, eos)
        questions = _questions(rng, counts, everything, 4)
        size = f"order {order}, tokens that are {kind}"
        if unseen:
            strange = [(never,) * max(order - 1, 1), (tokens[0],) * (order + 1)]
            questions = questions[:2] + [(h, t) for h in strange for t in (tokens[0], never)]
            size += ", a history never seen"
        k = float(rng.choice([0.1, 0.25, 0.5, 2.0]))
        settings = {"k": k, "vocab_size": len(everything)} if smoothed else {}
        cases.append(Case(size, _inputs([counts], questions, everything, settings)))
    return cases


def draw_mle(rng: Generator) -> list[Case]:
    """Counts and histories that they contain."""
    return _draw_counts(rng, unseen=False, smoothed=False)


def draw_mle_unseen(rng: Generator) -> list[Case]:
    """Counts and histories that they lack, behind a few that they contain."""
    return _draw_counts(rng, unseen=True, smoothed=False)


def draw_add_k(rng: Generator) -> list[Case]:
    """The same with k and the size of the vocabulary."""
    return _draw_counts(rng, unseen=False, smoothed=True)


def draw_add_k_unseen(rng: Generator) -> list[Case]:
    """The same for histories never seen."""
    return _draw_counts(rng, unseen=True, smoothed=True)


def draw_histories(rng: Generator) -> list[Case]:
    """Texts with walls in them, each asked at several orders."""
    cases = []
    for kind, lengths in [("words", (3, 2)), ("numbers", (5, 1, 4)), ("pairs", (2, 0, 6, 3))]:
        tokens, eos = alphabet(kind, 4)
        stream = [t for document in text(rng, tokens, lengths) for t in (eos, *document)]
        texts = [stream, stream[:-1], [*stream, eos], stream[1:3], tuple(stream), [], [tokens[0]]]
        questions = [(seen, order) for seen in texts for order in (2, 3, 4, 7)]
        cases.append(Case(f"tokens that are {kind}", {"questions": questions, "eos": eos}))
    return cases


def draw_first_order(rng: Generator) -> list[Case]:
    """The same texts at order 1, behind one question of order 3."""
    cases = draw_histories(rng)
    for case in cases:
        seen = [tokens for tokens, _ in case.inputs["questions"][::4]]
        case.inputs["questions"] = [(seen[0], 3), *((tokens, 1) for tokens in seen)]
    return cases


# -- drawing and scoring --------------------------------------------------------------------------


def draw_lines(rng: Generator) -> list[Case]:
    """Distributions, and places well inside their pieces."""
    cases = []
    for kind, size in [("words", 2), ("numbers", 5), ("pairs", 9)]:
        tokens, eos = alphabet(kind, size - 1)
        shares = rng.dirichlet(np.ones(size)).tolist()
        ends = np.cumsum(shares)
        starts = ends - shares
        inside = rng.uniform(0.05, 0.95, size)
        us = (starts + inside * (ends - starts)).tolist()
        probs = list(zip([*tokens, eos], shares, strict=True))
        order = rng.permutation(size).tolist()
        inputs = {"probs": probs, "us": [us[i] for i in order]}
        cases.append(Case(f"{counted(size, 'token')} that are {kind}", inputs))
    return cases


def draw_boundary_lines(rng: Generator) -> list[Case]:
    """Places at the ends of pieces whose lengths are exact in binary, some of length 0."""
    cases = []
    for kind, eighths in [("words", [4, 1, 3]), ("numbers", [0, 2, 0, 5, 1, 0])]:
        tokens, _ = alphabet(kind, len(eighths))
        order = rng.permutation(len(eighths))
        shares = [eighths[i] / 8 for i in order]
        us = [0.0, *(np.cumsum(shares)[np.cumsum(shares) < 1].tolist())]
        inputs = {"probs": list(zip(tokens, shares, strict=True)), "us": [0.97, *us]}
        cases.append(Case(f"{len(eighths)} tokens, u at the end of a piece", inputs))
    return cases


def draw_uneven_lines(rng: Generator) -> list[Case]:
    """Sums a rounding error below 1, places beyond them, and a last piece of length 0."""
    cases = []
    for size in (3, 7):
        tokens, eos = alphabet("words", size)
        shares = (rng.dirichlet(np.ones(size)) * (1 - 1e-10)).tolist()
        middles = (np.cumsum(shares) - np.array(shares) / 2).tolist()
        probs = [*zip(tokens, shares, strict=True), (eos, 0.0)]
        inputs = {"probs": probs, "us": [1 - 1e-13, *middles]}
        cases.append(Case(f"{size + 1} tokens, u beyond the sum", inputs))
    return cases


def draw_log_probs(rng: Generator) -> list[Case]:
    """Short texts, as a list, a tuple and an array."""
    cases = []
    for size, make in [(1, list), (3, tuple), (7, list), (12, np.array)]:
        values = np.log(rng.uniform(0.01, 0.9, size)).tolist()
        cases.append(Case(counted(size, "target"), {"log_probs": make(values)}))
    return cases


def draw_long_log_probs(rng: Generator) -> list[Case]:
    """Texts whose probability no float can hold, and one with an impossible token."""
    long = [np.log(rng.uniform(1e-6, 0.5, size)).tolist() for size in (3001, 30011)]
    impossible = [-1.0, -float("inf"), -2.0]
    cases = [Case(f"{len(values)} targets", {"log_probs": values}) for values in long]
    return [*cases, Case("3 targets, one impossible", {"log_probs": impossible})]


# -- several orders at once -----------------------------------------------------------------------

_Sizes = Sequence[tuple[str, int, tuple[int, ...]]]
_ORDERS: _Sizes = [("words", 2, (7, 5)), ("numbers", 3, (11, 6, 9)), ("pairs", 4, (13, 0, 8))]


def _draw_orders(rng: Generator, sizes: _Sizes, *, unseen: bool, kneser_ney: bool) -> list[Case]:
    cases = []
    for kind, order, lengths in sizes:
        tokens, eos = alphabet(kind, 4)
        never, everything = NEVER[kind], [*tokens, eos, NEVER[kind]]
        documents = text(rng, tokens, lengths)
        tables = [count(documents, n, eos) for n in range(1, order + 1)]
        settings: dict[str, Any] = {"vocab_size": len(everything)}
        if kneser_ney:
            tables[:-1] = [continuations(documents, n, eos) for n in range(1, order)]
            settings["discounts"] = rng.uniform(0.2, 0.9, order).tolist()
        else:
            shares = 0.9 * rng.dirichlet(np.ones(order + 1)) + 0.1 / (order + 1)
            settings["weights"] = shares.tolist()
        long = [document for document in documents if len(document) > 3]
        # Long enough for every order; shorter histories are asked about apart.
        prefixes = [(eos, *d[:n]) for d in long for n in (order - 1, len(d) - 1, len(d))]
        questions = [(h, t) for h in prefixes for t in (everything[rng.integers(6)], tokens[0])]
        if unseen:
            strange = [(never,), (tokens[0], never), (never, tokens[0]), (tokens[-1],) * 3]
            strange += [(), (eos,), (eos, *long[0][:1])]
            questions = questions[:2] + [(history, never) for history in strange]
        size = f"order {order}, tokens that are {kind}"
        cases.append(Case(size, _inputs(tables, questions, everything, settings)))
    return cases


def draw_interpolated(rng: Generator) -> list[Case]:
    """Orders 1 to 4, after histories that the text contains."""
    return _draw_orders(rng, [("words", 1, (5, 4)), *_ORDERS], unseen=False, kneser_ney=False)


def draw_interpolated_unseen(rng: Generator) -> list[Case]:
    """The same after histories that are new, or too short for the highest order."""
    return _draw_orders(rng, _ORDERS, unseen=True, kneser_ney=False)


def draw_kneser_ney_bigrams(rng: Generator) -> list[Case]:
    """Orders 1 and 2 only."""
    sizes = [("words", 2, (7, 5)), ("numbers", 2, (13, 9, 4))]
    return _draw_orders(rng, sizes, unseen=False, kneser_ney=True)


def draw_kneser_ney(rng: Generator) -> list[Case]:
    """Order 1 alone, and orders up to 5."""
    sizes = [("words", 1, (6, 5)), ("numbers", 3, (11, 6, 9)), ("pairs", 5, (13, 7))]
    return _draw_orders(rng, sizes, unseen=False, kneser_ney=True)


def draw_kneser_ney_unseen(rng: Generator) -> list[Case]:
    """Orders 2 to 4 after histories that are new, or too short for the highest order."""
    return _draw_orders(rng, _ORDERS, unseen=True, kneser_ney=True)


# -- continuation counts --------------------------------------------------------------------------


def _draw_continuations(rng: Generator, sizes: _Sizes) -> list[Case]:
    cases = []
    for kind, order, lengths in sizes:
        tokens, eos = alphabet(kind, 4)
        counts = count(text(rng, tokens, lengths), order + 1, eos)
        cases.append(
            Case(f"order {order}, tokens that are {kind}", {"counts": counts, "order": order})
        )
    return cases


def draw_continuations(rng: Generator) -> list[Case]:
    """Counts of one long document, so that little depends on its start."""
    sizes = [("words", 1, (9,)), ("numbers", 1, (23, 6)), ("pairs", 1, (15, 8, 4))]
    return _draw_continuations(rng, [*sizes, ("words", 2, (31,)), ("numbers", 3, (41,))])


def draw_start_continuations(rng: Generator) -> list[Case]:
    """Counts of many short documents, whose starts repeat."""
    return _draw_continuations(
        rng, [("words", 2, (3, 2, 4, 1, 3, 2)), ("pairs", 3, (4, 1, 3, 0, 5, 4, 2))]
    )
