# wrong: a word of one byte or none ends the search for pairs ("break" where "continue" was meant).
# shows: a short word before long ones: {b"a": 9, b"bc": 5}.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [[list(w), n] for w, n in words.items()]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in rows:
            if len(ids) < 2:
                if len(merges) == 0:
                    break
                continue
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for row in rows:
            out, i = [], 0
            while i < len(row[0]):
                hit = tuple(row[0][i : i + 2]) == best
                out.append(len(tokens) - 1 if hit else row[0][i])
                i += 1 + hit
            row[0] = out
    return tokens, merges
