"""What a run says of itself while it goes on: the loss on held-out text, and a sample."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from course_pkg.decoding.beam_search import greedy_search
from course_pkg.decoding.generation import generate
from course_pkg.evaluation.likelihood import bits_per_byte
from course_pkg.models import IGNORE
from course_pkg.models.bert import MaskedLMLoss
from course_pkg.models.recurrent import TruncatedBPTT
from course_pkg.recipes.data import Data, stream
from course_pkg.recipes.settings import Recipe
from course_pkg.text.batches.batching import Batch, Batches

_N_BATCHES = 50
_LONGEST_SAMPLE = 60
_BEGINNING: dict[str, Any] = {"n_drawn": 0, "reshuffled_at": []}
_SEED = 1  # of the windows, masks and spans that are evaluated: the same at every evaluation


@dataclass(frozen=True)
class StreamReport:
    """Loss on a fixed part of the validation text, and a sample of what the model makes of it."""

    recipe: Recipe
    data: Data

    def __call__(self, model: nn.Module) -> dict[str, float | str]:
        """Evaluate a model of the recipe's kind."""
        plain: Any = model.model if isinstance(model, TruncatedBPTT | MaskedLMLoss) else model
        loss = mean_loss(plain, islice(self._batches(), _N_BATCHES))
        figures: dict[str, float | str] = {"valid_loss": loss}
        about = self.data.about
        # The loss pays for <unk> alone. What is behind it is added, or the figure left out.
        unsaid = about.get("valid_unsaid_nats")
        if self.recipe.kind in ("gpt", "lstm") and unsaid is not None:
            nats = loss * about["n_valid_tokens"] + unsaid
            figures["valid_bits_per_byte"] = bits_per_byte(nats, about["n_valid_bytes"])
        return figures | {"sample": self._sample(plain)}

    def _batches(self) -> Batches:
        return stream(self.recipe, self.data.valid, self.data.tokenizer, seed=_SEED)

    def _sample(self, model: Any) -> str:
        tokenizer: Any = self.data.tokenizer
        device = next(model.parameters()).device
        if self.recipe.kind in ("gpt", "lstm"):
            ids = generate(
                model,
                torch.tensor([[tokenizer.eos_id]], device=device),
                min(_LONGEST_SAMPLE, self.recipe.context_length - 1),
                temperature=0.8,
                top_k=50,
                generator=torch.Generator(device).manual_seed(_SEED),
                stop_id=tokenizer.eos_id,
            )[0, 1:]
            return readable(tokenizer, ids)
        batch = {name: rows[:1].to(device) for name, rows in self._batches().next_batch().items()}
        if self.recipe.kind == "t5":
            return _reply(model, tokenizer, batch)
        # A masked text with the model's guesses in square brackets.
        with torch.no_grad():
            guesses = model(**batch).logits[0].argmax(dim=-1)
        shown = zip(batch["ids"][0], batch["targets"][0], guesses, strict=True)
        words = (
            f"[{readable(tokenizer, guess[None])}]"
            if target != IGNORE
            else readable(tokenizer, token[None])
            for token, target, guess in shown
        )
        return " ".join(words)


@dataclass(frozen=True)
class TranslationReport:
    """Loss on the validation pairs, and one of them translated."""

    tokenizer: Any
    batches: Batches

    def __call__(self, model: nn.Module) -> dict[str, float | str]:
        """Evaluate a model that translates."""
        self.batches.load_state_dict(_BEGINNING)
        loss = mean_loss(model, islice(iter(self.batches), _N_BATCHES))
        self.batches.load_state_dict(_BEGINNING)
        device = next(model.parameters()).device
        first = {name: rows[:1].to(device) for name, rows in self.batches.next_batch().items()}
        return {"valid_loss": loss, "sample": _reply(model, self.tokenizer, first)}


@torch.no_grad()
def mean_loss(model: nn.Module, batches: Iterator[Batch]) -> float:
    """Return the mean nats per target over some batches, each target counted once."""
    device = next(model.parameters()).device
    nats, n_targets = 0.0, 0
    for batch in batches:
        n = int((batch["targets"] != IGNORE).sum())
        if n:  # a batch in which nothing was hidden has no loss
            loss = model(**{name: rows.to(device) for name, rows in batch.items()})[1]
            nats, n_targets = nats + float(loss) * n, n_targets + n
    return nats / max(n_targets, 1)


def readable(tokenizer: Any, ids: Tensor) -> str:
    """Decode ids; names special tokens, and skips ids that only pad the vocabulary."""
    names = {i: name for name, i in tokenizer.special_ids.items()}
    pieces: list[str] = []
    run: list[int] = []
    for token in ids.tolist():
        if token in names or token >= tokenizer.vocab_size:
            pieces += [tokenizer.decode(run), names.get(token, "")]
            run = []
        else:
            run.append(token)
    return " ".join(piece for piece in [*pieces, tokenizer.decode(run)] if piece)


def _reply(model: Any, tokenizer: Any, batch: Batch) -> str:
    """The first source, and what the model makes of it."""
    start = model.start(batch["source_ids"], batch["source_lengths"])
    found = greedy_search(
        start, batch["ids"][:, 0], eos_id=tokenizer.eos_id, max_length=_LONGEST_SAMPLE
    )
    source = batch["source_ids"][0, : int(batch["source_lengths"][0])]
    reply = torch.tensor(found[0].ids)
    return f"{readable(tokenizer, source)} -> {readable(tokenizer, reply)}"
