"""From a model that continues texts to one that does as it is told: replies, then preferences.

    python -m benchmarks.chapters.assistant [--n-steps 300] [--record FILE]
    COURSE_DATA=DIR python -m benchmarks.chapters.assistant --model gpt-small  (and instructions)

preferences   A tiny GPT learns to tell generated stories, some of which end badly. A rule judges
    its own stories: better is whose last feeling is a good one. Then three copies learn from pairs
    of its stories, for as many steps: one imitates the better of each pair, one prefers it to the
    worse (DPO, Rafailov et al. 2023), and one becomes a reward model (Ouyang et al. 2022), by which
    the best of four stories of the unchanged GPT is kept (Stiennon et al. 2020). Reported are the
    share of new stories that end well, how many pairs the policy and the reward model are right on,
    and what it cost: perplexity of true stories.
instructions  A checkpoint of a GPT learns 1,000 instructions with replies, with the loss on all
    tokens or on the reply only (Ouyang et al. 2022); reported are the nats per token of 100 other
    replies. DIR must have instructions/.
"""

import argparse
import copy
import json
import math
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.chapters.backbones import LR, Pretrained, fine_tune
from benchmarks.chapters.ladder import tokenized_stories, train
from benchmarks.papers.published import Figure, command_line, or_exit, report
from course_pkg.decoding.generation import generate
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models import IGNORE
from course_pkg.models.adaptation import TextClassifier
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.text.batches import Batch, example_batches, pad_rows
from course_pkg.text.corpora.sources import local_folder, read_local
from course_pkg.text.stories.lexicon import GLAD, SAD
from course_pkg.text.tokenizers.vocabulary import Tokenizer
from course_pkg.training.objectives import (
    dpo_loss,
    preference_loss,
    reply_targets,
    target_log_prob,
)
from course_pkg.training.trainer import Trainer, TrainerConfig

CONTEXT, LONGEST = 192, 160
N_SAMPLES, N_PAIRS, BATCH_SIZE = 600, 150, 16
N_OF_BEST = 4
BETA = 0.1
LR_OF_PAIRS = 3e-4
N_HELD_OUT = 100


def count_pairs(batch: Batch) -> tuple[int]:
    """Return how many pairs the loss of a batch is a mean of."""
    return (len(batch["ids"]) // 2,)


class Preference(nn.Module):
    """A policy that learns from pairs, beside the frozen reference from which it started.

    Takes rows of which the first half is better and the second, in the same order, worse.
    """

    def __init__(self, policy: GPT) -> None:
        super().__init__()
        self.policy = policy
        self.reference = copy.deepcopy(policy).requires_grad_(False).eval()

    def train(self, mode: bool = True) -> "Preference":
        """Switch the policy alone."""
        super().train(mode)
        self.reference.eval()
        return self

    def margins(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss, and for each pair whether the policy leans to the better story."""
        policy = target_log_prob(self.policy(ids)[0], targets).chunk(2)
        with torch.no_grad():
            reference = target_log_prob(self.reference(ids)[0], targets).chunk(2)
        return dpo_loss(*policy, *reference, beta=BETA)

    n_targets = staticmethod(count_pairs)

    def forward(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the leanings, where other models have logits, and the loss."""
        loss, leans = self.margins(ids, targets)
        return leans, loss


class Reward(nn.Module):
    """A GPT with one number in place of its vocabulary: the reward of a text (rows as above)."""

    def __init__(self, model: GPT) -> None:
        super().__init__()
        self.judge = TextClassifier(model, n_classes=1, generator=torch.Generator().manual_seed(0))

    def rewards(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Return the reward of each row, whose prompt is one token, read at the end of its text."""
        lengths = 1 + (targets != IGNORE).sum(dim=1)
        return self.judge(ids, lengths=lengths)[0][:, 0]

    n_targets = staticmethod(count_pairs)

    def forward(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return which pairs it orders rightly, where other models have logits, and the loss."""
        loss, is_right = preference_loss(*self.rewards(ids, targets).chunk(2))
        return is_right, loss


def best_of(stories: Sequence[list[int]], rewards: Sequence[float], n: int) -> list[list[int]]:
    """Keep of each `n` stories in a row the one with the highest reward; a rest is left out."""
    groups = [range(first, first + n) for first in range(0, len(stories) - n + 1, n)]
    return [stories[max(group, key=lambda number: rewards[number])] for group in groups]


def sample_stories(model: GPT, eos_id: int, n: int, seed: int, device: str) -> list[list[int]]:
    """Let a model tell stories; those without an end within `LONGEST` tokens are left out."""
    start = torch.full((n, 1), eos_id, device=device)
    generator = torch.Generator(device).manual_seed(seed)
    rows = generate(model, start, LONGEST, generator=generator, stop_id=eos_id)[:, 1:].tolist()
    return [row[: row.index(eos_id)] for row in rows if eos_id in row]


def ends_well(tokenizer: Tokenizer, story: Sequence[int]) -> bool | None:
    """Say whether a story's last feeling is a good one; None if it has no feeling."""
    feelings = [token for i in story if (token := tokenizer.tokens[i]) in (*GLAD, *SAD)]
    return feelings[-1] in GLAD if feelings else None


def reply_rows(examples: Sequence[tuple[list[int], list[int]]], eos_id: int) -> Batch:
    """Make a batch of prompts with replies; only the reply and its end are predicted."""
    rows = [[*prompt, *reply, eos_id] for prompt, reply in examples]
    ids, lengths = pad_rows(rows, eos_id)
    prompt_lengths = torch.tensor([len(prompt) for prompt, _ in examples])
    return {"ids": ids, "targets": reply_targets(ids, prompt_lengths, lengths)}


def preference_rows(pairs: Sequence[tuple[list[int], list[int]]], eos_id: int) -> Batch:
    """Make a batch of the better stories, then the worse; the prompt is the start of a text."""
    stories = [better for better, _ in pairs] + [worse for _, worse in pairs]
    return reply_rows([([eos_id], story) for story in stories], eos_id)


def tune(
    model: nn.Module, examples: Sequence[Any], collate: Any, n_steps: int, device: str
) -> None:
    """Train on pairs or on stories for a number of updates."""
    batches = example_batches(examples, lambda rows, _: collate(rows), BATCH_SIZE, seed=0)
    config = TrainerConfig(
        n_steps=n_steps,
        lr=LR_OF_PAIRS,
        n_warmup=n_steps // 10,
        weight_decay=0.0,
        log_every=n_steps,
        checkpoint_every=n_steps,
        spike_factor=math.inf,
        fused=True,
    )
    Trainer(model, batches, config, device=device, show_progress=sys.stderr.isatty()).train()
    model.eval()


def preferences(n_steps: int, device: str) -> tuple[list[Figure], dict[str, Any]]:
    """Imitate the better story, or prefer it to the worse one."""
    tokenizer, train_ids, test_ids, floor = tokenized_stories()
    eos_id = tokenizer.eos_id
    base = GPT(gpt_tiny(tokenizer.vocab_size, CONTEXT), generator=torch.Generator().manual_seed(0))
    train(base, train_ids, eos_id, n_steps, device)
    told = sample_stories(base, eos_id, N_SAMPLES, 1, device)
    better = [story for story in told if ends_well(tokenizer, story) is True]
    worse = [story for story in told if ends_well(tokenizer, story) is False]
    pairs = list(zip(better, worse, strict=False))[:N_PAIRS]
    imitator, policy = copy.deepcopy(base), copy.deepcopy(base)
    n_tuning = max(n_steps // 5, 1)
    tune(
        imitator,
        [([eos_id], story) for story, _ in pairs],
        lambda rows: reply_rows(rows, eos_id),
        n_tuning,
        device,
    )
    preference = Preference(policy)
    tune(preference, pairs, lambda rows: preference_rows(rows, eos_id), n_tuning, device)
    with torch.no_grad():
        rows = preference_rows(pairs, eos_id)
        leans = preference.margins(*(rows[name].to(device) for name in ("ids", "targets")))[1]
    figures = [Figure("stories to learn from that end well", share(tokenizer, train_ids))]
    costs = {"floor": floor, "pairs_leaning_right": float(leans.float().mean())}
    judge = Reward(copy.deepcopy(base))
    learned, held_out = pairs[: -len(pairs) // 5], pairs[-len(pairs) // 5 :]
    tune(judge, learned, lambda rows: preference_rows(rows, eos_id), n_tuning, device)
    with torch.no_grad():
        rows = preference_rows(held_out, eos_id)
        is_right = judge(*(rows[name].to(device) for name in ("ids", "targets")))[0]
        drawn = sample_stories(base, eos_id, N_OF_BEST * N_SAMPLES // 2, 3, device)
        rewards: list[float] = []
        for first in range(0, len(drawn), BATCH_SIZE):
            some = reply_rows([([eos_id], s) for s in drawn[first : first + BATCH_SIZE]], eos_id)
            values = judge.rewards(some["ids"].to(device), some["targets"].to(device))
            rewards += values.tolist()
    kept = best_of(drawn, rewards, N_OF_BEST)
    figures.append(Figure(f"before: best of {N_OF_BEST} by the reward", share(tokenizer, kept)))
    costs |= {"held_out_pairs_rewarded_rightly": float(is_right.float().mean())}
    for name, model in (("before", base), ("imitation", imitator), ("preference", policy)):
        stories = sample_stories(model, eos_id, N_SAMPLES, 2, device)
        figures.append(Figure(f"{name}: its own stories", share(tokenizer, stories)))
        perplexity = evaluate(model, test_ids, eos_id=eos_id).perplexity
        costs[f"{name}_perplexity"] = perplexity
    return figures, {**costs, "n_pairs": len(pairs), "n_tuning_steps": n_tuning}


def share(tokenizer: Tokenizer, stories: Sequence[Sequence[int]]) -> float:
    """Return the share of stories, in percent, that end well; those without feeling do not."""
    return 100 * sum(ends_well(tokenizer, story) is True for story in stories) / len(stories)


def instruction_examples(model: Pretrained) -> list[tuple[list[int], list[int]]]:
    """Return the instructions as prompts and replies of ids."""
    items = json.loads(read_local(local_folder(None), "instructions/instruction-data.json"))
    examples = []
    for item in items:
        prompt = "\n".join(filter(None, (item["instruction"], item["input"]))) + "\n\n"
        ids, reply = [model.eos_id, *model.encode(prompt)], model.encode(item["output"])
        if len(ids) + len(reply) < model.context_length:
            examples.append((ids, reply))
    return examples


class Instruction:
    """A prompt and its reply, of a length by which batches are made."""

    def __init__(self, prompt: list[int], reply: list[int]) -> None:
        self.prompt, self.reply, self.n_tokens = prompt, reply, len(prompt) + len(reply)


@torch.no_grad()
def nats_of_replies(model: nn.Module, examples: Sequence[Any], eos_id: int, device: str) -> float:
    """Return the mean loss per token of the replies and their ends."""
    model.to(device).eval()
    nats = n_tokens = 0.0
    for example in examples:
        batch = reply_rows([(example.prompt, example.reply)], eos_id)
        ids, targets = (batch[name].to(device) for name in ("ids", "targets"))
        nats -= float(target_log_prob(model(ids)[0], targets).sum())
        n_tokens += float((targets != IGNORE).sum())
    return nats / n_tokens


def instructions(model: Pretrained, options: argparse.Namespace) -> dict[str, float]:
    """Return the nats per reply token before, and after learning with either loss."""
    eos_id = model.eos_id
    examples = [Instruction(*example) for example in instruction_examples(model)]
    learned, held_out = examples[:-N_HELD_OUT], examples[-N_HELD_OUT:]

    def replies(rows: Sequence[Instruction]) -> Batch:
        return reply_rows([(row.prompt, row.reply) for row in rows], eos_id)

    def everything(rows: Sequence[Instruction]) -> Batch:
        return reply_rows([(row.prompt[:1], row.prompt[1:] + row.reply) for row in rows], eos_id)

    found = {"before": nats_of_replies(model.model, held_out, eos_id, options.device)}
    for name, collate in (("loss on all tokens", everything), ("loss on replies", replies)):
        tuned = model.copy()
        fine_tune(
            tuned,
            learned,
            n_epochs=options.n_epochs,
            lr=LR["full fine-tuning"],
            device=options.device,
            collate=collate,
        )
        found[name] = nats_of_replies(tuned, held_out, eos_id, options.device)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what both experiments find and, on request, record it."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--n-steps", type=int, default=300, help="updates of the tiny GPT [300]")
    parser.add_argument("--model", help="gpt-small or a folder: a GPT to be instructed")
    parser.add_argument("--n-epochs", type=int, default=3, help="passes over instructions [3]")
    options = parser.parse_args(arguments)
    figures, details = preferences(options.n_steps, options.device)
    if options.model is not None:
        with or_exit():
            details["nats_per_reply_token"] = instructions(Pretrained(options.model), options)
    for name, value in details.items():
        print(f"{name.replace('_', ' ')}: {value}")
    report(
        figures,
        "Share of stories that end well, in percent.",
        is_higher_better=True,
        module="benchmarks.chapters.assistant",
        options=options,
        arguments=arguments,
        details={**details, "n_steps": options.n_steps, "n_epochs": options.n_epochs},
    )


if __name__ == "__main__":
    main()
