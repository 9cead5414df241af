"""BERT and what came after it: masking rules, objectives, structures, sentence pairs.

    python -m benchmarks.chapters.encoder_family [--only ARM] [--n-steps 500] [--record FILE]

Each arm trains a tiny encoder on the same stories, for the same number of updates on batches of the
same size. Its learning rate is its own, found on validation stories by moving outwards until the
best has a worse one on either side; three seeds at that rate are asked about test stories:
  masked    words at [MASK] restored (percent, and nats), 15 % of the words masked
  spans     the same of whole spans
  replaced  the true word, where another word stands (15 % replaced, nothing masked)
  wrong     a linear probe on frozen vectors: does this word belong here? (15 % replaced)
All arms answer "wrong", so all can be compared by it. The arms:
  BERT; 100/0/0, 80/20/0, 80/0/20 (what stands at the chosen words); untrained
  static, dynamic      150 stories only, masked once for all or anew in each epoch (RoBERTa)
  spans, SpanBERT      whole spans, without and with its second loss
  ALBERT, DeBERTa, XLNet, ELECTRA; small, DistilBERT (half the width, one block; with a teacher)
  halves, NSP, SOP     stories in two halves; alone, or: does the second follow (NSP), are they in
                       order (SOP)? These three have 1.6 times as many updates.
A record that was begun with the same settings is gone on with; an arm that it has is kept. Nothing
published compares.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.records import Recording, command_line
from course_pkg.evaluation.probing import fit_probe
from course_pkg.models import IGNORE
from course_pkg.models.bert import BERT, MaskedLMLoss, bert_tiny
from course_pkg.models.bert_objectives import PermutationLoss, ReplacedTokenLoss, SpanBoundaryLoss
from course_pkg.models.transformer import count_parameters
from course_pkg.text.batches import Batch, Batches, example_batches, pack_documents, pad_rows
from course_pkg.text.batches.masking import (
    SentencePair,
    choose_tokens,
    join_pair,
    mask_tokens,
    may_mask,
)
from course_pkg.text.batches.pretraining import (
    BERT_TOKENS,
    CLS,
    MASK,
    SEP,
    masked_batches,
    permuted_batches,
)
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.objectives import distillation_loss
from course_pkg.training.trainer import Trainer, TrainerConfig

CONTEXT, BATCH_SIZE, LONGEST_PAIR = 34, 16, 80
RATES = (4.8e-4, 1.2e-3, 3e-3, 7.5e-3, 1.9e-2, 4.8e-2)
SEEDS = (0, 1, 2)


class Words:
    """Stories as streams of words, and as pairs of halves: to learn from, to choose by, to test."""

    def __init__(self, n_stories: int = 6000, n_few: int = 150, n_asked: int = 400) -> None:
        grammar = StoryGrammar()
        sizes = {"train": n_stories, "valid": n_asked // 2, "test": n_asked, "few": n_few}
        texts = {
            name: [story.text for story in grammar.sample(n, seed=seed)]
            for seed, (name, n) in enumerate(sizes.items())
        }
        self.tokenizer = WordTokenizer.train(texts["train"], special_tokens=BERT_TOKENS)
        self.special_ids = self.tokenizer.special_ids
        self.documents = {
            name: [self.tokenizer.encode(text) for text in part] for name, part in texts.items()
        }
        self.streams = {
            name: pack_documents(part, self.tokenizer.eos_id)
            for name, part in self.documents.items()
        }
        (self.stop,) = self.tokenizer.encode(".")

    def windows(self, part: str, seed: int, **settings: Any) -> Batches:
        """Return windows of a stream, masked as the settings of `masked_batches` say."""
        sizes = {"vocab_size": self.tokenizer.vocab_size, "special_ids": self.special_ids}
        return masked_batches(
            self.streams[part], CONTEXT, BATCH_SIZE, **sizes, **settings, seed=seed
        )

    def orders(self, part: str, seed: int) -> Batches:
        """Return windows with a random order and nothing masked, for XLNet."""
        return permuted_batches(
            self.streams[part], CONTEXT, BATCH_SIZE, special_ids=self.special_ids, seed=seed
        )

    def masked(self, rows: Tensor, generator: torch.Generator, is_real: Tensor) -> Batch:
        """Mask padded rows by BERT's rule."""
        specials = sorted(self.special_ids.values())
        seen, targets = mask_tokens(
            rows,
            choose_tokens(may_mask(rows, specials) & is_real, 0.15, generator),
            vocab_size=self.tokenizer.vocab_size,
            mask_id=self.special_ids[MASK],
            special_ids=specials,
            generator=generator,
        )
        return {"ids": seen, "targets": targets, "mask": is_real}

    def halves(self, part: str, seed: int, question: str) -> list[SentencePair]:
        """Return stories in two halves; half of the pairs are not as they were.

        Args:
            question: "NSP" takes another story's second half, "SOP" swaps the two.
        """
        generator = torch.Generator().manual_seed(seed)
        cut = [in_halves(story, self.stop) for story in self.documents[part]]
        keep = (torch.rand(len(cut), generator=generator) < 0.5).tolist()
        steps = torch.randint(1, len(cut), (len(cut),), generator=generator).tolist()
        pairs = []
        for number, (first, second) in enumerate(cut):
            if keep[number]:
                pairs.append(SentencePair(first, second, True))
            elif question == "NSP":
                other = cut[(number + steps[number]) % len(cut)][1]
                pairs.append(SentencePair(first, other, False))
            else:
                pairs.append(SentencePair(second, first, False))
        return pairs

    def pairs(self, part: str, seed: int, question: str, *, is_masked: bool = True) -> Batches:
        """Return batches of halves, masked anew each time, with what is asked of the pair."""
        ids = {"cls_id": self.special_ids[CLS], "sep_id": self.special_ids[SEP]}
        rows = [
            (*join_pair(pair, **ids, longest=LONGEST_PAIR), int(not pair.is_next))
            for pair in self.halves(part, seed, question)
        ]

        def collate(some: Sequence[Any], generator: torch.Generator) -> Batch:
            padded, lengths = pad_rows([row for row, _, _ in some], self.tokenizer.eos_id)
            segments, _ = pad_rows([sides for _, sides, _ in some], 0)
            is_real = torch.arange(padded.shape[1]) < lengths.unsqueeze(1)
            batch = self.masked(padded, generator, is_real)
            if not is_masked:
                batch["ids"] = padded
            pair_targets = torch.tensor([is_other for _, _, is_other in some])
            return {**batch, "segments": segments, "pair_targets": pair_targets}

        lengths = [len(row) for row, _, _ in rows]
        return example_batches(rows, collate, BATCH_SIZE, seed=seed, lengths=lengths)


def in_halves(story: list[int], stop: int) -> tuple[list[int], list[int]]:
    """Cut a story after half of its sentences."""
    ends = [place + 1 for place, word in enumerate(story) if word == stop]
    cut = ends[(len(ends) - 1) // 2] if len(ends) > 1 else len(story) // 2
    return story[:cut], story[cut:]


class PairOutput(NamedTuple):
    """Scores of the pair; the sum of the losses; the losses, of tokens and of pairs."""

    logits: Tensor
    loss: Tensor
    losses: Tensor


class PairLoss(nn.Module):
    """BERT's two tasks at once; or the first alone, on the same rows."""

    def __init__(self, model: BERT, *, asks_pairs: bool) -> None:
        super().__init__()
        self.model, self.asks_pairs = model, asks_pairs

    def forward(
        self, ids: Tensor, targets: Tensor, mask: Tensor, segments: Tensor, pair_targets: Tensor
    ) -> PairOutput:
        """Return the scores of the pair, and the losses with their sum."""
        asked = pair_targets if self.asks_pairs else None
        asked = {"segments": segments, "mask": mask, "pair_targets": asked}
        found = self.model(ids, targets=targets, **asked)
        return PairOutput(found.pair_logits, found.loss, found.losses)

    def n_targets(self, batch: Mapping[str, Tensor]) -> tuple[int, int]:
        """Return how many tokens, and how many pairs, the losses are means over."""
        n_tokens, n_pairs = self.model.n_targets(batch)
        return n_tokens, n_pairs if self.asks_pairs else 0


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

    def forward(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the student's logits and, in training, the mean of both losses."""
        logits, loss = self.model(ids, targets=targets)[:2]
        if not self.training:
            return logits, loss
        with torch.no_grad():
            guesses = self.teach(ids).logits
        return logits, (loss + distillation_loss(logits, guesses, targets)) / 2


Wrap = Callable[[Words, BERT, torch.Generator], nn.Module]


def plainly(words: Words, model: BERT, generator: torch.Generator) -> nn.Module:
    """Train by masked LM alone."""
    return MaskedLMLoss(model)


def by_spans(words: Words, model: BERT, generator: torch.Generator) -> nn.Module:
    """Train by masked LM and from the edges of spans."""
    return SpanBoundaryLoss(model, generator=generator)


def by_orders(words: Words, model: BERT, generator: torch.Generator) -> nn.Module:
    """Train by permutation LM."""
    return PermutationLoss(model, mask_id=words.special_ids[MASK])


def with_generator(words: Words, model: BERT, generator: torch.Generator) -> nn.Module:
    """Give a BERT that looks for replaced words another one, half as wide, that replaces them."""
    config = model.config
    small = replace(config, d_model=config.d_model // 2, d_ff=config.d_ff // 2)
    return ReplacedTokenLoss(model, BERT(small, generator=generator), generator=generator)


def on_pairs(words: Words, model: BERT, generator: torch.Generator) -> nn.Module:
    """Train by masked LM and by the question about the pair."""
    return PairLoss(model, asks_pairs=True)


def beside_pairs(words: Words, model: BERT, generator: torch.Generator) -> nn.Module:
    """Train by masked LM on the rows of `on_pairs`."""
    return PairLoss(model, asks_pairs=False)


@dataclass(frozen=True)
class Arm:
    """A way to train.

    Attributes:
        changes: to the config of `bert_tiny` with rotary positions and pre-norm.
        wrap: from a BERT to what is trained.
        masking: settings of `masked_batches`.
        kind: what the batches are: "windows", "orders", or the question about pairs.
        asked: questions, see the head of the file; "wrong" is asked of all.
        part: what it learns from.
        is_static: mask once, for all epochs.
        has_teacher: whether a trained BERT guesses beside it.
        patience: updates for each update of the others.
    """

    changes: Mapping[str, Any] = field(default_factory=dict)
    wrap: Wrap = plainly
    masking: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "windows"
    asked: tuple[str, ...] = ("masked", "spans", "replaced")
    part: str = "train"
    is_static: bool = False
    has_teacher: bool = False
    patience: float = 1.0

    def batches(self, words: Words, part: str, seed: int) -> Batches:
        """Return its batches of a part of the stories."""
        if self.kind == "windows":
            return words.windows(part, seed, **self.masking)
        if self.kind == "orders":
            return words.orders(part, seed)
        return words.pairs(part, seed, self.kind)


PAIRED = ("masked", "pairs")
ARMS = {
    "BERT": Arm(),
    "100/0/0": Arm(masking={"shares": (1.0, 0.0)}),
    "80/20/0": Arm(masking={"shares": (0.8, 0.2)}),
    "80/0/20": Arm(masking={"shares": (0.8, 0.0)}),
    "static": Arm(part="few", is_static=True),
    "dynamic": Arm(part="few"),
    "spans": Arm(masking={"whole_spans": True}),
    "SpanBERT": Arm(wrap=by_spans, masking={"whole_spans": True}),
    "ALBERT": Arm({"shares_layers": True}),
    "DeBERTa": Arm({"positions": "disentangled"}),
    "small": Arm({"n_layers": 1}),
    "DistilBERT": Arm({"n_layers": 1}, has_teacher=True),
    "XLNet": Arm(wrap=by_orders, kind="orders", asked=()),
    "ELECTRA": Arm(wrap=with_generator, asked=()),
    "halves": Arm(wrap=beside_pairs, kind="NSP", asked=PAIRED, patience=1.6),
    "NSP": Arm(wrap=on_pairs, kind="NSP", asked=PAIRED, patience=1.6),
    "SOP": Arm(wrap=on_pairs, kind="SOP", asked=PAIRED, patience=1.6),
}


def masked_once(batches: Batches) -> Batches:
    """Mask every window once, for all epochs; only their order is new in each."""
    n_windows = sum(len(items) for items in batches.order)
    rows = batches.collate(torch.arange(n_windows), torch.Generator().manual_seed(batches.seed))
    batches.collate = lambda items, _: {name: part[items] for name, part in rows.items()}
    return batches


def new_model(words: Words, arm: Arm, generator: torch.Generator) -> BERT:
    """Return a BERT as an arm has it."""
    longest = CONTEXT if arm.kind in ("windows", "orders") else LONGEST_PAIR
    base = replace(bert_tiny(words.tokenizer.vocab_size, longest), block="pre_norm")
    changes = {"positions": "rotary", **arm.changes}
    return BERT(replace(base, **changes), generator=generator)


def trained(
    words: Words,
    arm: Arm,
    *,
    n_steps: int,
    lr: float,
    seed: int,
    teacher: BERT | None = None,
) -> nn.Module:
    """Train by one arm, and return what was trained."""
    generator = torch.Generator().manual_seed(seed)
    training = arm.wrap(words, new_model(words, arm, generator), generator)
    if teacher is not None:
        training = Student(training.model, teacher)
    batches = arm.batches(words, arm.part, seed)
    if arm.is_static:
        batches = masked_once(batches)
    settings = TrainerConfig(
        n_steps,
        lr=lr,
        n_warmup=n_steps // 10,
        weight_decay=0.0,
        fused=True,
        log_every=n_steps,
        checkpoint_every=n_steps,
        spike_factor=math.inf,  # what is hidden is now easy, now hard
        seed=seed,
    )
    torch.manual_seed(seed)  # of the words that take the place of others
    Trainer(training, batches, settings, show_progress=False).train()
    return training.eval()


@torch.no_grad()
def valid_loss(words: Words, arm: Arm, training: nn.Module) -> float:
    """Return the mean of an arm's own loss on validation stories."""
    torch.manual_seed(0)
    losses = [training(**batch)[1].item() for batch in arm.batches(words, "valid", 0)]
    return statistics.mean(losses)


@torch.no_grad()
def restored(model: BERT, batches: Batches) -> tuple[float, float]:
    """Return the share of the targets restored, in percent, and their mean nats."""
    n_right = n = 0
    nats = 0.0
    for batch in batches:
        hidden = batch["targets"] != IGNORE
        x = model.encode(batch["ids"], segments=batch.get("segments"), mask=batch.get("mask"))
        logits, truth = model.token_logits(x[hidden]), batch["targets"][hidden]
        n_right += int((logits.argmax(dim=-1) == truth).sum())
        nats += float(F.cross_entropy(logits, truth, reduction="sum"))
        n += len(truth)
    return 100 * n_right / n, nats / n


@torch.no_grad()
def detected(training: Any, batches: Batches) -> float:
    """Return how well ELECTRA knows replaced words, in percent, so that 50 is chance.

    The mean of the shares found among the replaced and left alone among the others.
    """
    torch.manual_seed(0)
    n_right, n = torch.zeros(2), torch.zeros(2)
    for batch in batches:
        hidden = batch["targets"] != IGNORE
        guesses, _ = training.masked_lm(batch["ids"], batch["targets"])
        drawn = guesses.softmax(dim=-1).multinomial(1).squeeze(-1)
        filled = batch["ids"].masked_scatter(hidden, drawn)
        is_replaced = filled != batch["ids"].masked_scatter(hidden, batch["targets"][hidden])
        is_right = (training.detect(filled) > 0) == is_replaced
        n_right += torch.tensor(
            [float(is_right[place].sum()) for place in (is_replaced, ~is_replaced)]
        )
        n += torch.tensor([float(is_replaced.sum()), float((~is_replaced).sum())])
    return 100 * float((n_right / n).mean())


@torch.no_grad()
def last_in_order(training: nn.Module, batches: Batches) -> float:
    """Return the share of XLNet's targets restored, in percent."""
    n_right = n = 0
    for batch in batches:
        hidden = batch["targets"] != IGNORE
        is_right = training(**batch)[0].argmax(dim=-1) == batch["targets"]
        n_right += int(is_right[hidden].sum())
        n += int(hidden.sum())
    return 100 * n_right / n


@torch.no_grad()
def pairs_right(model: BERT, batches: Batches) -> float:
    """Return the share of pairs judged rightly, in percent; nothing is masked."""
    n_right = n = 0
    for batch in batches:
        x = model.encode(batch["ids"], segments=batch["segments"], mask=batch["mask"])
        guesses = model.pair_head(model.pool(x)).argmax(dim=-1)  # type: ignore[misc]
        n_right += int((guesses == batch["pair_targets"]).sum())
        n += len(guesses)
    return 100 * n_right / n


def wrong_words(words: Words, model: BERT) -> float:
    """Return how well a linear probe knows words that do not belong, in percent; 50 is chance.

    In test windows 15 % of the words are replaced at random, and nothing is masked. The probe reads
    the frozen vectors of the last layer; it learns from the first half of the windows. The mean of
    the shares found among the wrong words and left alone among the others.
    """
    vectors, labels = [], []
    for batch in words.windows("test", 0, shares=(0.0, 1.0)):
        with torch.no_grad():
            x = model.encode(batch["ids"])
        is_word = may_mask(batch["ids"], sorted(words.special_ids.values()))
        vectors.append(x[is_word])
        labels.append(((batch["targets"] != IGNORE) & (batch["targets"] != batch["ids"]))[is_word])
    found, is_wrong = torch.cat(vectors), torch.cat(labels)
    half = len(found) // 2
    few = is_wrong[:half].nonzero().flatten()
    many = (~is_wrong[:half]).nonzero().flatten()[: len(few)]  # as many of either kind
    some = torch.cat([few, many])
    weight, bias = fit_probe(found[some], is_wrong[some].long(), 2)
    guesses = F.linear(found[half:].double(), weight, bias).argmax(dim=-1).bool()
    truth = is_wrong[half:]
    right = guesses == truth
    return 50 * float(right[truth].double().mean() + right[~truth].double().mean())


def questions(words: Words, arm: Arm, training: Any) -> dict[str, float]:
    """Ask a trained encoder all that it can be asked, on test stories."""
    model, found = training.model, {"wrong": wrong_words(words, training.model)}
    only_masks: dict[str, Any] = {"shares": (1.0, 0.0)}
    if "masked" in arm.asked and arm.kind == "windows":
        share, nats = restored(model, words.windows("test", 0, **only_masks))
        found |= {"masked": share, "masked_nats": nats}
    if "spans" in arm.asked:
        spans = words.windows("test", 0, **only_masks, whole_spans=True)
        found["spans"], _ = restored(model, spans)
    if "replaced" in arm.asked:
        found["replaced"], _ = restored(model, words.windows("test", 0, shares=(0.0, 1.0)))
    if "pairs" in arm.asked:
        found["masked"], found["masked_nats"] = restored(model, words.pairs("test", 0, "NSP"))
        for question in ("NSP", "SOP"):
            batches = words.pairs("test", 0, question, is_masked=False)
            found[question] = pairs_right(model, batches)
    if arm.kind == "orders":
        found["order"] = last_in_order(training, words.orders("test", 0))
    if arm.wrap is with_generator:
        found["detected"] = detected(training, words.windows("test", 0, **only_masks))
    return found


def best_rate(loss_at: Callable[[float], float]) -> tuple[float, dict[str, float]]:
    """Return the rate of the least loss, a larger one on either side, and all that was tried."""
    tried = {2: loss_at(RATES[2]), 3: loss_at(RATES[3])}
    while True:
        best = min(tried, key=tried.__getitem__)
        beside = [i for i in (best - 1, best + 1) if 0 <= i < len(RATES) and i not in tried]
        if not beside:
            return RATES[best], {f"{RATES[i]:g}": tried[i] for i in sorted(tried)}
        tried[beside[0]] = loss_at(RATES[beside[0]])


def measure(words: Words, name: str, n_steps: int, rate_of_teacher: float) -> dict[str, Any]:
    """Tune one arm, train it with every seed, ask it."""
    arm = ARMS[name]
    runs: dict[tuple[float, int], nn.Module] = {}

    def fit(lr: float, seed: int) -> nn.Module:
        if (lr, seed) not in runs:
            updates = round(arm.patience * n_steps)
            fitted = partial(trained, words, n_steps=updates, seed=seed)
            teacher = fitted(ARMS["BERT"], lr=rate_of_teacher).model if arm.has_teacher else None
            runs[lr, seed] = fitted(arm, lr=lr, teacher=teacher)
        return runs[lr, seed]

    lr, tried = best_rate(lambda lr: valid_loss(words, arm, fit(lr, SEEDS[0])))
    asked = [questions(words, arm, fit(lr, seed)) for seed in SEEDS]
    return {
        "lr": lr,
        "n_steps": round(arm.patience * n_steps),
        "valid_loss_by_rate": tried,
        "n_parameters": count_parameters(fit(lr, SEEDS[0]).model),  # type: ignore[arg-type]
        **{question: [answers[question] for answers in asked] for question in asked[0]},
    }


def untrained(words: Words) -> dict[str, Any]:
    """Ask encoders that have learned nothing."""
    models = [new_model(words, ARMS["BERT"], torch.Generator().manual_seed(s)) for s in SEEDS]
    return {"wrong": [wrong_words(words, model.eval()) for model in models]}


def main(arguments: Sequence[str] | None = None, load: Callable[[], Words] = Words) -> None:
    """Print what each arm's encoders know and, on request, record it arm by arm."""
    names = ["untrained", *ARMS]
    parser = command_line(__doc__, __file__, arms=names)
    parser.add_argument("--n-steps", type=int, default=500, help="updates of each model [500]")
    recording = Recording(parser, arguments)
    n_steps = recording.options.n_steps
    recording.begin(
        {"what": "percent on test stories, and nats at masked words, by seed"},
        same={
            "n_steps": n_steps,
            "batch_size": BATCH_SIZE,
            "context": CONTEXT,
            "n_words_read": n_steps * BATCH_SIZE * (CONTEXT - 2),
            "seeds": SEEDS,
        },
    )
    words = load()
    for name in recording.missing(names):
        if name == "untrained":
            result = untrained(words)
        else:
            rate = recording.content["arms"].get("BERT", {}).get("lr", RATES[2])
            result = measure(words, name, n_steps, rate)
        recording.keep(name, result, within="arms")


if __name__ == "__main__":
    main()
