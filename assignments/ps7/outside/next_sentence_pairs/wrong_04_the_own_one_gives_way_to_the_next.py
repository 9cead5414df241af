# wrong: takes number b * (all documents), and if that is the own one, the next.
# shows: the first of three documents, b = 0.5: document 1 instead of 2.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                number = int(b * len(documents))
                if number == n:
                    number = (number + 1) % len(documents)
                other = documents[number]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs
