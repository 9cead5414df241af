# wrong: a pair must occur MORE often than min_count.
# shows: the best pair occurs exactly min_count times.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [(list(w), n) for w, n in words.items()]
    for new in range(256, n_tokens):
        pairs = Counter()
        for ids, n in rows:
            for pair in pairwise(ids):
                pairs[pair] += n
        best = min(pairs, key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] <= min_count - (min_count == 1):
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids, _ in rows:
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [new]
                i += 1
    return tokens, merges
