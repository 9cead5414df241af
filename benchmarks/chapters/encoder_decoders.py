"""What should a model that reads and then writes be pretrained on, and in which shape?

    python -m benchmarks.chapters.encoder_decoders [--n-tokens 600000] [--record FILE]

Five models read the same generated stories, and two controls read none. Each then learns two tasks
from 256 stories with known answers: to answer a question about a story by one word, and to shorten
a story to one sentence. A prefix says which.

Shapes: an encoder-decoder of 2 + 2 blocks and a decoder of 2 blocks, the same in cost and about
half in weights (Raffel et al. 2020, section 3.2.2); the decoder sees the source causally, or in
both directions (prefix LM). Objectives: causal LM, prefix LM, span corruption (Raffel et al. 2020)
and denoising (Lewis et al. 2020: 30 % in spans, sentences permuted). Equal are the tokens
processed, read and written together, so an objective that writes the whole text again sees fewer
stories. Every rate, of pretraining and of learning the tasks, is searched until the best one has a
worse one on either side; pretraining by its own loss on validation stories. Three seeds.
One more run by span corruption processes four times the tokens, at the same rates. Two more arms
hide as much in as many spans, turned round the story: "spans on names" to where they hide the most
names that can still be read elsewhere in it; "spans turned at random", its control, anywhere.
A run that was broken off goes on with the first part that its record lacks.
"""

import copy
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.chapters.transformer import best_rate
from benchmarks.records import Recording, command_line
from course_pkg.layers.attention import causal_mask
from course_pkg.models import IGNORE
from course_pkg.models.gpt import GPT
from course_pkg.models.loss import nats_per_target
from course_pkg.models.transformer import EncoderDecoder, count_parameters
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.batches import Batch, example_batches, pad_rows, translation_rows
from course_pkg.text.batches.masking import random_spans, spans_to_sentinels
from course_pkg.text.batches.noising import infill_spans, permute_sentences
from course_pkg.text.batches.pretraining import MASK, sentinel_tokens
from course_pkg.text.corpora import load_corpus
from course_pkg.text.stories.lexicon import LEXICON
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

N_TOKENS, BATCH_SIZE, SEEDS = 600_000, 32, (0, 1, 2)
N_LABELLED, N_TASK_STEPS = 256, 120
SENTINELS = sentinel_tokens(12)
QUESTIONS = {"who?": "hero", "where?": "place", "what?": "object", "colour?": "colour"}
ANSWER, SHORTEN = "answer:", "shorten:"

Pair = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Arm:
    """A model that is compared: its shape, and what it is pretrained on, if on anything."""

    shape: str
    objective: str | None


ARMS = {
    "encoder–decoder, not pretrained": Arm("encoder–decoder", None),
    "encoder–decoder, span corruption": Arm("encoder–decoder", "span corruption"),
    "encoder–decoder, spans on names": Arm("encoder–decoder", "spans on names"),
    "encoder–decoder, spans turned at random": Arm("encoder–decoder", "spans turned at random"),
    "encoder–decoder, denoising": Arm("encoder–decoder", "denoising"),
    "encoder–decoder, prefix LM": Arm("encoder–decoder", "prefix LM"),
    "decoder, prefix LM": Arm("prefix decoder", "prefix LM"),
    "decoder, causal LM": Arm("decoder", "causal LM"),
    "decoder, not pretrained": Arm("decoder", None),
}


class Decoder(nn.Module):
    """A GPT that reads a source and writes on, behind an encoder-decoder's face.

    Args:
        gpt: the model; its causal mask is replaced by the one made here.
        sees_all_of_source: whether source positions see those that follow them (prefix LM).
    """

    def __init__(self, gpt: GPT, eos_id: int, *, sees_all_of_source: bool) -> None:
        super().__init__()
        self.gpt, self.eos_id, self.sees_all_of_source = gpt, eos_id, sees_all_of_source
        gpt.stack.is_causal = False

    def forward(
        self, source_ids: Tensor, ids: Tensor, targets: Tensor, source_lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Score the targets; (B, T) logits stand where an encoder-decoder's would."""
        lengths = source_lengths.tolist()
        rows, _ = pad_rows(
            [
                [*source[:n], *row]
                for source, n, row in zip(source_ids.tolist(), lengths, ids.tolist(), strict=True)
            ],
            self.eos_id,
        )
        mask = causal_mask(rows.shape[1]).unsqueeze(0)
        if self.sees_all_of_source:
            mask = mask | (torch.arange(rows.shape[1]) < source_lengths.view(-1, 1, 1))
        x = self.gpt.stack(self.gpt.embedding(rows), mask=mask)
        places = source_lengths.unsqueeze(1) + torch.arange(ids.shape[1])  # of the targets
        x = x.gather(1, places.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
        logits = self.gpt.unembed(x)
        return logits, nats_per_target(logits, targets)


class Stories:
    """The stories in ids, the pairs that objectives make of them, and the tasks.

    Args:
        n_train: stories to pretrain on; those with labels are others.
        n_test: stories to validate on, and as many to report on.
    """

    def __init__(self, n_train: int = 16_000, n_test: int = 200) -> None:
        corpus = load_corpus("stories")
        special = (*SENTINELS, MASK, ANSWER, SHORTEN, *QUESTIONS)
        self.tokenizer = WordTokenizer.train(corpus.train, unk=None, special_tokens=special)
        ids = self.tokenizer.vocabulary.special_ids
        self.sentinel_ids = [ids[name] for name in SENTINELS]
        self.special_ids, self.eos_id = ids, self.tokenizer.eos_id
        names = [self.tokenizer.encode(name) for of in QUESTIONS.values() for name in LEXICON[of]]
        self.name_ids = torch.tensor([i for name in names for i in name])
        self.end_ids = [self.tokenizer.encode(mark)[0] for mark in ".?"]
        self.train = [self.tokenizer.encode(text) for text in corpus.train[:n_train]]
        self.valid = [self.tokenizer.encode(text) for text in corpus.valid[:n_test]]
        labelled = corpus.train[n_train : n_train + N_LABELLED]
        self.labelled, self.valid_tasks, self.test_tasks = (
            [pair for text in texts for pair in self.tasks(text)]
            for texts in (labelled, corpus.valid[:n_test], corpus.test[:n_test])
        )

    def tasks(self, text: str) -> list[Pair]:
        """Return the four questions about a story, and the sentence that shortens it."""
        story, said = self.tokenizer.encode(text), self.tokenizer.words(text)
        fact = {kind: next(w for w in said if w in LEXICON[kind]) for kind in QUESTIONS.values()}
        short = "{hero} went to the {place} with a {colour} {object}.".format(**fact)
        answers = [
            (
                [self.special_ids[ANSWER], self.special_ids[question], *story],
                self.tokenizer.encode(fact[kind]),
            )
            for question, kind in QUESTIONS.items()
        ]
        return [*answers, ([self.special_ids[SHORTEN], *story], self.tokenizer.encode(short))]

    def pair(self, story: list[int], objective: str, generator: torch.Generator) -> Pair:
        """Return what an objective lets a model read of a story, and has it write."""
        match objective:
            case "causal LM":
                return [], story
            case "prefix LM":
                cut = 1 + int(torch.randint(len(story) - 1, (), generator=generator))
                return story[:cut], story[cut:]
            case "span corruption":
                hidden = random_spans(len(story), generator)
                return spans_to_sentinels(story, hidden, self.sentinel_ids)
            case "spans on names":
                hidden = self.turned_to_names(story, random_spans(len(story), generator))
                return spans_to_sentinels(story, hidden, self.sentinel_ids)
            case "spans turned at random":
                hidden = random_spans(len(story), generator)
                by = int(torch.randint(len(story), (), generator=generator))
                return spans_to_sentinels(story, hidden.roll(by), self.sentinel_ids)
            case "denoising":
                shuffled = permute_sentences(story, self.end_ids, generator)
                return infill_spans(shuffled, 0.3, self.special_ids[MASK], generator), story
        raise ValueError(f"objective is {objective!r}; ARMS names those that there are")

    def turned_to_names(self, story: list[int], hidden: Tensor) -> Tensor:
        """Turn hidden spans round the story to hide the most names that stand elsewhere, too."""
        ids, places = torch.tensor(story), torch.arange(len(story))
        turned = hidden[(places[:, None] + places) % len(story)]  # (ways to turn, T)
        is_same = ids[:, None] == ids
        can_be_read = (~turned).float() @ is_same.float() > 0
        is_name = torch.isin(ids, self.name_ids)
        return turned[(turned & can_be_read & is_name).sum(dim=1).argmax()]

    def names_to_fetch(self, objective: str) -> float:
        """Return how many names a target has that stand in its input, the mean over stories."""
        generator, names = torch.Generator().manual_seed(7), set(self.name_ids.tolist())
        pairs = [self.pair(story, objective, generator) for story in self.valid]
        return statistics.mean(
            sum(i in names and i in source for i in target) for source, target in pairs
        )

    def batch(self, pairs: Sequence[Pair]) -> Batch:
        """Lay out pairs as every model here takes them."""
        return translation_rows(pairs, self.eos_id)

    def n_steps(self, objective: str, n_tokens: int) -> int:
        """Return the updates in which so many tokens are processed, read and written together."""
        generator = torch.Generator().manual_seed(7)
        pairs = [self.pair(story, objective, generator) for story in self.train[:1000]]
        mean = statistics.mean(len(source) + len(target) + 1 for source, target in pairs)
        return round(n_tokens / (BATCH_SIZE * mean))


def make_model(arm: Arm, vocab_size: int, eos_id: int, seed: int) -> nn.Module:
    """Return a fresh model: blocks of width 64, rotary positions, weights tied."""
    generator = torch.Generator().manual_seed(seed)
    config = TransformerConfig(
        vocab_size=vocab_size,
        context_length=256,
        d_model=64,
        n_heads=4,
        n_layers=2,
        d_ff=256,
        positions="rotary",
    )
    if arm.shape == "encoder–decoder":
        return EncoderDecoder(config, generator=generator)
    gpt = GPT(config, init_std=config.d_model**-0.5, generator=generator)
    return Decoder(gpt, eos_id, sees_all_of_source=arm.shape == "prefix decoder")


def train(model: nn.Module, batches: Any, n_steps: int, lr: float) -> nn.Module:
    """Train a model in place, by one recipe for all."""
    config = TrainerConfig(
        n_steps,
        lr=lr,
        n_warmup=n_steps // 10,
        weight_decay=0.0,
        fused=True,
        log_every=n_steps,
        checkpoint_every=n_steps,
        spike_factor=math.inf,  # what is hidden is now easy, now hard
    )
    Trainer(model, batches, config).train()
    return model.eval()


@torch.no_grad()
def loss_of(model: nn.Module, stories: Stories, pairs: Sequence[Pair]) -> float:
    """Return the mean nats per target of some pairs."""
    return float(model(**stories.batch(pairs))[1])


@torch.no_grad()
def shares_right(model: nn.Module, stories: Stories, pairs: Sequence[Pair]) -> dict[str, float]:
    """Return the share of targets that greedy search would write without any mistake, by task.

    It does so exactly if, the right beginning given, the right token is always the most probable.
    """
    batch = stories.batch(pairs)
    guesses = model(**batch)[0].argmax(dim=-1)
    is_right = ((guesses == batch["targets"]) | (batch["targets"] == IGNORE)).all(dim=1)
    by_task: dict[str, list[bool]] = {}
    name_of = {i: name for name, i in stories.special_ids.items()}
    for (source, _), right in zip(pairs, is_right.tolist(), strict=True):
        task = name_of[source[0]]
        by_task.setdefault(task, []).append(right)
        if task == ANSWER:
            by_task.setdefault(name_of[source[1]], []).append(right)
    return {task: statistics.mean(right) for task, right in by_task.items()}


def floors(stories: Stories) -> dict[str, float]:
    """Return the shares right of always giving each task's most frequent answer."""
    asked: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for source, target in stories.labelled:
        task = source[:2] if source[0] == stories.special_ids[ANSWER] else source[:1]
        asked.setdefault(tuple(task), []).append(tuple(target))
    best = {task: statistics.mode(answers) for task, answers in asked.items()}
    right = {ANSWER: [], SHORTEN: []}  # type: dict[str, list[bool]]
    for source, target in stories.test_tasks:
        is_answer = source[0] == stories.special_ids[ANSWER]
        guess = best[tuple(source[:2] if is_answer else source[:1])]
        right[ANSWER if is_answer else SHORTEN].append(guess == tuple(target))
    return {task: statistics.mean(shares) for task, shares in right.items()}


def search(fit: Callable[[float], nn.Module], judge: Callable[[nn.Module], float]) -> Any:
    """Find a rate; return it, what was tried, and the model that it made."""
    made: dict[float, nn.Module] = {}

    def loss_at(lr: float) -> float:
        made[lr] = fit(lr)
        return judge(made[lr])

    lr, tried = best_rate(loss_at, first=2)
    return lr, tried, made[lr]


def pretrained(arm: Arm, stories: Stories, n_steps: int, lr: float, seed: int) -> nn.Module:
    """Return a model that has read stories by its arm's objective."""
    if arm.objective is None:
        raise ValueError(f"objective is None; {arm.shape} has nothing to be pretrained on")
    make = partial(stories.pair, objective=arm.objective)
    batches = example_batches(
        stories.train,
        lambda rows, generator: stories.batch([make(row, generator=generator) for row in rows]),
        BATCH_SIZE,
        seed=seed,
        lengths=[len(story) for story in stories.train],
    )
    model = make_model(arm, stories.tokenizer.vocab_size, stories.eos_id, seed)
    return train(model, batches, n_steps, lr)


def taught_tasks(
    stories: Stories, n_steps: int, lr: float, seed: int, model: nn.Module
) -> nn.Module:
    """Return a copy of a model that has learned the tasks."""
    batches = example_batches(
        stories.labelled, lambda pairs, _: stories.batch(pairs), BATCH_SIZE, seed=seed
    )
    return train(copy.deepcopy(model), batches, n_steps, lr)


def measure_longer(stories: Stories, n_tokens: int, found: dict[str, Any]) -> dict[str, Any]:
    """Pretrain once by span corruption on more tokens, at the rates that were best for fewer."""
    arm = ARMS["encoder–decoder, span corruption"]
    n_steps = stories.n_steps("span corruption", n_tokens)
    model = pretrained(arm, stories, n_steps, found["lr"], SEEDS[0])
    tasks = taught_tasks(stories, N_TASK_STEPS, found["task_lr"], SEEDS[0], model)
    test = shares_right(tasks, stories, stories.test_tasks)
    return {"n_tokens": n_tokens, "n_steps": n_steps, "seed": SEEDS[0], "test": test}


def measure_arm(arm: Arm, stories: Stories, n_tokens: int, n_task_steps: int) -> dict[str, Any]:
    """Tune, pretrain, teach the tasks and score one model, for all seeds."""
    fresh = partial(make_model, arm, stories.tokenizer.vocab_size, stories.eos_id)
    figures: dict[str, Any] = {"n_parameters": count_parameters(fresh(0))}
    if arm.objective is None:
        models = [fresh(seed) for seed in SEEDS]
    else:
        figures["n_steps"] = n_steps = stories.n_steps(arm.objective, n_tokens)
        pretrain = partial(pretrained, arm, stories, n_steps)
        generator = torch.Generator().manual_seed(5)
        asked = [stories.pair(story, arm.objective, generator) for story in stories.valid]
        judge = partial(loss_of, stories=stories, pairs=asked)
        lr, tried, first = search(lambda lr: pretrain(lr, SEEDS[0]), judge)
        models = [first, *(pretrain(lr, seed) for seed in SEEDS[1:])]
        figures |= {"lr": lr, "valid_nats_by_rate": tried}
        figures["valid_nats"] = [judge(model) for model in models]
    teach = partial(taught_tasks, stories, n_task_steps)
    judge = partial(loss_of, stories=stories, pairs=stories.valid_tasks)
    lr, tried, first = search(lambda lr: teach(lr, SEEDS[0], models[0]), judge)
    taught = [first, *(teach(lr, s, m) for s, m in zip(SEEDS[1:], models[1:], strict=True))]
    figures |= {"task_lr": lr, "task_valid_nats_by_rate": tried}
    figures["test"] = [shares_right(model, stories, stories.test_tasks) for model in taught]
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    parser = command_line(__doc__, __file__, arms=[*ARMS, "longer"])
    parser.add_argument("--n-tokens", type=int, default=N_TOKENS, help=f"[{N_TOKENS}]")
    recording = Recording(parser, arguments)
    torch.set_num_threads(1)
    n_tokens, stories = recording.options.n_tokens, Stories()
    recording.begin(
        {
            "what": "share of test tasks done without a mistake, by seed",
            "floors": floors(stories),
            "names_to_fetch": {
                arm.objective: stories.names_to_fetch(arm.objective)
                for arm in ARMS.values()
                if arm.objective
            },
        },
        same={
            "n_tokens": n_tokens,
            "n_labelled_stories": N_LABELLED,
            "n_task_steps": N_TASK_STEPS,
            "n_test_stories": len(stories.test_tasks) // (len(QUESTIONS) + 1),
            "batch_size": BATCH_SIZE,
            "seeds": SEEDS,
        },
    )
    for name in recording.missing(ARMS):
        recording.keep(name, measure_arm(ARMS[name], stories, n_tokens, N_TASK_STEPS), "arms")
    shorter = recording.content.get("arms", {}).get("encoder–decoder, span corruption")
    if shorter and recording.missing(["longer"], within=None):
        recording.keep("longer", measure_longer(stories, 4 * n_tokens, shorter))


if __name__ == "__main__":
    main()
