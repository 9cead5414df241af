"""The five steps measured: what counts as right, and that every wiring is tuned and trained."""

import torch

from benchmarks.chapters import five_steps
from course_pkg.models.five_steps import FIVE_STEPS

TASK = five_steps.Task.sample(60, 40, 1)


def greedy(model, source: list[int], n_words: int) -> list[int]:
    """Write one translation word by word, each the most probable after those written."""
    written = [TASK.eos_id]
    for _ in range(n_words):
        logits, _ = model(torch.tensor([source]), torch.tensor([written]))
        written.append(int(logits[0, -1].argmax()))
    return written[1:]


def test_one_pass_with_a_teacher_finds_what_greedy_search_translates_rightly():
    model = five_steps.train(TASK, FIVE_STEPS[1], 0.02, 25, seed=0)
    _, is_right = five_steps.judge(model, TASK.train, TASK.eos_id)
    written = [greedy(model, source, len(target) + 1) for source, target in TASK.train]
    exact = [
        text == [*target, TASK.eos_id]
        for text, (_, target) in zip(written, TASK.train, strict=True)
    ]
    assert exact == is_right.tolist()
    assert 0 < sum(exact) < len(exact)  # some of both, or the test says nothing


def test_measure_reports_each_seed_and_the_best_rate(monkeypatch):
    monkeypatch.setattr(five_steps, "RATES", (0.02, 1e-6))
    monkeypatch.setattr(five_steps, "SEEDS", (1, 2))
    row = five_steps.measure(TASK, FIVE_STEPS[5], n_steps=4)
    assert row["lr"] == 0.02
    assert [run["seed"] for run in row["runs"]] == [1, 2]
    assert row["runs"][0]["test_perplexity"] != row["runs"][1]["test_perplexity"]
    assert row["serial_steps"]["16"] == row["serial_steps"]["64"]


def test_arms_are_the_six_wirings_and_three_controls():
    arms = five_steps.arms()
    assert list(arms) == [*"012345", "3 + positions", "4 + positions", "5 + positions"]
    assert all(wiring.has_positions == ("positions" in name) for name, wiring in arms.items())
