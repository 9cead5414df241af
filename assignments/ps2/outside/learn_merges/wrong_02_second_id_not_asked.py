# wrong: of equal first ids the pair that was met first wins, not the one with the smaller second id.
# shows: {b"xb": 1, b"xa": 1}: (x, a) must come first.

from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows, counts = [list(w) for w in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = {}
        for ids, n in zip(rows, counts):
            for pair in pairwise(ids):
                pairs[pair] = pairs.get(pair, 0) + n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p[0]))
        if pairs[best] < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        new = len(tokens)
        tokens.append(b"".join(merges[-1]))
        for k, ids in enumerate(rows):
            out, i = [], 0
            while i < len(ids):
                hit = tuple(ids[i : i + 2]) == best
                out.append(new if hit else ids[i])
                i += 1 + hit
            rows[k] = out
    return tokens, merges
