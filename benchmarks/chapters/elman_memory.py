"""Does another rate or another start let an Elman network remember what a story was about?

    python -m benchmarks.chapters.elman_memory [--record FILE]

The network, its text and its training are those of the chapter on recurrent networks. Two rates and
two recurrent matrices at the start, as torch draws it or orthogonal; three seeds. What counts is
the surprise at the object that returns, with one sentence or more in between. An LSTM trained
alike is the control: the same text and as many updates do teach it. A few minutes of one core.
"""

from collections.abc import Sequence
from statistics import mean
from typing import Any

import torch

from benchmarks.records import Recording, command_line
from course_pkg.evaluation.likelihood import token_log_probs
from course_pkg.layers.recurrent import ElmanCell, LSTMCell
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.text.batches import example_batches, next_token_rows
from course_pkg.text.corpora import load_corpus
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

SEEDS, N_STEPS = (0, 1, 2), 3000
D_EMBEDDING, D_HIDDEN, BATCH_SIZE = 32, 64, 16
AWAY, N_STORIES = (1, 2, 4, 8, 16), 150
ARMS: dict[str, dict[str, Any]] = {
    "Elman, rate 0.01": {"cell": ElmanCell, "lr": 0.01},
    "Elman, rate 0.003": {"cell": ElmanCell, "lr": 0.003},
    "Elman, rate 0.01, orthogonal": {"cell": ElmanCell, "lr": 0.01, "is_orthogonal": True},
    "Elman, rate 0.003, orthogonal": {"cell": ElmanCell, "lr": 0.003, "is_orthogonal": True},
    "LSTM, rate 0.01": {"cell": LSTMCell, "lr": 0.01},
}


def trained(
    rows: Sequence[list[int]],
    words: WordTokenizer,
    *,
    cell: Any,
    lr: float,
    seed: int,
    is_orthogonal: bool = False,
    n_steps: int = N_STEPS,
) -> RecurrentLM:
    """Return a network that has read whole stories."""
    generator = torch.Generator().manual_seed(seed)
    model = RecurrentLM(words.vocab_size, D_EMBEDDING, D_HIDDEN, cell=cell, generator=generator)
    if is_orthogonal:
        weight = model.stack.kernel.get_parameter("weight_hh_l0")
        torch.nn.init.orthogonal_(weight, generator=generator)
    batches = example_batches(
        rows,
        lambda some, _: next_token_rows(some, words.eos_id),
        BATCH_SIZE,
        seed=seed,
        lengths=[len(row) for row in rows],
    )
    config = TrainerConfig(
        n_steps,
        lr=lr,
        n_warmup=n_steps // 15,
        weight_decay=0.0,
        log_every=50,
        checkpoint_every=n_steps,
        fused=True,
    )
    Trainer(model, batches, config).train()
    return model.eval()


def surprise(model: RecurrentLM, words: WordTokenizer, n_distractions: int) -> float:
    """Return the mean nats at the returning object, with so many sentences in between."""
    told = StoryGrammar(n_distractions=n_distractions).sample(N_STORIES, seed=n_distractions)
    scores = token_log_probs(model, [words.encode(s.text) for s in told], eos_id=words.eos_id)
    return mean(
        -row[t].item()
        for story, row in zip(told, scores, strict=True)
        for t, slot in story.recalls
        if slot == "object"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    recording = Recording(command_line(__doc__, __file__, arms=ARMS), arguments)
    torch.set_num_threads(1)
    recording.begin(
        {"what": "mean nats at the returning object, one sentence or more in between, by seed"},
        same={"away": AWAY, "seeds": SEEDS, "n_steps": N_STEPS},
    )
    stories = load_corpus("stories")
    words = WordTokenizer.train(stories.train, unk=None)
    rows = [words.encode(story) for story in stories.train]
    for name in recording.missing(ARMS):
        models = [trained(rows, words, seed=seed, **ARMS[name]) for seed in SEEDS]
        nats = [mean(surprise(model, words, n) for n in AWAY) for model in models]
        recording.keep(name, nats, within="arms")


if __name__ == "__main__":
    main()
