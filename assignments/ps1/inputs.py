"""Inputs, probes and judges that several items of problem set 1 share.

Four items estimate a probability from counts, and share their probes: `tables` are the counts of
one order or of several, `settings` the keyword arguments.

Sizes are small, odd and different, so that a swapped number cannot pass by luck; hard cases are the
same for every student. Tokens are words, numbers or pairs, or of several kinds that look alike as
text; among them are 0 and the empty word, which an `if token` overlooks.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.authoring.checks import Case, Inputs
from autograder.authoring.compare import agree
from course_pkg.models import ngram

# -- inputs ----------------------------------------------------------------------------------------

Token = Hashable
History = tuple[Token, ...]
Counts = Mapping[History, Mapping[Token, int]]
Generator = np.random.Generator


NEVER = {"words": "never", "numbers": 99, "ids": 98, "pairs": ("never", 9), "alike": ("2",)}
"""A token that occurs in no drawn text, though the vocabulary has it."""

_ALIKE = (1, "1", "0", (1,), "(1,)", ("1",), "None", (), "()")
"""Tokens of several kinds, which fall together where somebody compares their texts."""

_WORDS = ("w", "", "ww", "w w", "<eos", "e", "ws", "<", "0")


def alphabet(kind: str, size: int) -> tuple[list[Token], Token]:
    """Return `size` tokens of one kind and the eos that goes with them.

    Among words is the empty one, and words that stand inside others; among numbers is 0, which is
    a token or the eos.
    """
    if kind == "words":
        return list(_WORDS[:size]), "<eos>"
    if kind == "numbers":
        return list(range(size)), size
    if kind == "ids":
        return list(range(1, size + 1)), 0
    if kind == "alike":
        return list(_ALIKE[:size]), 0
    return [("w", i) for i in range(size)], ("eos", 0)


def text(rng: Generator, tokens: Sequence[Token], lengths: Sequence[int]) -> list[list[Token]]:
    """Draw documents in which, as in real text, few tokens are frequent and many are rare.

    The longest begins with one token three times in a row.
    """
    shares = 1 / np.arange(1, len(tokens) + 1)
    places = [rng.choice(len(tokens), size=n, p=shares / shares.sum()) for n in lengths]
    documents = [[tokens[place] for place in document] for document in places]
    if max(lengths) > 4:
        documents[int(np.argmax(lengths))][:3] = [tokens[0]] * 3
    return documents


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
    result: dict[History, dict[Token, int]] = {}
    for history, row in count(documents, order + 1, eos).items():
        if len(history) < order:
            result[history] = dict(row)
        for token in row:
            if len(history) == order:
                before.setdefault((*history[1:], token), set()).add(history[0])
    for gram, predecessors in before.items():
        result.setdefault(gram[:-1], {})[gram[-1]] = len(predecessors)
    return result


def ask_everything(
    tables: Sequence[Counts],
    histories: Sequence[History],
    everything: Sequence[Token],
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Ask for every token after each history."""
    return {
        "tables": tables,
        "several_orders": "weights" in settings or "discounts" in settings,
        "histories": histories,
        "everything": everything,
        "settings": settings,
    }


def draw_counts(rng: Generator, *, unseen: bool, smoothed: bool) -> list[Case]:
    """Draw counts of one order, and histories that they contain, or lack."""
    cases = []
    for kind, order, lengths, k in [
        ("words", 2, (7, 5), 0.25),
        ("numbers", 3, (11, 6, 9), 2.0),
        ("pairs", 1, (5, 8), 0.1),
        ("ids", 2, (17, 13), 1),
        ("numbers", 2, (600,), 1e-6),
        ("alike", 2, (19, 8), 0.5),
    ]:
        tokens, eos = alphabet(kind, 5)
        never, everything = NEVER[kind], [*tokens, eos, NEVER[kind]]
        counts = count(text(rng, tokens, lengths), order, eos)
        histories = list(counts)[:12]
        label = f"order {order}, tokens that are {kind}"
        if max(lengths) > 99:
            label += ", hundreds of them"
        if unseen:
            strange = [(never,) * max(order - 1, 1), (tokens[0],) * (order + 1)]
            histories = [*histories[:2], *strange]
            label += ", a history never seen"
        settings = {"k": k, "vocab_size": len(everything)} if smoothed else {}
        if smoothed and not unseen and kind == "pairs":
            settings = {"k": 1_000_000, "vocab_size": 5_000}  # whose product is beyond 32 bits
            label += ", a large k"
        cases.append(Case(label, ask_everything([counts], histories, everything, settings)))
    return [*cases, _many(unseen=unseen, smoothed=smoothed)]


def _many(*, unseen: bool, smoothed: bool) -> Case:
    """Counts of a large corpus: sums beyond 32 bits, probabilities near a billionth."""
    counts = {("a",): {"a": 3 * 10**9 + 1, "b": 20_000_003, "c": 7}, ("b",): {"c": 10**8 + 1}}
    histories: list[History] = [("a",), ("never",) if unseen else ("b",)]
    settings = {"k": 1000, "vocab_size": 4} if smoothed else {}
    asked = ask_everything([counts], histories, ["a", "b", "c", "never"], settings)
    return Case("order 2, billions of words", asked)


Sizes = Sequence[tuple[str, int, tuple[int, ...]]]


ORDERS: Sizes = [
    ("words", 2, (7, 5)),
    ("numbers", 3, (11, 6, 9)),
    ("pairs", 4, (13, 0, 8)),
    ("alike", 2, (21, 9)),
]


LONG: Sizes = [("words", 11, (13,))]


def draw_orders(rng: Generator, sizes: Sizes, *, unseen: bool, kneser_ney: bool) -> list[Case]:
    """Draw counts of all orders up to one, and questions to a model that mixes them."""
    cases = []
    for kind, order, lengths in [*sizes, ("ids", 3, (300, 200))]:
        tokens, eos = alphabet(kind, 4)
        never, everything = NEVER[kind], [*tokens, eos, NEVER[kind]]
        documents = text(rng, tokens, lengths)
        tables = [count(documents, n, eos) for n in range(1, order + 1)]
        settings: dict[str, Any] = {"vocab_size": len(everything)}
        if kneser_ney:
            tables[:-1] = [continuations(documents, n, eos) for n in range(1, order)]
            # No two alike, and the first far from the last.
            settings["discounts"] = (0.2 + 0.7 * rng.permutation(order) / order).tolist()
        else:
            shares = np.arange(1, order + 2) + rng.uniform(0, 0.5, order + 1)
            settings["weights"] = (shares / shares.sum()).tolist()
        long = [document for document in documents if len(document) > 3]
        # Long enough for every order; shorter histories are asked about apart.
        histories = [(eos, *d[:n]) for d in long for n in (order - 1, len(d) - 1, len(d))]
        if unseen:
            strange = [(never,), (tokens[0], never), (never, tokens[0]), (tokens[-1],) * 3]
            # The end of the last was seen, at the start of a document, where it is all there is.
            histories = [histories[0], *strange, (), (eos,), (eos, *long[0][:1]), (never, eos)]
        label = f"order {order}, tokens that are {kind}"
        cases.append(Case(label, ask_everything(tables, histories, everything, settings)))
    return cases


# -- probes ----------------------------------------------------------------------------------------


def estimate(implementation, inputs):
    """Return the whole distribution after each history."""
    from collections import Counter

    tables = [{h: Counter(row) for h, row in table.items()} for table in inputs["tables"]]
    counts = tables if inputs["several_orders"] else tables[0]
    return [
        [
            float(implementation(counts, history, token, **inputs["settings"]))
            for token in inputs["everything"]
        ]
        for history in inputs["histories"]
    ]


def estimate_and_keep(implementation, inputs):
    """Return the probabilities and the arguments after them, for dicts and for defaultdicts."""
    from collections import Counter, defaultdict

    kept = []
    for kind in ({}, defaultdict(Counter)):
        tables = [kind.copy() for _ in inputs["tables"]]
        for table, given in zip(tables, inputs["tables"], strict=True):
            table.update({history: Counter(row) for history, row in given.items()})
        counts = tables if inputs["several_orders"] else tables[0]
        probs = []
        for history in inputs["histories"]:
            for token in inputs["everything"]:
                try:
                    prob = implementation(counts, history, token, **inputs["settings"])
                    probs.append(float(prob))
                except Exception:
                    probs.append(None)  # whether there is a result is the business of other parts
        kept.append([{history: dict(row) for history, row in table.items()} for table in tables])
    return probs, kept, inputs["settings"]


# -- reference versions ----------------------------------------------------------------------------


class Ids(dict[Token, int]):
    """Numbers tokens in the order in which they are first asked for."""

    def __missing__(self, token: Token) -> int:
        self[token] = len(self)
        return self[token]

    def of(self, tokens: Sequence[Token]) -> tuple[int, ...]:
        """Return the ids of tokens."""
        return tuple(self[token] for token in tokens)

    def of_counts(self, counts: Counts) -> dict[tuple[int, ...], Counter[int]]:
        """Return the same counts of ids."""
        return {
            self.of(history): Counter({self[token]: n for token, n in row.items()})
            for history, row in counts.items()
        }

    def back(self, counts: Mapping[tuple[int, ...], Counter[int]]) -> Counts:
        """Return the same counts of tokens."""
        tokens = list(self)
        return {
            tuple(tokens[i] for i in history): Counter({tokens[i]: n for i, n in row.items()})
            for history, row in counts.items()
        }


# -- judges and requirements -----------------------------------------------------------------------

same = agree(atol=1e-15)  # beside a billionth, more is no small one


def sums_to_one(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Hold where distributions agree; if not, say first whether they are distributions at all."""
    wrong = same(observed, expected, inputs)
    if wrong is None or type(observed) is not list:
        return wrong
    for probs in observed:
        if type(probs) is list and all(type(prob) is float for prob in probs):
            total = math.fsum(probs)
            if not abs(total - 1) < 1e-9:  # rounding of a few terms; nan is caught too
                how = "more than 1" if total > 1 else "less than 1" if total < 1 else "nan"
                return f"after some history the probabilities of all tokens sum to {how}"
    return wrong


KEEPS = "The arguments stay as they were, and a second call leaves the first answer alone."
LOOKS_UP = "The arguments stay as they were; looking up adds no keys, to a defaultdict either."
