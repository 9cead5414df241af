"""Drawing ahead changes when batches are drawn, never which."""

import pytest
import torch

from course_pkg.training.prefetch import Prefetched
from course_pkg.training.trainer import BatchSource, Trainer, TrainerConfig
from tests.course_pkg.training.toy import CycleBatches, model


def drawn(batches, n):
    return torch.stack([batches.next_batch()["ids"] for _ in range(n)])


def test_prefetched_batches_are_those_of_the_source():
    ahead = Prefetched(CycleBatches(), n_ahead=3)
    assert isinstance(ahead, BatchSource)
    assert torch.equal(drawn(ahead, 7), drawn(CycleBatches(), 7))


def test_prefetched_state_is_that_of_the_used_batches():
    ahead, plain = Prefetched(CycleBatches(), n_ahead=3), CycleBatches()
    drawn(ahead, 4), drawn(plain, 4)
    assert ahead.state_dict() == plain.state_dict()
    resumed = Prefetched(CycleBatches(), n_ahead=2)
    resumed.load_state_dict(ahead.state_dict())
    assert torch.equal(drawn(resumed, 3), drawn(plain, 3))


def test_prefetched_reshuffles_what_was_drawn_ahead_too():
    ahead, plain = Prefetched(CycleBatches(), n_ahead=3), CycleBatches()
    drawn(ahead, 2), drawn(plain, 2)
    ahead.reshuffle(), plain.reshuffle()
    assert ahead.state_dict() == plain.state_dict()
    assert torch.equal(drawn(ahead, 5), drawn(plain, 5))


def test_prefetched_raises_what_the_source_raises():
    class Broken(CycleBatches):
        def next_batch(self):
            if self.position == 2:
                raise OSError("the token file went away")
            return super().next_batch()

    ahead = Prefetched(Broken(), n_ahead=2)
    drawn(ahead, 2)
    with pytest.raises(OSError, match="went away"):
        ahead.next_batch()


def test_prefetched_rejects_drawing_nothing_ahead():
    with pytest.raises(ValueError, match="n_ahead is 0"):
        Prefetched(CycleBatches(), n_ahead=0)


def test_training_on_prefetched_batches_resumes_exactly(tmp_path):
    config = TrainerConfig(n_steps=20, lr=0.03, log_every=5, checkpoint_every=10)
    straight = Trainer(model(), CycleBatches(), config).train()
    Trainer(model(), Prefetched(CycleBatches()), config, folder=tmp_path).train()
    (tmp_path / "step-000000020").rename(tmp_path / "later")  # as if killed after ten updates
    resumed = Trainer(model(), Prefetched(CycleBatches()), config, folder=tmp_path)
    history = resumed.train(resume=True)
    assert history[-1]["loss"] == straight[-1]["loss"]
