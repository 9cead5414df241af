"""Byte-pair encoding: start from bytes, and give the most frequent pair of neighbours a name.

Training repeats one step. Count all pairs of adjacent tokens in the corpus, merge the most frequent
pair into a new token, go on until the vocabulary is full. Encoding replays the merges in the order
in which they were learned. Because it starts from the 256 bytes, no text is ever unknown.
A text is first cut into words (the split pattern), and no merge crosses a cut: tokens are subwords.
Chapter: tokenization. Gage 1994; Sennrich, Haddow & Birch 2016; bytes: Radford et al. 2019.
"""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import regex

from course_pkg.common.checks import flags, whole_numbers
from course_pkg.common.files import path_of
from course_pkg.text.tokenizers.merges import Pair, learn_merges, merge_pair
from course_pkg.text.tokenizers.vocabulary import (
    EOS,
    check_names,
    check_text,
    check_texts,
    count_tokens,
    known_ids,
    load_fields,
    save_fields,
)

GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""Where GPT-2 cuts: an English ending, letters, digits or signs, each with the space before it."""

DIGITS_PATTERN = r"\p{N}|'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
"""The same for a text whose digits were cut out first, one by one, as SmolLM2's are."""

_CACHED_WORDS = 1 << 17
"""Words whose ids are remembered: most of a text repeats, and memory must not grow for ever."""


class BytePairTokenizer:
    """Byte-level byte-pair encoding.

    Args:
        vocabulary: every token by id: bytes for what text may produce, a string for what it may
            not (special tokens).
        merges: pairs to merge, the first learned first.
        pattern: a regular expression (of the `regex` library) whose matches are encoded separately.
        eos: name of the special token between documents.
        is_complete: every byte has a token. False leaves out, in encoding, the bytes that have
            none, as the `tokenizers` library does: some published vocabularies lack those that
            their training text did not have.

    Raises:
        ValueError: a token occurs twice, a byte or `eos` is missing, or a merge uses or makes a
            token that it should not.

    Example:
        >>> tokenizer = BytePairTokenizer.train(["low lower lowest"], vocab_size=260)
        >>> [tokenizer.tokens[i] for i in tokenizer.encode("slow")]
        ['s', 'low']
    """

    unk_id = None

    def __init__(
        self,
        vocabulary: Sequence[bytes | str],
        merges: Sequence[Pair],
        *,
        pattern: str = GPT2_PATTERN,
        eos: str = EOS,
        is_complete: bool = True,
    ) -> None:
        self.vocabulary, self.merges = list(vocabulary), list(merges)
        self.pattern, self.eos, self.is_complete = pattern, eos, is_complete
        ids = {token: i for i, token in enumerate(self.vocabulary)}
        self.special_ids = {token: i for token, i in ids.items() if isinstance(token, str)}
        self._check(ids)
        self.eos_id = self.special_ids[eos]
        single = {b: ids.get(bytes([b])) for b in range(256)}
        self._byte_ids = {b: i for b, i in single.items() if i is not None}
        # pair of ids -> (rank, the pair again, id of what it becomes)
        self._merge_of = {
            (ids[a], ids[b]): (rank, (ids[a], ids[b]), ids[a + b])
            for rank, (a, b) in enumerate(self.merges)
        }
        self._split = _compiled(pattern)
        self._ids_of_word = _KeptResults(self._encode_word)

    def _check(self, ids: Mapping[bytes | str, int]) -> None:
        if len(ids) < len(self.vocabulary):
            twice = next(t for t, n in Counter(self.vocabulary).items() if n > 1)
            raise ValueError(f"vocabulary has {twice!r} twice; every token needs one id")
        if self.eos not in ids:
            raise ValueError(f"vocabulary lacks {self.eos!r}, the token between documents")
        made = {bytes([b]) for b in range(256)}
        if not self.is_complete:
            made &= ids.keys()
        if not made <= ids.keys():
            raise ValueError(f"vocabulary lacks the byte {min(made - ids.keys())!r}")
        for first, second in self.merges:
            # A pair merged before its parts exist would make the order of replay matter.
            if first not in made or second not in made:
                raise ValueError(f"merge {(first, second)!r} uses what no earlier merge makes")
            if first + second not in ids:
                raise ValueError(f"merge {(first, second)!r} makes a token without an id")
            made.add(first + second)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        *,
        vocab_size: int,
        min_count: int = 2,
        pattern: str = GPT2_PATTERN,
        special_tokens: Sequence[str] = (),
    ) -> "BytePairTokenizer":
        """Learn merges: ids 0 to 255 are the bytes, then the merges, then the special tokens.

        Ties: of equally frequent pairs, the one with the smaller first id, then the smaller second
        id, is merged; so a byte goes before a merge, and an early merge before a late one. This is
        the rule of the `tokenizers` library.

        Args:
            texts: training documents.
            vocab_size: number of ids, bytes and special tokens included; fewer if pairs run out.
            min_count: stop when no pair is this frequent.
            pattern: as in the class.
            special_tokens: further tokens besides `<eos>` that text never produces.

        Raises:
            ValueError: no text, no room for the bytes and the special tokens, or `min_count` below
                1.
        """
        whole_numbers(vocab_size=vocab_size, min_count=min_count)
        check_names(special_tokens)
        n_fixed = 256 + 1 + len(special_tokens)
        if vocab_size < n_fixed:
            raise ValueError(
                f"vocab_size is {vocab_size}; bytes and special tokens alone are {n_fixed}"
            )
        split = _compiled(pattern)
        counts = count_tokens(texts, lambda text: (match[0] for match in split.finditer(text)))
        if not counts:
            raise ValueError("texts contain no word; there is nothing to merge")
        words = Counter({_utf8(word): n for word, n in counts.items()})
        tokens, merges = learn_merges(words, vocab_size - n_fixed + 256, min_count)
        return cls([*tokens, EOS, *special_tokens], merges, pattern=pattern)

    @property
    def vocab_size(self) -> int:
        """Number of ids, special ones included."""
        return len(self.vocabulary)

    @property
    def tokens(self) -> list[str]:
        r"""Tokens by id as a reader sees them: UTF-8 where it is, `\xNN` for loose bytes."""
        return [
            t if isinstance(t, str) else t.decode("utf-8", errors="backslashreplace")
            for t in self.vocabulary
        ]

    def encode(self, text: str, *, parse_special: bool = False) -> list[int]:
        """Return the ids of a text; lone surrogates, which UTF-8 cannot encode, become "?".

        Args:
            text: any text.
            parse_special: read the name of a special token in the text as that token. By default
                it is ordinary text, because text from outside must not end a document.

        Raises:
            ValueError: what is no text.
        """
        check_text(text)
        flags(parse_special=parse_special)
        if not parse_special:
            # A chain of C functions: no line of Python runs for a word that was met before.
            words = map(itemgetter(0), self._split.finditer(text))
            return list(chain.from_iterable(map(self._ids_of_word.__getitem__, words)))
        names = sorted(self.special_ids, key=len, reverse=True)
        ids = []
        for piece in regex.split(f"({'|'.join(map(regex.escape, names))})", text):
            special = self.special_ids.get(piece)
            ids.extend(self.encode(piece) if special is None else [special])
        return ids

    def _encode_word(self, word: str) -> list[int]:
        ids = [self._byte_ids[b] for b in _utf8(word) if b in self._byte_ids]
        while True:
            known = (m for pair in pairwise(ids) if (m := self._merge_of.get(pair)))
            first = min(known, default=None)  # the merge that was learned first
            if first is None:
                return ids
            ids = merge_pair(ids, *first[1:])

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of some ids; special tokens are left out, broken UTF-8 becomes U+FFFD.

        Raises:
            ValueError: an id outside the vocabulary.
        """
        parts = []
        for i in known_ids(ids, self.vocab_size):
            token = self.vocabulary[i]
            if isinstance(token, bytes):
                parts.append(token)
        return b"".join(parts).decode("utf-8", errors="replace")

    def to_fast(self) -> "FastBytePairTokenizer":
        """Return the same tokenizer on the compiled `tokenizers` library."""
        return FastBytePairTokenizer(self)

    def to_json(self) -> dict[str, Any]:
        """Return vocabulary and merges in GPT-2's printable form."""
        return {
            "vocabulary": [t if isinstance(t, str) else to_printable(t) for t in self.vocabulary],
            "special_ids": list(self.special_ids.values()),
            "merges": [f"{to_printable(a)} {to_printable(b)}" for a, b in self.merges],
            "pattern": self.pattern,
            "eos": self.eos,
        } | ({} if self.is_complete else {"is_complete": False})

    def save(self, path: str | Path) -> None:
        """Save as JSON."""
        save_fields(path, "byte pair", self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> "BytePairTokenizer":
        """Load what `save` wrote."""
        return load_fields(path, "byte pair", cls._of_fields)

    @classmethod
    def _of_fields(cls, fields: dict[str, Any]) -> "BytePairTokenizer":
        special = set(fields["special_ids"])
        return cls(
            [t if i in special else from_printable(t) for i, t in enumerate(fields["vocabulary"])],
            [_printed_pair(line) for line in fields["merges"]],
            pattern=fields["pattern"],
            eos=fields["eos"],
            is_complete=fields.get("is_complete", True),
        )

    @classmethod
    def from_gpt2_files(
        cls, vocabulary: str | Path, merges: str | Path, *, eos: str = "<|endoftext|>"
    ) -> "BytePairTokenizer":
        """Load the two files of a published GPT-2-style tokenizer, plain or `.gz`.

        Args:
            vocabulary: encoder.json or vocab.json: printable token to id.
            merges: vocab.bpe or merges.txt: a comment, then one pair per line.
            eos: the special token between documents.

        Raises:
            ValueError: ids that are not 0, 1, 2, ..., or what the class refuses.
        """
        ids: dict[str, int] = json.loads(_read(vocabulary))
        tokens = sorted(ids, key=ids.__getitem__)
        if [ids[t] for t in tokens] != list(range(len(tokens))):
            raise ValueError(f"{vocabulary} does not number its tokens 0 to {len(tokens) - 1}")
        lines = [line for line in _read(merges).split("\n") if line and line[:9] != "#version:"]
        return cls(
            [t if t == eos else from_printable(t) for t in tokens],
            [_printed_pair(line) for line in lines],
            eos=eos,
        )


class FastBytePairTokenizer:
    """The same ids as a `BytePairTokenizer`, by the compiled `tokenizers` library.

    Args:
        reference: the readable tokenizer, which goes on to answer all but encoding.
    """

    unk_id = None

    def __init__(self, reference: BytePairTokenizer) -> None:
        # Here, so that a machine without the library has all the rest.
        import tokenizers
        from tokenizers import decoders, models, pre_tokenizers

        self.reference = reference
        self.vocab_size, self.eos_id = reference.vocab_size, reference.eos_id
        self.tokens, self.special_ids = reference.tokens, reference.special_ids
        ordinary = {
            to_printable(token): i
            for i, token in enumerate(reference.vocabulary)
            if isinstance(token, bytes)
        }
        merges = [(to_printable(a), to_printable(b)) for a, b in reference.merges]
        self._fast = tokenizers.Tokenizer(models.BPE(vocab=ordinary, merges=merges))
        self._fast.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(tokenizers.Regex(reference.pattern), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        self._fast.decoder = decoders.ByteLevel()

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; special tokens' names in it are ordinary text."""
        check_text(text)
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts, on as many threads as the library takes."""
        check_texts(texts)
        for number, text in enumerate(texts):
            check_text(text, f"texts[{number}]")
        clean = [_utf8(text).decode() for text in texts]
        encodings = self._fast.encode_batch_fast(clean, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of some ids; special tokens are left out."""
        return self.reference.decode(ids)


class _KeptResults(dict[str, list[int]]):
    """What a function returned for each word that was met before, up to a number of words."""

    def __init__(self, function: Callable[[str], list[int]]) -> None:
        self._function = function

    def __missing__(self, word: str) -> list[int]:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        result = self[word] = self._function(word)
        return result


def _compiled(pattern: str) -> Any:
    try:
        return regex.compile(pattern)
    except (regex.error, TypeError) as error:
        raise ValueError(f"pattern is {pattern!r}, no regular expression: {error}") from error


def _printed_pair(line: str) -> Pair:
    parts = line.split(" ")
    if len(parts) != 2:
        raise ValueError(f"merge {line!r} is not a pair of tokens with a space between")
    return from_printable(parts[0]), from_printable(parts[1])


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")


def _read(path: str | Path) -> str:
    data = path_of(path).read_bytes()
    return (gzip.decompress(data) if Path(path).suffix == ".gz" else data).decode("utf-8")


@cache
def _printable() -> dict[int, str]:
    """GPT-2's printable stand-in for each byte: itself if it shows, else one from U+0100 on.

    A token may hold a space, a newline or half a character, and its files are lines of text.
    """
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {b: chr(b) for b in shown} | {b: chr(256 + n) for n, b in enumerate(hidden)}


@cache
def _from_printable() -> dict[str, int]:
    return {character: b for b, character in _printable().items()}


def to_printable(token: bytes) -> str:
    """Write bytes in GPT-2's printable alphabet: a space becomes "Ġ"."""
    return "".join(_printable()[b] for b in token)


def from_printable(text: str) -> bytes:
    """Read what `to_printable` wrote.

    Raises:
        ValueError: a character outside that alphabet.
    """
    try:
        return bytes(_from_printable()[character] for character in text)
    except KeyError as error:
        raise ValueError(f"token {text!r} has {error}, which stands for no byte") from error
