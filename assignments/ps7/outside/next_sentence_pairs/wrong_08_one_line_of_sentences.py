# wrong: one draw over all sentences of the others, so long documents come more often.
# shows: the table's third pair: [3] instead of [4, 5].


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = [s for d in documents[:n] + documents[n + 1 :] for s in d]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                pairs.append((first, others[int(b * len(others))], False))
    return pairs
