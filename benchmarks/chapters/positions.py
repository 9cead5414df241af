"""Train one small GPT by each position scheme and score it far beyond its training length.

    python -m benchmarks.chapters.positions [--n-steps 700] [--record FILE]

Characters of Wikipedia; training on windows of 64, test on windows of 512, so that the loss at a
position is that of a prediction from exactly so many characters. Each scheme has the learning rate
that is best for it on validation windows of the training length (three rates, and twice the largest
as long as the largest is the best), and three seeds. Learned positions have a table of 512 vectors,
of which training reaches the first 64. Eleven minutes of one core.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.records import Recording, command_line
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.ngram import NGram
from course_pkg.models.transformer import count_parameters
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.batches import pack_documents, window_batches
from course_pkg.text.corpora import Corpus, load_corpus
from course_pkg.text.tokenizers import CharTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

SCHEMES = ("none", "learned", "sinusoidal", "relative", "rotary", "alibi")
RATES = (2.5e-3, 5e-3, 1e-2)
SEEDS = (0, 1, 2)
TRAINED, LONGEST, BATCH_SIZE = 64, 512, 16
EDGES = (0, 16, 32, 64, 96, 128, 192, 256, 384, 512)
"""Positions between which losses are averaged."""
N_WINDOWS = 128

Windows = tuple[Tensor, Tensor]


def cut(stream: Tensor, length: int, n_windows: int) -> Windows:
    """Return the first windows of a stream, side by side: ids and the targets one place on."""
    n_windows = min(n_windows, (len(stream) - 1) // length)
    end = n_windows * length
    return stream[:end].view(n_windows, length), stream[1 : end + 1].view(n_windows, length)


@torch.no_grad()
def loss_by_position(model: GPT, windows: Windows, batch_size: int = 16) -> Tensor:
    """Return the mean nats at each position of some windows."""
    model.eval()
    losses = [
        F.cross_entropy(model(ids)[0].transpose(1, 2), targets, reduction="none")
        for ids, targets in zip(*(part.split(batch_size) for part in windows), strict=True)
    ]
    return torch.cat(losses).mean(dim=0)


def structure(vocab_size: int, positions: str) -> TransformerConfig:
    """Return the structure that all schemes share: two layers of width 64."""
    tiny = gpt_tiny(vocab_size, LONGEST)
    return TransformerConfig(**{**vars(tiny), "positions": positions})


def train(stream: Tensor, config: TransformerConfig, lr: float, seed: int, n_steps: int) -> GPT:
    """Train on windows of the training length, in an order and from weights of this seed."""
    model = GPT(config, generator=torch.Generator().manual_seed(seed))
    settings = TrainerConfig(
        n_steps,
        lr=lr,
        n_warmup=n_steps // 10,
        weight_decay=0.0,
        log_every=n_steps,
        checkpoint_every=n_steps,
        fused=True,
    )
    Trainer(model, window_batches(stream, TRAINED, BATCH_SIZE, seed=seed), settings).train()
    return model


def measure(corpus: Corpus, n_steps: int) -> dict[str, Any]:
    """Tune, train and score every scheme; return every figure of the record."""
    tokenizer = CharTokenizer.train(corpus.train, min_count=20, unk="<unk>")
    eos_id, vocab_size = tokenizer.eos_id, tokenizer.vocab_size
    documents = {
        name: [tokenizer.encode(text) for text in getattr(corpus, name)]
        for name in ("train", "valid", "test")
    }
    stream, valid, test = (pack_documents(split, eos_id) for split in documents.values())
    short, long = cut(valid, TRAINED, 4 * N_WINDOWS), cut(test, LONGEST, N_WINDOWS)
    schemes = {}
    for scheme in SCHEMES:
        config = structure(vocab_size, scheme)
        tuned: dict[float, GPT] = {}
        valid_nats: dict[float, float] = {}
        rates, lr = list(RATES), 0.0
        while rates:
            rate = rates.pop(0)
            tuned[rate] = train(stream, config, rate, SEEDS[0], n_steps)
            valid_nats[rate] = float(loss_by_position(tuned[rate], short).mean())
            lr = min(valid_nats, key=valid_nats.__getitem__)
            if not rates and lr == rate:  # the best may lie beyond the largest
                rates.append(2 * rate)
        models = [tuned[lr], *(train(stream, config, lr, seed, n_steps) for seed in SEEDS[1:])]
        by_seed = [
            [float(losses[a:b].mean()) for a, b in pairwise(EDGES)]
            for losses in (loss_by_position(model, long) for model in models)
        ]
        schemes[scheme] = {
            "lr": lr,
            "valid_nats_by_lr": {str(rate): nats for rate, nats in valid_nats.items()},
            "test_nats_by_seed": by_seed,
            "n_parameters": count_parameters(models[0]),
        }
        print(f"{scheme:10} lr {lr}", " ".join(f"{nats:.3f}" for nats in by_seed[0]), flush=True)
    bigram = NGram.fit(documents["train"], 2, vocab_size, eos_id)
    return {
        "schemes": schemes,
        "edges": EDGES,
        "trained_length": TRAINED,
        "bigram_nats": evaluate(bigram, documents["test"], eos_id=eos_id).nats_per_token,
        "vocab_size": vocab_size,
        "seeds": SEEDS,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure as the command line says; print the figures and, on request, record them."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--n-steps", type=int, default=700, help="updates of each run")
    recording = Recording(parser, arguments)
    n_steps = recording.options.n_steps
    what = "nats per character of Wikipedia at positions from edge to edge, trained at 64"
    recording.begin({"what": what, "n_steps": n_steps, "batch_size": BATCH_SIZE})
    recording.finish(measure(load_corpus("wikipedia"), n_steps))


if __name__ == "__main__":
    main()
