# wrong: most_common(1) breaks ties by which pair was met first.
# shows: ties, in words that are not sorted.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [(list(w), n) for w, n in sorted(words.items())]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in rows:
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            break
        best, n = pairs.most_common(1)[0]
        if n < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids, _ in rows:
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [len(tokens) - 1]
                i += 1
    return tokens, merges
