# wrong: pieces are kept between calls, whatever merges come later.
# shows: two calls with the same piece and other merges.

import re
from itertools import pairwise


_pieces = {}


def encode(text, vocabulary, merges, pattern):
    ids = []
    for match in re.finditer(pattern, text):
        piece = match.group()
        key = piece, len(merges)
        if key not in _pieces:
            _pieces[key] = _word(piece.encode("utf-8"), vocabulary, merges)
        ids += _pieces[key]
    return ids


def _word(word, vocabulary, merges):
    ranks = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word]
    while known := [p for p in pairwise(parts) if p in ranks]:
        best = min(known, key=ranks.get)
        i = 0
        while i < len(parts) - 1:
            if (parts[i], parts[i + 1]) == best:
                parts[i : i + 2] = [best[0] + best[1]]
            i += 1
    return [vocabulary.index(p) for p in parts]
