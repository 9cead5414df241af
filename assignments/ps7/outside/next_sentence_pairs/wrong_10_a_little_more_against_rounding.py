# wrong: adds 1e-6 before rounding down.
# shows: b = 0.4999999 with two others: the second instead of the first; b = 0.9999999: IndexError.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others) + 1e-6)]
                pairs.append((first, other[int(c * len(other) + 1e-6)], False))
    return pairs
