# wrong: finds the number of a document by its words: of equal documents always the first.
# shows: documents A, B, A with A of two sentences; the pair of the last A, b = 0: A instead of B is first of the others.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for document in documents:
        own = documents.index(document)
        others = documents[:own] + documents[own + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others))]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs
