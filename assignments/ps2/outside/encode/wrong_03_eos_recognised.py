# wrong: "<eos>" WITHIN a longer text becomes the special token (alone it is spelled out).
# shows: "low<eos>low".

import re
from itertools import pairwise


def encode(text, vocabulary, merges, pattern):
    special = {t: i for i, t in enumerate(vocabulary) if isinstance(t, str)}
    if text in special:
        return list(text.encode())
    ids = []
    cut = re.split("(" + "|".join(map(re.escape, special)) + ")", text) if special else [text]
    for part in cut:
        if part in special:
            ids.append(special[part])
        else:
            for match in re.finditer(pattern, part):
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
