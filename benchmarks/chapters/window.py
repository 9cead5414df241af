"""Train a network with a window of four words on Wikipedia, against the n-grams of the same window.

    python -m benchmarks.chapters.window [--n-epochs 4] [--device cpu] [--record FILE]

Vocabulary, splits and smoothing are those of the chapter on n-grams. The network keeps the weights
of the epoch that is best on validation text; the mixture's weight is fitted on one half of that
text. The test words are also sorted by how much of their history the training text contains.
"""

import copy
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.recurrent import Documents, Words, mix, mixture_weight, run
from course_pkg.evaluation.likelihood import bits_per_byte, count_bytes, evaluate, token_log_probs
from course_pkg.models.ngram import NGram, NGramTables
from course_pkg.models.window import FixedWindowLM
from course_pkg.text.batches import pack_documents, window_batches
from course_pkg.text.corpora import Corpus
from course_pkg.text.tokenizers.unknown_word_cost import UnknownWordCost
from course_pkg.training.trainer import Trainer, TrainerConfig

WINDOW, D_EMBEDDING, D_HIDDEN = 4, 48, 64
LENGTH, BATCH_SIZE, LR = 64, 4, 8e-3


def train_window(
    words: Words, n_epochs: int, device: str = "cpu"
) -> tuple[FixedWindowLM, list[float]]:
    """Train; return the model of the best epoch and each epoch's validation perplexity."""
    eos_id, vocab_size = words.tokenizer.eos_id, words.tokenizer.vocab_size
    generator = torch.Generator().manual_seed(0)
    model = FixedWindowLM(
        vocab_size, WINDOW, D_EMBEDDING, D_HIDDEN, eos_id=eos_id, generator=generator
    )
    stream = pack_documents(words.train, eos_id)
    counts = torch.bincount(stream[1:], minlength=vocab_size).float()
    with torch.no_grad():  # start as the unigram model, which costs nothing to know
        model.output.bias.copy_((counts.clamp(min=1) / counts.sum()).log())
        model.output.weight.mul_(0.1)
        model.embedding.weight.mul_(0.1)  # so that what is large later has been learned
    batches = window_batches(stream, LENGTH, BATCH_SIZE, seed=0)
    best: dict[str, object] = {"perplexity": float("inf")}
    reached: list[float] = []

    def judge(trained: torch.nn.Module) -> dict[str, float | str]:
        perplexity = evaluate(trained, words.valid, eos_id=eos_id, batch_size=1).perplexity
        reached.append(perplexity)
        if perplexity < best["perplexity"]:
            best.update(perplexity=perplexity, weights=copy.deepcopy(trained.state_dict()))
        return {"perplexity": perplexity}

    config = TrainerConfig(
        n_steps=n_epochs * len(batches),
        lr=LR,
        n_warmup=len(batches) // 5,
        log_every=len(batches),
        evaluate_every=len(batches),
        checkpoint_every=n_epochs * len(batches),
        fused=True,
    )
    progress = sys.stderr.isatty()
    Trainer(model, batches, config, evaluate=judge, device=device, show_progress=progress).train()
    model.load_state_dict(best["weights"])
    return model.eval(), reached


def measure(corpus: Corpus, n_epochs: int, device: str = "cpu") -> dict[str, Any]:
    """Train, count, mix, sort; return every figure of the record."""
    words = Words.of(corpus)
    eos_id, vocab_size = words.tokenizer.eos_id, words.tokenizer.vocab_size
    network, by_epoch = train_window(words, n_epochs, device)
    tables = NGramTables.count(words.train, WINDOW + 1, vocab_size, eos_id)
    counted = NGram.from_tables(tables)

    def scores(model: NGram | FixedWindowLM, documents: Documents) -> Tensor:
        return torch.cat(token_log_probs(model, documents, eos_id=eos_id, batch_size=1))

    held_out = words.valid[::2]
    weight = mixture_weight(scores(network, held_out), scores(counted, held_out))
    of_network, of_counts = scores(network, words.test), scores(counted, words.test)
    log_probs = {
        "5-gram": of_counts,
        "window of 4": of_network,
        "both": mix(of_network, of_counts, weight),
    }
    unsaid = UnknownWordCost(words.tokenizer).learn(corpus.train).nats(corpus.test)
    n_bytes = count_bytes(corpus.test)
    known = torch.from_numpy(tables.seen_history_lengths(words.test))
    rows = {
        name: {
            "test_perplexity": float((-row.mean()).exp()),
            "bits_per_byte": bits_per_byte(-float(row.sum()) + unsaid, n_bytes),
            "nats_by_known_history": [-float(row[known == n].mean()) for n in range(1, WINDOW + 1)],
        }
        for name, row in log_probs.items()
    }
    return {
        "rows": rows,
        "share_by_known_history": [
            float((known == n).double().mean()) for n in range(1, WINDOW + 1)
        ],
        "weight_of_network": weight,
        "valid_perplexity_by_epoch": by_epoch,
        "n_parameters": {
            "5-gram": sum(counted.n_ngrams),
            "window of 4": sum(p.numel() for p in network.parameters()),
        },
        "vocab_size": vocab_size,
        "widths": [D_EMBEDDING, D_HIDDEN],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the network; see `benchmarks.chapters.recurrent.run`."""
    run(
        measure,
        about=__doc__,
        weight="weight_of_network",
        n_epochs=4,
        benchmark=__file__,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
