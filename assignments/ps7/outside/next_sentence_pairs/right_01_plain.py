# right: the hint.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others))]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs
