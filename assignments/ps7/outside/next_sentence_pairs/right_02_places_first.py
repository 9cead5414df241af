# right: a list of all places first; the number of the other document shifted by one behind the own.


def next_sentence_pairs(documents, draws):
    places = [(n, i) for n in range(len(documents)) for i in range(len(documents[n]) - 1)]
    result = []
    for (n, i), (a, b, c) in zip(places, draws):
        is_next = a < 0.5
        if is_next:
            second = documents[n][i + 1]
        else:
            m = int(b * (len(documents) - 1))
            m += m >= n
            second = documents[m][int(c * len(documents[m]))]
        result.append((list(documents[n][i]), list(second), is_next))
    return result
