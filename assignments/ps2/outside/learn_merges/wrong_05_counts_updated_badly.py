# wrong: counts are updated and not made anew, with the neighbours as they stood BEFORE the merges of this step: two merges side by side (abab) lower (b, a) twice and raise pairs that are not there.
# shows: words in which the best pair stands twice side by side: b"abab", b"lowlow".

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
            i, out = 0, []
            while i < len(ids):
                if tuple(ids[i : i + 2]) == best:
                    if i > 0:
                        pairs[ids[i - 1], best[0]] -= n
                        pairs[ids[i - 1], new] += n
                    if i + 2 < len(ids):
                        pairs[best[1], ids[i + 2]] -= n
                        pairs[new, ids[i + 2]] += n
                    out.append(new)
                    i += 2
                else:
                    out.append(ids[i])
                    i += 1
            ids[:] = out
        del pairs[best]
    return tokens, merges
