"""Rewards that are checked, on a world too small to learn anything."""

import pytest
import torch

from benchmarks.chapters import checked_reward as benchmark
from benchmarks.chapters import story_assistant


@pytest.fixture(scope="module")
def world():
    return story_assistant.World(n_stories=60, n_requests=6)


@pytest.fixture
def lesson(world, monkeypatch):
    for name, value in (("N_UPDATES", 2), ("EVERY", 1), ("N_DRAWS", 4)):
        monkeypatch.setattr(story_assistant, name, value)
    monkeypatch.setattr(benchmark, "N_UPDATES", 2)
    monkeypatch.setattr(benchmark, "N_DRAWS", 4)
    lesson = story_assistant.Lesson.__new__(story_assistant.Lesson)  # without training before it
    lesson.world, lesson.seed = world, 0
    lesson.reference = story_assistant.pretrain(world, 0, n_steps=2)
    lesson.pairs = [(prompt, reply, reply[:-3]) for prompt, reply in world.demonstrations(8, 0)]
    lesson.reward = story_assistant.RewardModel(lesson.reference)
    return lesson


def test_check_is_the_rule_and_nothing_else(world):
    (request, words), *_ = world.requests.sample(1, seed=5)
    good = world.tokenizer.encode(" ".join(words))
    verdict = world.judge(request, good)
    found = benchmark.checked(world, [request] * 3, [good, good[:-3], []]).tolist()
    assert found == [float(verdict.is_good), 0.0, 0.0]


def test_only_replies_that_pass_are_imitated(lesson, monkeypatch):
    seen = []

    def tuned(policy, examples, *_):
        seen.extend(examples)
        return policy

    monkeypatch.setattr(benchmark, "tuned", tuned)
    monkeypatch.setattr(
        benchmark, "checked", lambda world, some, replies: torch.tensor([0.0, 1, 0, 1])
    )
    _, (end,) = benchmark.imitate_checked(lesson, 1e-3)
    assert len(seen) == end["n_kept"] == 2 * 2  # half of four draws in each of two rounds


def test_best_rate_is_chosen_by_other_requests_than_are_reported(lesson, monkeypatch):
    monkeypatch.setattr(lesson, "measure", lambda policy, asked: {"is_good": -abs(policy - 1e-3)})
    monkeypatch.setitem(benchmark.ARMS, "groups", lambda lesson, lr: (lr, [{"is_good": lr}]))
    found = benchmark.searched("groups", [lesson, lesson])
    assert found["lr"] == 1e-3 and found["ways"] == [[{"is_good": 1e-3}]] * 2
    assert list(found["valid_good_by_rate"]) == ["0.0003", "0.001", "0.003"]


def test_group_policy_moves_a_copy_and_is_looked_at_on_its_way(lesson):
    policy, way = benchmark.by_check(lesson, 1e-3, n_replies=2)
    assert [point["step"] for point in way] == [0, 1, 2] and policy is not lesson.reference
