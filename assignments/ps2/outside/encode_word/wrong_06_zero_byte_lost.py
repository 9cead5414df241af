# wrong: "if b" leaves the zero byte out.
# shows: b"a\x00b".

from itertools import pairwise


def encode_word(word, vocabulary, merges):
    ranks = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word if b]
    while True:
        known = [p for p in pairwise(parts) if p in ranks]
        if not known:
            return [vocabulary.index(p) for p in parts]
        best = min(known, key=lambda p: ranks[p])
        out, i = [], 0
        while i < len(parts):
            hit = tuple(parts[i : i + 2]) == best
            out.append(best[0] + best[1] if hit else parts[i])
            i += 1 + hit
        parts = out
