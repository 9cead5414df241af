"""The numbered list of tokens behind every tokenizer, and what tokenizers have in common.

A tokenizer cuts text into tokens and numbers them. The cutting differs (words, characters, bytes,
learned pieces); the numbering does not, so it lives here once. One special token, `<eos>`, stands
between documents: it is both the `<s>` and the `</s>` of the n-gram literature, folded into one
id, and it plays the part of GPT-2's `<|endoftext|>`. Text can never produce it.
Chapter: tokenization.
"""

import json
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from course_pkg.common.checks import whole_numbers
from course_pkg.common.files import digest_of, path_of, reason_of, write_atomically

Built = TypeVar("Built")

EOS = "<eos>"
"""The token that ends a document, and that stands before its first token as context."""

UNK = "<unk>"
"""The token that stands for every word or character that the vocabulary lacks."""


def count_tokens(texts: Iterable[str], cut: Callable[[str], Iterable[str]]) -> Counter[str]:
    """Count what `cut` makes of the texts.

    Raises:
        ValueError: what is no list of texts.
    """
    check_texts(texts)
    counts: Counter[str] = Counter()
    for number, text in enumerate(texts):
        check_text(text, f"texts[{number}]")
        counts.update(cut(text))
    return counts


def check_text(text: object, name: str = "text") -> None:
    """Refuse what is no text: a list of them, bytes, None.

    Raises:
        ValueError: naming what it is.
    """
    if not isinstance(text, str):
        each = "; encode one text after another" if isinstance(text, list | tuple) else ""
        raise ValueError(f"{name} is {type(text).__name__}; it must be one string{each}")


def check_texts(texts: object) -> None:
    """Refuse one string where several are meant, which would be read letter by letter.

    Raises:
        ValueError: naming what it is.
    """
    if isinstance(texts, str):
        raise ValueError(f"texts is {texts[:20]!r}, one string; it must be a list of documents")
    if not isinstance(texts, Iterable):
        raise ValueError(f"texts is {type(texts).__name__}; it must be a list of documents")


def check_names(names: object, what: str = "special_tokens") -> None:
    """Refuse tokens that are no list of names, such as one name, read letter by letter.

    Raises:
        ValueError: naming what they are.
    """
    if not isinstance(names, Sequence) or isinstance(names, str | bytes):
        raise ValueError(f"{what} is {names!r:.40}; it must be a list of names")
    for token in names:
        if not isinstance(token, str) or not token:
            raise ValueError(f"{what} has {token!r}; a name must be text")


def known_ids(ids: Iterable[int], vocab_size: int) -> Iterator[int]:
    """Yield ids as Python's own numbers.

    Raises:
        ValueError: naming one that is outside the vocabulary, or what is no list of ids.
    """
    if not isinstance(ids, Iterable) or isinstance(ids, str) or getattr(ids, "ndim", 1) != 1:
        shape = f" of shape {tuple(ids.shape)}" if hasattr(ids, "shape") else ""
        raise ValueError(
            f"ids is {type(ids).__name__}{shape}; it must be one list of ids, as encode returns"
        )
    is_mask = "bool" in str(getattr(ids, "dtype", ""))
    for token in ids:
        try:
            if is_mask or isinstance(token, bool):
                raise TypeError  # True would count as 1
            i = operator.index(token)
        except TypeError:
            raise ValueError(f"ids has {token!r}; an id must be a whole number") from None
        if not 0 <= i < vocab_size:
            raise ValueError(f"id {i} is outside the vocabulary of {vocab_size}")
        yield i


@runtime_checkable
class Tokenizer(Protocol):
    """What every tokenizer of the course offers; models and batches ask for nothing else.

    `tokens[id]` is a token as a reader sees it; `eos_id` ends a document; `unk_id` is None where
    nothing is ever unknown (bytes) or where an unknown token is an error.
    """

    @property
    def vocab_size(self) -> int: ...  # noqa: D102
    @property
    def tokens(self) -> list[str]: ...  # noqa: D102
    @property
    def eos_id(self) -> int: ...  # noqa: D102
    @property
    def unk_id(self) -> int | None: ...  # noqa: D102

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without any special token around it."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of some ids; special tokens are left out, except the unknown token."""
        ...


class Vocabulary:
    """Tokens numbered from zero: special ones first, then the ordinary ones in a given order.

    Args:
        ordinary: distinct tokens that text may produce.
        unk: the token that stands for all others, or None if an unknown token is an error.
        special_tokens: further tokens that text never produces ("[MASK]", "[CLS]", ...).

    Raises:
        ValueError: a token occurs twice.
    """

    def __init__(
        self,
        ordinary: Iterable[str],
        *,
        unk: str | None = UNK,
        special_tokens: Sequence[str] = (),
    ) -> None:
        check_names(special_tokens)
        if isinstance(ordinary, str):
            raise ValueError(f"ordinary is {ordinary[:20]!r}; it must be a list of tokens")
        self.unk = unk
        self.special_tokens = tuple(special_tokens)
        self.tokens = [EOS, *([] if unk is None else [unk]), *special_tokens, *ordinary]
        self._id_of = {token: i for i, token in enumerate(self.tokens)}
        if len(self._id_of) < len(self.tokens):
            twice = next(token for token, count in Counter(self.tokens).items() if count > 1)
            raise ValueError(f"token {twice!r} occurs twice; every token needs one id")
        self.eos_id = 0
        self.unk_id = None if unk is None else 1
        self.special_ids = {token: self._id_of[token] for token in (EOS, *special_tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def from_counts(
        cls,
        counts: Counter[str],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        unk: str | None = UNK,
        special_tokens: Sequence[str] = (),
    ) -> "Vocabulary":
        """Keep the most frequent tokens, the alphabet deciding between equals.

        Args:
            counts: how often each token occurs.
            min_count: tokens seen less often are left out.
            max_size: largest size of the vocabulary, special tokens included.
            unk: as in the class.
            special_tokens: as in the class.

        Raises:
            ValueError: `min_count` below 1, or no room for a single ordinary token.
        """
        whole_numbers(min_count=min_count)
        check_names(special_tokens)
        if max_size is not None:
            whole_numbers(max_size=max_size)
        n_special = 1 + (unk is not None) + len(special_tokens)
        if max_size is not None and max_size <= n_special:
            raise ValueError(f"max_size is {max_size}; {n_special} special tokens fill it already")
        special = {EOS, unk, *special_tokens}
        kept = [(t, n) for t, n in counts.items() if n >= min_count and t not in special]
        kept.sort(key=lambda item: (-item[1], item[0]))
        room = None if max_size is None else max_size - n_special
        return cls([t for t, _ in kept[:room]], unk=unk, special_tokens=special_tokens)

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Look tokens up; a special token's name in a text is an unknown token, never its id.

        Raises:
            ValueError: a token is unknown and the vocabulary has no unknown token.
        """
        look_up, special_ids, unk_id = self._id_of.get, self.special_ids, self.unk_id
        ids = []
        for token in tokens:
            i = look_up(token)
            if i is None or token in special_ids:
                if unk_id is None:
                    raise ValueError(
                        f"token {token!r} is not in the vocabulary, which has no unknown token"
                    )
                i = unk_id
            ids.append(i)
        return ids

    def without_special(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the tokens of some ids, special ones left out.

        Raises:
            ValueError: an id outside the vocabulary.
        """
        hidden = set(self.special_ids.values())
        for i in known_ids(ids, len(self.tokens)):
            if i not in hidden:
                yield self.tokens[i]

    def to_json(self) -> dict[str, Any]:
        """Return what the constructor needs to build this vocabulary again."""
        n_special = len(self.special_ids) + (self.unk is not None)
        return {
            "unk": self.unk,
            "special_tokens": list(self.special_tokens),
            "ordinary": self.tokens[n_special:],
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Vocabulary":
        """Build a vocabulary from what `to_json` returned."""
        return cls(fields["ordinary"], unk=fields["unk"], special_tokens=fields["special_tokens"])


def save_fields(path: str | Path, kind: str, fields: dict[str, Any]) -> None:
    """Save a tokenizer's fields as JSON beside the name of its kind and a checksum of both."""
    content = {"kind": kind, **fields}
    content |= {"sha256": digest_of(content)}
    write_atomically(path, json.dumps(content, ensure_ascii=False, indent=1))


def load_fields(path: str | Path, kind: str, build: Callable[[dict[str, Any]], Built]) -> Built:
    """Build a tokenizer of what `save_fields` wrote.

    Args:
        build: makes it of the fields.

    Raises:
        ValueError: the file holds no tokenizer, a damaged one, or one of another kind.
    """
    try:
        fields: dict[str, Any] = json.loads(path_of(path).read_text(encoding="utf-8"))
        noted = fields.pop("sha256", None)  # none in files of earlier versions
        if noted is not None and noted != digest_of(fields):
            raise ValueError("it was changed after it was written: its checksum is another")
        found = fields.pop("kind")
        if found == kind:
            return build(fields)
    except (ValueError, KeyError, AttributeError, TypeError, IndexError) as error:
        raise ValueError(f"{path} does not hold a saved tokenizer: {reason_of(error)}") from error
    raise ValueError(f"{path} holds a tokenizer of kind {found!r}, not {kind!r}")
