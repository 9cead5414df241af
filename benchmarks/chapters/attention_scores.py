"""Train the translator of the chapter on attention with five ways to attend, three seeds.

    python -m benchmarks.chapters.attention_scores [--record FILE]

One learning rate and one number of updates for all. Besides the share of test passages translated
without a mistake, the record holds where the weights of the strongest links lie, and the weights of
one passage for the first seed, for the chapter's drawing. Four minutes of one core.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.records import Recording, command_line
from course_pkg.decoding.beam_search import greedy_search
from course_pkg.evaluation.metrics import alignment_error_rate
from course_pkg.layers.attention import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from course_pkg.layers.recurrent import GRUCell
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.text.batches import example_batches, translation_rows
from course_pkg.text.stories.translation import Translation, sample_passages
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

SEEDS = (0, 1, 2)
N_TRAIN, N_TEST, LONGEST, SHOWN = 12_000, 400, 4, 24
N_STEPS, BATCH_SIZE, LR, WIDTH = 800, 32, 0.01, 64


class MeanScore(nn.Module):
    """Every source word fits equally well."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """Return zeros, (B, T, S)."""
        return query.new_zeros(*query.shape[:2], key.shape[1])


SCORES: dict[str, Callable[[], nn.Module]] = {
    "mean": MeanScore,
    "dot product": DotScore,
    "scaled dot": ScaledDotScore,
    "bilinear": lambda: BilinearScore(WIDTH, WIDTH),
    "additive": lambda: AdditiveScore(WIDTH, WIDTH, WIDTH),
}


@cache
def passages() -> tuple[list[Translation], list[Translation], WordTokenizer, WordTokenizer]:
    """Training and test passages, and the words of both languages."""
    train = sample_passages(N_TRAIN, longest=LONGEST, seed=1)
    test = sample_passages(N_TEST, longest=LONGEST, seed=2)
    english, velu = (
        WordTokenizer.train([" ".join(words) for words in side])
        for side in ((p.source for p in train), (p.target for p in train))
    )
    return train, test, english, velu


def to_ids(passage: Translation) -> tuple[list[int], list[int]]:
    """Source and target as ids."""
    *_, english, velu = passages()
    return english.encode(" ".join(passage.source)), velu.encode(" ".join(passage.target))


def train(score: nn.Module, seed: int, n_steps: int = N_STEPS) -> Seq2Seq:
    """Train as the chapter does."""
    texts, _, english, velu = passages()
    model = Seq2Seq(
        english.vocab_size,
        velu.vocab_size,
        d_embedding=32,
        d_hidden=WIDTH,
        eos_id=velu.eos_id,
        score=score,
        cell=GRUCell,
        generator=torch.Generator().manual_seed(seed),
    )
    pairs = [to_ids(p) for p in texts]
    batches = example_batches(
        pairs,
        lambda rows, generator: translation_rows(rows, velu.eos_id),
        batch_size=BATCH_SIZE,
        seed=seed,
        lengths=[len(source) for source, _ in pairs],
    )
    config = TrainerConfig(
        n_steps,
        lr=LR,
        n_warmup=50,
        weight_decay=0.0,
        spike_factor=100.0,  # near a loss of zero, small steps look large
        log_every=50,
        checkpoint_every=n_steps,
        fused=True,
        seed=seed,
    )
    Trainer(model, batches, config).train()
    return model.eval()


@torch.no_grad()
def judge(model: Seq2Seq, test: Sequence[Translation]) -> tuple[dict[str, Any], list[Tensor]]:
    """Return what the model gets right, and its weights on the true translations."""
    eos = passages()[3].eos_id
    rows = translation_rows([to_ids(p) for p in test], eos)
    blank = model.start(rows["source_ids"], rows["source_lengths"])
    first = torch.full((len(test),), eos)
    found = greedy_search(blank, first, eos_id=eos, max_length=99)
    is_right = np.array(
        [list(h.ids) == [*to_ids(p)[1], eos] for h, p in zip(found, test, strict=True)]
    )
    n_sentences = np.array([p.source.count(".") for p in test])
    padded = model.align(rows["source_ids"], rows["ids"], rows["source_lengths"])
    weights = [w[: len(p.target), : len(p.source)] for w, p in zip(padded, test, strict=True)]
    hits: dict[str, list[bool]] = {"word": [], "near": [], "stop": []}
    guessed, true = set(), set()
    for i, (p, w) in enumerate(zip(test, weights, strict=True)):
        true |= {(i, link) for link in p.links}
        for t, s in enumerate(w.argmax(-1).tolist()):
            distance = min(abs(s - j) for j, k in p.links if k == t)
            hits["stop" if p.target[t] == "." else "word"].append(distance == 0)
            if p.target[t] != ".":
                hits["near"].append(distance <= 1)
            guessed.add((i, (s, t)))
    return {
        "right": [float(is_right[n_sentences == n].mean()) for n in range(1, LONGEST + 1)],
        **{kind: float(np.mean(hit)) for kind, hit in hits.items()},
        "aer": alignment_error_rate(guessed, true),
    }, weights


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and, on request, record."""
    recording = Recording(command_line(__doc__, __file__), arguments)
    recording.begin(
        {"what": "test passages translated without a mistake, and where the weights lie"}
    )
    test = passages()[1]
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCORES}
    shown: dict[str, list[list[float]]] = {}
    for seed in SEEDS:
        for name, score in SCORES.items():
            found, weights = judge(train(score(), seed), test)
            rows[name].append(found)
            print(seed, name, json.dumps(found), flush=True)
            if seed == SEEDS[0]:
                shown[name] = [[round(x, 3) for x in row] for row in weights[SHOWN].tolist()]
    figures = {"rows": rows, "shown_passage": SHOWN, "shown_weights": shown}
    settings = {"seeds": SEEDS, "n_steps": N_STEPS, "lr": LR, "width": WIDTH}
    recording.finish(figures | settings, indent=None)


if __name__ == "__main__":
    main()
