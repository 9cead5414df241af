# wrong: the last sentence of a document is known by its words.
# shows: a document [[1], [2], [1]]: its first sentence opens a pair, too.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for place, sentence in enumerate(document):
            if sentence == document[-1]:
                continue
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((sentence, document[place + 1], True))
            else:
                other = others[int(b * len(others))]
                pairs.append((sentence, other[int(c * len(other))], False))
    return pairs
