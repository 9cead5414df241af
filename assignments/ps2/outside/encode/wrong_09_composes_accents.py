# wrong: brings the text into the Unicode form NFC first, so that other bytes are encoded than were written; breaks "Nothing gets lost" and "Bytes means UTF-8"
# shows: encode("e\u0301", bytes only, [], ".") is [195, 169] in place of [101, 204, 129]
import re
import unicodedata


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
    for match in re.finditer(pattern, unicodedata.normalize("NFC", text)):
        result += _encode_word(match.group().encode("utf-8"), ids, rank)
    return result
