"""BERT's tokenizer: clean the text, cut it into words, and cover each word with the longest pieces.

A vocabulary of pieces is given, not learned here: published BERTs bring theirs. A piece that goes
on inside a word is written with "##" before it. A word that the pieces cannot cover becomes one
unknown token.
Chapter: tokenization. Schuster & Nakajima 2012; Wu et al. 2016; cleaning: Devlin et al. 2019.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from course_pkg.common.files import path_of
from course_pkg.text.tokenizers.vocabulary import (
    check_names,
    check_text,
    known_ids,
    load_fields,
    save_fields,
)

_INSIDE = "##"
_MAX_CHARACTERS = 100
"""A longer word is unknown at once, so that no text can make the search slow."""

_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
"""Blocks of Chinese characters, each of which BERT takes for a word."""


class WordPieceTokenizer:
    """WordPiece with BERT's cleaning.

    `eos_id` is the id of "[SEP]", which stands between BERT's texts; "[CLS]", "[MASK]" and the
    others are in `special_ids`.

    Args:
        tokens: all pieces by id, the special ones among them.
        lowercase: fold case and drop accents, as the "uncased" vocabularies want.

    Raises:
        ValueError: a piece occurs twice, or one of the five special tokens is missing.

    Example:
        >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##known", "!"]
        >>> WordPieceTokenizer(pieces).encode("Unknown!")
        [5, 6, 7]
    """

    SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

    def __init__(self, tokens: Sequence[str], *, lowercase: bool = True) -> None:
        check_names(tokens, "tokens")  # not a file's name, letter by letter
        self.tokens, self.lowercase = list(tokens), lowercase
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        if len(self._ids) < len(self.tokens):
            twice = next(t for i, t in enumerate(self.tokens) if self._ids[t] != i)
            raise ValueError(f"tokens have {twice!r} twice; every piece needs one id")
        for name in self.SPECIAL:
            if name not in self._ids:
                raise ValueError(f"tokens lack {name!r}; a BERT vocabulary has {self.SPECIAL}")
        self.special_ids = {name: self._ids[name] for name in self.SPECIAL}
        self.eos_id, self.unk_id = self._ids["[SEP]"], self._ids["[UNK]"]

    @classmethod
    def from_vocabulary_file(
        cls, path: str | Path, *, lowercase: bool = True
    ) -> "WordPieceTokenizer":
        """Load a published vocab.txt: one piece per line, numbered from zero."""
        lines = path_of(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")
        return cls(lines, lowercase=lowercase)

    @property
    def vocab_size(self) -> int:
        """Number of ids, special ones included."""
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without [CLS] and [SEP] around it."""
        check_text(text)
        words = split_words(clean_text(text, lowercase=self.lowercase))
        return [i for word in words for i in self._pieces(word)]

    def encode_pair(self, first: str, second: str | None = None) -> tuple[list[int], list[int]]:
        """Return ids and segments of [CLS] first [SEP], or of [CLS] first [SEP] second [SEP].

        Args:
            first: a text, in segment 0 with the special tokens around it.
            second: another text, in segment 1 with the [SEP] that closes it.
        """
        ids = [self.special_ids["[CLS]"], *self.encode(first), self.eos_id]
        segments = [0] * len(ids)
        if second is not None:
            ids += [*self.encode(second), self.eos_id]
            segments += [1] * (len(ids) - len(segments))
        return ids, segments

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _MAX_CHARACTERS:
            return [self.unk_id]
        ids, begin = [], 0
        while begin < len(word):
            prefix = _INSIDE if begin else ""
            for end in range(len(word), begin, -1):
                piece = self._ids.get(prefix + word[begin:end])
                if piece is not None:
                    ids.append(piece)
                    begin = end
                    break
            else:  # nothing fits here, so the whole word is unknown
                return [self.unk_id]
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """Join pieces to words; special tokens are left out, except the unknown one.

        Case, accents and spaces that cleaning dropped do not come back.

        Raises:
            ValueError: an id outside the vocabulary.
        """
        words: list[str] = []
        for i in known_ids(ids, self.vocab_size):
            token = self.tokens[i]
            if words and token.startswith(_INSIDE):
                words[-1] += token.removeprefix(_INSIDE)
            elif i == self.unk_id or token not in self.special_ids:
                words.append(token)
        return " ".join(words)

    def save(self, path: str | Path) -> None:
        """Save as JSON."""
        save_fields(path, "word piece", {"tokens": self.tokens, "lowercase": self.lowercase})

    @classmethod
    def load(cls, path: str | Path) -> "WordPieceTokenizer":
        """Load what `save` wrote."""
        return load_fields(path, "word piece", lambda fields: cls(**fields))


def clean_text(text: str, *, lowercase: bool) -> str:
    """Drop control characters, put spaces around ideographs, and fold case and accents if asked."""
    kept = "".join(_clean(character) for character in text)
    if not lowercase:
        return kept
    decomposed = unicodedata.normalize("NFD", kept)
    bare = (c for c in decomposed if unicodedata.category(c) != "Mn")
    # Letter by letter: str.lower would write a final sigma otherwise than the published tokenizers.
    return "".join(c.lower() for c in bare)


def split_words(text: str) -> Iterator[str]:
    """Cut at white space, and make every mark of punctuation a word."""
    for chunk in text.split():
        word = ""
        for character in chunk:
            if _is_punctuation(character):
                if word:
                    yield word
                yield character
                word = ""
            else:
                word += character
        if word:
            yield word


def _clean(character: str) -> str:
    if character in "\t\n\r":
        return " "
    # Unassigned characters (Cn) stay: which they are depends on the age of one's Unicode tables.
    if character in "\0\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if character.isspace():
        return " "
    if any(first <= ord(character) <= last for first, last in _IDEOGRAPHS):
        return f" {character} "
    return character


def _is_punctuation(character: str) -> bool:
    # BERT counts every sign of ASCII, such as "$" and "+", whatever Unicode calls it.
    is_ascii_sign = "!" <= character <= "~" and not character.isalnum()
    return is_ascii_sign or unicodedata.category(character).startswith("P")
