# wrong: words are decoded to str and cut into characters: bytes of one character are never apart, and broken UTF-8 fails.
# shows: words with bytes above 127.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    ids_of = {t: i for i, t in enumerate(tokens)}
    rows = [([ids_of[c.encode()] for c in w.decode() if c.encode() in ids_of], n) for w, n in words.items()]
    for new in range(256, n_tokens):
        pairs = Counter()
        for ids, n in rows:
            for pair in pairwise(ids):
                pairs[pair] += n
        best = min(pairs, key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] < min_count:
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
