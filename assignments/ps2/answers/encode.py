# %% right: Encodes each different piece once.
def encode(text, vocabulary, merges, pattern):
    known, ids = {}, []
    for match in re.compile(pattern).finditer(text):
        piece = match[0]
        if piece not in known:
            known[piece] = encode_word(bytes(piece, "utf-8"), vocabulary, merges)
        ids += known[piece]
    return ids


# %% right: Walks from match to match by their ends.
def encode(text, vocabulary, merges, pattern):
    ids, place, find = [], 0, re.compile(pattern)
    while place < len(text):
        match = find.search(text, place)
        ids = ids + encode_word(text[place : match.end()].encode("utf8"), vocabulary, merges)
        place = match.end()
    return ids


# %% right: Merges without the function of task 4.
def encode(text, vocabulary, merges, pattern):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    ids = []
    for piece in re.findall(pattern, text):
        parts = [bytes([b]) for b in piece.encode()]
        while True:
            ranked = [(ranks[p], i) for i, p in enumerate(pairwise(parts)) if p in ranks]
            if not ranked:
                break
            i = min(ranked)[1]
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        ids += [vocabulary.index(part) for part in parts]
    return ids


# %% right: own encode word
# needs: encode_word

import re


def encode(text, vocabulary, merges, pattern):
    ids = []
    for match in re.finditer(pattern, text):
        ids.extend(encode_word(match.group().encode("utf-8"), vocabulary, merges))
    return ids


# %% right: comprehension with helper
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


# %% right: cache within one call
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


# %% right: scanner spans
import re
from itertools import pairwise


def encode(text: str, vocabulary: list, merges: list, pattern: str) -> list[int]:
    known = dict(map(reversed, enumerate(vocabulary)))
    ids: list[int] = []
    for match in re.finditer(pattern, text):
        start, end = match.span()
        word = bytes(text[start:end], "utf-8")
        parts = [word[i : i + 1] for i in range(len(word))]
        quiet = False
        while not quiet:
            quiet = True
            for pair in merges:
                if pair in pairwise(parts):
                    i = 0
                    while i < len(parts) - 1:
                        if (parts[i], parts[i + 1]) == pair:
                            parts[i : i + 2] = [pair[0] + pair[1]]
                        i += 1
                    quiet = False
                    break
        ids += [known[part] for part in parts]
    return ids


# %% right: generator and sum
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


# %% right: recursive cut
# pieces come from re.sub with a function; each different piece is encoded once in a call, by merging all leftmost pairs of the smallest rank on a str whose characters are ids
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


# %% wrong: normalised
# normalises the text (NFC): "e" with a loose accent becomes "é", and other bytes.
# shows: "e\u0301".

import re
from itertools import pairwise


import unicodedata


def encode(text, vocabulary, merges, pattern):
    ids = []
    for match in re.finditer(pattern, unicodedata.normalize("NFC", text)):
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


# %% wrong: eos recognised
# "<eos>" WITHIN a longer text becomes the special token (alone it is spelled out).
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


# %% wrong: pieces cached
# pieces are kept between calls, whatever merges come later.
# shows: two calls with the same piece and other merges.

import re
from itertools import pairwise


_pieces = {}


def encode(text, vocabulary, merges, pattern):
    ids = []
    for match in re.finditer(pattern, text):
        piece = match.group()
        key = piece, len(merges)
        if key not in _pieces:
            _pieces[key] = _word(piece.encode("utf-8"), vocabulary, merges)
        ids += _pieces[key]
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


# %% wrong: latin1
# bytes are Latin-1 with "replace": every character has one byte.
# shows: "é" and everything that is not ASCII.

import re
from itertools import pairwise


def encode(text, vocabulary, merges, pattern):
    ids = []
    for match in re.finditer(pattern, text):
        ids += _word(match.group().encode("latin-1", "replace"), vocabulary, merges)
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


# %% wrong: fixed pattern
# cuts with the pattern of the notebook where the text has a space, whatever pattern is given.
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


# %% wrong: line by line
# goes through the lines and loses the line ends (splitlines).
# shows: "low\nlow", and "\r", "\x0b", "\u2028".

import re
from itertools import pairwise


def encode(text, vocabulary, merges, pattern):
    ids = []
    for line in text.splitlines():
        for match in re.finditer(pattern, line):
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


# %% wrong: each piece once
# pieces that were met before in the text are not encoded again and left out (dict of pieces, joined at the end).
# shows: a piece that occurs twice: "low low low".

import re
from itertools import pairwise


def encode(text, vocabulary, merges, pattern):
    pieces = {match.group(): None for match in re.finditer(pattern, text)}
    return [i for piece in pieces for i in _word(piece.encode("utf-8"), vocabulary, merges)]


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


# %% wrong: composes accents
# brings the text into the Unicode form NFC first, so that other bytes are encoded than were written; breaks "Nothing gets lost" and "Bytes means UTF-8"
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


# %% wrong: whole piece in the vocabulary
# a piece that is itself a token is not encoded but looked up; breaks "each piece is encoded apart" as in task 4: "take the pair of the smallest rank" ("It is tempting to look for the longest known token instead, but this ... gives other ids")
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


# %% wrong: a piece that is the name of a special token
# A piece that equals a special token as a whole gets its id, as with a pattern that does not cut "<eos>".
# shows: a pattern that leaves <eos> whole
import re
def encode(text, vocabulary, merges, pattern):
    table, out = {t: i for i, t in enumerate(vocabulary)}, []
    for match in re.finditer(pattern, text):
        piece = match.group()
        if piece in table:
            out.append(table[piece])
            continue
        parts = [bytes([b]) for b in piece.encode("utf-8")]
        for a, b in merges:
            k = 0
            while k < len(parts) - 1:
                if parts[k] == a and parts[k + 1] == b:
                    parts[k : k + 2] = [a + b]
                k += 1
        out += [table[p] for p in parts]
    return out
