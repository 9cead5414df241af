# right: takes the own document out of the caller's list and puts it back.
# shows: a list whose pop is forbidden.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n in range(len(documents)):
        document = documents.pop(n)
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = documents[int(b * len(documents))]
                pairs.append((first, other[int(c * len(other))], False))
        documents.insert(n, document)
    return pairs
