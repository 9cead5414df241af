"""What the checks of problem set 1 ask of an answer.

Probes travel into the sandbox as text, so each stands alone: it imports what it needs and reads no
global. Four tasks estimate a probability from counts, and share their probes: `tables` are the
counts of one order or of several, `settings` the keyword arguments.
"""


def count_once(implementation, inputs):
    """Return the counts as plain dictionaries."""
    import operator

    counts = implementation(inputs["documents"], inputs["order"], inputs["eos"])
    return {
        history: {token: operator.index(n) for token, n in row.items()}
        for history, row in counts.items()
    }


def count_twice(implementation, inputs):
    """Return the first counts after a second call, and what became of the documents."""
    import operator

    documents = inputs["documents"]
    first = implementation(documents, inputs["order"], inputs["eos"])
    implementation(documents[:1], inputs["order"], inputs["eos"])
    counts = {
        history: {token: operator.index(n) for token, n in row.items()}
        for history, row in first.items()
    }
    return counts, documents


def count_growing(implementation, inputs):
    """Count a text and its first half; say whether twice the text cost over thrice the work."""

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

    places = inputs["places"]
    half, spent_on_half = work(places[: len(places) // 2])
    whole, spent_on_whole = work(places)
    return half, whole, spent_on_whole > 3 * spent_on_half


def estimate(implementation, inputs):
    """Return one probability a question."""
    from collections import Counter

    tables = [{h: Counter(row) for h, row in table.items()} for table in inputs["tables"]]
    counts = tables if inputs["several_orders"] else tables[0]
    return [
        float(implementation(counts, *question, **inputs["settings"]))
        for question in inputs["questions"]
    ]


def estimate_everything(implementation, inputs):
    """Return the whole distribution after each history that is asked about."""
    from collections import Counter

    tables = [{h: Counter(row) for h, row in table.items()} for table in inputs["tables"]]
    counts = tables if inputs["several_orders"] else tables[0]
    return [
        [
            float(implementation(counts, history, token, **inputs["settings"]))
            for token in inputs["everything"]
        ]
        for history in dict.fromkeys(history for history, _ in inputs["questions"])
    ]


def estimate_and_keep(implementation, inputs):
    """Return the probabilities and the arguments after them; the counts are defaultdicts."""
    from collections import Counter, defaultdict

    tables = [
        defaultdict(Counter, {h: Counter(row) for h, row in table.items()})
        for table in inputs["tables"]
    ]
    counts = tables if inputs["several_orders"] else tables[0]
    probs = [
        float(implementation(counts, *question, **inputs["settings"]))
        for question in inputs["questions"]
    ]
    after = [{history: dict(row) for history, row in table.items()} for table in tables]
    return probs, after, inputs["settings"]


def cut(implementation, inputs):
    """Return one history a question."""
    return [implementation(tokens, order, inputs["eos"]) for tokens, order in inputs["questions"]]


def cut_and_keep(implementation, inputs):
    """Return the histories, and the texts after all of them."""
    seen = [implementation(tokens, order, inputs["eos"]) for tokens, order in inputs["questions"]]
    return seen, inputs["questions"]


def draw(implementation, inputs):
    """Return the token at each place."""
    probs = dict(inputs["probs"])
    drawn = [implementation(probs, u) for u in inputs["us"]]
    return [getattr(token, "item", lambda token=token: token)() for token in drawn]


def draw_alone(implementation, inputs):
    """Return what is drawn, what became of the distribution, and whether chance was left alone."""
    import random

    import numpy as np

    probs = dict(inputs["probs"])
    random.seed(5)
    np.random.seed(5)
    drawn = [implementation(probs, u) for u in inputs["us"] * 2]
    plain = [getattr(token, "item", lambda token=token: token)() for token in drawn]
    next_numbers = random.random(), float(np.random.random())
    random.seed(5)
    np.random.seed(5)
    untouched = next_numbers == (random.random(), float(np.random.random()))
    return plain, list(probs.items()), untouched


def score(implementation, inputs):
    """Return the perplexity as a float."""
    return float(implementation(inputs["log_probs"]))


def score_and_keep(implementation, inputs):
    """Return the perplexity of a list, and the list after it."""
    values = list(inputs["log_probs"])
    return float(implementation(values)), values


def continue_once(implementation, inputs):
    """Return the continuation counts as plain dictionaries."""
    import operator
    from collections import Counter

    counts = {history: Counter(row) for history, row in inputs["counts"].items()}
    result = implementation(counts, inputs["order"])
    return {
        history: {token: operator.index(n) for token, n in row.items()}
        for history, row in result.items()
    }


def continue_and_change(implementation, inputs):
    """Return the result, and the counts after the call and after a change to the result."""
    import operator
    from collections import Counter

    counts = {history: Counter(row) for history, row in inputs["counts"].items()}
    result = implementation(counts, inputs["order"])
    plain = {
        history: {token: operator.index(n) for token, n in row.items()}
        for history, row in result.items()
    }
    for row in result.values():
        row["new"] = 7
    return plain, {history: dict(row) for history, row in counts.items()}
