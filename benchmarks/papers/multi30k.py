"""German captions into English by four models: what attention is worth, beside a known tutorial.

    COURSE_DATA=DIR python -m benchmarks.papers.multi30k [--quick] [--device cuda] [--record FILE]

The baselines are those of Trevett's tutorial series (github.com/bentrevett/pytorch-seq2seq) that
the course has too: an LSTM and a GRU that pass everything through one vector, the GRU with
attention, the transformer; the second and the third differ in nothing but attention. The data are
Multi30k, 29,000 pairs to learn from, tested on the 1,000 of 2016. Sizes, epochs, batches and the
rule for rare words (seen once: <unk>) are the tutorials' unless --quick. Learning rates and dropout
are our own: those of the recurrent baselines were chosen by the validation loss of the GRU with
attention, and those of the transformer were not tuned. The full recipe needs a GPU (--device cuda
--precision bfloat16) and is made to end within ten minutes of one H100, which has not been timed
yet; --quick trains smaller networks for fewer epochs, half an hour of one CPU core, and its figures
are to be compared with each other only. A baseline that the record has is not run again.

Conventions. The tutorials score lower-cased tokens of spaCy; here a token is a word with its inner
apostrophes or one mark, lower-cased, in training and in scoring alike, which needs no model to be
downloaded. It differs from spaCy's mainly in keeping 's with its word: about one point of BLEU must
be allowed for. BLEU is sacrebleu's, on the tokens joined by spaces, against one reference with its
rare words in place. DIR must have multi30k/train, val and test_2016_flickr with .de and .en, plain
or with .gz.
"""

import argparse
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.chapters.sequence_pairs import Pair, train_pairs, write
from benchmarks.papers.published import Clock, Figure, command_line, or_exit, report
from benchmarks.records import provenance
from course_pkg.evaluation.metrics import bleu
from course_pkg.layers.attention import BilinearScore
from course_pkg.layers.recurrent import GRUCell, LSTMCell
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.transformer import EncoderDecoder
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.corpora.labelled_data import Task, load_task
from course_pkg.text.tokenizers import UNK, WordTokenizer

MAX_LENGTH = 50
N_BEAMS, ALPHA = 5, 0.6

TUTORIAL = "Trevett, pytorch-seq2seq"
PUBLISHED = {
    "LSTM": (13.76, f"{TUTORIAL}, notebook 1"),
    "GRU": (20.61, f"{TUTORIAL}, notebook 2"),
    "GRU with attention": (28.30, f"{TUTORIAL}, notebook 3"),
    "convolution": (34.14, f"{TUTORIAL}, legacy notebook 5"),
    "transformer": (36.52, f"{TUTORIAL}, legacy notebook 6"),
}
BASELINES = ("LSTM", "GRU", "GRU with attention", "transformer")
"""What this benchmark trains; the course has no convolutional translator."""


@dataclass(frozen=True)
class Setting:
    """How large the networks are and how long they learn; `d_model` and on are the transformer's.

    Attributes:
        n_layers: of the LSTM without attention; the GRUs have one, as in the tutorials.
    """

    d_embedding: int
    d_hidden: int
    n_layers: int
    dropout: float
    d_model: int
    n_blocks: int
    n_epochs: int
    batch_size: int = 128
    lr: float = 3e-3
    transformer_lr: float = 1e-3


FULL = Setting(256, 512, 2, 0.3, d_model=256, n_blocks=3, n_epochs=10)
QUICK = Setting(
    128,
    256,
    1,
    0.2,
    d_model=128,
    n_blocks=2,
    n_epochs=4,
    batch_size=64,
    lr=6e-3,  # half the width, twice the rate
    transformer_lr=2e-3,
)


@dataclass(frozen=True)
class Translations:
    """Both languages in ids of their own words."""

    source: WordTokenizer
    target: WordTokenizer
    task: Task

    @classmethod
    def of(cls, task: Task) -> "Translations":
        """Learn both vocabularies from the training pairs; German is the source."""

        def learn(texts: list[str]) -> WordTokenizer:
            return WordTokenizer.train(texts, min_count=2, lowercase=True)

        german = learn([pair.target for pair in task.train])
        return cls(german, learn([pair.source for pair in task.train]), task)

    def pairs(self, split: str) -> list[Pair]:
        """Return the pairs of a split as ids."""
        return [
            (self.source.encode(pair.target), self.target.encode(pair.source))
            for pair in getattr(self.task, split)
        ]

    def references(self) -> list[str]:
        """Return the test sentences' lower-cased tokens, joined by spaces."""
        return [" ".join(self.target.words(pair.source)) for pair in self.task.test]

    def read(self, ids: Sequence[int]) -> str:
        """Return what ids say, as `references` does.

        The transformer has ids that only the source uses; untrained, it may write one.
        """
        known = self.target.tokens
        return " ".join(known[i] if i < len(known) else UNK for i in ids)


def baselines(setting: Setting, data: Translations) -> dict[str, Callable[[], torch.nn.Module]]:
    """Return a function for each baseline that makes its untrained model."""
    sizes = data.source.vocab_size, data.target.vocab_size
    D, eos_id = setting.d_hidden, data.target.eos_id

    def recurrent(cell: Any, n_layers: int, score: torch.nn.Module | None) -> Seq2Seq:
        return Seq2Seq(
            *sizes,
            setting.d_embedding,
            D,
            n_layers,
            eos_id=eos_id,
            score=score,
            cell=cell,
            dropout=setting.dropout,
            generator=torch.Generator().manual_seed(0),
        )

    structure = TransformerConfig(
        vocab_size=max(sizes),  # one size for both sides
        context_length=128,
        d_model=setting.d_model,
        n_heads=8,
        n_layers=setting.n_blocks,
        d_ff=2 * setting.d_model,
        positions="sinusoidal",
        is_tied=False,
    )
    return {
        "LSTM": lambda: recurrent(LSTMCell, setting.n_layers, None),
        "GRU": lambda: recurrent(GRUCell, 1, None),
        "GRU with attention": lambda: recurrent(GRUCell, 1, BilinearScore(D, D)),
        "transformer": lambda: EncoderDecoder(
            structure, dropout=0.1, generator=torch.Generator().manual_seed(0)
        ),
    }


def run(
    task: Task,
    setting: Setting,
    *,
    only: Sequence[str] = BASELINES,
    device: str = "cpu",
    precision: str = "float32",
    found: Mapping[str, dict[str, Any]] | None = None,
    keep: Callable[[dict[str, dict[str, Any]]], object] = lambda _: None,
) -> dict[str, dict[str, Any]]:
    """Train each baseline and translate the test sentences; return its BLEU, size and time.

    Args:
        only: the baselines to run, of `BASELINES`.
        precision: of the forward pass in training: float32 or bfloat16. Sentences are written in
            float32 always.
        found: baselines of an earlier call, which are not run again.
        keep: gets all baselines so far, after each one.
    """
    data = Translations.of(task)
    train, valid = data.pairs("train"), data.pairs("valid")
    sources = [source for source, _ in data.pairs("test")]
    references, eos_id = data.references(), data.target.eos_id
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # it warns of tokens: they are meant
    makers = baselines(setting, data)
    rows = dict(found or {})
    for name in [name for name in only if name not in rows]:
        print(name, file=sys.stderr, flush=True)
        clock = Clock(device)
        model = makers[name]()
        losses = train_pairs(
            model,
            train,
            valid,
            eos_id=eos_id,
            n_epochs=setting.n_epochs,
            batch_size=setting.batch_size,
            lr=setting.transformer_lr if name == "transformer" else setting.lr,
            device=device,
            precision=precision,
        )
        seconds = clock.seconds()
        scores = {}
        for search, n_beams in (("greedy", 1), ("beam", N_BEAMS)):
            ids = write(
                model, sources, eos_id=eos_id, max_length=MAX_LENGTH, n_beams=n_beams, alpha=ALPHA
            )
            scores[search] = bleu([data.read(row) for row in ids], references)
        rows[name] = {
            **scores,
            "n_parameters": sum(p.numel() for p in model.parameters()),
            "valid_loss_by_epoch": losses,
            f"training, {clock.unit}": round(seconds),
        }
        print(f"  BLEU {scores['greedy']:.2f}, {scores['beam']:.2f}", file=sys.stderr, flush=True)
        keep(rows)
    return {name: rows[name] for name in BASELINES if name in rows}


def recorded(path: Path | None, same: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the baselines that a record has, if all else in it is the `same`; none if it has none.

    Raises:
        ValueError: the file is no record, or it is of another setting.
    """
    if path is None or not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        rows, others = content["baselines"], {**content, "torch": content["versions"]["torch"]}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a record of this benchmark: {error!r}") from error
    changed = [key for key, value in same.items() if others.get(key) != value]
    if changed:
        raise ValueError(
            f"{path} was recorded with another {' and '.join(changed)}; name another file, or "
            "remove this one to begin anew"
        )
    return rows


def figures(found: dict[str, dict[str, Any]], is_quick: bool) -> list[Figure]:
    """Set our BLEU beside the tutorials'; small networks have no aim but their own order."""
    lines = []
    for name, (published, source) in PUBLISHED.items():
        aim = None if is_quick else published
        row = found.get(name)
        if row is None:
            lines.append(Figure(name, None, published, source))
            continue
        lines.append(Figure(f"{name}, greedy", row["greedy"], published, source, aim))
        lines.append(Figure(f"{name}, {N_BEAMS} beams", row["beam"]))
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Print ours beside the tutorials' BLEU and, on request, record it after each baseline."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--quick", action="store_true", help="small networks, for a CPU")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=BASELINES,
        default=BASELINES,
        help="these baselines, as the table names them",
    )
    parser.add_argument(
        "--precision",
        choices=["float32", "bfloat16"],
        default="float32",
        help="of the forward pass [float32]",
    )
    options = parser.parse_args(arguments)
    setting = QUICK if options.quick else FULL
    same = {
        "setting": asdict(setting),
        "device": options.device,
        "precision": options.precision,
        # One line of provenance stands for all baselines.
        "machine": provenance("", torch.device(options.device))["machine"],
        "torch": torch.__version__,
    }
    try:
        found = recorded(options.record, same)
    except ValueError as error:
        parser.error(str(error))
    for name in found:
        print(f"{name}: taken from {options.record} (remove it to train again)", file=sys.stderr)
    with or_exit():
        task = load_task("multi30k_de", source="local")

    def show(
        rows: dict[str, dict[str, Any]],
        say: Callable[[str], object],
        to: argparse.Namespace = options,
    ) -> None:
        report(
            figures(rows, options.quick),
            "BLEU of Multi30k, German to English, test 2016, lower-cased tokens"
            + (": small networks, to be compared with each other only" if options.quick else ""),
            is_higher_better=True,
            module="benchmarks.papers.multi30k",
            options=to,
            arguments=arguments,
            details={"baselines": rows, **same},
            show=say,
        )

    found = run(
        task,
        setting,
        only=options.only,
        device=options.device,
        precision=options.precision,
        found=found,
        keep=lambda rows: show(rows, lambda _: None),
    )
    # Every baseline is recorded by now; to write again would give old figures today's date.
    show(found, print, argparse.Namespace(record=None, device=options.device))
    if {"GRU", "GRU with attention"} <= found.keys():
        gain = found["GRU with attention"]["greedy"] - found["GRU"]["greedy"]
        print(f"attention is worth {gain:.1f} BLEU (aim: at least 5)")


if __name__ == "__main__":
    main()
