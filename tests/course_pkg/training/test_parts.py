"""Losses with several parts: however an update's rows are divided, the result is one batch's."""

from typing import Any

import pytest
import torch
from torch import nn

from course_pkg.models import IGNORE
from course_pkg.models.adaptation import TokenTagger
from course_pkg.models.bert import BERT, MaskedLMLoss, bert_tiny
from course_pkg.models.bert_objectives import ReplacedTokenLoss, SpanBoundaryLoss
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.recurrent import BidirectionalEncoder, Tagger
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.training.trainer import Trainer, TrainerConfig
from tests.course_pkg.training.processes import train_together

V, B, T = 11, 4, 8
EOS = 0


def seeded():
    return torch.Generator().manual_seed(3)


def bert(**changes):
    return BERT(bert_tiny(V, T), generator=seeded(), **changes).double()


class Guesser(nn.Module):
    """Fills every masked place with the same word: what a sampler draws depends on the rows."""

    def __init__(self, model):
        super().__init__()
        self.inner = MaskedLMLoss(model)

    def forward(self, ids, targets, **rest):
        _, loss = self.inner(ids, targets, **rest)
        sure = torch.full((int((targets != IGNORE).sum()), V), -1e9, dtype=torch.float64)
        sure[:, 4] = 0.0
        return sure, loss


def electra():
    model = ReplacedTokenLoss(bert(), bert(), generator=seeded()).double()
    model.masked_lm = Guesser(model.masked_lm.model)
    return model


def backbone():
    return GPT(gpt_tiny(V, T), generator=seeded())


MODELS = {
    "BERT with pairs": bert,
    "BERT without tokens": bert,
    "ELECTRA": electra,
    "ELECTRA, a row unmasked": electra,
    "SpanBERT": lambda: SpanBoundaryLoss(bert(), generator=seeded()).double(),
    "tagger": lambda: Tagger(
        BidirectionalEncoder(V, 4, 4, generator=seeded()), 3, generator=seeded()
    ).double(),
    "token tagger": lambda: TokenTagger(backbone(), 3, generator=seeded()).double(),
    "translator": lambda: Seq2Seq(V, V, 4, 6, eos_id=EOS, generator=seeded()).double(),
}


def rows(kind) -> dict[str, torch.Tensor]:
    """Four rows that differ in all that a loss is a mean of."""
    ids = torch.randint(1, V, (B, T), generator=seeded())
    targets = torch.full_like(ids, IGNORE)
    for row, n in enumerate((1, 3, 2, 5)):
        targets[row, 1 : 1 + n] = ids[row, 1 : 1 + n]
    lengths = torch.tensor([8, 3, 7, 6])
    mask = torch.arange(T) < lengths.unsqueeze(1)
    if kind.startswith("BERT"):
        pairs = torch.tensor([1, IGNORE, 0, 1])
        if kind.endswith("tokens"):
            targets[2:] = IGNORE
        return {"ids": ids, "targets": targets, "mask": mask, "pair_targets": pairs}
    if kind.startswith("ELECTRA"):
        if kind.endswith("unmasked"):
            targets[2:] = IGNORE
        return {"ids": ids, "targets": targets, "mask": mask}
    if kind == "SpanBERT":
        return {"ids": ids, "targets": targets}
    if "tagger" in kind:
        return {"ids": ids, "targets": ids % 3, "lengths": lengths}
    targets = ids.clone()
    targets[0, 2] = targets[3, 5] = EOS  # what follows is no target
    return {"source_ids": ids, "ids": ids.roll(1, dims=1), "targets": targets}


class Rows:
    """The same rows again and again, some at a time."""

    def __init__(self, batch: dict[str, torch.Tensor], n: int, first: int = 0, step: int = 1):
        places = range(first * n, B, n * step)
        self.batches = [{k: v[p : p + n] for k, v in batch.items()} for p in places]
        self.n_drawn = 0

    def next_batch(self):
        self.n_drawn += 1
        return self.batches[(self.n_drawn - 1) % len(self.batches)]

    def reshuffle(self):
        raise AssertionError("nothing goes wrong here")

    def state_dict(self) -> dict[str, Any]:
        return {"n_drawn": self.n_drawn}

    def load_state_dict(self, state):
        self.n_drawn = state["n_drawn"]


def train(kind, batches, n_accumulate, **options):
    model = MODELS[kind]()
    config = TrainerConfig(
        n_steps=3,
        n_accumulate=n_accumulate,
        lr=0.1,
        optimizer="sgd",
        log_every=1,
        clip_norm=None,
        schedule="constant",
    )
    history = Trainer(model, batches, config, **options).train()
    return [e["loss"] for e in history], torch.cat([p.flatten() for p in model.parameters()])


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("kind", MODELS)
def test_micro_batches_equal_the_large_batch(kind, n):
    large, large_weights = train(kind, Rows(rows(kind), B), 1)
    small, small_weights = train(kind, Rows(rows(kind), n), B // n)
    assert small == pytest.approx(large, rel=1e-6)  # summed in float32 for the log
    torch.testing.assert_close(small_weights, large_weights, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["BERT with pairs", "ELECTRA"])
def test_loss_of_one_batch_is_the_models_own(kind):
    model, batch = MODELS[kind]().train(), rows(kind)
    assert train(kind, Rows(batch, B), 1)[0][0] == pytest.approx(model(**batch)[1].item(), abs=1e-6)


def test_detector_learns_from_batches_in_which_nothing_is_masked():
    batch = rows("ELECTRA")
    batch["targets"] = torch.full_like(batch["targets"], IGNORE)
    losses, _ = train("ELECTRA", Rows(batch, B), 1)
    assert losses[-1] < losses[0]


def _train_kinds(number, folder, kinds):
    from course_pkg.training.distributed import process_group

    with process_group("cpu"):
        for kind in kinds:
            losses, weights = train(kind, Rows(rows(kind), 1, number, 2), 2)
            if number == 0:
                torch.save((losses, weights), folder / f"{kind}.pt")


def test_two_processes_equal_the_large_batch(tmp_path):
    kinds = ["BERT with pairs", "BERT without tokens", "token tagger"]
    folder = train_together(_train_kinds, tmp_path, kinds)
    for kind in kinds:
        losses, weights = torch.load(folder / f"{kind}.pt")
        large, large_weights = train(kind, Rows(rows(kind), B), 1)
        assert losses == pytest.approx(large, abs=1e-6)
        torch.testing.assert_close(weights, large_weights, rtol=0, atol=1e-9)


def test_parts_that_are_not_counted_alike_are_refused():
    class Uncounted(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = bert()

        def forward(self, **batch):
            return self.model(**batch)

    batch = rows("BERT with pairs")
    with pytest.raises(ValueError, match="returned 2 losses, but counts targets of 1"):
        Trainer(Uncounted(), Rows(batch, B), TrainerConfig(n_steps=1)).train()
