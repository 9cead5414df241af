# wrong: is_next says whether the second sentence reads like the successor.
# shows: the sentence of another document happens to be the same: True.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            other = others[int(b * len(others))]
            second = successor if a < 0.5 else other[int(c * len(other))]
            pairs.append((first, second, second == successor))
    return pairs
