# wrong: a piece that is itself a token is not encoded but looked up; breaks "each piece is encoded apart" as in task 4: "take the pair of the smallest rank" ("It is tempting to look for the longest known token instead, but this ... gives other ids")
# shows: merges [(h, e), (t, h), (th, e)], text "the": [258] in place of t + he, [116, 256]
import re


def _encode_word(word, ids, rank):
    parts = [bytes([b]) for b in word]
    while len(parts) > 1:
        pair = min(zip(parts, parts[1:]), key=lambda p: rank.get(p, len(rank)))
        if pair not in rank:
            break
        merged, i = [], 0
        while i < len(parts):
            hit = tuple(parts[i : i + 2]) == pair
            merged.append(pair[0] + pair[1] if hit else parts[i])
            i += 1 + hit
        parts = merged
    return [ids[part] for part in parts]


def encode(text, vocabulary, merges, pattern):
    ids = {token: i for i, token in enumerate(vocabulary) if isinstance(token, bytes)}
    rank = {pair: r for r, pair in enumerate(merges)}
    result = []
    for match in re.finditer(pattern, text):
        piece = match.group().encode("utf-8")
        result += [ids[piece]] if piece in ids else _encode_word(piece, ids, rank)
    return result
