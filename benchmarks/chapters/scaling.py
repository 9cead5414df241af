"""Train models of several sizes on several amounts of one text, for a scaling law of our own.

    python -m benchmarks.chapters.scaling [--record FILE]

Transformers of two blocks with rotary positions read Wikipedia by the character, no character
twice. Sizes differ in width, amounts in the number of updates. The learning rate of each size and
amount is searched on validation text as in `benchmarks.chapters.transformer`; the largest amount
takes that of the one before it, which costs a quarter. Then come three seeds and, once, the test
text. Some seven minutes of one core.
"""

import statistics
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.chapters.transformer import (
    BATCH_SIZE,
    LENGTH,
    SEEDS,
    Trained,
    best_rate,
    nats,
    train_arm,
    windows,
)
from benchmarks.records import Recording, command_line
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer import count_parameters
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.batches import pack_documents
from course_pkg.text.corpora import load_corpus
from course_pkg.text.tokenizers import UNK, CharTokenizer

WIDTHS, STEPS, D_HEAD = (16, 32, 64, 128), (48, 192, 768), 16


def new_model(width: int, vocab_size: int, generator: torch.Generator) -> GPT:
    """Return a fresh model of two blocks."""
    config = TransformerConfig(
        vocab_size=vocab_size,
        context_length=LENGTH,
        d_model=width,
        n_heads=width // D_HEAD,
        n_layers=2,
        d_ff=4 * width,
        positions="rotary",
    )
    return GPT(config, init_std=width**-0.5, generator=generator)


def measure(widths: Sequence[int] = WIDTHS, steps: Sequence[int] = STEPS) -> dict[str, Any]:
    """Return the test loss of every size, amount and seed, with the rates that were tried."""
    corpus = load_corpus("wikipedia")
    tokenizer = CharTokenizer.train(corpus.train, min_count=20, unk=UNK)
    train, valid, test = (
        pack_documents([tokenizer.encode(text) for text in split], tokenizer.eos_id)
        for split in (corpus.train, corpus.valid, corpus.test)
    )
    looked_at, unseen = windows(valid, 256), windows(test, 768)
    runs = []
    for width in widths:

        def train_one(lr: float, seed: int, n_steps: int, width: int = width) -> Trained:
            return train_arm(
                lambda vocab_size, generator: new_model(width, vocab_size, generator),
                train,
                looked_at,
                vocab_size=tokenizer.vocab_size,
                lr=lr,
                seed=seed,
                n_steps=n_steps,
            )

        lr = 0.0
        for n_steps in steps:
            tried: dict[str, float] = {}
            if n_steps < steps[-1]:
                lr, tried = best_rate(lambda lr, n=n_steps: train_one(lr, SEEDS[0], n)[1][-1][1])
            models = [train_one(lr, seed, n_steps)[0] for seed in SEEDS]
            run = {
                "width": width,
                "n_parameters": count_parameters(models[0]),
                "n_tokens": n_steps * BATCH_SIZE * LENGTH,
                "lr": lr,
                "valid_nats_by_rate": tried,
                "test_nats": [nats(model, unseen) for model in models],
            }
            runs.append(run)
            mean = statistics.mean(run["test_nats"])
            print(f"{width:4} {run['n_tokens']:8,} lr {lr:g}: {mean:.3f}", flush=True)
    return {
        "what": "test nats per character on Wikipedia, windows of 64 read on their own, by seed",
        "vocab_size": tokenizer.vocab_size,
        "seeds": SEEDS,
        "runs": runs,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and, on request, record."""
    recording = Recording(command_line(__doc__, __file__), arguments)
    recording.begin({})
    recording.finish(measure())


if __name__ == "__main__":
    main()
