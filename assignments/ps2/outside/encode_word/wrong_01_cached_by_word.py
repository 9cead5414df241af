# wrong: results are kept by word alone: stale for other merges or another vocabulary.
# shows: the same word with two lists of merges.

from itertools import pairwise


_seen = {}


def encode_word(word, vocabulary, merges):
    if word not in _seen:
        ranks = {pair: r for r, pair in enumerate(merges)}
        parts = [bytes([b]) for b in word]
        while True:
            best = min(pairwise(parts), key=lambda p: ranks.get(p, len(merges)), default=None)
            if best not in ranks:
                break
            out, i = [], 0
            while i < len(parts):
                hit = tuple(parts[i : i + 2]) == best
                out.append(best[0] + best[1] if hit else parts[i])
                i += 1 + hit
            parts = out
        ids = {t: i for i, t in enumerate(vocabulary)}
        _seen[word] = [ids[p] for p in parts]
    return list(_seen[word])
