"""The cost of what a word tokenizer's ids leave out: unknown words and spacing.

A word model that answers `<unk>` has not said which word, and its tokens do not say where spaces
stood. To compare it in bits per byte with a model that writes every byte, both must be paid for:
unknown words are spelled by a table of letter frequencies, gaps are predicted from the kind of
token on either side. With both included, the text can be rebuilt from the ids without loss.
Chapter: what is a language model.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from course_pkg.text.tokenizers.vocabulary import UNK
from course_pkg.text.tokenizers.words_characters_bytes import WordTokenizer

N_LETTERS = 257
"""The bytes, and the end of a word."""

N_GAPS = 4
"""Nothing, a space, a line break, and any other white space, which is then spelled."""

_GAPS = ("", " ", "\n")
_END, _OTHER = "end", "other"


@dataclass
class _Table:
    """Add-one frequencies of `n_outcomes` outcomes after each context."""

    n_outcomes: int
    counts: defaultdict[Hashable, Counter[Hashable]] = field(
        default_factory=lambda: defaultdict(Counter)
    )

    def nats(self, context: Hashable, outcome: Hashable) -> float:
        seen = self.counts[context]
        return math.log(seen.total() + self.n_outcomes) - math.log(seen[outcome] + 1)


class UnknownWordCost:
    """Cost of unknown words and of the gaps between words, learned from training texts.

    Args:
        tokenizer: a word tokenizer that keeps upper and lower case apart.

    Raises:
        ValueError: the tokenizer folds case or cuts so that text other than white space is lost.

    Example:
        >>> tokenizer = WordTokenizer.train(["a cat, a dog, a cat"], min_count=2)
        >>> cost = UnknownWordCost(tokenizer).learn(["a cat, a dog, a cat"])
        >>> 0 < cost.nats(["a cat"]) < cost.nats(["a cow"])
        True
    """

    def __init__(self, tokenizer: WordTokenizer) -> None:
        if tokenizer.lowercase:
            raise ValueError("tokenizer has lowercase=True; its ids do not tell upper from lower")
        self._tokenizer = tokenizer
        self._known = set(tokenizer.tokens)
        known = "" if tokenizer.unk_id is None else re.escape(UNK) + "|"
        self._find = re.compile(known + tokenizer.pattern).finditer
        self._letters, self._gaps = _Table(N_LETTERS), _Table(N_GAPS)

    def learn(self, texts: Iterable[str]) -> "UnknownWordCost":
        """Count the letters of unknown words and the gaps of some texts; return self."""
        for table, context, outcome in self._events(texts):
            table.counts[context][outcome] += 1
        return self

    def nats(self, texts: Iterable[str]) -> float:
        """Return what spelling and spacing these texts costs, beyond their ids."""
        return math.fsum(table.nats(*event) for table, *event in self._events(texts))

    def _events(self, texts: Iterable[str]) -> Iterator[tuple[_Table, Hashable, Hashable]]:
        for text in texts:
            before, end = "start", 0
            for match in self._find(text):
                word = match.group()
                yield from self._gap_events(text[end : match.start()], before, _kind(word))
                if word not in self._known:
                    yield from self._letter_events(word)
                before, end = _kind(word), match.end()
            yield from self._gap_events(text[end:], before, "end")

    def _gap_events(
        self, gap: str, before: str, after: str
    ) -> Iterator[tuple[_Table, Hashable, Hashable]]:
        if gap.strip():
            raise ValueError(f"tokenizer skips {gap!r}; only white space may stand between tokens")
        yield self._gaps, (before, after), gap if gap in _GAPS else _OTHER
        if gap not in _GAPS:
            yield from self._letter_events(gap)

    def _letter_events(self, word: str) -> Iterator[tuple[_Table, Hashable, Hashable]]:
        for letter in (*word.encode("utf-8", errors="replace"), _END):
            yield self._letters, None, letter


def _kind(word: str) -> str:
    """All words are spaced alike; each mark of punctuation in its own way."""
    return "word" if len(word) > 1 or word.isalnum() else word
