"""Was it the text or the units? And how much text does a task need? Two controls of `gpt-small`.

    COURSE_DATA=DIR python -m benchmarks.chapters.pretraining_controls [--record FILE]

Both have gpt-small's structure, with new weights, and its 8,192 byte pairs. They train by Muon, at
the rate of two that leaves fewer nats on the mixture's validation text after the fewest tokens, and
the rate falls to 0 in the last third of each run.
  Wikipedia alone   the articles from which the chapters' other models of Wikipedia learn, and
                    nothing else, each read once, or 4 times with dropout. Bits a byte of the
                    validation articles choose, those of the test articles report
  TREC              new weights, those after 250,000 tokens of gpt-small's own text, those after
                    the articles read once, and gpt-small are taught the kinds of answer (Li and
                    Roth 2002) by 100 labels, as in `benchmarks.chapters.label_curve`, the text
                    read by the mean of its tokens: everything is trained, validation chooses the
                    rate, three draws of labels report
One run of each. Every result is written when it comes in, and a begun record is gone on with; the
models are kept in runs/pretraining-controls/. DIR must have what gpt-small has read (see
`benchmarks.weights.pretraining`) and trec/.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.chapters.backbones import Pretrained
from benchmarks.chapters.label_curve import FIRST_RATE, FewLabels, trained
from benchmarks.records import add_record_option, begun, provenance, write_record
from benchmarks.weights.pretrained_rows import digest
from benchmarks.weights.pretraining import structure_of
from benchmarks.weights.pretraining_text import Text, bits_of, prepare_text
from course_pkg.evaluation.likelihood import count_bytes
from course_pkg.text.batches import mixed_windows
from course_pkg.text.corpora import load_corpus
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights.model_folders import build_model, save_model
from course_pkg.weights.pretrained import SHIPPED, load_pretrained

RUN = Path("runs/pretraining-controls")
WIKIPEDIA = "Wikipedia (gensim)"
N_PASSES = (1, 4)
N_TOKENS = 250_000
"""Of the mixture."""
RATES = (0.005, 0.02)
"""Of Muon, both tried on the fewest tokens of the mixture."""
DROPOUT, BATCH_SIZE, SEED, N_LABELS = 0.1, 16, 0, 100


class Controls:
    """The record, and what the runs share."""

    def __init__(self, path: Path | None, text: Text) -> None:
        settings = {
            "weights": digest("gpt-small"),
            "rates": list(RATES),
            "n_labels": N_LABELS,
        }
        self.path, self.text = path, text
        self.structure = structure_of(SHIPPED / "gpt-small")
        self.record: dict[str, Any] = {
            "what": "bits a byte of Wikipedia's articles, and percent of TREC's questions",
            **settings,
            **provenance("python -m benchmarks.chapters.pretraining_controls", torch.device("cpu")),
            "cpu_seconds": 0.0,
            "runs": {},
            "trec": {},
        }
        self.record |= begun(path, settings)
        wikipedia, encode = load_corpus("wikipedia"), text.tokenizer.to_fast().encode
        self.articles = {
            part: ([encode(article) for article in articles], count_bytes(articles))
            for part, articles in (("valid", wikipedia.valid), ("test", wikipedia.test))
        }

    def keep(self, part: str, name: str, result: dict[str, Any], since: float) -> None:
        """Add a result, and write the record."""
        self.record[part][name] = result
        spent = self.record["cpu_seconds"] + time.process_time() - since
        self.record["cpu_seconds"] = round(spent, 1)
        print(name, result, flush=True)
        if self.path is not None:
            write_record(self.path, self.record, indent=1)

    def run(self, name: str, parts: Any, n_tokens: int, lr: float, dropout: float) -> None:
        """Train new weights for so many tokens of some parts of the text, and ask the articles."""
        if name in self.record["runs"]:
            return
        since = time.process_time()
        generator = torch.Generator().manual_seed(SEED)
        model = build_model("gpt", self.structure, dropout=dropout, generator=generator)
        context = self.structure["context_length"]
        n_steps = max(6, round(n_tokens / (BATCH_SIZE * context)))
        config = TrainerConfig(
            n_steps=n_steps,
            lr=lr,
            optimizer="muon",
            schedule="warmup_stable_decay",
            n_warmup=min(100, n_steps // 6),
            n_decay=n_steps // 3,
            precision="bfloat16",
            fused=True,
            log_every=n_steps,
            checkpoint_every=n_steps,
            seed=SEED,
        )
        batches = mixed_windows(self.text.ids, parts, context, BATCH_SIZE, seed=SEED)
        Trainer(model, batches, config, show_progress=False).train()
        model.eval()
        found = bits_of(model, self.articles, self.text.tokenizer.eos_id)[1]
        nats, held_out = bits_of(model, self.text.held_out, self.text.tokenizer.eos_id)
        save_model(
            RUN / name,
            model,
            self.text.tokenizer,
            kind="gpt",
            structure=self.structure,
            card=f"# A control of gpt-small: {name}\n",
        )
        self.keep(
            "runs",
            name,
            {
                "lr": lr,
                "n_tokens": n_steps * BATCH_SIZE * context,
                "bits_per_byte": found,
                "held_out_nats": nats,
                "held_out_bits_per_byte": held_out,
            },
            since,
        )

    def better_rate(self) -> float:
        """Return the rate with which the fewest tokens of the mixture teach more."""
        nats = {}
        for lr in RATES:
            name = f"mixture-{N_TOKENS}-tokens-{lr:g}"
            self.run(name, self.text.parts, N_TOKENS, lr, 0.0)
            nats[lr] = self.record["runs"][name]["held_out_nats"]
        return min(nats, key=lambda lr: nats[lr])

    def wikipedia(self, lr: float) -> None:
        """Train on the articles alone."""
        about = self.text.about["parts"][WIKIPEDIA]
        parts = [(about["first"], about["end"], 1)]
        for passes in N_PASSES:
            n_tokens = passes * (about["end"] - about["first"])
            name = f"wikipedia-{passes}-passes-{lr:g}"
            self.run(name, parts, n_tokens, lr, DROPOUT if passes > 1 else 0.0)

    def questions(self, name: str, model: Pretrained, method: str = "full") -> None:
        """Teach a model TREC's kinds of answer."""
        if name in self.record["trec"]:
            return
        since, start = time.process_time(), FIRST_RATE[method]
        result = trained(FewLabels(), model, method, N_LABELS, start, "mean")
        self.keep("trec", name, result, since)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_record_option(parser, __file__)
    parser.add_argument("--only", choices=("wikipedia", "trec"), help="measure this only")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    shipped = load_pretrained("gpt-small")
    tokenizer: Any = shipped.tokenizer
    text = prepare_text(RUN / "text", tokenizer.vocab_size, tokenizer, "quarter")
    try:
        controls = Controls(options.record, text)
    except ValueError as error:
        parser.error(str(error))
    if "gpt-small" not in controls.record["runs"]:
        since = time.process_time()
        bits = bits_of(shipped.model, controls.articles, tokenizer.eos_id)[1]
        nats, held_out = bits_of(shipped.model, text.held_out, tokenizer.eos_id)
        found = {"bits_per_byte": bits, "held_out_nats": nats, "held_out_bits_per_byte": held_out}
        controls.keep("runs", "gpt-small", found, since)
    lr = controls.better_rate()
    if options.only != "trec":
        controls.wikipedia(lr)
    if options.only == "wikipedia":
        return
    controls.questions("new weights", Pretrained("gpt-small"), "scratch")
    controls.questions("gpt-small", Pretrained("gpt-small"))
    for name in (f"mixture-{N_TOKENS}-tokens-{lr:g}", f"wikipedia-{N_PASSES[0]}-passes-{lr:g}"):
        controls.questions(name, Pretrained(RUN / name))


if __name__ == "__main__":
    main()
