"""Translate the first captions of Multi30k's test by a small GRU with attention.

    COURSE_DATA=DIR python -m benchmarks.chapters.translated_sentences [--record FILE]

A network half as wide as that of `benchmarks.papers.multi30k --quick` learns from the captions of
at most twelve tokens, one seed, and writes greedily. The record holds what it makes of the first
such captions of the test, in their order, and where it looked while it wrote. A minute of one core.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import torch

from benchmarks.chapters.sequence_pairs import train_pairs, write
from benchmarks.papers.multi30k import QUICK, Setting, Translations, baselines
from benchmarks.papers.published import or_exit
from benchmarks.records import add_record_option, provenance, write_record
from course_pkg.evaluation.metrics import bleu
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.text.batches import translation_rows
from course_pkg.text.corpora.labelled_data import Task, load_task

N_SHOWN = 3
LONGEST = 12
MODEL = "GRU with attention"
SMALL = replace(QUICK, d_embedding=64, d_hidden=128, n_epochs=5)


def short(task: Task) -> Task:
    """Return the captions of at most `LONGEST` tokens in both languages."""
    data = Translations.of(task)
    kept = {}
    for split in ("train", "valid", "test"):
        rows = zip(getattr(task, split), data.pairs(split), strict=True)
        kept[split] = [record for record, ids in rows if max(map(len, ids)) <= LONGEST]
    return replace(task, **kept)


@torch.no_grad()
def looked_at(model: Seq2Seq, source: Sequence[int], written: Sequence[int]) -> list[list[float]]:
    """Return the weights, one row for each word written, one column for each source word."""
    rows = translation_rows([(list(source), list(written))], model.eos_id)
    (weights,) = model.align(rows["source_ids"], rows["ids"], rows["source_lengths"])
    return [[round(x, 3) for x in row] for row in weights[: len(written)].tolist()]


def run(task: Task, setting: Setting) -> dict[str, Any]:
    """Train the model; return the first test sentences, what it makes of them, and BLEU."""
    task = short(task)
    data = Translations.of(task)
    sources = [source for source, _ in data.pairs("test")]
    references, eos_id = data.references(), data.target.eos_id
    sentences = [
        {
            "source": [data.source.tokens[i] for i in source],
            "as_it_was": pair.target,
            "reference": pair.source,
        }
        for source, pair in zip(sources[:N_SHOWN], task.test[:N_SHOWN], strict=True)
    ]
    model = baselines(setting, data)[MODEL]()
    train_pairs(
        model,
        data.pairs("train"),
        data.pairs("valid"),
        eos_id=eos_id,
        n_epochs=setting.n_epochs,
        batch_size=setting.batch_size,
        lr=setting.lr,
        device="cpu",
    )
    written = write(model, sources, eos_id=eos_id, max_length=3 * LONGEST)
    for sentence, source, ids in zip(sentences, sources[:N_SHOWN], written[:N_SHOWN], strict=True):
        sentence["written"] = [data.target.tokens[i] for i in ids]
        sentence["weights"] = looked_at(model, source, ids)
    return {
        "bleu": bleu([data.read(ids) for ids in written], references),
        "n": {split: len(getattr(task, split)) for split in ("train", "valid", "test")},
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "sentences": sentences,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Translate and, on request, record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_record_option(parser, __file__)
    options = parser.parse_args(arguments)
    with or_exit():
        task = load_task("multi30k_de", source="local")
    started = time.process_time()
    found = run(task, SMALL)
    if options.record:
        record = {
            "what": "the first short test captions of Multi30k, by a small GRU with attention",
            **found,
            "setting": asdict(SMALL),
            "cpu_seconds": round(time.process_time() - started),
            **provenance("python -m benchmarks.chapters.translated_sentences", torch.device("cpu")),
        }
        write_record(options.record, record, indent=None)
        print(f"recorded in {options.record}")


if __name__ == "__main__":
    main()
