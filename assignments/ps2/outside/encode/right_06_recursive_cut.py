# right: pieces come from re.sub with a function; each different piece is encoded once in a call, by merging all leftmost pairs of the smallest rank on a str whose characters are ids
import re


def encode(text, vocabulary, merges, pattern):
    number = {}
    for i, token in enumerate(vocabulary):
        if isinstance(token, bytes):
            number.setdefault(token, i)
    rules = {}
    for left, right in merges:
        rules.setdefault(chr(number[left]) + chr(number[right]), chr(number[left + right]))
    rank = {pair: r for r, pair in enumerate(rules)}
    known, result = {}, []

    def encode_piece(piece):
        row = "".join(chr(number[bytes([b])]) for b in piece.encode("utf-8"))
        while True:
            pairs = {row[i : i + 2] for i in range(len(row) - 1)} & rank.keys()
            if not pairs:
                return [ord(c) for c in row]
            best = min(pairs, key=rank.__getitem__)
            row = row.replace(best, rules[best])

    def take(match):
        piece = match.group()
        if piece not in known:
            known[piece] = encode_piece(piece)
        result.extend(known[piece])
        return ""

    re.sub(pattern, take, text)
    return result
