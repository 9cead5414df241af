# right: from the end, with a stack of draws.


def next_sentence_pairs(documents, draws):
    stack, pairs = list(draws), []
    for n in reversed(range(len(documents))):
        document = documents[n]
        others = [*documents[:n], *documents[n + 1 :]]
        for i in range(len(document) - 2, -1, -1):
            a, b, c = stack.pop()
            other = others[int(len(others) * b)]
            second = other[int(len(other) * c)]
            pairs.append((document[i], document[i + 1] if a < 0.5 else second, a < 0.5))
    return pairs[::-1]
