"""Static vectors: what counts as a neighbour of a kind, and a whole small run."""

import json

import torch

from benchmarks.chapters import word_vectors


def test_neighbours_of_a_kind_worked_by_hand():
    vectors = torch.tensor([[1.0, 0.0], [9.0, 1.0], [0.0, 2.0], [1.0, 9.0], [0.1, 7.0]])
    words = [(0, "a"), (1, "a"), (2, "b"), (3, "a"), (4, "b")]
    # 0 and 1 find each other, 2 and 4 too; 3 finds 4, which is of the other kind
    assert word_vectors.neighbours_of_a_kind(vectors, words) == 80.0


def test_small_run_beats_chance_and_is_recorded(tmp_path):
    word_vectors.main(["--n-stories", "300", "--record", str(tmp_path / "r.json")])
    record = json.loads((tmp_path / "r.json").read_text())
    ours, _, drawn = (figure["ours"] for figure in record["figures"])
    assert ours > drawn + 20
    assert record["n_words"] > 60
