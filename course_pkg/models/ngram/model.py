"""The n-gram model: guess the next token from the last few, by counting.

Everything is decided at training time. For each n-gram seen the model stores its smoothed
probability, and for each history its back-off weight; to score a token is to look up the longest
n-gram that it completes, and to back off to a shorter history where there is none.
Chapter: n-gram models. Chen & Goodman 1999; the stored form is Katz's back-off table of 1987, in
which interpolated models fit too.

`NGram` is the fast form; the functions of `course_pkg.models.ngram.probabilities` are the one to
read.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from torch import Tensor

from course_pkg.common.files import path_of, replacing
from course_pkg.models import IGNORE
from course_pkg.models.ngram.counts import (
    UNSEEN,
    IntArray,
    NGramIndex,
    NGramTables,
    check_ids,
)
from course_pkg.models.ngram.smoothing import ModifiedKneserNey, Smoothing

FloatArray = npt.NDArray[np.float64]


class NGram:
    """An n-gram language model of any order and smoothing, from `NGram.fit` or `NGram.load`.

    A history is cut to its last `order - 1` ids and at the last eos in it, so rows may hold
    several documents in sequence. After a row that begins inside a document, the model of the
    order that fits the shorter history answers. Probabilities are float64.

    To agree with KenLM and the published Penn Treebank figures, make the vocabulary one larger
    than the words and eos: they reserve a share of the unigrams for an unknown word.

    Attributes:
        index: which n-grams were seen; `index.keys[n - 1]` are those of order n.
        log_probs: per order, of each n-gram given its history.
        log_backoffs: per order but the highest, of each n-gram as a history: the factor of the
            lower order's probability for tokens never seen after it.
        backs_off: whether the lower order is that of the next shorter history; if not, it gives
            every token `log_base`.
        smoothing: the method's name and its parameters, estimated ones included.
        n_ngrams: how many different n-grams of each order were seen.
    """

    context_length: int | None = None

    def __init__(
        self,
        *,
        index: NGramIndex,
        log_probs: Sequence[FloatArray],
        log_backoffs: Sequence[FloatArray],
        eos_id: int,
        backs_off: bool,
        log_base: float,
        smoothing: dict[str, Any],
        n_ngrams: tuple[int, ...],
    ) -> None:
        self.index = index
        self.log_probs = tuple(log_probs)
        self.log_backoffs = tuple(log_backoffs)
        self.eos_id = eos_id
        self.backs_off = backs_off
        self.log_base = log_base
        self.smoothing = smoothing
        self.n_ngrams = n_ngrams

    @classmethod
    def fit(
        cls,
        documents: Sequence[Sequence[int]],
        order: int,
        vocab_size: int,
        eos_id: int,
        smoothing: Smoothing | None = None,
    ) -> "NGram":
        """Count and smooth the n-grams of `documents`.

        Args:
            documents: ids without eos.
            smoothing: ModifiedKneserNey() if not given.

        Example:
            >>> from course_pkg.models.ngram.smoothing import MLE
            >>> model = NGram.fit([[1, 2], [1, 3]], 2, vocab_size=4, eos_id=0, smoothing=MLE())
            >>> model.next_log_probs(torch.tensor([[0, 1]])).exp()
            tensor([[0.0000, 0.0000, 0.5000, 0.5000]], dtype=torch.float64)
        """
        return cls.from_tables(NGramTables.count(documents, order, vocab_size, eos_id), smoothing)

    @classmethod
    def from_tables(cls, tables: NGramTables, smoothing: Smoothing | None = None) -> "NGram":
        """Smooth n-grams already counted, to compare methods without counting again."""
        method = (smoothing or ModifiedKneserNey()).fitted(tables)
        order, vocab_size = tables.index.order, tables.index.vocab_size
        backs_off = method.lower_order == "shorter history"
        base = 0.0 if method.lower_order == "nothing" else 1 / vocab_size
        probs: list[FloatArray] = []
        backoff_masses: list[FloatArray] = []
        for n in range(1, order + 1):
            seen = tables.at_order(n, continuations=method.counts_continuations)
            discounted, backoff_mass = method.discount(seen)
            lower = probs[-1][tables.suffixes[n - 1]] if backs_off and n > 1 else base
            probs.append(discounted + backoff_mass[seen.histories] * lower)
            backoff_masses.append(backoff_mass)
        parameters = {name: value for name, value in vars(method).items() if value is not None}
        return cls(
            index=tables.index,
            log_probs=[_log(p) for p in probs],
            log_backoffs=[_log(mass) for mass in backoff_masses[1:]],  # no order below the unigrams
            eos_id=tables.eos_id,
            backs_off=backs_off,
            log_base=-math.inf if base == 0 else math.log(base),
            smoothing={"method": type(method).__name__, **parameters},
            n_ngrams=tables.n_ngrams,
        )

    @property
    def order(self) -> int:
        """The length of the longest n-grams: one more than the longest history."""
        return self.index.order

    @property
    def vocab_size(self) -> int:
        """V."""
        return self.index.vocab_size

    @property
    def n_bytes(self) -> int:
        """Memory of all tables."""
        arrays = (*self.index.keys, *self.log_probs, *self.log_backoffs)
        return sum(array.nbytes for array in arrays)

    def __call__(
        self, ids: Int[Tensor, "B T"], targets: Int[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next token: see `LanguageModel`. The logits are log-probabilities."""
        histories = [numbers.ravel() for numbers in self._histories(_array(ids))]
        logits = torch.from_numpy(self._distributions(histories, ids.numel())).to(ids.device)
        loss = None
        if targets is not None:
            loss = -self.target_log_probs(ids, targets)[targets != IGNORE].mean()
        return logits.view(*ids.shape, self.vocab_size), loss

    def next_log_probs(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return natural-log probabilities of the token after the last of `ids`."""
        if ids.shape[1] == 0:
            raise ValueError("ids has no position; begin a text with eos_id")
        recent = _array(ids)[:, -max(self.order - 1, 1) :]
        histories = [numbers[:, -1] for numbers in self._histories(recent)]
        return torch.from_numpy(self._distributions(histories, len(recent))).to(ids.device)

    def target_log_probs(
        self, ids: Int[Tensor, "B T"], targets: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T"]:
        """Return the natural-log probability of each target alone: fast, no V-sized rows.

        A target of IGNORE yields 0.
        """
        is_scored = (targets != IGNORE).cpu().numpy()
        wanted = np.where(is_scored, _array(targets), self.eos_id)
        check_ids("targets", wanted, self.vocab_size)
        histories = self._histories(_array(ids))
        scores = self._lowest_order()[wanted]
        for order in range(2, self.order + 1):
            history = histories[order - 2]
            seen = history != UNSEEN
            scores[seen] += self.log_backoffs[order - 2][history[seen]]
            numbers = self.index.lookup(order, history, wanted)
            found = numbers != UNSEEN
            scores[found] = self.log_probs[order - 1][numbers[found]]
        return torch.from_numpy(np.where(is_scored, scores, 0.0)).to(ids.device)

    def save(self, path: str | Path) -> None:
        """Write the tables as safetensors, so that loading cannot execute code.

        The file appears under its name only when complete.
        """
        arrays: dict[str, npt.NDArray[Any]] = {}
        arrays |= {f"log_probs.{n}": array for n, array in enumerate(self.log_probs, 1)}
        arrays |= {f"log_backoffs.{n}": array for n, array in enumerate(self.log_backoffs, 1)}
        arrays |= {f"keys.{n}": array for n, array in enumerate(self.index.keys, 1)}
        description = {
            "order": self.order,
            "vocab_size": self.vocab_size,
            "eos_id": self.eos_id,
            "backs_off": self.backs_off,
            "log_base": self.log_base,
            "smoothing": self.smoothing,
            "n_ngrams": self.n_ngrams,
        }
        metadata = {"ngram": json.dumps(description, default=index)}  # of NumPy's numbers
        with replacing(path) as scratch:
            digest = _digest(metadata["ngram"], arrays)
            save_file(arrays, scratch, metadata=metadata | {"sha256": digest})

    @classmethod
    def load(cls, path: str | Path) -> "NGram":
        """Read what `save` wrote.

        Raises:
            ValueError: if the file is not a saved n-gram model, or a damaged one.
        """
        try:
            with safe_open(path_of(path), framework="numpy") as file:
                metadata = file.metadata() or {}
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            description = json.loads(metadata["ngram"])
        except (SafetensorError, KeyError, ValueError, UnicodeError) as error:
            raise ValueError(f"{path} is not an n-gram model written by NGram.save") from error
        # None in files of earlier versions.
        if metadata.get("sha256", "") not in ("", _digest(metadata["ngram"], arrays)):
            raise ValueError(f"{path} is damaged: its checksum is not that of its numbers")
        order = description.pop("order")
        keys = tuple(arrays[f"keys.{n}"] for n in range(1, order + 1))
        return cls(
            index=NGramIndex(keys, description.pop("vocab_size")),
            log_probs=[arrays[f"log_probs.{n}"] for n in range(1, order + 1)],
            log_backoffs=[arrays[f"log_backoffs.{n}"] for n in range(1, order)],
            n_ngrams=tuple(description.pop("n_ngrams")),
            **description,
        )

    def _lowest_order(self) -> FloatArray:
        """Return the log-probabilities of all V tokens from which order 2 and above start."""
        if self.backs_off or self.order == 1:
            return self.log_probs[0]
        return np.full(self.vocab_size, self.log_base)

    def _histories(self, ids: IntArray) -> list[IntArray]:
        """Number the histories of 1, 2, ..., `order - 1` tokens that end at each position."""
        check_ids("ids", ids, self.vocab_size)
        if self.order == 1:
            return []  # no history at all
        found = NGramIndex(self.index.keys[: self.order - 1], self.vocab_size).find(ids)
        if self.backs_off:
            return found
        # Without backing off only the longest history has a say, whether it was seen or not.
        starts = np.where(ids == self.eos_id, np.arange(ids.shape[1]), 0)
        length = np.arange(1, ids.shape[1] + 1) - np.maximum.accumulate(starts, axis=1)
        length = np.minimum(length, self.order - 1)
        return [np.where(length == n, numbers, UNSEEN) for n, numbers in enumerate(found, 1)]

    def _distributions(self, histories: list[IntArray], n_rows: int) -> FloatArray:
        """Return the log-probabilities of all V tokens, a row for each place in the histories."""
        rows = np.tile(self._lowest_order(), (n_rows, 1))
        for order, history in enumerate(histories, start=2):
            known = np.flatnonzero(history != UNSEEN)
            rows[known] += self.log_backoffs[order - 2][history[known], None]
            places, numbers = self.index.children(order, history[known])
            tokens = self.index.keys[order - 1][numbers] % self.vocab_size
            rows[known[places], tokens] = self.log_probs[order - 1][numbers]
        return rows


def _digest(description: str, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    sha = hashlib.sha256(description.encode())
    for name, array in sorted(arrays.items()):
        sha.update(f"\0{name} {array.dtype} {array.shape}\0".encode())
        sha.update(np.ascontiguousarray(array).data)
    return sha.hexdigest()


def _array(ids: Tensor) -> IntArray:
    return ids.cpu().numpy()


def _log(probs: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):  # the logarithm of zero is -inf, and that is meant
        return np.log(probs)
