"""Every part of the benchmark on a world too small to learn anything."""

import pytest
import torch

from benchmarks.chapters import story_assistant as benchmark


@pytest.fixture(scope="module")
def world():
    return benchmark.World(n_stories=60, n_requests=6)


@pytest.fixture(scope="module")
def base(world):
    return benchmark.pretrain(world, 0, n_steps=2)


@pytest.fixture
def lesson(world, base):
    lesson = benchmark.Lesson.__new__(benchmark.Lesson)  # without the training before it
    lesson.world, lesson.seed, lesson.reference = world, 0, base
    lesson.pairs = [
        (prompt, reply, reply[:-3]) for prompt, reply in world.demonstrations(20, seed=0)
    ]
    lesson.reward = benchmark.RewardModel(base)
    return lesson


def test_prompts_are_equally_long_and_replies_are_judged_in_ids(world):
    prompts = [world.prompt(request) for request in world.test]
    assert {len(prompt) for prompt in prompts} == {10}
    (prompt, reply), *_ = world.demonstrations(1, seed=4)
    ids, targets, lengths = world.rows([prompt], [reply])
    assert ids[0, : lengths[0]].tolist() == [*prompt, *reply, world.eos_id]
    assert targets[0, 9 : lengths[0] - 1].tolist() == [*reply, world.eos_id]
    assert (targets[0, :9] < 0).all()


def test_reward_model_learns_the_order_of_pairs(lesson):
    def loss_of(model, pairs):
        return benchmark.preference_loss(*lesson.of_pairs(model, pairs))[0]

    learned = benchmark.tuned(lesson.reward, lesson.pairs, loss_of, 3e-3, seed=0, n_steps=12)
    better, worse = lesson.of_pairs(learned, lesson.pairs)
    assert (better > worse).float().mean() > 0.9


def test_untouched_policy_has_moved_nowhere(lesson):
    found = lesson.measure(lesson.policy(), lesson.world.test)
    assert found["kl_nats"] == pytest.approx(0, abs=1e-4)
    assert found["entropy_nats"] > 0 and 0 <= found["is_good"] <= 1


@pytest.mark.parametrize("arm", ["imitation", "DPO 0.5"])
def test_pairs_move_a_copy_and_leave_the_reference_alone(lesson, arm):
    before = lesson.reference.embedding.weight.clone()
    policy = lesson.offline(arm, 1e-3)
    prompts, *both = zip(*lesson.pairs, strict=True)
    with torch.no_grad():
        gains = [
            lesson.world.log_probs(policy, prompts, replies)
            - lesson.world.log_probs(lesson.reference, prompts, replies)
            for replies in both
        ]
    assert (gains[0] - gains[1]).mean() > 0  # DPO may lower both
    assert torch.equal(lesson.reference.embedding.weight, before)


def test_policy_gradients_return_a_way_and_best_of_n_takes_the_most_rewarded(lesson, monkeypatch):
    for name, value in (("N_UPDATES", 2), ("EVERY", 1), ("N_DRAWS", 4), ("N_OF_BEST", (1, 2, 4))):
        monkeypatch.setattr(benchmark, name, value)
    _, way = lesson.online(0.3, 1e-3, lesson.world.test)
    assert [point["step"] for point in way] == [0, 1, 2]
    assert way[0]["kl_nats"] == pytest.approx(0, abs=1e-4) != way[2]["kl_nats"]
    proxies = [found["proxy"] for found in lesson.best_of_n().values()]
    assert proxies == sorted(proxies) and len(set(proxies)) == 3


def test_rate_with_the_most_good_replies_is_chosen():
    rate, tried = benchmark.best_rate(lambda lr: -abs(lr - 1e-3))
    assert rate == 1e-3 and list(tried) == ["0.0003", "0.001", "0.003", "0.01"]


def test_replies_to_one_request_are_compared_with_each_other(lesson, monkeypatch):
    """Where all replies to a request get the same, as two do here, nothing is learned."""
    for name, value in (("N_UPDATES", 1), ("EVERY", 1), ("N_DRAWS", 4)):
        monkeypatch.setattr(benchmark, name, value)
    asked = []

    def by_request(requests, replies):
        asked.append([request.text for request in requests])
        names = sorted({request.text for request in requests})
        return torch.tensor([float(names.index(request.text)) for request in requests])

    alike, _ = lesson.online(0.0, 1e-3, lesson.world.test, reward=by_request, n_replies=2)
    assert [texts[0::2] == texts[1::2] for texts in asked] == [True, True]
    before = lesson.reference.state_dict()
    assert all(torch.equal(value, before[name]) for name, value in alike.state_dict().items())
    apart, _ = lesson.online(0.0, 1e-3, lesson.world.test, reward=by_request)
    assert any(not torch.equal(value, before[name]) for name, value in apart.state_dict().items())
