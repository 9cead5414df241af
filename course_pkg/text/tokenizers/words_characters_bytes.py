"""Tokens that need no learning beyond a count: words, characters, bytes.

Chapter: tokenization.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from course_pkg.text.tokenizers.vocabulary import (
    EOS,
    UNK,
    Vocabulary,
    check_names,
    check_text,
    count_tokens,
    known_ids,
    load_fields,
    save_fields,
)

WORD_PATTERN = r"\w+(?:['’]\w+)*|[^\w\s]"
"""A word with its inner apostrophes, or a single mark of punctuation."""

WHITESPACE_PATTERN = r"\S+"
"""For text that is tokenized already, as the Penn Treebank and WikiText are published."""


class _VocabularyTokenizer:
    """What word and character tokenizers share: everything but the cutting and the joining."""

    vocabulary: Vocabulary

    @property
    def vocab_size(self) -> int:
        """Number of ids, special ones included."""
        return len(self.vocabulary)

    @property
    def tokens(self) -> list[str]:
        """Tokens by id."""
        return self.vocabulary.tokens

    @property
    def eos_id(self) -> int:
        """Id of the token that ends a document."""
        return self.vocabulary.eos_id

    @property
    def unk_id(self) -> int | None:
        """Id of the unknown token, or None if an unknown token is an error."""
        return self.vocabulary.unk_id

    @property
    def special_ids(self) -> dict[str, int]:
        """Ids that no text produces, by name."""
        return self.vocabulary.special_ids


class WordTokenizer(_VocabularyTokenizer):
    """Words and punctuation marks by a regular expression, numbered by falling frequency.

    White space is not kept, so `decode` gives one space between words and none before a full stop;
    encoding that text again gives the same ids.

    Args:
        vocabulary: the numbered words.
        pattern: what counts as a token.
        lowercase: fold case before looking words up.

    Example:
        >>> tokenizer = WordTokenizer.train(["The cat sat.", "The cat ran."])
        >>> tokenizer.decode(tokenizer.encode("The dog sat."))
        'The <unk> sat.'
    """

    def __init__(
        self, vocabulary: Vocabulary, *, pattern: str = WORD_PATTERN, lowercase: bool = False
    ) -> None:
        self.vocabulary = vocabulary
        self.pattern = pattern
        self.lowercase = lowercase
        # The unknown token is a token under every pattern: corpora such as the Penn Treebank
        # contain it as text.
        known = "" if vocabulary.unk is None else re.escape(vocabulary.unk) + "|"
        try:
            compiled = re.compile(known + pattern)
        except (re.error, TypeError) as error:
            raise ValueError(f"pattern is {pattern!r}, no regular expression: {error}") from error
        if compiled.groups:
            raise ValueError(
                f"pattern is {pattern!r}; write its groups (?:...), or what they catch would stand "
                "for the whole word"
            )
        self._find = compiled.findall

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        unk: str | None = UNK,
        pattern: str = WORD_PATTERN,
        lowercase: bool = False,
        special_tokens: Sequence[str] = (),
    ) -> "WordTokenizer":
        """Number the words of some texts.

        Args:
            texts: training documents.
            min_count: words seen less often become the unknown token.
            max_size: largest vocabulary, special tokens included.
            unk: the unknown token, or None to refuse unknown words.
            pattern: what counts as a token.
            lowercase: fold case.
            special_tokens: further tokens that text never produces.

        Raises:
            ValueError: the texts contain no word.
        """
        reader = cls(Vocabulary([], unk=unk), pattern=pattern, lowercase=lowercase)
        counts = count_tokens(texts, reader.words)
        if not counts:
            raise ValueError("texts contain no word; there is nothing to number")
        vocabulary = Vocabulary.from_counts(
            counts, min_count=min_count, max_size=max_size, unk=unk, special_tokens=special_tokens
        )
        return cls(vocabulary, pattern=pattern, lowercase=lowercase)

    def words(self, text: str) -> list[str]:
        """Cut a text into words, known or not."""
        check_text(text)
        return self._find(text.lower() if self.lowercase else text)

    def encode(self, text: str) -> list[int]:
        """Return one id per word.

        Raises:
            ValueError: an unknown word where the vocabulary has no unknown token.
        """
        return self.vocabulary.ids(self.words(text))

    def decode(self, ids: Iterable[int]) -> str:
        """Join the words of some ids; special tokens are left out, except the unknown token."""
        text = " ".join(self.vocabulary.without_special(ids))
        if self.pattern != WORD_PATTERN:
            return text
        return re.sub(r" (?=[.,;:!?)\]}])|(?<=[(\[{]) ", "", text)

    def save(self, path: str | Path) -> None:
        """Save as JSON."""
        fields = {"pattern": self.pattern, "lowercase": self.lowercase}
        save_fields(path, "word", {**fields, "vocabulary": self.vocabulary.to_json()})

    @classmethod
    def load(cls, path: str | Path) -> "WordTokenizer":
        """Load what `save` wrote."""

        def build(fields: dict[str, Any]) -> "WordTokenizer":
            return cls(Vocabulary.from_json(fields.pop("vocabulary")), **fields)

        return load_fields(path, "word", build)


class CharTokenizer(_VocabularyTokenizer):
    """One id for every character (Unicode code point).

    Example:
        >>> tokenizer = CharTokenizer.train(["anna", "ben"])
        >>> tokenizer.decode(tokenizer.encode("banana"))
        'banana'
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        unk: str | None = None,
        special_tokens: Sequence[str] = (),
    ) -> "CharTokenizer":
        """Number the characters of some texts; by default an unknown character is an error.

        Args:
            texts: training documents.
            min_count: characters seen less often become unknown.
            max_size: largest vocabulary, special tokens included.
            unk: the unknown token, or None to refuse unknown characters.
            special_tokens: further tokens that text never produces.

        Raises:
            ValueError: the texts contain no character.
        """
        counts = count_tokens(texts, iter)
        if not counts:
            raise ValueError("texts contain no character; there is nothing to number")
        return cls(
            Vocabulary.from_counts(
                counts,
                min_count=min_count,
                max_size=max_size,
                unk=unk,
                special_tokens=special_tokens,
            )
        )

    def encode(self, text: str) -> list[int]:
        """Return one id per character.

        Raises:
            ValueError: an unknown character where the vocabulary has no unknown token.
        """
        check_text(text)
        return self.vocabulary.ids(text)

    def decode(self, ids: Iterable[int]) -> str:
        """Join the characters of some ids; special tokens are left out."""
        return "".join(self.vocabulary.without_special(ids))

    def save(self, path: str | Path) -> None:
        """Save as JSON."""
        save_fields(path, "char", {"vocabulary": self.vocabulary.to_json()})

    @classmethod
    def load(cls, path: str | Path) -> "CharTokenizer":
        """Load what `save` wrote."""
        return load_fields(
            path, "char", lambda fields: cls(Vocabulary.from_json(fields["vocabulary"]))
        )


class ByteTokenizer:
    """The 256 bytes of UTF-8 as ids 0 to 255, then `<eos>` and any other special token.

    Nothing is ever unknown and nothing is learned. `decode` replaces bytes that are not UTF-8, as
    a model may produce them, by U+FFFD.

    Example:
        >>> ByteTokenizer().encode("né")
        [110, 195, 169]
    """

    unk_id = None
    eos_id = 256

    def __init__(self, special_tokens: Sequence[str] = ()) -> None:
        check_names(special_tokens)
        self.special_tokens = tuple(special_tokens)
        names = (EOS, *self.special_tokens)
        if len(set(names)) < len(names):
            raise ValueError(f"special_tokens are {list(special_tokens)}; each may occur once")
        self.special_ids = {name: 256 + i for i, name in enumerate(names)}

    @property
    def vocab_size(self) -> int:
        """Number of ids: 256 bytes and the special tokens."""
        return 256 + len(self.special_ids)

    @property
    def tokens(self) -> list[str]:
        r"""Tokens by id: printable ASCII as itself, other bytes as `\xNN`."""
        plain = [chr(b) if 32 <= b < 127 else f"\\x{b:02x}" for b in range(256)]
        return [*plain, *self.special_ids]

    def encode(self, text: str) -> list[int]:
        """Return the bytes of a text; lone surrogates, which UTF-8 cannot encode, become "?"."""
        check_text(text)
        return list(text.encode("utf-8", errors="replace"))

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of some bytes; special tokens are left out.

        Raises:
            ValueError: an id outside the vocabulary.
        """
        known = known_ids(ids, self.vocab_size)
        return bytes(i for i in known if i < 256).decode("utf-8", errors="replace")

    def save(self, path: str | Path) -> None:
        """Save as JSON."""
        save_fields(path, "byte", {"special_tokens": list(self.special_tokens)})

    @classmethod
    def load(cls, path: str | Path) -> "ByteTokenizer":
        """Load what `save` wrote."""
        return load_fields(path, "byte", lambda fields: cls(**fields))
