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

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.chapters.backbones import Pretrained
from benchmarks.chapters.label_curve import FIRST_RATE, FewLabels, trained
from benchmarks.records import Recording, command_line
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
    """What the runs share."""

    def __init__(self, recording: Recording, text: Text) -> None:
        self.recording, self.text = recording, text
        self.structure = structure_of(SHIPPED / "gpt-small")
        wikipedia, encode = load_corpus("wikipedia"), text.tokenizer.to_fast().encode
        self.articles = {
            part: ([encode(article) for article in articles], count_bytes(articles))
            for part, articles in (("valid", wikipedia.valid), ("test", wikipedia.test))
        }

    def run(self, name: str, parts: Any, n_tokens: int, lr: float, dropout: float) -> None:
        """Train new weights for so many tokens of some parts of the text, and ask the articles."""
        if name in self.recording.content["runs"]:
            return
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
        result = {
            "lr": lr,
            "n_tokens": n_steps * BATCH_SIZE * context,
            "bits_per_byte": found,
            "held_out_nats": nats,
            "held_out_bits_per_byte": held_out,
        }
        self.recording.keep(name, result, within="runs")

    def better_rate(self) -> float:
        """Return the rate with which the fewest tokens of the mixture teach more."""
        nats = {}
        for lr in RATES:
            name = f"mixture-{N_TOKENS}-tokens-{lr:g}"
            self.run(name, self.text.parts, N_TOKENS, lr, 0.0)
            nats[lr] = self.recording.content["runs"][name]["held_out_nats"]
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
        if name not in self.recording.content["trec"]:
            start = FIRST_RATE[method]
            result = trained(FewLabels(), model, method, N_LABELS, start, "mean")
            self.recording.keep(name, result, within="trec")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet."""
    recording = Recording(command_line(__doc__, __file__, arms=("wikipedia", "trec")), arguments)
    torch.set_num_threads(1)
    recording.begin(
        {
            "what": "bits a byte of Wikipedia's articles, and percent of TREC's questions",
            "runs": {},
            "trec": {},
        },
        same={"weights": digest("gpt-small"), "rates": RATES, "n_labels": N_LABELS},
    )
    shipped = load_pretrained("gpt-small")
    tokenizer: Any = shipped.tokenizer
    text = prepare_text(RUN / "text", tokenizer.vocab_size, tokenizer, "quarter")
    controls = Controls(recording, text)
    if "gpt-small" not in recording.content["runs"]:
        bits = bits_of(shipped.model, controls.articles, tokenizer.eos_id)[1]
        nats, held_out = bits_of(shipped.model, text.held_out, tokenizer.eos_id)
        result = {"bits_per_byte": bits, "held_out_nats": nats, "held_out_bits_per_byte": held_out}
        recording.keep("gpt-small", result, within="runs")
    lr = controls.better_rate()
    if recording.is_wanted("wikipedia"):
        controls.wikipedia(lr)
    if not recording.is_wanted("trec"):
        return
    controls.questions("new weights", Pretrained("gpt-small"), "scratch")
    controls.questions("gpt-small", Pretrained("gpt-small"))
    for name in (f"mixture-{N_TOKENS}-tokens-{lr:g}", f"wikipedia-{N_PASSES[0]}-passes-{lr:g}"):
        controls.questions(name, Pretrained(RUN / name))


if __name__ == "__main__":
    main()
