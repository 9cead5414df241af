"""The search for an Elman network that remembers: how its arms differ, and the record."""

import torch

from benchmarks.chapters.elman_memory import ARMS, N_STEPS, SEEDS, trained
from course_pkg.layers.recurrent import ElmanCell
from course_pkg.results import benchmark
from course_pkg.text.tokenizers import WordTokenizer


def test_orthogonal_start_is_orthogonal_and_differs_from_torchs():
    words = WordTokenizer.train(["a b c d"], unk=None)
    rows = [words.encode("a b c d")] * 32
    start = {"cell": ElmanCell, "lr": 1e-12, "seed": 0, "n_steps": 50}
    plain = trained(rows, words, **start).stack.kernel.weight_hh_l0
    turned = trained(rows, words, **start, is_orthogonal=True).stack.kernel.weight_hh_l0
    torch.testing.assert_close(turned @ turned.T, torch.eye(64), rtol=0, atol=1e-5)  # float32
    assert (plain @ plain.T - torch.eye(64)).abs().max() > 0.1


def test_record_is_of_these_arms():
    record = benchmark("elman_memory")
    assert list(record["arms"]) == list(ARMS)
    assert record["n_steps"] == N_STEPS
    assert all(len(nats) == len(SEEDS) for nats in record["arms"].values())
