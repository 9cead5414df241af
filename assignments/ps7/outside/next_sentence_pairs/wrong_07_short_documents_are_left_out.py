# wrong: documents of one sentence are never "another document".
# shows: the table's third pair.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = [d for i, d in enumerate(documents) if i != n and len(d) > 1]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others))]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs
