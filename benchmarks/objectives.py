"""What should an encoder be asked in pretraining? Masking rules, sentence pairs, sharing, teachers.

    python -m benchmarks.objectives [--n-steps 200] [--device cpu] [--record FILE]

Tiny BERTs read the same generated stories, cut into byte pairs so short that words have several
pieces, for the same number of steps; 15 % of the pieces are hidden at a time.
  masks     three models, each trained by one rule of hiding: single pieces (Devlin et al. 2019),
            whole words (Cui et al. 2019), spans (Joshi et al. 2020); each is asked by all three.
            Single pieces are easy to restore, because the rest of the word stands beside them.
  sharing   one block for all layers (ALBERT, Lan et al. 2020): parameters against accuracy.
  teacher   half as wide and one layer: from the text alone, and from a teacher's probabilities as
            well (DistilBERT, Sanh et al. 2019).
  pairs     does the second sentence follow the first? (Devlin et al. 2019; half do, so 50 is
            chance.)
Accuracy in percent on held-out stories. Nothing is downloaded and nothing published compares.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.published import Figure, command_line, report
from course_pkg.models import IGNORE
from course_pkg.models.bert import BERT, albert_tiny, bert_tiny
from course_pkg.models.transformer import count_parameters
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.batches import Batch, Batches, example_batches, pad_rows
from course_pkg.text.batches.masking import (
    choose_spans,
    choose_tokens,
    choose_words,
    join_pair,
    mask_tokens,
    may_mask,
    next_sentence_pairs,
)
from course_pkg.text.batches.pretraining import BERT_TOKENS, CLS, MASK, SEP
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer
from course_pkg.training.objectives import distillation_loss
from course_pkg.training.trainer import Trainer, TrainerConfig

N_TRAIN, N_TEST, N_PIECES = 3000, 200, 320
CONTEXT, BATCH_SIZE, LR, RATE = 192, 16, 3e-3, 0.15
RULES = ("pieces", "words", "spans")


class Stories:
    """Generated stories as short byte pairs, and what can be made of them.

    Args:
        n_train: stories to learn from.
        n_test: others to report on.
    """

    def __init__(self, n_train: int = N_TRAIN, n_test: int = N_TEST) -> None:
        grammar = StoryGrammar()
        texts = [
            [s.text for s in grammar.sample(n, seed=s_)] for n, s_ in ((n_train, 1), (n_test, 2))
        ]
        self.tokenizer = BytePairTokenizer.train(
            texts[0], vocab_size=N_PIECES, special_tokens=BERT_TOKENS
        )
        fast = self.tokenizer.to_fast()
        self.train, self.test = ([fast.encode(text) for text in part] for part in texts)
        self.train_sentences, self.test_sentences = (
            [
                [fast.encode(f"{sentence}.") for sentence in text.split(".") if sentence.strip()]
                for text in part
            ]
            for part in texts
        )
        self.special_ids = self.tokenizer.special_ids
        starts = [token.startswith(" ") for token in self.tokenizer.tokens]
        self.starts_word = torch.tensor(starts)

    def choose(self, rule: str, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Choose what to hide by one of `RULES`."""
        allowed = may_mask(rows, sorted(self.special_ids.values()))
        if rule == "pieces":
            return choose_tokens(allowed, RATE, generator)
        if rule == "spans":
            return choose_spans(allowed, RATE, generator)
        return choose_words(allowed, self.starts_word[rows], RATE, generator)

    def masked(self, rule: str, stories: Sequence[list[int]], generator: torch.Generator) -> Batch:
        """Hide pieces of some stories."""
        framed = [
            [self.special_ids[CLS], *story[: CONTEXT - 2], self.special_ids[SEP]]
            for story in stories
        ]
        rows, lengths = pad_rows(framed, self.tokenizer.eos_id)
        ids, targets = mask_tokens(
            rows,
            self.choose(rule, rows, generator),
            vocab_size=self.tokenizer.vocab_size,
            mask_id=self.special_ids[MASK],
            special_ids=sorted(self.special_ids.values()),
            generator=generator,
        )
        mask = torch.arange(rows.shape[1]) < lengths.unsqueeze(1)
        return {"ids": ids, "targets": targets, "mask": mask}

    def paired(self, part: Sequence[Any], seed: int) -> list[tuple[list[int], list[int], int]]:
        """Return sentence pairs as ids, segments, and 0 where the second follows the first."""
        generator = torch.Generator().manual_seed(seed)
        ids = {"cls_id": self.special_ids[CLS], "sep_id": self.special_ids[SEP]}
        return [
            (*join_pair(pair, **ids, longest=CONTEXT), int(not pair.is_next))
            for pair in next_sentence_pairs(part, generator)
        ]


def collate_pairs(pairs: Sequence[tuple[list[int], list[int], int]]) -> Batch:
    """Pad sentence pairs; nothing in them is hidden."""
    ids, lengths = pad_rows([ids for ids, _, _ in pairs], 0)
    segments, _ = pad_rows([segments for _, segments, _ in pairs], 0)
    mask = torch.arange(ids.shape[1]) < lengths.unsqueeze(1)
    targets = torch.tensor([is_other for _, _, is_other in pairs])
    return {"ids": ids, "segments": segments, "mask": mask, "targets": targets}


class PairJudge(nn.Module):
    """A BERT of which only the judgement on pairs is asked; as the trainer wants it."""

    def __init__(self, model: BERT) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, ids: Tensor, segments: Tensor, mask: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return the scores of "follows" and "does not", and the loss."""
        output = self.model(ids, segments, mask, pair_targets=targets)
        return output.pair_logits, output.loss


class Student(nn.Module):
    """A model that learns from the text and, at half weight each, from a teacher's guesses."""

    def __init__(self, model: BERT, teacher: BERT) -> None:
        super().__init__()
        self.model = model
        self.teach = teacher.eval().requires_grad_(False)

    def train(self, mode: bool = True) -> "Student":
        """Switch the student alone."""
        super().train(mode)
        self.teach.eval()
        return self

    def forward(self, ids: Tensor, targets: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the student's logits and the mean of both losses."""
        logits, loss, _ = self.model(ids, mask=mask, targets=targets)
        with torch.no_grad():
            guesses = self.teach(ids, mask=mask).logits
        return logits, (loss + distillation_loss(logits, guesses, targets)) / 2


def train(model: nn.Module, batches: Batches, n_steps: int, device: str) -> None:
    """Train for a number of updates."""
    config = TrainerConfig(
        n_steps=n_steps,
        lr=LR,
        n_warmup=n_steps // 10,
        fused=True,
        log_every=n_steps,
        checkpoint_every=n_steps,
        spike_factor=math.inf,  # what is hidden is now easy, now hard
    )
    Trainer(model, batches, config, device=device, show_progress=sys.stderr.isatty()).train()
    model.eval()


def masked_training(stories: Stories, rule: str) -> Batches:
    """Return batches of stories, hidden anew each time they come."""
    return example_batches(
        stories.train,
        partial(stories.masked, rule),
        BATCH_SIZE,
        seed=0,
        lengths=[len(story) for story in stories.train],
    )


@torch.no_grad()
def share_restored(model: BERT, stories: Stories, rule: str, device: str) -> float:
    """Return the share of hidden pieces of the test stories, in percent, that a model tells."""
    generator = torch.Generator().manual_seed(3)
    n_right = n_hidden = 0
    for first in range(0, len(stories.test), 4 * BATCH_SIZE):
        batch = stories.masked(rule, stories.test[first : first + 4 * BATCH_SIZE], generator)
        batch = {name: rows.to(device) for name, rows in batch.items()}
        targets = batch.pop("targets")
        hidden = targets != IGNORE
        n_right += int((model(**batch).logits.argmax(dim=-1) == targets)[hidden].sum())
        n_hidden += int(hidden.sum())
    return 100 * n_right / n_hidden


def new_model(config: TransformerConfig) -> BERT:
    """Return a BERT with weights drawn from a fixed seed."""
    return BERT(config, generator=torch.Generator().manual_seed(0))


def masks(stories: Stories, n_steps: int, device: str) -> tuple[dict[str, BERT], list[Figure]]:
    """Train by each rule and ask by each rule."""
    models, figures = {}, []
    for rule in RULES:
        models[rule] = new_model(bert_tiny(stories.tokenizer.vocab_size, CONTEXT))
        train(models[rule], masked_training(stories, rule), n_steps, device)
        for asked in RULES:
            score = share_restored(models[rule], stories, asked, device)
            figures.append(Figure(f"trained on hidden {rule}, asked for {asked}", score))
    return models, figures


def sharing(stories: Stories, full: BERT, n_steps: int, device: str) -> list[Figure]:
    """Compare one block for all layers with a block for each."""
    shared = new_model(albert_tiny(stories.tokenizer.vocab_size, CONTEXT))
    train(shared, masked_training(stories, "pieces"), n_steps, device)
    return [
        Figure(
            f"{name}: {count_parameters(model):,} parameters",
            share_restored(model, stories, "pieces", device),
        )
        for name, model in (("a block for each layer", full), ("one block for all", shared))
    ]


def teaching(stories: Stories, teacher: BERT, n_steps: int, device: str) -> list[Figure]:
    """Compare a small model that learns alone with one that has a teacher."""
    wide = bert_tiny(stories.tokenizer.vocab_size, CONTEXT)
    small = replace(wide, d_model=wide.d_model // 2, d_ff=wide.d_ff // 2, n_layers=1)
    alone, taught = new_model(small), new_model(small)
    train(alone, masked_training(stories, "pieces"), n_steps, device)
    train(Student(taught, teacher), masked_training(stories, "pieces"), n_steps, device)
    n = count_parameters(alone)
    return [
        Figure(f"{name}: {n:,} parameters", share_restored(model, stories, "pieces", device))
        for name, model in (("small, alone", alone), ("small, with a teacher", taught))
    ]


def pairs(stories: Stories, n_steps: int, device: str) -> list[Figure]:
    """Train the judgement on pairs, and ask for it."""
    learned, asked = (
        stories.paired(part, seed)
        for part, seed in ((stories.train_sentences, 1), (stories.test_sentences, 2))
    )
    judge = PairJudge(new_model(bert_tiny(stories.tokenizer.vocab_size, CONTEXT)))
    batches = example_batches(
        learned,
        lambda rows, generator: collate_pairs(rows),
        BATCH_SIZE,
        seed=0,
        lengths=[len(ids) for ids, _, _ in learned],
    )
    train(judge, batches, n_steps, device)
    n_right = 0
    with torch.no_grad():
        for first in range(0, len(asked), 4 * BATCH_SIZE):
            batch = collate_pairs(asked[first : first + 4 * BATCH_SIZE])
            batch = {name: rows.to(device) for name, rows in batch.items()}
            n_right += int((judge(**batch)[0].argmax(dim=-1) == batch["targets"]).sum())
    return [Figure("does the second sentence follow the first", 100 * n_right / len(asked))]


def main(arguments: Sequence[str] | None = None, load: Callable[[], Stories] = Stories) -> None:
    """Print the four comparisons and, on request, record them."""
    parser = command_line(__doc__)
    parser.add_argument("--n-steps", type=int, default=200, help="updates of each model [200]")
    options = parser.parse_args(arguments)
    n_steps, device = options.n_steps, options.device
    stories = load()
    models, figures = masks(stories, n_steps, device)
    figures += sharing(stories, models["pieces"], n_steps, device)
    figures += teaching(stories, models["pieces"], n_steps, device)
    figures += pairs(stories, n_steps, device)
    report(
        figures,
        f"Share of hidden pieces restored, or of pairs judged rightly, after {n_steps} updates.",
        is_higher_better=True,
        module="benchmarks.objectives",
        options=options,
        arguments=arguments,
        details={"n_steps": n_steps, "n_pieces": stories.tokenizer.vocab_size},
    )


if __name__ == "__main__":
    main()
