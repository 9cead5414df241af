"""Pairs, replies and the rule that judges stories."""

import math
from argparse import Namespace

import pytest
import torch

from benchmarks.chapters import assistant
from benchmarks.chapters.backbones import Pretrained
from course_pkg.models import IGNORE
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.text.tokenizers import WordTokenizer

TEXTS = ["Tom was sad . Tom was glad .", "Mia was glad . Mia was upset .", "The end ."]


@pytest.fixture
def tokenizer():
    return WordTokenizer.train(TEXTS)


def test_a_story_ends_well_if_its_last_feeling_is_good(tokenizer):
    stories = [tokenizer.encode(text) for text in TEXTS]
    assert [assistant.ends_well(tokenizer, story) for story in stories] == [True, False, None]
    assert assistant.share(tokenizer, stories) == pytest.approx(100 / 3)


def test_pairs_stand_in_halves_and_only_stories_are_scored():
    batch = assistant.preference_rows([([5, 6], [7]), ([8], [9])], eos_id=0)
    assert batch["ids"].tolist() == [[0, 5, 6, 0], [0, 8, 0, 0], [0, 7, 0, 0], [0, 9, 0, 0]]
    no = IGNORE
    assert batch["targets"].tolist() == [
        [5, 6, 0, no],
        [8, 0, no, no],
        [7, 0, no, no],
        [9, 0, no, no],
    ]


def test_preference_starts_undecided_and_learns_which_story_is_better():
    policy = GPT(gpt_tiny(11, 16), generator=torch.Generator().manual_seed(0))
    preference = assistant.Preference(policy)
    pairs = [([3, 4], [5, 6]), ([3, 7], [5, 8])]
    batch = assistant.preference_rows(pairs, 0)
    assert float(preference(**batch)[1].detach()) == pytest.approx(math.log(2), abs=1e-6)
    reference = preference.reference.embedding.weight.clone()
    assistant.tune(preference, pairs, lambda rows: assistant.preference_rows(rows, 0), 10, "cpu")
    loss, leans = preference.margins(**batch)
    assert leans.all()
    assert float(loss.detach()) < math.log(2)
    assert torch.equal(preference.reference.embedding.weight, reference)


def test_reward_learns_which_story_is_better_and_ignores_the_padding():
    reward = assistant.Reward(GPT(gpt_tiny(11, 16), generator=torch.Generator().manual_seed(0)))
    pairs = [([3, 4], [5, 6, 9]), ([3, 7, 9], [5, 8])]
    batch = assistant.preference_rows(pairs, 0)
    assistant.tune(reward, pairs, lambda rows: assistant.preference_rows(rows, 0), 20, "cpu")
    is_right, loss = reward(**batch)
    assert is_right.all() and float(loss.detach()) < math.log(2)
    alone = assistant.reply_rows([([0], [3, 4])], 0)
    expected = reward.rewards(**batch)[:1]
    torch.testing.assert_close(reward.rewards(**alone), expected, rtol=1e-4, atol=1e-5)


def test_best_of_keeps_one_of_each_group():
    stories = [[number] for number in range(7)]
    assert assistant.best_of(stories, [1, 5, 2, 9, 0, 3, 8], 3) == [[1], [3]]


def test_sampled_stories_have_an_end(tokenizer):
    model = GPT(gpt_tiny(tokenizer.vocab_size, 192), generator=torch.Generator().manual_seed(0))
    stories = assistant.sample_stories(model, tokenizer.eos_id, 9, seed=1, device="cpu")
    assert all(tokenizer.eos_id not in story for story in stories)


def test_instructions_are_told_before_and_after(checkpoints, tmp_path, monkeypatch):
    (tmp_path / "instructions").mkdir()
    item = '{"instruction": "say", "input": "", "output": "aaaa"}'
    file = tmp_path / "instructions" / "instruction-data.json"
    file.write_text(f"[{', '.join([item] * 40)}]")
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    monkeypatch.setattr(assistant, "N_HELD_OUT", 4)
    model = Pretrained(checkpoints["gpt"])
    found = assistant.instructions(model, Namespace(device="cpu", n_epochs=4))
    assert found["loss on replies"] < found["before"]
    assert set(found) == {"before", "loss on all tokens", "loss on replies"}
