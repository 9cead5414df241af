# wrong: goes through the lines and loses the line ends (splitlines).
# shows: "low\nlow", and "\r", "\x0b", "\u2028".

import re
from itertools import pairwise


def encode(text, vocabulary, merges, pattern):
    ids = []
    for line in text.splitlines():
        for match in re.finditer(pattern, line):
            ids += _word(match.group().encode("utf-8"), vocabulary, merges)
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
