"""Train an LSTM on the words of Wikipedia and mix it with the n-gram model that it has to beat.

    python -m benchmarks.chapters.recurrent [--n-epochs 3] [--device cpu] [--record FILE]

The vocabulary, the splits and the smoothing are those of the chapter on n-grams. The LSTM reads the
training articles as parallel streams, by truncated backpropagation, and keeps the weights of the
epoch that is best on validation text; the mixture's weight is fitted on one half of that text.
"""

import copy
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmarks.records import Recording, command_line
from course_pkg.evaluation.likelihood import bits_per_byte, count_bytes, evaluate, token_log_probs
from course_pkg.models.ngram import NGram
from course_pkg.models.recurrent import RecurrentLM, TruncatedBPTT
from course_pkg.text.batches import pack_documents, stream_batches
from course_pkg.text.corpora import Corpus, load_corpus
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.text.tokenizers.unknown_word_cost import UnknownWordCost
from course_pkg.training.trainer import Trainer, TrainerConfig

WIDTH, DROPOUT, LENGTH, BATCH_SIZE, LR = 128, 0.25, 35, 10, 3e-3
MIN_COUNT = 3

Documents = list[list[int]]


@dataclass(frozen=True)
class Words:
    """A corpus in ids of its frequent words."""

    tokenizer: WordTokenizer
    train: Documents
    valid: Documents
    test: Documents

    @classmethod
    def of(cls, corpus: Corpus) -> "Words":
        """Learn the vocabulary from the training part and encode all three."""
        tokenizer = WordTokenizer.train(corpus.train, min_count=MIN_COUNT)
        splits = (corpus.train, corpus.valid, corpus.test)
        return cls(tokenizer, *([tokenizer.encode(text) for text in split] for split in splits))


def mixture_weight(first: Tensor, second: Tensor, n_rounds: int = 100) -> float:
    """Return the weight of `first` that makes held-out text likeliest: expectation-maximisation.

    Args:
        first: log-probabilities of the same tokens as `second`.

    Example:
        >>> mixture_weight(torch.tensor([0.8, 0.8]).log(), torch.tensor([0.1, 0.1]).log()) > 0.99
        True
    """
    odds, weight = (second - first).exp(), 0.5
    for _ in range(n_rounds):
        weight = float((weight / (weight + (1 - weight) * odds)).mean())
    return weight


def mix(first: Tensor, second: Tensor, weight: float) -> Tensor:
    """Return the log-probabilities of `weight` parts of `first` and the rest of `second`."""
    weights = torch.tensor([weight, 1 - weight], dtype=first.dtype)
    return torch.logsumexp(torch.stack([first, second]) + weights.log().unsqueeze(1), dim=0)


def train_lstm(words: Words, n_epochs: int, device: str = "cpu") -> tuple[RecurrentLM, list[float]]:
    """Train; return the model of the best epoch and each epoch's validation perplexity."""
    eos_id, vocab_size = words.tokenizer.eos_id, words.tokenizer.vocab_size
    model = RecurrentLM(
        vocab_size,
        WIDTH,
        WIDTH,
        dropout=DROPOUT,
        is_tied=True,
        generator=torch.Generator().manual_seed(0),
    )
    stream = pack_documents(words.train, eos_id)
    counts = torch.bincount(stream[1:], minlength=vocab_size).float()
    with torch.no_grad():  # start near the unigram model, which costs nothing to know
        model.output.bias.copy_((counts.clamp(min=1) / counts.sum()).log())
    batches = stream_batches(stream, LENGTH, BATCH_SIZE, marks_start=True)
    best: dict[str, object] = {"perplexity": float("inf")}
    reached: list[float] = []

    def judge(trained: torch.nn.Module) -> dict[str, float | str]:
        perplexity = evaluate(trained.model, words.valid, eos_id=eos_id).perplexity
        reached.append(perplexity)
        if perplexity < best["perplexity"]:
            best.update(perplexity=perplexity, weights=copy.deepcopy(trained.model.state_dict()))
        print(f"epoch {len(reached)}: validation perplexity {perplexity:.1f}", flush=True)
        return {"perplexity": perplexity}

    config = TrainerConfig(
        n_steps=n_epochs * len(batches),
        lr=LR,
        n_warmup=len(batches) // 5,
        weight_decay=0.1,
        precision="bfloat16",  # twice as fast where the processor knows it
        log_every=len(batches),
        evaluate_every=len(batches),
        checkpoint_every=n_epochs * len(batches),
        fused=True,
    )
    learner = TruncatedBPTT(model, BATCH_SIZE)
    progress = sys.stderr.isatty()
    Trainer(learner, batches, config, evaluate=judge, device=device, show_progress=progress).train()
    model.load_state_dict(best["weights"])
    return model.eval(), reached


def measure(corpus: Corpus, n_epochs: int, device: str = "cpu") -> dict[str, Any]:
    """Train, count, mix; return every figure of the record."""
    words = Words.of(corpus)
    eos_id = words.tokenizer.eos_id
    lstm, by_epoch = train_lstm(words, n_epochs, device)
    counted = NGram.fit(words.train, 5, words.tokenizer.vocab_size, eos_id)

    def scores(model: NGram | RecurrentLM, documents: Documents) -> Tensor:
        return torch.cat(token_log_probs(model, documents, eos_id=eos_id))

    held_out = words.valid[::2]
    weight = mixture_weight(scores(lstm, held_out), scores(counted, held_out))
    of_lstm, of_counts = scores(lstm, words.test), scores(counted, words.test)
    unsaid = UnknownWordCost(words.tokenizer).learn(corpus.train).nats(corpus.test)
    n_bytes = count_bytes(corpus.test)
    rows = {}
    for name, log_probs in (
        ("5-gram", of_counts),
        ("LSTM", of_lstm),
        ("LSTM and 5-gram", mix(of_lstm, of_counts, weight)),
    ):
        nats = -float(log_probs.sum())
        rows[name] = {
            "test_perplexity": float((-log_probs.mean()).exp()),
            "bits_per_byte": bits_per_byte(nats + unsaid, n_bytes),
        }
    return {
        "rows": rows,
        "weight_of_lstm": weight,
        "valid_perplexity_by_epoch": by_epoch,
        "n_parameters": sum(p.numel() for p in lstm.parameters()),
        "vocab_size": words.tokenizer.vocab_size,
        "width": WIDTH,
        "dropout": DROPOUT,
    }


def run(
    measure: Callable[[Corpus, int, str], dict[str, Any]],
    *,
    about: str | None,
    weight: str,
    n_epochs: int,
    benchmark: str,
    arguments: Sequence[str] | None,
) -> None:
    """Measure on Wikipedia as a command line says; print the figures and, on request, record them.

    Args:
        about: what the help says first.
        weight: the figure that is the mixture's weight.
        n_epochs: unless the command line says otherwise.
        benchmark: the `__file__` of the one that asks.
    """
    parser = command_line(about, benchmark)
    parser.add_argument("--n-epochs", type=int, default=n_epochs, help="passes over the text")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    recording = Recording(parser, arguments)
    options = recording.options
    what = "test perplexity per word on Wikipedia, documents scored one by one"
    recording.begin({"what": what, "n_epochs": options.n_epochs})
    figures = measure(load_corpus("wikipedia"), options.n_epochs, options.device)
    for name, row in figures["rows"].items():
        print(f"{name:20} {row['test_perplexity']:8.2f} {row['bits_per_byte']:8.4f}")
    print(f"{weight.replace('_', ' ')} {figures[weight]:.3f}")
    print("validation by epoch", [round(p, 1) for p in figures["valid_perplexity_by_epoch"]])
    recording.finish(figures)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the LSTM; see `run`."""
    run(
        measure,
        about=__doc__,
        weight="weight_of_lstm",
        n_epochs=3,
        benchmark=__file__,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
