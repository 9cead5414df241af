# wrong: takes the draws out of the caller's list.
# shows: draws after the call.


def next_sentence_pairs(documents, draws):
    pairs = []
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = draws.pop(0)
            other = others[int(b * len(others))]
            wrong = other[int(c * len(other))]
            pairs.append((first, successor, True) if a < 0.5 else (first, wrong, False))
    return pairs
