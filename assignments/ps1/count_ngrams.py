"""The task "count n-grams"."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from autograder.authoring.checks import (
    Case,
    Check,
    Inputs,
    Part,
    mistake,
    mistakes,
    nothing_else_changes,
)
from autograder.authoring.compare import saying
from course_pkg.models import ngram

from .inputs import (
    KEEPS,
    Counts,
    Generator,
    Ids,
    Token,
    alphabet,
    text,
)

# -- inputs ----------------------------------------------------------------------------------------

_DOCUMENTS = [
    ("order 2, one document of words", "words", 2, (5,)),
    ("order 1, two documents of words", "words", 1, (4, 3)),
    ("order 3, three documents of numbers", "numbers", 3, (7, 4, 9)),
    ("order 4, two documents of pairs", "pairs", 4, (11, 6)),
    ("order 2, four documents of ids", "ids", 2, (13, 5, 8, 7)),
    ("order 2, hundreds of numbers", "numbers", 2, (300, 1, 200)),
    ("order 2, two documents of tokens that look alike", "alike", 2, (23, 9)),
]


_EDGE_DOCUMENTS = [
    ("order 2, an empty document among others", "words", 2, (3, 0, 2)),
    ("order 5, documents shorter than the history", "numbers", 5, (1, 3, 2, 6)),
    ("order 1, an empty document among others", "pairs", 1, (0, 5, 2)),
    ("order 3, only an empty document", "ids", 3, (0,)),
    ("order 40, one document of one word", "words", 40, (1,)),
    ("order 20, one document of 30 words", "words", 20, (30,)),
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
    """Documents of ordinary length; some equal, and one that repeats a single token."""
    cases = _draw_documents(rng, _DOCUMENTS)
    a, b = alphabet("words", 2)[0]
    documents = [[a, b, a], [a] * 6, [a, b, a], [b], [a, b, a]]
    inputs = {"documents": documents, "order": 3, "eos": "<eos>"}
    return [*cases, Case("order 3, equal documents and repeats", inputs)]


def draw_edge_documents(rng: Generator) -> list[Case]:
    """Documents that are empty or shorter than a history."""
    return _draw_documents(rng, _EDGE_DOCUMENTS)


def draw_all_documents(rng: Generator) -> list[Case]:
    """Documents of all kinds."""
    return [*draw_documents(rng), *draw_edge_documents(rng)]


def draw_growing_documents(rng: Generator) -> list[Case]:
    """A document, of which the probe also counts the first half."""
    length = 2 * int(rng.integers(60, 80))
    return [Case("order 2, one long document", {"places": rng.integers(0, 40, length).tolist()})]


# -- probes ----------------------------------------------------------------------------------------


def count_once(implementation, inputs):
    """Return the counts as plain dictionaries."""
    import operator

    counts = implementation(inputs["documents"], inputs["order"], inputs["eos"])
    return {
        history: {token: operator.index(n) for token, n in row.items()}
        for history, row in counts.items()
    }


def count_twice(implementation, inputs):
    """Return the counts, whether a second call leaves them alone, and the documents after both."""
    import operator

    documents = inputs["documents"]
    try:
        first = implementation(documents, inputs["order"], inputs["eos"])
    except Exception:
        return None, True, documents  # whether there is a result is the business of other parts

    def plain():
        return {
            history: {token: operator.index(n) for token, n in row.items()}
            for history, row in first.items()
        }

    before = plain()
    implementation(documents[:1], inputs["order"], inputs["eos"])
    return before, before == plain(), documents


def count_growing(implementation, inputs):
    """Count a text and its first half; say whether the work grew faster than the text.

    Two kinds of work are looked at. Comparisons are counted: twice the text may take three times as
    many. Copying makes none, so the memory that each line takes for a moment is added up: for four
    times the text it may be eight times as much, be it one document or many.
    """
    import sys
    import tracemalloc

    class Watched:
        operations = 0

        def __init__(self, place):
            self.place = place

        def __hash__(self):
            Watched.operations += 1
            return hash(self.place)

        def __eq__(self, other):
            Watched.operations += 1
            return self.place == other.place

    def work(places):
        document, eos = [Watched(place) for place in places], Watched(-1)
        Watched.operations = 0
        counts = implementation([document], 2, eos)
        spent = Watched.operations
        plain = {
            tuple(token.place for token in history): {t.place: n for t, n in row.items()}
            for history, row in counts.items()
        }
        return plain, spent

    def copied(documents):
        total, start = 0, 0

        def trace(frame, event, argument):
            nonlocal total, start
            now, peak = tracemalloc.get_traced_memory()
            total, start = total + peak - start, now
            tracemalloc.reset_peak()
            # What a Counter's own lines take is added to the line that called it.
            return None if frame.f_globals.get("__name__") == "collections" else trace

        before = sys.gettrace()
        tracemalloc.start()
        sys.settrace(trace)
        try:
            implementation(documents, 2, -1)
        finally:
            sys.settrace(before)
            tracemalloc.stop()
        return total

    places = inputs["places"]
    half, spent_on_half = work(places[: len(places) // 2])
    whole, spent_on_whole = work(places)
    grows = spent_on_whole > 3 * spent_on_half
    text = [place % 7 for place in range(1200)]
    short = [[token] for token in text[:300]]
    grows = grows or copied([text]) > 8 * copied([text[:300]])
    grows = grows or copied(short) > 8 * copied(short[:75])
    return half, whole, grows


def form(implementation, inputs):
    """Return whether the result is a dict of Counters, which answer 0 for what was never seen."""
    from collections import Counter

    counts = implementation(inputs["documents"], inputs["order"], inputs["eos"])
    return isinstance(counts, dict), {isinstance(row, Counter) for row in counts.values()}


# -- the reference version -------------------------------------------------------------------------


def count_ngrams(documents: Sequence[Sequence[Token]], order: int, eos: Token) -> Counts:
    """Count with the package."""
    ids = Ids()
    return ids.back(ngram.count_ngrams([ids.of(d) for d in documents], order, ids[eos]))


# -- judge -----------------------------------------------------------------------------------------


def stays_linear(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Hold where the work grew no faster than the text; the counts are judged elsewhere."""
    if type(observed) is not tuple or observed[-1]:
        return "twice the text takes far more than twice the work"
    return None


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "Every history has the right followers, each with the right count.",
        draw_documents,
        count_once,
        weight=6.5,
    ),
    Part(
        "short documents",
        "Documents that are empty, or shorter than a history, are counted too.",
        draw_edge_documents,
        count_once,
        weight=1.5,
    ),
    Part(
        "form",
        "The result is a dict of Counters, which answer 0 for a token that was never seen.",
        draw_edge_documents,
        form,
        judge=saying(
            "the result is no dict",
            "a value of the result is no Counter, or there is none",
        ),
        weight=0.5,
    ),
    nothing_else_changes(
        KEEPS,
        draw_all_documents,
        count_twice,
        says=("a second call changes the first result", "the call changes the documents"),
    ),
    Part(
        "cost",
        "The work grows in proportion to the length of the text.",
        draw_growing_documents,
        count_growing,
        judge=stays_linear,
        earns_alone=False,
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(documents, order, eos):
    """The answer that the mistakes start from."""
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            history = tuple(padded[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


@mistake(
    hint="You seem to join all documents into one text. Then a history reaches over the eos into "
    "another document. Treat each document on its own.",
)
def count_across_documents(documents, order, eos):
    """Histories reach back into the document before."""
    counts = {}
    stream = [eos]
    for document in documents:
        stream += [*document, eos]
    for t in range(1, len(stream)):
        history = tuple(stream[max(0, t - order + 1) : t])
        counts.setdefault(history, Counter())[stream[t]] += 1
    return counts


@mistake(
    hint="The counts are right, but the documents of the caller now contain eos. Make a new list "
    "for the padded document, and leave the old one alone.",
)
def count_in_place(documents, order, eos):
    """The caller's documents are changed."""
    counts = {}
    for document in documents:
        document.insert(0, eos)
        document.append(eos)
        for t in range(1, len(document)):
            history = tuple(document[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[document[t]] += 1
    return counts


@mistake(
    hint="The counts are right, but you search or copy the text, or all of it so far, again and "
    "again. Twice the text then takes four times as long. One walk over the text is enough.",
)
def count_by_searching(documents, order, eos):
    """The text is searched or copied again and again."""
    grams = []
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            grams.append((tuple(padded[max(0, t - order + 1) : t]), padded[t]))
    counts = {}
    for history, token in grams:
        counts.setdefault(history, Counter())[token] = grams.count((history, token))
    return counts


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The first tokens of a document have no eos before them.",
        replace={"[eos, *document, eos]": "[*document, eos]"},
        hint="You count the inside of each document well. But the first token has a history too: "
        "the eos before it. Look at what you put before the tokens of a document.",
        keeps=0.3,
    ),
    mistake(
        "The end of a document is not counted as a target.",
        replace={"[eos, *document, eos]": "[eos, *document]"},
        hint="A model must also learn when to stop. Look at what you put after the last token of "
        "a document, and whether your loop reaches it.",
        keeps=0.3,
    ),
    mistake(
        "The start of a document is padded with several eos.",
        replace={
            "[eos, *document, eos]": "[eos] * (order - 1) + [*document, eos]",
            "range(1, len(padded))": "range(order - 1, len(padded))",
            "max(0, t - order + 1)": "t - order + 1",
        },
        hint="Many textbooks pad with several start symbols. In this course one eos is enough, "
        "and the first histories are simply shorter. Look at the list you begin with.",
        keeps=0.5,
    ),
    count_across_documents,
    mistake(
        "Histories are one token too long.",
        replace={"t - order + 1": "t - order"},
        hint="An n-gram of order 3 is two tokens of history and one target. Count the tokens in "
        "your history at order 2: should there be two?",
        keeps=0.5,
    ),
    mistake(
        "Targets with a shorter history are skipped.",
        replace={
            "range(1, len(padded))": "range(max(1, order - 1), len(padded))",
            "max(0, t - order + 1)": "t - order + 1",
        },
        hint="The first targets of a document have fewer than order - 1 tokens before them, and "
        "they count as well. Look at the position where your loop starts.",
        keeps=0.3,
    ),
    mistake(
        "The eos at the start is counted as a target.",
        replace={"range(1, len(padded))": "range(len(padded))"},
        hint="Nobody has to guess the eos at the start: it is given. Look at the first position "
        "that your loop treats as a target.",
        keeps=0.5,
    ),
    mistake(
        "The counts start afresh with every document.",
        replace={
            "counts = {}": "",
            "for document in documents:": "for document in documents:\n    counts = {}",
        },
        hint="Your answer knows one document only. Look at the place where the empty dictionary "
        "is made: is it inside the loop?",
    ),
    mistake(
        "The rows are plain dicts, which know nothing of a token that was never seen.",
        replace={
            "counts.setdefault(history, Counter())[padded[t]] += 1": """
                row = counts.setdefault(history, {})
                row[padded[t]] = row.get(padded[t], 0) + 1
            """,
        },
        hint="Your counts are right, but the rows are plain dicts. A later task asks them for "
        "tokens that were never seen: a Counter answers 0, a dict raises a KeyError.",
    ),
    mistake(
        "Each follower is counted once, however often it came.",
        replace={"[padded[t]] += 1": "[padded[t]] = 1"},
        hint="You note that a token came after a history, but not how often. Look at the line "
        "that stores the count: does it add?",
    ),
    count_in_place,
    count_by_searching,
)

CHECK = Check(
    item="ps1_count_ngrams",
    points=11,
    target="count_ngrams",
    reference=count_ngrams,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
