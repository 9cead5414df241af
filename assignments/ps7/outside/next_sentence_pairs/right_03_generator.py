# right: a generator of pairs; the row of others made by a condition; copies.

import math


def next_sentence_pairs(documents, draws):
    def walk():
        used = 0
        for n, document in enumerate(documents):
            for i in range(1, len(document)):
                a, b, c = draws[used]
                used += 1
                if a >= 0.5:
                    row = [d for k, d in enumerate(documents) if k != n]
                    source = row[math.floor(b * len(row))]
                    yield document[i - 1][:], source[math.floor(c * len(source))][:], False
                else:
                    yield document[i - 1][:], document[i][:], True

    return list(walk())
