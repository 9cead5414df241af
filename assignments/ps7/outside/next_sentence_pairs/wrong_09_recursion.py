# wrong: one call inside the other for each pair; Python's stack is too short.
# shows: a document of 2000 sentences: RecursionError.


def next_sentence_pairs(documents, draws):
    def go_on(n, place, used):
        if n == len(documents):
            return []
        if place + 1 == len(documents[n]):
            return go_on(n + 1, 0, used)
        a, b, c = draws[used]
        others = documents[:n] + documents[n + 1 :]
        other = others[int(b * len(others))]
        first, second = documents[n][place : place + 2]
        pair = (first, second, True) if a < 0.5 else (first, other[int(c * len(other))], False)
        return [pair, *go_on(n, place + 1, used + 1)]

    return go_on(0, 0, 0)
