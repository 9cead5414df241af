"""Continue one text token by token, and guess several at once where it repeats itself.

Speculative decoding: a cheap draft proposes the next few tokens, the model reads them all in one
pass, and keeps those that it would have chosen itself. A pass over eight tokens costs little more
than one over a single token, since the weights are read from memory once, so every guess that is
right is nearly free; and what comes out is what would have come out without it. The draft here is
the text so far: where its last tokens have occurred before, it proposes what followed them there.

Chapter: GPT. Leviathan et al. 2023; Saxena 2023 (prompt lookup).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from course_pkg.common.checks import document_of_ids, is_model, lists_of_ids, whole_numbers
from course_pkg.decoding.samplers import Knobs, Sampling, choose
from course_pkg.models.gpt import GPT
from course_pkg.models.inference import inference
from course_pkg.models.one_token import OneTokenReader

Draft = Callable[[Sequence[int]], Sequence[int]]
"""Proposes the tokens that follow a text: any number of them, none if it has no idea."""


def prompt_lookup(
    ids: Sequence[int], *, longest: int = 3, n_tokens: int = 8, shortest: int = 2
) -> list[int]:
    """Propose what followed the last tokens of a text where they stood before, the latest time.

    Args:
        ids: the text so far.
        longest: so many last tokens are looked for, then fewer, down to `shortest`.
        n_tokens: so many are proposed at most.

    Raises:
        ValueError: if these are no ids, or `longest` is below `shortest`.

    Example:
        >>> prompt_lookup([5, 6, 7, 8, 9, 5, 6, 7], n_tokens=2)
        [8, 9]
    """
    whole_numbers(longest=longest, n_tokens=n_tokens, shortest=shortest)
    if longest < shortest:
        raise ValueError(f"longest is {longest}; it must be at least shortest, {shortest}")
    document_of_ids(ids, "ids")
    ids = list(ids)
    for n in range(longest, shortest - 1, -1):
        end = ids[-n:]
        for start in range(len(ids) - n - 1, -1, -1):
            if ids[start : start + n] == end:
                return ids[start + n : start + n + n_tokens]
    return []


class Streamer:
    """Continues texts with a GPT, one after another; what two have in common is read once.

    A model may learn, or be changed, between two texts: then all of the second is read.

    Attributes:
        n_passes: how often the model was run so far.
        n_tokens: how many tokens it gave.
    """

    def __init__(self, model: GPT) -> None:
        is_model(model, GPT)
        self.model = model
        self.n_passes = self.n_tokens = 0
        self._cache = model.new_cache()
        self._seen: list[int] = []  # what the cache holds
        self._state: list[Any] = []  # of the model, when that was read
        self._reader: OneTokenReader | None = None

    def stream(
        self,
        ids: Sequence[int],
        n_tokens: int,
        *,
        stop_ids: Collection[int] = (),
        draft: Draft | None = None,
        generator: torch.Generator | None = None,
        **knobs: Unpack[Knobs],
    ) -> Iterator[int]:
        """Return the tokens that follow a text, each as soon as it is known.

        With a draft the distribution of the text is the same: each token is chosen from the
        model's own probabilities, in order, and guesses are kept only as far as they agree with
        what was chosen. It is the same text, too, but for a rounding that tips a choice.

        Args:
            ids: the text, one token at least.
            n_tokens: how many follow at most; fewer where the context ends.
            stop_ids: tokens that end it; they are not among what is returned.
            draft: proposes tokens to be read at once, such as `prompt_lookup`.
            generator: source of randomness.
            knobs: those of `samplers.Sampling`.

        Raises:
            ValueError: if there is no token, or as many as the context has, or an argument is out
                of its range; before anything is read.
        """
        lists_of_ids(ids=ids, stop_ids=stop_ids)
        whole_numbers(at_least=0, n_tokens=n_tokens)
        limit = self.model.context_length
        if not 0 < len(ids) < limit:
            raise ValueError(f"the text has {len(ids)} tokens; it must have 1 to {limit - 1}")
        Sampling(**knobs).choose(torch.zeros(1, 2), torch.Generator())  # for its checks
        n_left = min(n_tokens, limit - len(ids))
        return self._stream([*ids], n_left, stop_ids, draft, generator, knobs)

    def _stream(
        self,
        text: list[int],
        n_left: int,
        stop_ids: Collection[int],
        draft: Draft | None,
        generator: torch.Generator | None,
        knobs: Knobs,
    ) -> Iterator[int]:
        self._look_at_model()
        # To look into hundreds of modules before each token would cost as much as several layers.
        in_training = any(module.training for module in self.model.modules())
        mode = partial(inference, self.model) if in_training else torch.no_grad
        while n_left > 0:
            guesses = [] if draft is None else _guesses(draft, text, n_left - 1)
            for row, guess in zip(self._read(text, guesses, mode), [*guesses, None], strict=True):
                token = int(choose(row[None], generator=generator, **knobs))
                if token in stop_ids:
                    return
                text.append(token)
                self.n_tokens += 1
                n_left -= 1
                yield token
                if token != guess:
                    break

    def _look_at_model(self) -> None:
        """Find the fast way to read one token, if there is one for the model as it is now."""
        state = _state_of(self.model)
        if state == self._state:
            return
        self._seen, self._cache, self._reader = [], self.model.new_cache(), None
        if OneTokenReader.fits(self.model):
            self._reader = OneTokenReader(self.model)
            state = _state_of(self.model)  # it may lay arrays side by side
        self._state = state

    def _read(self, text: list[int], guesses: list[int], mode: Callable[[], Any]) -> Tensor:
        """Return log-probabilities of the token after the text, and after each guess in turn."""
        wanted = [*text, *guesses]
        n_known = 0  # the last token of the text must be read, for what follows it
        for known, token in zip(self._seen, text[:-1], strict=False):
            if known != token:
                break
            n_known += 1
        for layer in self._cache:  # also what an interrupted pass has left in some of them
            cache: Any = layer.attention
            cache.shorten(n_known)
        self._seen = self._seen[:n_known]
        with mode():
            weight = next(chain(self.model.parameters(), self.model.buffers()))
            ids = torch.tensor([wanted[n_known:]], device=weight.device)
            reader = self._reader if ids.shape[1] == 1 else None
            x = (reader or self.model).encode(ids, cache=self._cache)
            logits = self.model.unembed(x[0, -1 - len(guesses) :])
        self._seen = wanted
        self.n_passes += 1
        return logits.float().log_softmax(dim=-1)


def _guesses(draft: Draft, text: list[int], most: int) -> list[int]:
    """Ask a draft, which gets a copy: what it did to the text, the model would go on with."""
    proposed = draft([*text])
    if not isinstance(proposed, Iterable):
        raise ValueError(f"draft returned {proposed!r:.40}; it must return a list of ids")
    guesses = [*islice(proposed, most)]
    lists_of_ids(draft=guesses)
    return guesses


def _state_of(model: nn.Module) -> list[Any]:
    """Return what differs if a model has other parts, hooks or weights than before.

    Weights are not looked at, only where they are and how often they were written.
    """
    parts = [
        (
            module,
            *module._forward_hooks,
            *module._forward_pre_hooks,
            *(getattr(module, name, None) for name in ("attend", "fused")),
        )
        for module in model.modules()
    ]
    weights = [
        (weight.data_ptr(), weight.dtype, 0 if weight.is_inference() else weight._version)
        for weight in chain(model.parameters(), model.buffers())
    ]
    return [*parts, *weights]
