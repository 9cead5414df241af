# wrong: "if rank" takes the rank 0 for none: the first merge is never used.
# shows: words with the first pair of merges: b"es".

from itertools import pairwise


def encode_word(word, vocabulary, merges):
    ranks = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word]
    while True:
        found = [(ranks[p], p) for p in pairwise(parts) if ranks.get(p)]
        if not found:
            break
        _, best = min(found)
        out, i = [], 0
        while i < len(parts):
            hit = tuple(parts[i : i + 2]) == best
            out.append(best[0] + best[1] if hit else parts[i])
            i += 1 + hit
        parts = out
    return [vocabulary.index(p) for p in parts]
