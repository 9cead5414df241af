"""The task "pairs of sentences"."""

import itertools
import math
from collections.abc import Sequence

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.compare import agree

from ..token_ids import Generator, case, keeps, part

# -- inputs ----------------------------------------------------------------------------------------

Sentence = list[int]
Document = list[Sentence]
Draws = list[tuple[float, float, float]]

PLACES = [(0.0625, 0.9375), (0.9375, 0.0625), (0.4375, 0.5625)]
"""Numbers b and c; they are sixteenths, so that no product has to be rounded."""


def _documents(rng: Generator, lengths: list[int]) -> list[Document]:
    """Make documents of so many sentences; all sentences differ."""
    numbers = itertools.count(int(rng.integers(50)) + 1)
    return [
        [[next(numbers), *rng.integers(9, size=s % 3).tolist()] for s in range(n)] for n in lengths
    ]


def _draws(rng: Generator, coins: str, places: Sequence[tuple[float, float]] = ()) -> Draws:
    """Draw a below 0.5 for "n", above it for "o"; `places` are b and c, in turn."""
    turn = itertools.cycle(places or PLACES)
    draws = []
    for coin in coins:
        share = 0.05 + 0.4 * rng.random()
        draws.append((share if coin == "n" else share + 0.5, *next(turn)))
    return draws


def _case(
    rng: Generator, label: str, lengths: list[int], coins: str, *places: tuple[float, float]
) -> Case:
    return case(label, _documents(rng, lengths), _draws(rng, coins, places))


def draw_neighbours(rng: Generator) -> list[Case]:
    """The coin always says: the successor."""
    return [
        _case(rng, "two documents of 2 sentences, all neighbours", [2, 2], "nn"),
        _case(rng, "documents of 3, 1 and 4 sentences, all neighbours", [3, 1, 4], "nnnnn"),
        _case(rng, "documents of 1, 1 and 5 sentences, all neighbours", [1, 1, 5], "nnnn"),
        _case(rng, "a document of 2,000 sentences", [2, 2000], "n" * 2000),
    ]


def draw_values(rng: Generator) -> list[Case]:
    """Some neighbours, some others; others from documents before the own one and behind it."""
    return [
        _case(rng, "documents of 3, 4 and 2 sentences", [3, 4, 2], "nonoon"),
        _case(rng, "documents of 3, 5, 4 and 6 sentences", [3, 5, 4, 6], "oonnoonoononno"),
        _case(rng, "documents of 2 to 6 sentences", [6, 2, 5, 3], "ononoonnoono"),
    ]


def draw_places(rng: Generator) -> list[Case]:
    """Every other document and every sentence of it, the first and the last among them."""
    corners = [(0.0, 0.0), (0.96875, 0.96875), (0.0, 0.96875), (0.96875, 0.0)]
    grid = [(b / 16, c / 16) for b in (1, 5, 9, 15) for c in (1, 6, 15)]
    return [
        _case(rng, "three documents, first and last", [4, 4, 4], "o" * 9, *corners),
        _case(rng, "four documents, many others", [4, 5, 4, 3], "o" * 12, *grid),
        _case(rng, "two documents, one of 1 sentence", [4, 1], "ooo", *corners),
        _case(rng, "two documents, the first of 1 sentence", [1, 3], "oo", *corners),
        _case(rng, "documents of 1 sentence in between", [1, 2, 1, 3, 1], "ooo", *corners),
    ]


def draw_borders(rng: Generator) -> list[Case]:
    """Coins of exactly 0.5, and of 0; numbers just below a border; documents that are alike."""
    documents = _documents(rng, [3, 2, 3])
    half = [(0.5, 0.25, 0.75), (0.0, 0.75, 0.25), (0.5, 0.75, 0.5), (0.0, 0.0, 0.0)]
    half.append((0.5, 0.75, 0.75))
    below = 1 - 2.0**-40
    near = [(coin, b, c) for coin in (0.5 * below, 0.5) for b, c in ((below / 2, below),)] * 3
    word = int(rng.integers(1, 50))
    twins = [[[word], [word + 1], [word]] for _ in range(2)]
    twins.append([[word], [word]])
    draws = _draws(rng, "noono", [(0.0625, 0.5625), (0.9375, 0.0625)])
    empty = [[[word]], [[word + 1, 2]]]
    six = [[[1], [2]], [[3]], [[4]], [[5]], [[6], [7], [8], [9], [10]], [[11]]]
    around = [[[word], [word + 1]], [[word + 2], [word + 3]], [[word], [word + 1]]]
    return [
        case("coins of 0.5 and 0", documents, half),
        case("documents of the same words", twins, draws),
        case("equal documents", [[[word], [0]]] * 3, _draws(rng, "oon")),
        case("a document before and behind its twin", around, _draws(rng, "ooo", [(0.0, 0.0)])),
        case("numbers just below a border", documents, near[:5]),
        case("no sentence has a successor", empty, []),
        case(
            "products that rounding makes whole", six, [(0.75, 0.6, 0.6), *[(0.25, 0.5, 0.5)] * 4]
        ),
    ]


def draw_repeated(rng: Generator) -> list[Case]:
    """The same list stands in `documents` twice."""
    cases = []
    for order in ([0, 0, 1], [0, 1, 0]):
        documents = _documents(rng, [2, 3])
        n_pairs = sum(len(documents[n]) - 1 for n in order)
        draws = _draws(rng, "o" * n_pairs, [(0.0, 0.5625), (0.9375, 0.0625)])
        inputs = {"documents": documents, "order": order, "draws": draws}
        cases.append(Case(f"documents number {order}", inputs))
    return cases


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [*draw_values(rng), *draw_places(rng)[2:4], *draw_borders(rng)[:2]]


# -- probes ----------------------------------------------------------------------------------------


def call_with_repeats(implementation, inputs):
    """Return the pairs of documents of which one stands in the list twice."""
    documents = [inputs["documents"][n] for n in inputs["order"]]
    return implementation(documents, inputs["draws"])


# -- the reference version -------------------------------------------------------------------------


def next_sentence_pairs(
    documents: list[Document], draws: Draws
) -> list[tuple[Sentence, Sentence, bool]]:
    """Walk over all places of all documents; the package's own function draws for itself."""
    opening = [(d, s) for d, document in enumerate(documents) for s in range(len(document) - 1)]
    pairs = []
    for (d, s), (coin, b, c) in zip(opening, draws, strict=True):
        if is_next := coin < 0.5:
            second = documents[d][s + 1]
        else:
            number = math.floor(b * (len(documents) - 1))
            other = documents[number + (number >= d)]
            second = other[math.floor(c * len(other))]
        pairs.append((documents[d][s], second, is_next))
    return pairs


# -- parts -----------------------------------------------------------------------------------------

_pairs = agree(item="pair", members=("first sentence", "second sentence", "label"))

PARTS = (
    part(
        "neighbours",
        "Each sentence with a successor in its document opens one pair, in order.",
        draw_neighbours,
        3,
        judge=_pairs,
    ),
    part(
        "values",
        "Below 0.5 the second is the successor; else it is from another document.",
        draw_values,
        4,
        judge=_pairs,
    ),
    part(
        "places",
        "The others are counted in their order without the own one, and so are their sentences.",
        draw_places,
        3,
        judge=_pairs,
    ),
    part(
        "borders",
        "A coin of 0.5 is not below 0.5, and two documents are two, also if they say the same.",
        draw_borders,
        1.5,
        judge=_pairs,
    ),
    part(
        "repeated documents",
        "A document that stands in the list twice is another one for itself.",
        draw_repeated,
        0.5,
        call_with_repeats,
        _pairs,
    ),
    keeps(draw_all),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(documents, draws):
    """The answer that the mistakes start from."""
    pairs = []
    used = 0
    for number, document in enumerate(documents):
        others = [other for n, other in enumerate(documents) if n != number]
        for place in range(len(document) - 1):
            first = document[place]
            a, b, c = draws[used]
            used += 1
            if a < 0.5:
                second, is_next = document[place + 1], True
            else:
                other = others[int(b * len(others))]
                second, is_next = other[int(c * len(other))], False
            pairs.append((first, second, is_next))
    return pairs


@mistake(
    hint="You seem to pair a document's last sentence with the first one of the next document. "
    "Where a document ends, no sentence comes next: it opens no pair."
)
def across_documents(documents, draws):
    """The last sentence of a document is followed by the next document's first."""
    pairs = []
    sentences = [(n, s) for n, document in enumerate(documents) for s in document]
    unused = list(draws)
    for (number, first), (_, second) in itertools.pairwise(sentences):
        a, b, c = unused.pop(0) if unused else (0.0, 0.0, 0.0)
        if a >= 0.5:
            others = documents[:number] + documents[number + 1 :]
            other = others[int(b * len(others))]
            second = other[int(c * len(other))]
        pairs.append((first, second, a < 0.5))
    return pairs


MISTAKES = mistakes(
    right_answer,
    across_documents,
    mistake(
        "The second sentence may be from the own document.",
        replace={" if n != number]": "]"},
        hint="You choose among all documents, the pair's own one included. Leave it out first, and "
        "then count the others.",
    ),
    mistake(
        "Other documents are those with other words.",
        replace={"if n != number]": "if other != document]"},
        hint="You leave out all documents that have the same words as this one. It is the place in "
        "the list that counts: an equal document elsewhere is another one.",
    ),
    mistake(
        "A coin of 0.5 counts as below.",
        replace={"a < 0.5": "a <= 0.5"},
        hint="You take the successor where the coin is exactly 0.5. It must be below 0.5: so each "
        "side gets just half of the numbers from 0 to below 1.",
    ),
    mistake(
        "The coin is read the other way round.",
        replace={"a < 0.5": "a >= 0.5"},
        hint="You take the successor where the coin is 0.5 or more. Below 0.5 it is the successor, "
        "else a sentence of another document.",
        keeps=0.5,
    ),
    mistake(
        "The label says that the second is from elsewhere.",
        replace={"[place + 1], True": "[place + 1], False", "(other))], False": "(other))], True"},
        hint="Your sentences are right, but is_next is the wrong way round: it is True where the "
        "second sentence is really the next one.",
        keeps=0.5,
    ),
    mistake(
        "b and c are exchanged.",
        replace={"a, b, c = draws": "a, c, b = draws"},
        hint="You use the third number for the document and the second for the sentence. First "
        "comes b, which chooses the document, then c, which chooses in it.",
        keeps=0.5,
    ),
    mistake(
        "Every second number chooses the sentence, too.",
        replace={"int(c * len(other))": "int(b * len(other))"},
        hint="You use b twice: for the document and for the sentence in it. So an early document "
        "would always give an early sentence. The sentence is chosen by c.",
    ),
    mistake(
        "The first sentence of the other document is taken.",
        replace={"other[int(c * len(other))]": "other[0]"},
        hint="You always take the first sentence of the other document. It may be any of them, and "
        "c says which.",
    ),
    mistake(
        "The last sentence of the other document is never taken.",
        replace={"int(c * len(other))": "int(c * max(len(other) - 1, 1))"},
        hint="You leave out the last sentence of the other document. It opens no pair, but it may "
        "be the second of one.",
    ),
    mistake(
        "Numbers are rounded, not cut off.",
        replace={"int(b * len(others))": "min(round(b * len(others)), len(others) - 1)"},
        hint="You seem to round to the nearest number. Then the first document comes up too "
        "rarely and the last one too often: drop everything after the decimal point.",
    ),
    mistake(
        "The next document is taken, whatever was drawn.",
        replace={"others[int(b * len(others))]": "documents[(number + 1) % len(documents)]"},
        hint="You always take the document after this one. Any other may be the source, and b "
        "says which of them.",
    ),
    mistake(
        "A neighbour uses up no draw.",
        replace={
            "used += 1": "",
            "second, is_next = other[int(c * len(other))], False": """
                second, is_next = other[int(c * len(other))], False
                used += 1
            """,
        },
        hint="You go on to the next draw only where you use all of it. Every pair has a draw of "
        "its own, also where b and c play no part.",
    ),
    mistake(
        "Sentences are paired two by two, and each occurs in one pair only.",
        replace={"range(len(document) - 1)": "range(0, len(document) - 1, 2)"},
        hint="You step over every second sentence. Each sentence with a successor opens a pair, "
        "also if it was the second of the pair before.",
    ),
    mistake(
        "The draws are used up.",
        replace={"draws[used]": "draws.pop(0)", "used += 1": "used += 0"},
        hint="Your pairs are right, but the caller's list of draws is empty afterwards. Read them "
        "without taking them out.",
    ),
)

CHECK = Check(
    item="ps7_next_sentence_pairs",
    points=11,
    target="next_sentence_pairs",
    reference=next_sentence_pairs,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
