# counts are lowered and raised next to each merge, on the row as it is at that moment

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows, counts = [list(w) for w in words], list(words.values())
    pairs = Counter()
    for ids, n in zip(rows, counts):
        for pair in pairwise(ids):
            pairs[pair] += n
    while len(tokens) < n_tokens:
        pairs = +pairs
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < min_count:
            break
        new = len(tokens)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids, n in zip(rows, counts):
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == best:
                    if i > 0:
                        pairs[ids[i - 1], best[0]] -= n
                        pairs[ids[i - 1], new] += n
                    if i + 2 < len(ids):
                        pairs[best[1], ids[i + 2]] -= n
                        pairs[new, ids[i + 2]] += n
                    ids[i : i + 2] = [new]
                i += 1
        del pairs[best]
    return tokens, merges
