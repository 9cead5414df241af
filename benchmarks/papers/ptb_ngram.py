"""Kneser–Ney n-grams on the Penn Treebank: the published perplexity, and how fast we reach it."""

import argparse
import gzip
import importlib.metadata
import importlib.util
import math
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a script, too

from benchmarks.records import add_record_option, write_record
from course_pkg.models.ngram import KneserNey, ModifiedKneserNey, NGram
from course_pkg.models.ngram.arpa import write_arpa
from course_pkg.models.ngram.smoothing import Smoothing

EOS = "<eos>"
RESERVED = "<reserved>"

Result = TypeVar("Result")

# lmplz and query of KenLM, from the same text with <unk> renamed.
KENLM = {2: 185.705, 3: 148.281, 5: 141.186}
# KN5 of Mikolov et al. 2011, "Empirical evaluation and combination of advanced language modeling
# techniques".
PUBLISHED = {5: 141.2}

N_REPEATS = 3

CONVENTIONS = f"""\
One document per line, scored as: start (context only), its words, end.
The corpus's own <unk> is an ordinary word. V = 10,001: 9,999 words, the end, and one reserved
unknown word, as in KenLM; unigrams are interpolated with the uniform over these.
Modified Kneser-Ney: three discounts per order, no count cut-off; interpolated Kneser-Ney: one.
Seconds are CPU time, the shortest of {N_REPEATS} runs; training starts from lists of token ids."""

DESCRIPTION = f"""\
Train Kneser-Ney n-gram models on the Penn Treebank and print their test perplexity beside the
published one.

{CONVENTIONS}

The corpus is licensed and not part of this repository. DIR must have it as
  DIR/ptb/ptb.train.txt.gz and DIR/ptb/ptb.test.txt.gz
one sentence per line, words separated by spaces, 10,000 words with <unk> (the usual preparation).

example:
  python benchmarks/papers/ptb_ngram.py --data ~/corpora --orders 2 3 5
"""


@dataclass(frozen=True)
class Row:
    """What one model reached, and what others did with the same order and method."""

    order: int
    method: str
    test_perplexity: float
    kenlm_perplexity: float | None
    published_perplexity: float | None
    train_cpu_seconds: float
    score_tokens_per_cpu_second: float
    n_megabytes: float


def read_lines(data: Path, split: str) -> list[list[str]]:
    path = data / "ptb" / f"ptb.{split}.txt.gz"
    if not path.is_file():
        sys.exit(f"{path} is missing. Run with --help to see which files are needed.")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.split() for line in file]


def as_stream(documents: list[list[int]], eos_id: int) -> torch.Tensor:
    return torch.tensor([[eos_id, *(token for d in documents for token in (*d, eos_id))]])


def cpu_seconds(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return what `work()` gives and its shortest CPU time: others on the machine only add."""
    seconds = []
    for _ in range(N_REPEATS):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return result, min(seconds)


def measure(
    train: list[list[int]], test: torch.Tensor, order: int, vocab_size: int, method: Smoothing
) -> tuple[Row, NGram]:
    model, train_seconds = cpu_seconds(
        lambda: NGram.fit(train, order, vocab_size, eos_id=0, smoothing=method)
    )
    log_probs, score_seconds = cpu_seconds(
        lambda: model.target_log_probs(test[:, :-1], test[:, 1:])
    )
    is_modified = isinstance(method, ModifiedKneserNey)
    row = Row(
        order=order,
        method="modified Kneser-Ney" if is_modified else "interpolated Kneser-Ney",
        test_perplexity=math.exp(-float(log_probs.mean())),
        kenlm_perplexity=KENLM.get(order) if is_modified else None,
        published_perplexity=PUBLISHED.get(order) if is_modified else None,
        train_cpu_seconds=train_seconds,
        score_tokens_per_cpu_second=log_probs.numel() / score_seconds,
        n_megabytes=model.n_bytes / 1e6,
    )
    return row, model


def score_with_kenlm(model: NGram, tokens: list[str], lines: list[list[str]]) -> str:
    """Let KenLM read our ARPA export and score the test text: a second opinion on both."""
    if importlib.util.find_spec("kenlm") is None:
        return "KenLM's Python module is not installed; its figures above are recorded ones."
    import kenlm

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.arpa"
        # KenLM takes the literal <unk> for its own unknown word, which is our reserved one.
        names = {"<unk>": "<UNK-word>", RESERVED: "<unk>"}
        write_arpa(model, path, [names.get(token, token) for token in tokens])
        other = kenlm.Model(str(path))
        log10 = sum(other.score(" ".join(names.get(w, w) for w in line)) for line in lines)
    n_tokens = sum(len(line) + 1 for line in lines)
    perplexity = 10 ** (-log10 / n_tokens)
    return f"KenLM, reading our ARPA export of order {model.order}: {perplexity:.3f}"


def table(rows: list[Row]) -> str:
    head = ("order", "method", "test ppl", "KenLM", "published", "train s", "score tok/s", "MB")
    cells = [
        (
            str(row.order),
            row.method,
            f"{row.test_perplexity:.3f}",
            f"{row.kenlm_perplexity:.3f}" if row.kenlm_perplexity else "-",
            f"{row.published_perplexity:.1f}" if row.published_perplexity else "-",
            f"{row.train_cpu_seconds:.2f}",
            f"{row.score_tokens_per_cpu_second / 1e6:.2f}M",
            f"{row.n_megabytes:.1f}",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    lines = [head, tuple("-" * width for width in widths), *cells]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 1 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def provenance() -> dict[str, object]:
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        )
        if Path("/proc/cpuinfo").is_file()
        else iter(()),
        platform.processor(),
    )
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": "python -m benchmarks.papers.ptb_ngram --data DIR",
        "machine": {"system": platform.system(), "architecture": platform.machine(), "cpu": cpu},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
            "course": importlib.metadata.version("language-models-by-hand"),
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="has ptb/")
    parser.add_argument(
        "--orders", type=int, nargs="+", default=[2, 3, 4, 5], metavar="N", help="2 3 4 5 if absent"
    )
    add_record_option(parser, __file__)
    options = parser.parse_args(arguments)
    if min(options.orders) < 1:
        parser.error(f"--orders has {min(options.orders)}; an order is at least 1")

    train_lines, test_lines = (read_lines(options.data, split) for split in ("train", "test"))
    words = sorted({word for line in train_lines for word in line})
    tokens = [EOS, *words, RESERVED]
    ids = {token: number for number, token in enumerate(tokens)}
    train = [[ids[word] for word in line] for line in train_lines]
    # A word that training lacks, which the usual preparation never has, is the reserved one.
    test = [[ids.get(word, ids[RESERVED]) for word in line] for line in test_lines]
    stream = as_stream(test, ids[EOS])

    print(CONVENTIONS, end="\n\n")
    rows = []
    for order in options.orders:
        for method in (KneserNey(), ModifiedKneserNey()):
            row, model = measure(train, stream, order, len(tokens), method)
            rows.append(row)
    print(table(rows))
    print("\nKenLM: lmplz and query, recorded. Published: KN5 of Mikolov et al. 2011.")
    second_opinion = score_with_kenlm(model, tokens, test_lines)
    print(second_opinion)
    if options.record:
        results = {
            "conventions": CONVENTIONS.splitlines(),
            "n_test_tokens": stream.shape[1] - 1,
            "second_opinion": second_opinion,
            "rows": [asdict(row) for row in rows],
            **provenance(),
        }
        options.record.parent.mkdir(parents=True, exist_ok=True)
        write_record(options.record, results)
        print(f"Recorded in {options.record}.")


if __name__ == "__main__":
    main()
