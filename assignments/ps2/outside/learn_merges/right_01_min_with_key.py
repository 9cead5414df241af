from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens = [bytes([b]) for b in range(256)]
    merges = []
    rows, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in zip(rows, counts):
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < min_count:
            break
        new = len(tokens)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
        for ids in rows:
            i = 0
            while i + 1 < len(ids):
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [new]
                i += 1
    return tokens, merges
