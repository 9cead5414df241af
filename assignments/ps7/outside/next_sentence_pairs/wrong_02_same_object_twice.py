# wrong: leaves the own document out by identity; one list may stand twice in documents.
# shows: d = [[1], [2]]; documents = [d, d, [[3]]]: d is left out twice.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for document in documents:
        others = [other for other in documents if other is not document]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others))]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs
