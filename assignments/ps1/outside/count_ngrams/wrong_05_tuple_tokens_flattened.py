# wrong: a history is made by adding tuples, and a token that is a tuple itself is spread out in it.
# shows: tokens that are tuples, order 2 and more.

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        history = (eos,) if order > 1 else ()
        for token in [*document, eos]:
            counts[history][token] += 1
            history += token if isinstance(token, tuple) else (token,)
            history = history[max(0, len(history) - order + 1) :]
    return dict(counts)
