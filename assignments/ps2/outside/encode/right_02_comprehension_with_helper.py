import re
from itertools import pairwise


def _merge_word(parts, ranks):
    while True:
        scored = [(ranks[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in ranks]
        if not scored:
            return parts
        _, i = min(scored)
        parts = [*parts[:i], parts[i] + parts[i + 1], *parts[i + 2 :]]


def encode(text, vocabulary, merges, pattern):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    ids = {token: i for i, token in enumerate(vocabulary) if isinstance(token, bytes)}
    return [
        ids[part]
        for match in re.compile(pattern).finditer(text)
        for part in _merge_word([bytes([b]) for b in match[0].encode()], ranks)
    ]
