# wrong: leaves out WORDS that occur less often than min_count; pairs are then not tested.
# shows: rare words that share a pair: {b"ab": 1, b"abc": 1} with min_count 2.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    kept = {w: n for w, n in words.items() if n >= min_count}
    rows, counts = [list(w) for w in kept], list(kept.values())
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in zip(rows, counts):
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs or max(pairs.values()) < min_count:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for k, ids in enumerate(rows):
            out, i = [], 0
            while i < len(ids):
                hit = tuple(ids[i : i + 2]) == best
                out.append(len(tokens) - 1 if hit else ids[i])
                i += 1 + hit
            rows[k] = out
    return tokens, merges
