"""A model and a stream of batches, small enough to train many times in a test."""

import torch
from torch import nn

from course_pkg.models import IGNORE
from course_pkg.models.loss import nats_per_target

V = 5


class BigramModel(nn.Module):
    """Guesses the next token from the last one; with dropout, so that resuming must restore it."""

    def __init__(self, dropout: float = 0.2):
        super().__init__()
        self.embed = nn.Embedding(V, 7)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(7, V)

    def forward(self, ids, targets=None):
        logits = self.out(self.dropout(self.embed(ids)))
        return logits, nats_per_target(logits, targets)


class CycleBatches:
    """Noisy counting modulo V: token t + 1 follows t with probability 0.8, else any token.

    `poison_at` makes one batch out of reach for any model, once in the order of `epoch` 0.
    Every `empty_every`-th batch has no target.
    """

    def __init__(self, seed=0, n_rows=3, n_columns=11, poison_at=None, empty_every=None):
        self.seed, self.shape, self.poison_at = seed, (n_rows, n_columns), poison_at
        self.empty_every = empty_every
        self.epoch = self.position = 0

    def next_batch(self):
        generator = torch.Generator().manual_seed(hash((self.seed, self.epoch, self.position)))
        n_rows, n_columns = self.shape
        ids = torch.randint(V, (n_rows, n_columns + 1), generator=generator)
        follows = torch.rand(n_rows, n_columns, generator=generator) < 0.8
        for t in range(n_columns):
            ids[:, t + 1] = torch.where(follows[:, t], (ids[:, t] + 1) % V, ids[:, t + 1])
        targets = ids[:, 1:].clone()
        n_padding = int(torch.randint(n_columns, (1,), generator=generator))
        targets[0, n_columns - n_padding :] = IGNORE  # rows of different length
        self.position += 1
        if self.empty_every is not None and self.position % self.empty_every == 0:
            targets.fill_(IGNORE)
        batch = {"ids": ids[:, :-1], "targets": targets}
        if self.poison_at == self.position and self.epoch == 0:
            batch = {"ids": ids[:, :-1], "targets": (ids[:, :-1] + 2) % V}
        return batch

    def reshuffle(self):
        self.epoch += 1

    def state_dict(self):
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state):
        self.epoch, self.position = state["epoch"], state["position"]


def model(dropout: float = 0.2) -> BigramModel:
    torch.manual_seed(17)
    return BigramModel(dropout)
