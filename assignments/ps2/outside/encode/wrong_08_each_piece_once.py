# wrong: pieces that were met before in the text are not encoded again and left out (dict of pieces, joined at the end).
# shows: a piece that occurs twice: "low low low".

import re
from itertools import pairwise


def encode(text, vocabulary, merges, pattern):
    pieces = {match.group(): None for match in re.finditer(pattern, text)}
    return [i for piece in pieces for i in _word(piece.encode("utf-8"), vocabulary, merges)]


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
