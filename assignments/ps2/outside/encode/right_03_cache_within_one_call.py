import re
import itertools
import functools


def encode(text, vocabulary, merges, pattern):
    ranks = {pair: rank for rank, pair in enumerate(merges)}

    @functools.lru_cache(maxsize=None)
    def piece_ids(piece):
        parts = [bytes([b]) for b in piece.encode("utf-8")]
        while len(parts) > 1:
            pair = min(zip(parts, parts[1:]), key=lambda p: ranks.get(p, float("inf")))
            if pair not in ranks:
                break
            new, it = [], 0
            while it < len(parts):
                both = tuple(parts[it : it + 2]) == pair
                new.append(b"".join(parts[it : it + 2]) if both else parts[it])
                it += 2 if both else 1
            parts = new
        return tuple(vocabulary.index(part) for part in parts)

    return list(itertools.chain.from_iterable(piece_ids(m.group(0)) for m in re.finditer(pattern, text)))
