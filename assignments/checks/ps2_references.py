"""The package's versions of what problem set 2 asks for.

Counting and learning have the package's own signatures. Merging is asked for tokens of any kind,
so they are numbered on the way in and put back on the way out. Encoding and decoding are methods of
the package's tokenizer, which is made from the vocabulary for each call. Measuring is asked with an
object that can encode and nothing else, so it is given the rest of what the package wants.
"""

import re
from collections.abc import Hashable, Sequence
from typing import Protocol

from course_pkg import evaluation
from course_pkg.text.tokenizers import ByteTokenizer
from course_pkg.text.tokenizers import merges as learning
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer

Pair = tuple[bytes, bytes]

WHOLE = r"(?s:.+)"
"""A pattern that cuts nothing."""

count_pairs = learning.count_pairs
learn_merges = learning.learn_merges


class Encoder(Protocol):
    """All that measuring asks of a tokenizer."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        ...


class _Whole(ByteTokenizer):
    """A whole tokenizer that encodes by another one."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self._encoder = encoder

    def encode(self, text: str) -> list[int]:
        return self._encoder.encode(text)


def merge_pair(
    ids: Sequence[Hashable], pair: tuple[Hashable, Hashable], merged: Hashable
) -> list[Hashable]:
    """Merge with the package."""
    tokens = list(dict.fromkeys([*ids, *pair, merged]))
    number = {token: i for i, token in enumerate(tokens)}
    numbered = learning.merge_pair(
        [number[i] for i in ids], (number[pair[0]], number[pair[1]]), number[merged]
    )
    return [tokens[i] for i in numbered]


def encode_word(
    word: bytes, vocabulary: Sequence[bytes | str], merges: Sequence[Pair]
) -> list[int]:
    """Encode with the package, as a text that is not cut."""
    return encode(word.decode(), vocabulary, merges, WHOLE)


def encode(
    text: str, vocabulary: Sequence[bytes | str], merges: Sequence[Pair], pattern: str
) -> list[int]:
    """Cut with Python's `re`, as the task asks, and encode each piece with the package.

    The package cuts with `regex`, which takes a loose accent for part of a word; `re` does not.
    """
    tokenizer = BytePairTokenizer(vocabulary, merges, pattern=WHOLE)
    return [i for piece in re.findall(pattern, text) for i in tokenizer.encode(piece)]


def decode(ids: Sequence[int], vocabulary: Sequence[bytes | str]) -> str:
    """Decode with the package."""
    return BytePairTokenizer(vocabulary, []).decode(ids)


def bytes_per_token(tokenizer: Encoder, texts: Sequence[str]) -> float:
    """Measure with the package."""
    return evaluation.bytes_per_token(_Whole(tokenizer), texts)
