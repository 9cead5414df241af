"""Names, letter by letter: every model of the course beside the lectures that made the data known.

    COURSE_DATA=DIR python -m benchmarks.papers.names [--device cpu] [--record FILE]

The data are the 32,033 first names of Karpathy's makemore, split as in his lectures: shuffled by
random.seed(42), the first 80 % to learn from, 10 % to choose by (the lectures' "val"), 10 % to
test. Reported are nats per character, the end of a name counted as one, on the second part, where
the lectures report theirs, and on the third. Each network keeps the weights of the epoch that is
best on the second part. Six minutes of one core, which is too little for the GPT: after its twelve
passes its loss still falls. DIR must have names/names.txt, plain or with .gz.
"""

import copy
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.papers.published import Clock, Figure, command_line, or_exit, report
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models.gpt import GPT
from course_pkg.models.ngram import NGram
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.models.window import FixedWindowLM
from course_pkg.text.batches import example_batches, next_token_rows
from course_pkg.text.corpora.sources import local_folder, read_local
from course_pkg.text.tokenizers import CharTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

ORDERS = (2, 3, 4, 5, 6, 8)
BATCH_SIZE = 32

LECTURES = "Karpathy 2022, nn-zero-to-hero, lectures/makemore"
PUBLISHED = {
    "2-gram": (2.4544, f"{LECTURES}, part 1: counts plus one, on the very names counted"),
    "window of 3": (2.1027, f"{LECTURES}, part 3, the best of its log"),
    "window of 8": (2.027, f"{LECTURES}, part 5, 22K parameters"),
    "GPT": (1.92, "Karpathy 2022, makemore, README: 200K parameters, another random split"),
}
"""Nats a character on the lectures' "val", unless the source says otherwise."""

Documents = list[list[int]]


@dataclass(frozen=True)
class Network:
    """An untrained network and how it learns."""

    model: torch.nn.Module
    n_epochs: int
    lr: float
    weight_decay: float = 0.0  # the windows are too small to learn by heart; it costs them 0.05


def split(names: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Shuffle and cut as the lectures do, so that each of our names is where it is there."""
    shuffled = list(names)
    random.Random(42).shuffle(shuffled)
    first, second = int(0.8 * len(shuffled)), int(0.9 * len(shuffled))
    return shuffled[:first], shuffled[first:second], shuffled[second:]


def networks(tokenizer: CharTokenizer, longest: int) -> dict[str, Network]:
    """Return one untrained network of each kind; the windows have the lectures' widths."""
    V, eos_id = tokenizer.vocab_size, tokenizer.eos_id
    generator = torch.Generator().manual_seed(0)
    narrow, wide = (
        FixedWindowLM(V, window, 10, 200, eos_id=eos_id, generator=generator) for window in (3, 8)
    )
    structure = TransformerConfig(
        vocab_size=V, context_length=longest + 1, d_model=64, n_heads=4, n_layers=4, d_ff=256
    )
    return {
        "window of 3": Network(narrow, 40, 5e-3),
        "window of 8": Network(wide, 30, 4e-3),
        "LSTM": Network(RecurrentLM(V, 32, 128, dropout=0.2, generator=generator), 15, 4e-3, 0.1),
        "GPT": Network(GPT(structure, dropout=0.1, generator=generator), 12, 3e-3, 0.1),
    }


def train(
    network: Network, documents: Documents, valid: Documents, eos_id: int, device: str
) -> list[float]:
    """Train, and keep the weights of the best epoch; return each epoch's nats per character."""
    model, n_epochs = network.model, network.n_epochs
    batches = example_batches(
        documents,
        lambda rows, generator: next_token_rows(rows, eos_id),
        BATCH_SIZE,
        seed=0,
        lengths=[len(document) for document in documents],
    )
    n_epoch = len(batches)
    reached: list[float] = []
    best: dict[str, torch.Tensor] = {}

    def judge(trained: torch.nn.Module) -> dict[str, float | str]:
        nats = evaluate(trained, valid, eos_id=eos_id, batch_size=256).nats_per_token
        reached.append(nats)
        if nats == min(reached):
            best.update(copy.deepcopy(trained.state_dict()))
        return {"nats": nats}

    config = TrainerConfig(
        n_steps=n_epochs * n_epoch,
        lr=network.lr,
        n_warmup=min(100, n_epoch),
        weight_decay=network.weight_decay,
        beta2=0.99,
        fused=True,
        log_every=n_epoch,
        evaluate_every=n_epoch,
        checkpoint_every=n_epochs * n_epoch,
    )
    progress = sys.stderr.isatty()
    Trainer(model, batches, config, evaluate=judge, device=device, show_progress=progress).train()
    model.load_state_dict(best)
    model.eval()
    return reached


def measure(
    names: Sequence[str], *, orders: Sequence[int] = ORDERS, device: str = "cpu"
) -> dict[str, dict[str, Any]]:
    """Count and train; return for each model its nats per character, its size and what it took."""
    train_names, valid_names, test_names = split(names)
    tokenizer = CharTokenizer.train(names)
    parts = (train_names, valid_names, test_names)
    learn, valid, test = ([tokenizer.encode(name) for name in part] for part in parts)
    eos_id = tokenizer.eos_id
    found: dict[str, dict[str, Any]] = {}

    def note(name: str, model: Any, n_parameters: int, clock: Clock, **more: Any) -> None:
        valid_nats, test_nats = (
            evaluate(model, part, eos_id=eos_id, batch_size=256).nats_per_token
            for part in (valid, test)
        )
        row = {"valid": valid_nats, "test": test_nats, "n_parameters": n_parameters}
        found[name] = {**row, clock.unit: round(clock.seconds(), 1), **more}
        print(f"  {name}: {valid_nats:.4f}, {test_nats:.4f}", file=sys.stderr, flush=True)

    for order in orders:
        clock = Clock(device)
        counted = NGram.fit(learn, order, tokenizer.vocab_size, eos_id)
        note(f"{order}-gram", counted, sum(counted.n_ngrams), clock)
    for name, network in networks(tokenizer, max(map(len, names))).items():
        clock = Clock(device)
        by_epoch = train(network, learn, valid, eos_id, device)
        size = sum(p.numel() for p in network.model.parameters())
        note(name, network.model, size, clock, valid_by_epoch=by_epoch)
    return found


def figures(found: dict[str, dict[str, Any]]) -> list[Figure]:
    """Set ours on the lectures' "val" beside theirs."""
    lines = []
    for name, row in found.items():
        published, source = PUBLISHED.get(name, (None, ""))
        subject = f"{name}, {row['n_parameters']:,} parameters, test {row['test']:.3f}"
        lines.append(Figure(subject, row["valid"], published, source))
    hierarchy = f"{LECTURES}, part 5, 76K parameters"
    return [*lines, Figure("windows merged in a hierarchy (WaveNet)", None, 1.993, hierarchy)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print ours beside the lectures' figures and, on request, record them."""
    parser = command_line(__doc__, __file__)
    options = parser.parse_args(arguments)
    with or_exit():
        names = read_local(local_folder(None), "names/names.txt").split()
    found = measure(names, device=options.device)
    report(
        figures(found),
        "nats per character on makemore's names, the lectures' second part (val)",
        is_higher_better=False,
        module="benchmarks.papers.names",
        options=options,
        arguments=arguments,
        details={"models": found},
        n_digits=3,
    )


if __name__ == "__main__":
    main()
