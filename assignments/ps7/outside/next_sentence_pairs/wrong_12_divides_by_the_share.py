# wrong: asks how many shares of 1 / n fit into b, which is rounded in another way than b times n.
# shows: b = 0.6, n = 5: 0.6 // 0.2 is 2 in place of 3

def next_sentence_pairs(documents, draws):
    pairs, at = [], 0
    for number, document in enumerate(documents):
        others = [d for n, d in enumerate(documents) if n != number]
        for place in range(len(document) - 1):
            a, b, c = draws[at]
            at += 1
            if a < 0.5:
                pairs.append((document[place], document[place + 1], True))
                continue
            other = others[min(int(b // (1 / len(others))), len(others) - 1)]
            sentence = other[min(int(c // (1 / len(other))), len(other) - 1)]
            pairs.append((document[place], sentence, False))
    return pairs
