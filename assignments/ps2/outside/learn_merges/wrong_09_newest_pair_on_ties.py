# wrong: of equally frequent pairs the LARGEST first id wins (max over (count, pair)).
# shows: ties.

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
        if not pairs:
            break
        n, best = max((n, pair) for pair, n in pairs.items())
        if n < min_count:
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
