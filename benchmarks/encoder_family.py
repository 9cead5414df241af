"""BERT and what came after it, each as one change: what is learned in the same number of updates?

    python -m benchmarks.encoder_family [--n-steps 300] [--record FILE]

Tiny encoders read the same generated stories, word by word, for the same number of updates.
  BERT           masked LM, 15 % of the words one by one (Devlin et al. 2019)
  DeBERTa        BERT with disentangled attention in place of rotary positions (He et al. 2021)
  BERT by spans  the same share of words in whole spans
  SpanBERT       spans, each word also predicted from the span's edges (Joshi et al. 2020)
  XLNet          the last sixth of the words in a random order, by two streams (Yang et al. 2019)
  ELECTRA        of every word: was it replaced by a smaller BERT? (Clark et al. 2020)
The first four are asked for masked words and for masked spans of other stories; XLNet for the end
of an order; ELECTRA for the words that its own generator replaced. So the first four can be
compared with each other, and the last two with chance. Three seeds; nothing published compares.
"""

import math
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import nn

from benchmarks.published import Figure, command_line, report
from course_pkg.models import IGNORE
from course_pkg.models.bert import BERT, MaskedLMLoss, bert_tiny, deberta_tiny
from course_pkg.models.bert_objectives import PermutationLoss, ReplacedTokenLoss, SpanBoundaryLoss
from course_pkg.text.batches import Batches, pack_documents
from course_pkg.text.batches.pretraining import (
    BERT_TOKENS,
    MASK,
    masked_batches,
    permuted_batches,
)
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

N_STORIES, N_ASKED = 3000, 100
CONTEXT, BATCH_SIZE, LR = 34, 16, 3e-3
SEEDS = (0, 1, 2)


class Words:
    """Stories as one stream of words to learn from, and others to be asked about."""

    def __init__(self, n_stories: int = N_STORIES, n_asked: int = N_ASKED) -> None:
        grammar = StoryGrammar()
        texts = [[s.text for s in grammar.sample(n, seed=n)] for n in (n_stories, n_asked)]
        self.tokenizer = WordTokenizer.train(texts[0], special_tokens=BERT_TOKENS)
        self.special_ids = self.tokenizer.special_ids
        self.train, self.test = (
            pack_documents([self.tokenizer.encode(text) for text in part], self.tokenizer.eos_id)
            for part in texts
        )

    def batches(self, kind: str, seed: int, *, is_test: bool = False) -> Batches:
        """Return rows with "words" or "spans" masked, or with an "order" and nothing masked."""
        sizes = (self.test if is_test else self.train, CONTEXT, BATCH_SIZE)
        if kind == "order":
            return permuted_batches(*sizes, special_ids=self.special_ids, seed=seed)
        return masked_batches(
            *sizes,
            vocab_size=self.tokenizer.vocab_size,
            special_ids=self.special_ids,
            whole_spans=kind == "spans",
            seed=seed,
        )


@dataclass(frozen=True)
class Arm:
    """A way to train: what wraps the BERT, and which batches it reads, as `Words.batches` has them.

    Attributes:
        asked: what is masked when it is asked; of an order or of replaced words nothing.
    """

    wrap: Callable[[Words, BERT, torch.Generator], nn.Module]
    kind: str = "words"
    asked: tuple[str, ...] = ("words", "spans")
    is_disentangled: bool = False


def with_generator(words: Words, model: BERT, generator: torch.Generator) -> nn.Module:
    """Give a BERT that looks for replaced words another one, half as wide, that replaces them."""
    config = model.config
    small = replace(config, d_model=config.d_model // 2, d_ff=config.d_ff // 2)
    return ReplacedTokenLoss(model, BERT(small, generator=generator), generator=generator)


ARMS = {
    "BERT": Arm(lambda words, model, generator: MaskedLMLoss(model)),
    "DeBERTa": Arm(lambda words, model, generator: MaskedLMLoss(model), is_disentangled=True),
    "BERT by spans": Arm(lambda words, model, generator: MaskedLMLoss(model), "spans"),
    "SpanBERT": Arm(
        lambda words, model, generator: SpanBoundaryLoss(model, generator=generator), "spans"
    ),
    "XLNet": Arm(
        lambda words, model, generator: PermutationLoss(model, mask_id=words.special_ids[MASK]),
        "order",
        ("order",),
    ),
    "ELECTRA": Arm(with_generator, "words", ("replaced",)),
}


def trained(words: Words, arm: Arm, n_steps: int, seed: int) -> nn.Module:
    """Train by one arm, and return what was trained."""
    preset = deberta_tiny if arm.is_disentangled else bert_tiny
    config = replace(preset(words.tokenizer.vocab_size, CONTEXT), is_pre_norm=True)
    if not arm.is_disentangled:
        config = replace(config, positions="rotary")
    generator = torch.Generator().manual_seed(seed)
    training = arm.wrap(words, BERT(config, generator=generator), generator)
    settings = TrainerConfig(
        n_steps,
        lr=LR,
        n_warmup=n_steps // 10,
        fused=True,
        log_every=n_steps,
        checkpoint_every=n_steps,
        spike_factor=math.inf,  # what is hidden is now easy, now hard
        seed=seed,
    )
    Trainer(training, words.batches(arm.kind, seed), settings).train()
    return training.eval()


@torch.no_grad()
def asked(words: Words, training: Any, what: str) -> float:
    """Return how well it does on other stories, in percent, the same places for every arm.

    Of masked words, or the last in an order, the share restored; of replaced ones the mean of the
    shares that were found among the replaced and left alone among the others, so that 50 is chance.
    """
    torch.manual_seed(0)  # of the words that take the place of others
    n_right, n = torch.zeros(2), torch.zeros(2)
    kind = "words" if what == "replaced" else what
    for batch in words.batches(kind, seed=0, is_test=True):
        hidden = batch["targets"] != IGNORE
        truth = batch["targets"][hidden]
        if what == "replaced":
            guesses, _ = training.masked_lm(batch["ids"], batch["targets"])
            drawn = guesses.softmax(dim=-1).multinomial(1).squeeze(-1)
            filled = batch["ids"].masked_scatter(hidden, drawn)
            is_replaced = filled != batch["ids"].masked_scatter(hidden, truth)
            is_right = (training.detect(filled) > 0) == is_replaced
            parts = (is_right[is_replaced], is_right[~is_replaced])
        else:
            if what == "order":
                logits = training(**batch)[0][hidden]
            else:
                logits = training.model.token_logits(training.model.encode(batch["ids"])[hidden])
            is_right = logits.argmax(dim=-1) == truth
            parts = (is_right, is_right)
        n_right += torch.tensor([float(part.sum()) for part in parts])
        n += torch.tensor([float(len(part)) for part in parts])
    return 100 * float((n_right / n).mean())


def measure(words: Words, n_steps: int) -> dict[str, list[float]]:
    """Return what each arm reaches in what it is asked, seed by seed."""
    found: dict[str, list[float]] = {}
    for (name, arm), seed in product(ARMS.items(), SEEDS):
        training = trained(words, arm, n_steps, seed)
        for what in arm.asked:
            score = asked(words, training, what)
            found.setdefault(f"{name}, asked for {what}", []).append(score)
            print(f"  {name}, asked for {what}, seed {seed}: {score:.1f}", file=sys.stderr)
    return found


def main(arguments: Sequence[str] | None = None, load: Callable[[], Words] = Words) -> None:
    """Print what each arm's vectors know and, on request, record it."""
    parser = command_line(__doc__)
    parser.add_argument("--n-steps", type=int, default=300, help="updates of each model [300]")
    options = parser.parse_args(arguments)
    found = measure(load(), options.n_steps)
    figures = [
        Figure(f"{name} (seeds: {min(shares):.1f} to {max(shares):.1f})", statistics.mean(shares))
        for name, shares in found.items()
    ]
    details: dict[str, Any] = {"n_steps": options.n_steps, "seeds": list(SEEDS), "shares": found}
    report(
        figures,
        "Share restored of what was masked or came last, in percent; of replaced words the mean of "
        "the shares found and rightly left alone, so that 50 is chance; the mean of "
        f"{len(SEEDS)} seeds after {options.n_steps} updates",
        is_higher_better=True,
        module="benchmarks.encoder_family",
        options=options,
        arguments=arguments,
        details=details,
        n_digits=1,
    )


if __name__ == "__main__":
    main()
