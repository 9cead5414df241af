import re
from itertools import pairwise


def encode(text, vocabulary, merges, pattern):
    place = {token: i for i, token in enumerate(vocabulary)}
    rank = {pair: i for i, pair in enumerate(merges)}

    def reduce_word(word):
        parts = [word[i : i + 1] for i in range(len(word))]
        while len(parts) >= 2:
            best, i = min((rank.get((a, b), len(merges)), i) for i, (a, b) in enumerate(pairwise(parts)))
            if best == len(merges):
                break
            parts[i] += parts.pop(i + 1)
        return parts

    pieces = (match.group() for match in re.finditer(pattern, text))
    return sum(([place[part] for part in reduce_word(piece.encode())] for piece in pieces), [])
