# counts anew only in the words that have the pair

from collections import Counter
from collections import defaultdict
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes((b,)) for b in range(256)], []
    rows, counts = [list(w) for w in words], list(words.values())
    pairs, where = Counter(), defaultdict(set)

    def add(k, sign):
        for pair in pairwise(rows[k]):
            pairs[pair] += sign * counts[k]
            if sign > 0:
                where[pair].add(k)

    for k in range(len(rows)):
        add(k, 1)
    while len(tokens) < n_tokens:
        best = min((p for p in pairs if pairs[p] > 0), key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] < min_count:
            break
        new = len(tokens)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
        for k in list(where[best]):
            add(k, -1)
            out, i = [], 0
            while i < len(rows[k]):
                hit = tuple(rows[k][i : i + 2]) == best
                out.append(new if hit else rows[k][i])
                i += 2 if hit else 1
            rows[k] = out
            add(k, 1)
    return tokens, merges
