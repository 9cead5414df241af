# wrong: cuts with the pattern of the notebook where the text has a space, whatever pattern is given.
# shows: another pattern on a text with spaces: "low low" with r".*" (no cut at all), or with ".".

import re
from itertools import pairwise


def encode(text, vocabulary, merges, pattern):
    fixed = r" ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
    ids = []
    for match in re.finditer(fixed if " " in text else pattern, text):
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
