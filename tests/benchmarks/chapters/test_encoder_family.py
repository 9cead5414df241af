"""Ways to train an encoder: each trains, each is asked what it can be, records go on."""

import json

import pytest
import torch
from torch import nn

from benchmarks.chapters import encoder_family
from benchmarks.chapters.encoder_family import (
    ARMS,
    RATES,
    PairLoss,
    Words,
    best_rate,
    detected,
    in_halves,
    last_in_order,
    masked_once,
    new_model,
    wrong_words,
)
from course_pkg.models import IGNORE, CountsTargets


@pytest.fixture(scope="module")
def words():
    return Words(60, 8, 12)


def test_record_holds_every_arm_and_is_gone_on_with(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(encoder_family, "SEEDS", (0,))
    monkeypatch.setattr(
        encoder_family, "best_rate", lambda loss_at: (RATES[1], {"0.1": loss_at(RATES[1])})
    )
    file = tmp_path / "record.json"
    options = ["--n-steps", "1", "--record", str(file)]
    arms = ["untrained", "BERT", "static", "SpanBERT", "DistilBERT", "XLNet", "ELECTRA", "SOP"]
    only = [word for name in arms for word in ("--only", name)]
    encoder_family.main([*only[:4], *options], load=lambda: words)
    encoder_family.main([*only, *options], load=lambda: words)
    recorded = json.loads(file.read_text(encoding="utf-8"))
    assert recorded["arms"].keys() == set(arms)
    assert capsys.readouterr().out.count("\nBERT ") == 1  # the second time it is there
    with pytest.raises(SystemExit):
        encoder_family.main(["--n-steps", "2", "--record", str(file)], load=lambda: words)
    assert "was begun with n_steps 1; it must be 2 to go on" in capsys.readouterr().err
    for name in arms[1:]:
        arm, found = ARMS[name], recorded["arms"][name]
        assert found["n_steps"] == round(arm.patience)
        assert len(found["wrong"]) == 1 and set(arm.asked) - {"pairs"} <= found.keys()


@pytest.mark.parametrize("asks_pairs", [True, False])
def test_parts_of_a_loss_with_pairs_are_counted(words, asks_pairs):
    """Micro-batches in which padding and masks fall unevenly weigh as one large batch does."""
    arm = ARMS["NSP"]
    batch = {k: v[:4] for k, v in arm.batches(words, "train", 0).next_batch().items()}
    whole = PairLoss(new_model(words, arm, torch.Generator().manual_seed(0)), asks_pairs=asks_pairs)
    own = whole(**batch)
    counts = whole.n_targets(batch)
    assert counts == (int((batch["targets"] != IGNORE).sum()), 4 if asks_pairs else 0)
    parts = [{k: v[rows] for k, v in batch.items()} for rows in (slice(0, 1), slice(1, 4))]
    shares = [
        torch.tensor(whole.n_targets(part)) / torch.tensor(counts).clamp(min=1) for part in parts
    ]
    found = sum((whole(**part).losses * n).sum() for part, n in zip(parts, shares, strict=True))
    # 1e-5: float32, summed in another order
    torch.testing.assert_close(found, own.loss, rtol=0, atol=1e-5)
    assert isinstance(whole, CountsTargets)


def test_rate_has_a_worse_one_on_either_side():
    rate, tried = best_rate(lambda lr: abs(lr - RATES[1]))
    assert rate == RATES[1] and {float(r) for r in tried} == set(RATES[:4])


def test_a_model_that_knows_all_is_always_right_and_one_that_says_no_is_half(words):
    class Knowing:
        """Restores what stands there when nothing is masked: its vectors are the ids."""

        def __call__(self, ids, ranks, targets):
            return nn.functional.one_hot(ids), None

        def masked_lm(self, ids, targets):
            n, size = int((targets != IGNORE).sum()), words.tokenizer.vocab_size
            return torch.zeros(n, size), None

        def detect(self, ids):
            return torch.full(ids.shape, -1.0)

    assert last_in_order(Knowing(), words.orders("test", 0)) == 100.0
    assert detected(Knowing(), words.windows("test", 0)) == 50.0


def test_wrong_words_are_found_by_vectors_that_show_them(words):
    true = {}
    for batch in words.windows("test", 0, shares=(0.0, 1.0)):
        true[batch["ids"].numpy().tobytes()] = batch["targets"]

    class Showing:
        def encode(self, ids):
            targets = true[ids.numpy().tobytes()]
            return ((targets != IGNORE) & (targets != ids)).float()[..., None]

    class Blind:
        def encode(self, ids):
            return torch.ones(*ids.shape, 1)

    assert wrong_words(words, Showing()) == 100.0
    assert wrong_words(words, Blind()) == 50.0


def test_masked_once_masks_the_same_in_every_epoch(words):
    batches = masked_once(words.windows("few", 0))
    epochs = [
        {tuple(row) for _ in range(len(batches)) for row in batches.next_batch()["ids"].tolist()}
        for _ in range(2)
    ]
    assert epochs[0] == epochs[1]


def test_halves_of_a_story_are_the_story(words):
    for story in words.documents["test"]:
        first, second = in_halves(story, words.stop)
        assert first + second == story and first and second


@pytest.mark.parametrize("question", ["NSP", "SOP"])
def test_pairs_are_as_the_question_says(words, question):
    cut = [in_halves(story, words.stop) for story in words.documents["train"]]
    pairs = words.halves("train", 1, question)
    assert {pair.is_next for pair in pairs} == {True, False}
    for pair, (first, second) in zip(pairs, cut, strict=True):
        if pair.is_next:
            assert (pair.first, pair.second) == (first, second)
        elif question == "SOP":
            assert (pair.first, pair.second) == (second, first)
        else:
            assert pair.first == first and pair.second in [half for _, half in cut]
