# wrong: merges the pair only once in each word.
# shows: words in which the pair occurs twice: b"lowlow", b"abab".

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows, counts = [list(w) for w in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in zip(rows, counts):
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids in rows:
            for i in range(len(ids) - 1):
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [len(tokens) - 1]
                    break
    return tokens, merges
