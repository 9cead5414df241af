from itertools import pairwise


def encode_word(word, vocabulary, merges):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word]
    while len(parts) > 1:
        best = min(pairwise(parts), key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        out, i = [], 0
        while i < len(parts):
            if tuple(parts[i : i + 2]) == best:
                out.append(parts[i] + parts[i + 1])
                i += 2
            else:
                out.append(parts[i])
                i += 1
        parts = out
    ids = {token: i for i, token in enumerate(vocabulary)}
    return [ids[part] for part in parts]
