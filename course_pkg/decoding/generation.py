"""Continue a text with any language model: choose a next token, append it, repeat.

The model gives a distribution; how to choose from it is a separate question, answered in
`course_pkg.decoding.samplers`. Chapters: n-gram models, GPT.
"""

from functools import partial
from typing import Any, Protocol, Unpack, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from course_pkg.common.checks import check_id, whole_numbers
from course_pkg.decoding.samplers import Knobs, Sampling, check_some_token_is_possible
from course_pkg.layers.blocks import BlockCache
from course_pkg.layers.caches import FixedKeyValueCache
from course_pkg.layers.inputs import check_lengths, check_rows
from course_pkg.models import LanguageModel
from course_pkg.models.gpt import GPT
from course_pkg.models.inference import inference


@runtime_checkable
class CachingModel(Protocol):
    """A language model that can keep what it computed for earlier tokens, such as `GPT`."""

    def new_cache(self) -> list[BlockCache]:
        """Return an empty cache."""
        ...

    def next_log_probs(
        self, ids: Int[Tensor, "B T"], *, cache: list[BlockCache] | None = None
    ) -> Float[Tensor, "B V"]:
        """Return log-probabilities of the next token; a cache holds what came before `ids`."""
        ...


def generate(
    model: LanguageModel,
    ids: Int[Tensor, "B T"],
    n_tokens: int,
    *,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
    min_p: float | int | None = None,
    generator: torch.Generator | None = None,
    stop_id: int | None = None,
    use_cache: bool = True,
    lengths: Int[Tensor, " B"] | None = None,
) -> Int[Tensor, "B T_out"]:
    """Continue each row of `ids` by at most `n_tokens` tokens.

    A `torch.nn.Module` is asked in evaluation mode, without dropout, and left in the mode it had.

    Args:
        ids: prompts, at least one token each; an empty text begins with eos. Everything in a row is
            read as text: prompts of unequal length need `lengths`.
        temperature: 0 chooses the likeliest token; otherwise see `next_token_probs`.
        generator: source of randomness, on the device of the model's output.
        stop_id: a row that has produced this token is finished, and is filled up with it.
        use_cache: let a model that can keep its work read each token once, as long as the text is
            within its context; the result is the same.
        lengths: how many ids of each row are its prompt, where `pad_rows` has filled up the rest;
            rows of equal length are continued together.

    Returns:
        The prompts with their continuations; shorter when all rows finished early. With `lengths`,
        what follows a row's end is `stop_id`, or 0 without one.

    Raises:
        ValueError: if an argument is out of its range, the model cannot predict a next token, no
            token is possible, or rows are padded at the left, or without `lengths`.
    """
    if not hasattr(model, "next_log_probs"):
        raise ValueError(
            f"model is {type(model).__name__}, which has no next_log_probs; it must predict the "
            "next token: what load_pretrained returns has a `model` that does, and models that "
            "read a source have `decoding.beam_search`"
        )
    check_rows(ids)
    whole_numbers(at_least=0, n_tokens=n_tokens)
    if stop_id is not None:
        check_id("stop_id", stop_id, model.vocab_size)
    one = partial(
        _continue,
        model,
        n_tokens=n_tokens,
        sampling=Sampling(temperature, top_k, top_p, min_p),
        generator=generator,
        stop_id=stop_id,
        use_cache=use_cache,
    )
    if lengths is not None:
        check_lengths(lengths, ids.shape)
    if lengths is None or not len(ids):
        if stop_id is not None:
            _refuse_padding(ids, stop_id)
        return one(ids)
    _check_padding(ids, lengths)
    texts: dict[int, Tensor] = {}
    for length in lengths.unique().tolist():
        rows = (lengths == length).nonzero().flatten()
        texts |= dict(zip(rows.tolist(), one(ids[rows.to(ids.device), :length]), strict=True))
    fill = 0 if stop_id is None else stop_id
    return pad_sequence([texts[row] for row in range(len(ids))], True, fill)


def _refuse_padding(ids: Tensor, stop_id: int) -> None:
    """Refuse rows that the same id fills up, more of it in one than in another."""
    if ids.device.type != "cpu" or len(ids) < 2:
        return
    for side, rows in (("left", ids), ("end", ids.flip(1))):
        n_filled = (rows == stop_id).cumprod(dim=1).sum(dim=1)
        if n_filled.max() > max(1, int(n_filled.min())):
            row = int(n_filled.argmax())
            raise ValueError(
                f"row {row} has stop_id, {stop_id}, {int(n_filled[row])} times at its {side}, "
                "where it would be read as text; pad prompts of unequal length at the end, with "
                "pad_rows, and pass their lengths"
            )


def _check_padding(ids: Tensor, lengths: Tensor) -> None:
    """Refuse lengths behind which there is text: rows that are padded at the left."""
    if ids.device.type != "cpu":
        return
    is_padding = torch.arange(ids.shape[1]) >= lengths.unsqueeze(1)
    padding = ids[is_padding]
    if len(padding) and bool((padding != padding[0]).any()):
        row = int((is_padding & (ids != padding[0])).any(dim=1).nonzero()[0])
        behind = ids[row, int(lengths[row]) :].tolist()
        raise ValueError(
            f"row {row} has length {int(lengths[row])}, but behind it stand {behind}; what pads "
            "prompts must be one id, at their end, as pad_rows puts it"
        )


def _continue(
    model: LanguageModel,
    ids: Tensor,
    *,
    n_tokens: int,
    sampling: Sampling,
    generator: torch.Generator | None,
    stop_id: int | None,
    use_cache: bool,
) -> Tensor:
    """Continue rows of prompts that have no padding."""
    with inference(model):
        finished = torch.zeros_like(ids[:, 0], dtype=torch.bool)
        reader = _Reader(model, use_cache)
        for _ in range(n_tokens):
            log_probs = reader.read(ids)
            check_some_token_is_possible(log_probs)
            token = sampling.choose(log_probs, generator).to(ids.device)
            if stop_id is not None:
                token = torch.where(finished, stop_id, token)
                finished = token == stop_id
            ids = torch.cat([ids, token[:, None]], dim=1)
            if stop_id is not None and bool(finished.all()):
                break
    return ids


class _Reader:
    """Asks a model again and again for the token after a text that grows at its end."""

    def __init__(self, model: LanguageModel, use_cache: bool) -> None:
        self.model = model
        self.caching_model = model if use_cache and isinstance(model, CachingModel) else None
        self.cache = [] if self.caching_model is None else self.caching_model.new_cache()
        self.n_cached = 0

    def read(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return log-probabilities of the token after the last of `ids`."""
        limit = self.model.context_length
        if limit is not None and ids.shape[1] > limit:
            # From here on the window slides: what a token looked back at, and its position, change
            # with every step, so nothing that was computed for it holds any longer.
            ids, self.caching_model = ids[:, -limit:], None
        if self.caching_model is None:
            return self.model.next_log_probs(ids)
        unread, self.n_cached = ids[:, self.n_cached :], ids.shape[1]
        return self.caching_model.next_log_probs(unread, cache=self.cache)


class FixedGenerator(nn.Module):
    """Continues texts with a GPT by the same kernels at every step: `generate` at full speed.

    All room for the text and for its keys and values is there from the start, and nothing in the
    loop waits for the device, so that a GPU is never idle between two tokens. Compiled, a step
    becomes a few large kernels, on a GPU recorded once and replayed (a CUDA graph). Worth it for
    many texts of one shape; the first one waits for the compiler.

    Args:
        batch_size: number of texts that are continued at once.
        length: longest text, prompts included.
        compile: compile a step with `torch.compile`.

    Raises:
        ValueError: if the length exceeds the model's context, or its positions are penalties or
            vectors for distances, which expect keys up to the newest only.
    """

    def __init__(self, model: GPT, batch_size: int, length: int, *, compile: bool = False) -> None:
        super().__init__()
        if not isinstance(model, GPT):
            raise ValueError(f"model is {type(model).__name__}; it must be a GPT: use generate()")
        whole_numbers(batch_size=batch_size, length=length)
        config, weight = model.config, next(model.parameters())
        if length > config.context_length:
            raise ValueError(
                f"length is {length}; it must be at most the context, {config.context_length}"
            )
        first: Any = model.stack.blocks[0]
        if first.attention.positions.changes_scores:
            raise ValueError(
                f"positions is {config.positions!r}; use generate(), which has no fixed cache"
            )
        n_kv_heads, d_head = config.n_kv_heads or config.n_heads, config.d_head
        self.model, self.batch_size, self.length = model, batch_size, length
        caches = [
            FixedKeyValueCache(batch_size, n_kv_heads, length, d_head, like=weight)
            for _ in range(config.n_layers)
        ]
        self.caches = nn.ModuleList(caches)  # as modules their room stays where it is: a graph's
        self._cache = [BlockCache(attention=cache) for cache in caches]
        self._step = (
            torch.compile(self._read, fullgraph=True, mode="reduce-overhead")
            if compile
            else self._read
        )

    def _read(self, ids: Tensor) -> Tensor:
        """Add tokens to the text; return log-probabilities of the one that follows."""
        return self.model.next_log_probs(ids, cache=self._cache)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        generator: torch.Generator | None = None,
        stop_id: int | None = None,
        **knobs: Unpack[Knobs],
    ) -> Int[Tensor, "B T_out"]:
        """Continue each row of `ids` up to the full length, by the rules of `generate`.

        Args:
            stop_id: a row that has produced this token is filled up with it. The loop does not end
                early: to see whether all rows have, the CPU would have to wait at every step.

        Raises:
            ValueError: if there are more or fewer rows than `batch_size`, or the prompts have no
                token or leave no room; on the CPU, if no token is possible.
        """
        check_rows(ids)
        B, T = ids.shape
        if stop_id is not None:
            check_id("stop_id", stop_id, self.model.vocab_size)
        if self.batch_size != B:
            raise ValueError(f"ids has {B} rows; batch_size is {self.batch_size}")
        if not 0 < T <= self.length:
            raise ValueError(f"ids has {T} positions; it must have 1 to {self.length}, the length")
        sampling = Sampling(**knobs)
        with inference(self):
            for layer in self.caches:
                layer.clear()  # type: ignore[operator]
            text = ids.new_empty(B, self.length)
            text[:, :T] = ids
            finished = torch.zeros_like(ids[:, 0], dtype=torch.bool)
            for t in range(T, self.length):
                # The prompt is read at once; its length changes from call to call.
                log_probs = self._read(ids) if t == T else self._step(text[:, t - 1 : t].clone())
                check_some_token_is_possible(log_probs)  # on the CPU: a GPU is not waited for
                token = sampling.choose(log_probs, generator)
                if stop_id is not None:
                    token = torch.where(finished, stop_id, token)
                    finished = token == stop_id
                text[:, t] = token
        return text
