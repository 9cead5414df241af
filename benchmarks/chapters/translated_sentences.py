"""Translate the first captions of Multi30k's test by a GRU with attention.

    COURSE_DATA=DIR python -m benchmarks.chapters.translated_sentences [--record FILE]

The network is the GRU with attention of `benchmarks.papers.multi30k --quick`, one seed, which here
reads the 29,000 training captions six times instead of four. The record holds what it makes of the
first test captions, in their order, and where it looked while it wrote; and BLEU on all of the
test, beside that of the same network without attention. Ten minutes of one core.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import torch

from benchmarks.chapters.sequence_pairs import train_pairs, write
from benchmarks.papers.multi30k import (
    ALPHA,
    MAX_LENGTH,
    N_BEAMS,
    QUICK,
    Setting,
    Translations,
    baselines,
)
from benchmarks.papers.published import or_exit
from benchmarks.records import Recording, command_line
from course_pkg.evaluation.metrics import bleu
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.transformer import count_parameters
from course_pkg.text.batches import translation_rows
from course_pkg.text.corpora.labelled_data import Task, load_task

N_SHOWN = 3
MODEL, CONTROL = "GRU with attention", "GRU"
LONGER = replace(QUICK, n_epochs=6)


@torch.no_grad()
def looked_at(model: Seq2Seq, source: Sequence[int], written: Sequence[int]) -> list[list[float]]:
    """Return the weights, one row for each word written, one column for each source word."""
    rows = translation_rows([(list(source), list(written))], model.eos_id)
    (weights,) = model.align(rows["source_ids"], rows["ids"], rows["source_lengths"])
    return [[round(x, 3) for x in row] for row in weights[: len(written)].tolist()]


@dataclass(frozen=True)
class Trained:
    """A translator and what it writes for the whole test, by beam search; BLEU also of greedy."""

    model: Seq2Seq
    written: list[list[int]]
    valid_nats: list[float]
    bleu: dict[str, float]

    def figures(self) -> dict[str, Any]:
        """Return what the record says of a model."""
        return {
            "bleu": self.bleu,
            "valid_nats_by_epoch": self.valid_nats,
            "n_parameters": count_parameters(self.model),
        }


def trained(name: str, data: Translations, setting: Setting) -> Trained:
    """Train a model of `benchmarks.papers.multi30k` and let it translate the test."""
    eos_id, references = data.target.eos_id, data.references()
    sources = [source for source, _ in data.pairs("test")]
    model = baselines(setting, data)[name]()
    valid_nats = train_pairs(
        model,
        data.pairs("train"),
        data.pairs("valid"),
        eos_id=eos_id,
        n_epochs=setting.n_epochs,
        batch_size=setting.batch_size,
        lr=setting.lr,
        device="cpu",
        precision="bfloat16",
    )
    by = partial(write, model, sources, eos_id=eos_id, max_length=MAX_LENGTH)
    found = {"greedy": by(), "beam": by(n_beams=N_BEAMS, alpha=ALPHA)}
    scores = {
        how: bleu([data.read(ids) for ids in texts], references) for how, texts in found.items()
    }
    return Trained(model, found["beam"], valid_nats, scores)


def run(task: Task, setting: Setting) -> dict[str, Any]:
    """Train both models; return their BLEU and what attention makes of the first sentences."""
    data = Translations.of(task)
    sources = [source for source, _ in data.pairs("test")]
    translator, control = (trained(name, data, setting) for name in (MODEL, CONTROL))
    sentences = [
        {
            "source": [data.source.tokens[i] for i in source],
            "as_it_was": pair.target,
            "reference": pair.source,
            "written": [data.target.tokens[i] for i in ids],
            "weights": looked_at(translator.model, source, ids),
        }
        for source, pair, ids in zip(
            sources[:N_SHOWN], task.test[:N_SHOWN], translator.written[:N_SHOWN], strict=True
        )
    ]
    return {
        "models": {MODEL: translator.figures(), CONTROL: control.figures()},
        "n": {split: len(getattr(task, split)) for split in ("train", "valid", "test")},
        "sentences": sentences,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Translate and, on request, record."""
    recording = Recording(command_line(__doc__, __file__), arguments)
    recording.begin(
        {
            "what": "the first test captions of Multi30k, by a small GRU with attention",
            "setting": asdict(LONGER),
            "n_beams": N_BEAMS,
            "alpha": ALPHA,
            "precision": "bfloat16",
        }
    )
    with or_exit():
        task = load_task("multi30k_de", source="local")
    recording.finish(run(task, LONGER), indent=None)


if __name__ == "__main__":
    main()
