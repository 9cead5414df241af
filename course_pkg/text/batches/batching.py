"""Three ways to cut ids into batches: windows, parallel streams, padded rows.

Windows are cut from one long stream, parallel streams are for models that carry a state, and rows
of unequal length are padded. In each, every token is predicted exactly once per epoch. A batch is a
dictionary of a model's keyword arguments.
Chapters: fixed-window, recurrent-networks, sequence-to-sequence.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Int, Integer
from torch import Tensor

from course_pkg.common.checks import document_of_ids, documents_of_ids, not_used_up, whole_numbers
from course_pkg.text.batches.token_files import TokenFile

IGNORE = -100
"""Target of a position that is not predicted: torch's default, and that of `course_pkg.models`,
which text must not import."""

Batch = dict[str, Tensor]
Plan = Callable[[torch.Generator], Sequence[Tensor]]
Example = TypeVar("Example")


class Batches:
    """An endless stream of batches, epoch after epoch, that can stop and go on exactly.

    The order of an epoch is a function of the seed and the epoch's number, so that the place in it
    is all there is to save. With several processes each takes its share of every round of batches.

    Args:
        plan: splits one epoch's items into batches, as tensors of item numbers; always equally
            many. It may use the generator for the order.
        collate: turns item numbers into a batch. It may use the generator, for example to mask; it
            is another one for each batch of each epoch.
        is_ordered: the order carries meaning, so `reshuffle` skips one batch instead.
        share: this process's number and the number of processes.
        settings: what else makes these batches other than those of the same text, by name; under
            "batches" by what function they were made.
        content: what the batches are made of: ids or examples.
    """

    def __init__(
        self,
        plan: Plan,
        collate: Callable[[Tensor, torch.Generator], Batch],
        *,
        seed: int,
        is_ordered: bool = False,
        share: tuple[int, int] = (0, 1),
        settings: Mapping[str, Any] | None = None,
        content: object = None,
    ) -> None:
        whole_numbers(at_least=0, seed=seed)
        if not isinstance(share, tuple | list) or len(share) != 2:
            raise ValueError(f"share is {share!r}; it must be (number, count)")
        whole_numbers(at_least=0, **{"share[0]": share[0], "share[1]": share[1]})
        if not share[0] < share[1]:
            raise ValueError(f"share is {share}; it must be (number, count), number below count")
        self.plan, self.collate, self.seed = plan, collate, seed
        self.is_ordered = is_ordered
        self._settings, self._content = dict(settings or {}), content
        self._checksum: int | None = None
        self.process_number, self.n_processes = share
        self.n_drawn = 0
        self.reshuffled_at: list[int] = []
        self.n_batches = len(plan(_generator(seed, 0, 0, 0)))
        if not self.n_batches:
            raise ValueError("plan makes no batch; an epoch must have one at least")
        self.order = self._order_of(self.epoch)

    def __len__(self) -> int:
        """Number of batches in an epoch, all processes together."""
        return self.n_batches

    @property
    def epoch(self) -> int:
        """Number of the epoch to which the next batch belongs."""
        return self._next // self.n_batches

    @property
    def _next(self) -> int:
        """Number of the next batch, counted through all epochs and processes."""
        return self.n_drawn * self.n_processes + self.process_number

    def _order_of(self, epoch: int) -> list[Tensor]:
        order = list(self.plan(_generator(self.seed, 0, epoch, 0)))
        for number, n_drawn in enumerate(self.reshuffled_at, start=1):
            start = max(0, n_drawn * self.n_processes - epoch * self.n_batches)
            rest = order[start:]
            places = torch.randperm(len(rest), generator=_generator(self.seed, 0, epoch, number))
            order[start:] = [rest[place] for place in places.tolist()]
        return order

    def next_batch(self) -> Batch:
        """Return the next batch."""
        batch = self._next
        items = self.order[batch % self.n_batches]
        generator = _generator(self.seed, 1, batch, len(self.reshuffled_at))
        epoch = self.epoch
        self.n_drawn += 1
        if self.epoch != epoch:
            self.order = self._order_of(self.epoch)
        return self.collate(items, generator)

    def __iter__(self) -> Iterator[Batch]:
        """Yield what is left of the current epoch: all of it at its start."""
        epoch = self.epoch
        while self.epoch == epoch:
            yield self.next_batch()

    def reshuffle(self) -> None:
        """Change the order of all batches still to come, of this epoch and later ones."""
        if self.is_ordered:
            self.n_drawn += 1
        else:
            self.reshuffled_at.append(self.n_drawn)
        self.order = self._order_of(self.epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the place in the stream, and in "settings" what tells this stream from others.

        Data, seed and sizes are the caller's to give again.
        """
        if self._checksum is None:  # only who saves the place pays for it
            self._checksum = fingerprint(self._content)
        settings = {"seed": self.seed, **self._settings, "text": f"{self._checksum:08x}"}
        place = {"n_drawn": self.n_drawn, "reshuffled_at": list(self.reshuffled_at)}
        return {**place, "settings": settings}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from the place that `state_dict` returned."""
        self.n_drawn, self.reshuffled_at = state["n_drawn"], list(state["reshuffled_at"])
        self.order = self._order_of(self.epoch)


def _generator(*numbers: int) -> torch.Generator:
    """Return a generator that these numbers determine, unrelated to that of any other numbers."""
    seed = int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
    return torch.Generator().manual_seed(seed)


def fingerprint(content: object, checksum: int = 0) -> int:
    """Return a checksum of ids or examples, the same whenever and wherever they are loaded.

    Of what is neither number, text, tensor, nor a collection of these, only the type counts.
    """
    if isinstance(content, TokenFile):
        return zlib.crc32(repr((len(content), content.checksum)).encode(), checksum)
    if isinstance(content, Tensor):
        checksum = zlib.crc32(repr((content.dtype, content.shape)).encode(), checksum)
        return zlib.crc32(content.detach().cpu().contiguous().numpy().tobytes(), checksum)
    if isinstance(content, np.ndarray | np.generic):
        return fingerprint(torch.from_numpy(np.ascontiguousarray(content)), checksum)
    if isinstance(content, list | tuple) and not all(isinstance(c, _PLAIN) for c in content):
        for item in content:
            checksum = fingerprint(item, checksum)
        return checksum
    if isinstance(content, Mapping):
        return fingerprint([part for item in content.items() for part in item], checksum)
    if is_dataclass(content) and not isinstance(content, type):
        return fingerprint([getattr(content, f.name) for f in fields(content)], checksum)
    is_plain = isinstance(content, (*_PLAIN, list, tuple)) or content is None
    return zlib.crc32((repr(content) if is_plain else type(content).__name__).encode(), checksum)


_PLAIN = (bool, int, float, str, bytes)


def require_stream(ids: object) -> None:
    """Refuse what is not one row of ids.

    Raises:
        ValueError: naming what it is.
    """
    found = type(ids).__name__
    if isinstance(ids, Tensor):
        if ids.dim() == 1 and not ids.is_floating_point() and ids.dtype != torch.bool:
            return
        found = f"{ids.dtype} of shape {tuple(ids.shape)}"
    if not isinstance(ids, TokenFile):
        how = "torch.from_numpy makes of such an array"
        how = how if isinstance(ids, np.ndarray) else "pack_documents makes of documents"
        raise ValueError(f"ids is {found}; it must be one row of ids, as {how}")


def window_batches(
    ids: Integer[Tensor, " N"] | TokenFile,
    context_length: int,
    batch_size: int,
    *,
    seed: int,
    share: tuple[int, int] = (0, 1),
) -> Batches:
    """Cut a stream into windows and shuffle them; each token but the first is a target once.

    The last window is as long as the others: it begins earlier, and the targets that it shares with
    its neighbour are IGNORE.

    Example:
        >>> window_batches(torch.tensor([5, 3, 8, 1]), 3, batch_size=2, seed=0).next_batch()
        {'ids': tensor([[5, 3, 8]]), 'targets': tensor([[3, 8, 1]])}
    """
    require_stream(ids)
    whole_numbers(context_length=context_length, batch_size=batch_size)
    n_targets = len(ids) - 1
    if n_targets < 1:
        raise ValueError(f"ids has {len(ids)} tokens; it must have 2 or more, one to predict")
    length = min(context_length, n_targets)
    n_windows = -(-n_targets // length)

    def plan(generator: torch.Generator) -> Sequence[Tensor]:
        return torch.randperm(n_windows, generator=generator).split(int(batch_size))

    def collate(windows: Tensor, generator: torch.Generator) -> Batch:
        firsts = windows * length  # first target that is this window's own, less one
        starts = firsts.clamp(max=n_targets - length)
        text = ids[starts.unsqueeze(1) + torch.arange(length + 1)].long()
        is_seen = torch.arange(length) < (firsts - starts).unsqueeze(1)
        return {"ids": text[:, :-1], "targets": text[:, 1:].masked_fill(is_seen, IGNORE)}

    settings = {
        "batches": "window_batches",
        "context_length": context_length,
        "batch_size": batch_size,
    }
    return Batches(plan, collate, seed=seed, share=share, settings=settings, content=ids)


def random_windows(
    ids: Integer[Tensor, " N"] | TokenFile,
    context_length: int,
    batch_size: int,
    generator: torch.Generator,
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Draw windows with replacement, each start equally probable; return ids and targets.

    The target of a position is the id one place on: `targets[t] = ids[t + 1]`, not `ids[t] + 1`.

    Example:
        >>> random_windows(torch.tensor([5, 3, 8, 1]), 3, 1, torch.Generator())
        (tensor([[5, 3, 8]]), tensor([[3, 8, 1]]))
    """
    require_stream(ids)
    whole_numbers(context_length=context_length, batch_size=batch_size)
    n_starts = len(ids) - context_length  # the last start leaves one id for the last target
    if n_starts < 1:
        raise ValueError(
            f"context_length is {context_length}; it must be below the {len(ids)} tokens of ids"
        )
    starts = torch.randint(n_starts, (batch_size, 1), generator=generator)
    text = ids[starts + torch.arange(context_length + 1)].long()
    return text[:, :-1], text[:, 1:]


def stream_batches(
    ids: Integer[Tensor, " N"] | TokenFile,
    length: int,
    batch_size: int,
    *,
    marks_start: bool = False,
) -> Batches:
    """Cut a stream into `batch_size` parallel ones, read side by side in pieces of `length`.

    Row b of each batch goes on where row b of the last one ended, as truncated backpropagation
    needs it. The last piece is shorter; where the streams come out unequal, the shorter ones end
    with an IGNORE.

    Args:
        marks_start: add "is_start", True in the first batch of an epoch, where what a model
            carries from the last batch is the end of another text.

    Example:
        >>> batch = stream_batches(torch.tensor([5, 3, 8, 1, 6]), 9, batch_size=2).next_batch()
        >>> batch["ids"].tolist(), batch["targets"].tolist()
        ([[5, 3], [8, 1]], [[3, 8], [1, 6]])
    """
    require_stream(ids)
    n_targets = len(ids) - 1
    whole_numbers(length=length, batch_size=batch_size)
    if not 1 <= batch_size <= n_targets:
        raise ValueError(f"batch_size is {batch_size}; it must be 1 to {n_targets}, the targets")
    sizes = torch.full((batch_size,), n_targets // batch_size)
    sizes[: n_targets % batch_size] += 1
    starts = sizes.cumsum(0) - sizes
    longest = int(sizes[0])

    def plan(generator: torch.Generator) -> Sequence[Tensor]:
        return torch.arange(longest).split(int(length))

    def collate(positions: Tensor, generator: torch.Generator) -> Batch:
        is_over = positions >= sizes.unsqueeze(1)
        places = starts.unsqueeze(1) + positions
        targets = ids[(places + 1).clamp(max=n_targets)].long()
        batch = {
            "ids": ids[places.clamp(max=n_targets - 1)].long(),
            "targets": targets.masked_fill(is_over, IGNORE),
        }
        return batch | ({"is_start": positions[0] == 0} if marks_start else {})

    settings = {"batches": "stream_batches", "length": length, "batch_size": batch_size}
    return Batches(plan, collate, seed=0, is_ordered=True, settings=settings, content=ids)


def example_batches(
    examples: Sequence[Example],
    collate: Callable[[list[Example], torch.Generator], Batch],
    batch_size: int,
    *,
    seed: int,
    lengths: Sequence[int] | None = None,
    share: tuple[int, int] = (0, 1),
) -> Batches:
    """Shuffle separate examples into batches, for example documents or sentence pairs.

    Args:
        collate: makes a batch of examples, such as `next_token_rows`.
        lengths: one for each example: batches then gather examples of similar length, so that
            little is padding.

    Example:
        >>> def collate(rows, generator):
        ...     return next_token_rows(rows, eos_id=0)
        >>> example_batches([[4, 5], [6]], collate, 2, seed=1).next_batch()["ids"].shape
        torch.Size([2, 3])
    """
    not_used_up(examples=examples)
    if isinstance(examples, Mapping):
        raise ValueError(f"examples is {type(examples).__name__}; it must be a list of examples")
    whole_numbers(batch_size=batch_size, n_examples=len(examples))
    if lengths is not None and len(lengths) != len(examples):
        raise ValueError(f"lengths has {len(lengths)} entries for {len(examples)} examples")

    def plan(generator: torch.Generator) -> Sequence[Tensor]:
        order = torch.randperm(len(examples), generator=generator)
        if lengths is None:
            return order.split(int(batch_size))
        # A stable sort of a shuffled list: examples of equal length meet others in each epoch.
        groups = order[torch.tensor(lengths)[order].argsort(stable=True)].split(int(batch_size))
        return [groups[place] for place in torch.randperm(len(groups), generator=generator)]

    def collate_items(items: Tensor, generator: torch.Generator) -> Batch:
        return collate([examples[item] for item in items.tolist()], generator)

    settings = {"batches": "example_batches", "batch_size": batch_size}
    settings |= {"sorts by length": lengths is not None}
    return Batches(plan, collate_items, seed=seed, share=share, settings=settings, content=examples)


def pad_rows(
    rows: Sequence[Sequence[int]], value: int
) -> tuple[Int[Tensor, "B T"], Int[Tensor, " B"]]:
    """Put rows of unequal length side by side; return them and their lengths.

    Args:
        value: fills the places after a row's end.

    Raises:
        ValueError: without rows, or of what is not lists of ids.

    Example:
        >>> pad_rows([[4, 5], [6]], 0)[0].tolist()
        [[4, 5], [6, 0]]
    """
    documents_of_ids(rows, "row")
    whole_numbers(n_rows=len(rows))
    whole_numbers(at_least=IGNORE, value=value)
    lengths = torch.tensor([len(row) for row in rows])
    longest = int(lengths.max())
    filled = [[*row, *[value] * (longest - len(row))] for row in rows]
    return _whole(filled), lengths


def next_token_rows(documents: Sequence[Sequence[int]], eos_id: int) -> Batch:
    """Make inputs `eos w1 .. wn` and targets `w1 .. wn eos`; padding's targets are IGNORE.

    The end token is a target like any other, also where padding has the same id: else a model would
    never learn to stop.

    Example:
        >>> next_token_rows([[4, 5], [6]], eos_id=0)["targets"].tolist()
        [[4, 5, 0], [6, 0, -100]]
    """
    documents_of_ids(documents)
    whole_numbers(at_least=0, eos_id=eos_id)
    ids, _ = pad_rows([[eos_id, *document] for document in documents], eos_id)
    _no_negative(ids)
    targets, _ = pad_rows([[*document, eos_id] for document in documents], IGNORE)
    return {"ids": ids, "targets": targets}


def translation_rows(pairs: Sequence[tuple[Sequence[int], Sequence[int]]], eos_id: int) -> Batch:
    """Make a batch of sources with their lengths, and targets to predict after each of them.

    Example:
        >>> sorted(translation_rows([([7, 8], [4])], eos_id=0))
        ['ids', 'source_ids', 'source_lengths', 'targets']
    """
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"pair {number} is {pair!r:.30}; it must be a source and its target")
    whole_numbers(at_least=0, eos_id=eos_id)
    source_ids, source_lengths = pad_rows([source for source, _ in pairs], eos_id)
    _no_negative(source_ids)
    rows = next_token_rows([target for _, target in pairs], eos_id)
    return {"source_ids": source_ids, "source_lengths": source_lengths, **rows}


def pack_documents(documents: Iterable[Sequence[int]], eos_id: int) -> Int[Tensor, " N"]:
    """Join documents into one stream: eos, then each document and an eos after it.

    Raises:
        ValueError: of what is not lists of ids, ids of no token, or an eos at an edge of its own.

    Example:
        >>> pack_documents([[4, 5], [6]], eos_id=0).tolist()
        [0, 4, 5, 0, 6, 0]
    """
    whole_numbers(at_least=0, eos_id=eos_id)
    stream = [eos_id]
    for number, document in enumerate(documents):
        document_of_ids(document, f"document {number}")
        if eos_id in (*document[:1], *document[-1:]):
            raise ValueError(f"document {number} has eos_id, {eos_id}, at its edge already")
        stream += [*document, eos_id]
    _no_negative(ids := _whole(stream))
    return ids


def _no_negative(ids: Tensor) -> None:
    """Refuse ids that no token has, such as IGNORE, which is for targets."""
    if bool((ids < 0).any()):
        raise ValueError(f"an id is {int(ids.min())}; it must be at least 0")


def _whole(ids: Sequence[Any]) -> Tensor:
    """Make a tensor of ids; torch would cut off fractions, or keep them."""
    try:
        found = torch.tensor(ids)
    except (TypeError, ValueError, RuntimeError) as error:  # text, None, numbers of two words
        raise ValueError(f"an id is no whole number: {error}") from error
    if found.is_floating_point() or found.is_complex():
        raise ValueError(f"an id is no whole number: the ids are {found.dtype}")
    return found.long()
