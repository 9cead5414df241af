"""Train a model that reads one sequence and writes another, and let it write.

What the benchmarks on pronunciation and on translation share.
"""

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from course_pkg.decoding.beam_search import beam_search, sample_texts
from course_pkg.recipes.reports import mean_loss
from course_pkg.text.batches import Batch, Batches, example_batches, pad_rows, translation_rows
from course_pkg.training.schedules import cosine_schedule
from course_pkg.training.trainer import Trainer, TrainerConfig

Pair = tuple[list[int], list[int]]
"""A source and its target, as ids without <eos>."""


def pair_batches(pairs: Sequence[Pair], batch_size: int, eos_id: int, seed: int = 0) -> Batches:
    """Gather pairs into batches of similar length, so that little is padding."""

    def collate(rows: list[Pair], _: torch.Generator) -> Batch:
        return translation_rows(rows, eos_id)

    lengths = [len(source) + len(target) for source, target in pairs]
    return example_batches(pairs, collate, batch_size, seed=seed, lengths=lengths)


def train_pairs(
    model: Any,
    train: Sequence[Pair],
    valid: Sequence[Pair],
    *,
    eos_id: int,
    n_epochs: int,
    batch_size: int,
    lr: float,
    device: str,
    precision: str = "float32",
    weight_decay: float = 0.01,
) -> list[float]:
    """Train by teacher forcing; return the validation loss in nats per target, by epoch."""
    batches = pair_batches(train, batch_size, eos_id)
    n_epoch = len(batches)
    held_out = pair_batches(valid, batch_size, eos_id)
    reached: list[float] = []

    def judge(trained: nn.Module) -> dict[str, float | str]:
        reached.append(mean_loss(trained, iter(held_out)))
        print(
            f"  epoch {len(reached)}: {reached[-1]:.4f} nats per target",
            file=sys.stderr,
            flush=True,
        )
        return {"valid_loss": reached[-1]}

    config = TrainerConfig(
        n_steps=n_epochs * n_epoch,
        lr=lr,
        n_warmup=min(n_epoch, n_epochs * n_epoch // 10),
        weight_decay=weight_decay,
        beta2=0.99,
        precision=precision,
        fused=True,
        spike_factor=10.0,  # batches are alike in length, so one of odd words may cost thrice more
        log_every=max(n for n in range(1, 51) if n_epoch % n == 0),
        evaluate_every=n_epoch,
        checkpoint_every=n_epoch,
    )
    trainer = Trainer(
        model,
        batches,
        config,
        evaluate=judge,
        device=device,
        show_progress=sys.stderr.isatty(),
        # Down to a hundredth: a short run has no other way to average its last steps' noise away.
        learning_rate=cosine_schedule(
            lr, n_warmup=config.n_warmup, n_steps=config.n_steps, final_fraction=0.01
        ),
    )
    trainer.train()
    model.eval()
    return reached


def write(
    model: Any,
    sources: Sequence[Sequence[int]],
    *,
    eos_id: int,
    max_length: int,
    n_beams: int = 1,
    alpha: float = 0.0,
    temperature: float = 0.0,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
    batch_size: int = 128,
) -> list[list[int]]:
    """Return what a model writes for each source, without <eos>.

    Args:
        model: has `start`, as `Seq2Seq` and `EncoderDecoder` do; in evaluation mode.
        max_length: most tokens written, <eos> among them.
        n_beams: 1 writes one token after the other; more search along so many beginnings.
        alpha: strength of the length penalty; with one beam it has no effect.
        temperature: of draws; 0 takes the likeliest token at each step. As the two that follow, it
            has no effect with several beams.
        top_p: draw among the fewest tokens that have this probability together.
        generator: source of randomness.
    """
    device = next(model.parameters()).device
    order = sorted(range(len(sources)), key=lambda number: len(sources[number]))
    written: list[list[int]] = [[] for _ in sources]
    for first in range(0, len(order), batch_size):
        numbers = order[first : first + batch_size]
        ids, lengths = pad_rows([sources[number] for number in numbers], eos_id)
        with torch.no_grad():
            start = model.start(ids.to(device), lengths.to(device))
        begin = torch.full((len(numbers),), eos_id, device=device)
        if n_beams == 1:
            best = sample_texts(
                start,
                begin,
                eos_id=eos_id,
                max_length=max_length,
                temperature=temperature,
                top_p=top_p,
                generator=generator,
            )
        else:
            found = beam_search(
                start, begin, n_beams=n_beams, eos_id=eos_id, max_length=max_length, alpha=alpha
            )
            best = [row[0] for row in found]
        for number, hypothesis in zip(numbers, best, strict=True):
            written[number] = [token for token in hypothesis.ids if token != eos_id]
    return written
