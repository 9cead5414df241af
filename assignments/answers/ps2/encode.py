"""Answers to the task "encode a text".

Like a student's, they call the function of task 4.
"""

import re
import unicodedata
from itertools import pairwise

from assignments.answers import alternatives, mistakes
from assignments.answers.ps2.encode_word import by_replaying as encode_word


def encode_without_cutting(text, vocabulary, merges, pattern):
    """The text is not cut, and merges run across the borders."""
    return encode_word(text.encode(), vocabulary, merges)


def cut_at_spaces_and_lose_them(text, vocabulary, merges, pattern):
    """The text is split at its spaces, and they are lost."""
    return [i for word in text.split() for i in encode_word(word.encode(), vocabulary, merges)]


def one_space_before_each_word(text, vocabulary, merges, pattern):
    """The text is split at its spaces, and each word but the first is given one."""
    words = text.split()
    pieces = [word if place == 0 else " " + word for place, word in enumerate(words)]
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


def ignore_the_pattern(text, vocabulary, merges, pattern):
    """The text is always cut before spaces, and the pattern is not read."""
    pieces = re.findall(r"\s?\S+|\s+(?!\S)|\s", text)
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


def strip_the_text(text, vocabulary, merges, pattern):
    """Spaces at both ends of the text are cut off."""
    pieces = re.findall(pattern, text.strip())
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


def strip_the_pieces(text, vocabulary, merges, pattern):
    """Spaces are cut off every piece."""
    pieces = [piece.strip() for piece in re.findall(pattern, text)]
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


def add_a_space_in_front(text, vocabulary, merges, pattern):
    """A space is put before the text."""
    pieces = re.findall(pattern, " " + text)
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


def make_letters_small(text, vocabulary, merges, pattern):
    """Capital letters become small ones."""
    pieces = re.findall(pattern, text.lower())
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


def encode_as_ascii(text, vocabulary, merges, pattern):
    """Characters outside ASCII are dropped."""
    pieces = [piece.encode("ascii", errors="ignore") for piece in re.findall(pattern, text)]
    return [i for piece in pieces for i in encode_word(piece, vocabulary, merges)]


def encode_as_latin(text, vocabulary, merges, pattern):
    """The text becomes bytes of Latin-1, not of UTF-8."""
    pieces = [piece.encode("latin-1", errors="replace") for piece in re.findall(pattern, text)]
    return [i for piece in pieces for i in encode_word(piece, vocabulary, merges)]


def read_special_names(text, vocabulary, merges, pattern):
    """The name of a special token in the text becomes that token."""
    ids = []
    for part in re.split("(<eos>)", text):
        if part in vocabulary:
            ids.append(vocabulary.index(part))
            continue
        for piece in re.findall(pattern, part):
            ids += encode_word(piece.encode(), vocabulary, merges)
    return ids


def compose_accents(text, vocabulary, merges, pattern):
    """A letter and its accent are put together before encoding."""
    pieces = re.findall(pattern, unicodedata.normalize("NFC", text))
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


def one_list_for_each_piece(text, vocabulary, merges, pattern):
    """Every piece has a list of its own."""
    pieces = re.findall(pattern, text)
    return [encode_word(piece.encode(), vocabulary, merges) for piece in pieces]


def encode_each_character(text, vocabulary, merges, pattern):
    """Each character is encoded apart, so that nothing is merged."""
    return [i for character in text for i in encode_word(character.encode(), vocabulary, merges)]


def use_up_merges(text, vocabulary, merges, pattern):
    """Merges of which the text has no bytes are thrown away."""
    used = set(text.encode())
    for pair in list(merges):
        if not set(b"".join(pair)) <= used:
            merges.remove(pair)
    pieces = re.findall(pattern, text)
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


def by_findall(text, vocabulary, merges, pattern):
    """Takes all pieces at once."""
    pieces = re.findall(pattern, text)
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


def by_memory(text, vocabulary, merges, pattern):
    """Encodes each different piece once."""
    known, ids = {}, []
    for match in re.compile(pattern).finditer(text):
        piece = match[0]
        if piece not in known:
            known[piece] = encode_word(bytes(piece, "utf-8"), vocabulary, merges)
        ids += known[piece]
    return ids


def by_cutting_the_front(text, vocabulary, merges, pattern):
    """Walks from match to match by their ends."""
    ids, place, find = [], 0, re.compile(pattern)
    while place < len(text):
        match = find.search(text, place)
        ids = ids + encode_word(text[place : match.end()].encode("utf8"), vocabulary, merges)
        place = match.end()
    return ids


def by_merging_here(text, vocabulary, merges, pattern):
    """Merges without the function of task 4."""
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


MISTAKES = mistakes(
    (
        encode_without_cutting,
        "You encode the text as if it were one word. Then merges run across borders. Cut it by "
        "the pattern first.",
    ),
    (
        cut_at_spaces_and_lose_them,
        "You seem to use str.split, which throws all spaces away. They are bytes of the text like "
        "any other. Let the pattern cut.",
    ),
    (
        one_space_before_each_word,
        "You put one space before each word. But the text may have two, a tab, or one at its "
        "end. Do not rebuild what you can keep: let the pattern cut.",
    ),
    (
        ignore_the_pattern,
        "You cut well at spaces, but the pattern that you were given may cut elsewhere: before a "
        "comma, or by quite another rule. Use it.",
    ),
    (
        strip_the_text,
        "Spaces at the start and at the end of the text are missing from your ids. Nothing may be "
        "cut off.",
    ),
    (
        strip_the_pieces,
        "The pieces come with the spaces before them, and you cut these off. A space is part of "
        "the piece, and often of the token.",
    ),
    (
        add_a_space_in_front,
        "You put a space before the text. Some tokenizers do, but then the text does not come "
        "back as it was. Leave it as it is.",
    ),
    (
        make_letters_small,
        "You make all letters small. Then decoding cannot bring the text back. Encode the text as "
        "it is.",
    ),
    (
        encode_as_ascii,
        "Characters outside ASCII are missing from your ids. In UTF-8 every character has bytes, "
        "so no text needs to lose any.",
    ),
    (
        encode_as_latin,
        "You turn text into Latin-1 bytes, which has only 256 characters. Look at the encoding "
        "that you name: it should be UTF-8.",
    ),
    (
        read_special_names,
        "A text that spells the name of a special token gives that token in your answer. Then any "
        "stranger could end your document. Treat it as ordinary text.",
    ),
    (
        compose_accents,
        "You put letters and accents together before encoding. The text looks the same, but its "
        "bytes are others, and decoding cannot bring the first ones back.",
    ),
    (
        one_list_for_each_piece,
        "You return a list of lists. The ids of all your pieces should stand in one list; extend "
        "it piece by piece.",
    ),
    (
        encode_each_character,
        "You encode character by character, so there are never neighbours to merge. The pattern "
        "says what you should encode together.",
    ),
    (
        use_up_merges,
        "The ids are right, but merges are missing from the caller's list afterwards, and the "
        "next text may need them. Leave your arguments as they are.",
    ),
)

ALTERNATIVES = alternatives(by_findall, by_memory, by_cutting_the_front, by_merging_here)
