# wrong: ties are broken by the BYTES of the tokens, not by their ids: a merged token such as b"ab" sorts before b"b", its id 256 does not.
# shows: equal counts for a pair that begins with a merged token and one that begins with a later byte, e.g. (b"es", ...) and (b"t", ...).

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    table = [([bytes([b]) for b in word], n) for word, n in words.items()]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for parts, n in table:
            for pair in pairwise(parts):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < min_count:
            break
        merges.append(best)
        tokens.append(best[0] + best[1])
        for parts, _ in table:
            i = 0
            while i < len(parts) - 1:
                if (parts[i], parts[i + 1]) == best:
                    parts[i : i + 2] = [tokens[-1]]
                i += 1
    return tokens, merges
