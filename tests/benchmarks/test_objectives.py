"""What is hidden, paired and taught in the comparison of objectives."""

import pytest
import torch

from benchmarks import objectives
from benchmarks.objectives import Stories, Student, collate_pairs, new_model
from course_pkg.models import IGNORE
from course_pkg.models.bert import bert_tiny
from course_pkg.training.objectives import distillation_loss


@pytest.fixture(scope="module")
def stories():
    return Stories(60, 12)


def test_whole_words_are_hidden_with_all_their_pieces(stories):
    rows = torch.tensor([stories.train[0]])
    chosen = stories.choose("words", rows, torch.Generator().manual_seed(4))[0]
    starts = stories.starts_word[rows[0]]
    assert 0 < int(chosen.sum()) < len(chosen)
    assert int((~starts).sum()) > 5  # words do have several pieces
    inside = ~starts[1:]
    assert torch.equal(chosen[1:][inside], chosen[:-1][inside])


@pytest.mark.parametrize("rule", objectives.RULES)
def test_masked_batch_hides_a_share_and_asks_for_nothing_else(stories, rule):
    batch = stories.masked(rule, stories.train, torch.Generator().manual_seed(1))
    is_target = batch["targets"] != IGNORE
    assert not is_target[~batch["mask"]].any()
    # some 4,000 pieces; words and spans vary in length, so the share wanders
    assert float(is_target[batch["mask"]].float().mean()) == pytest.approx(0.15, abs=0.03)
    kept = ~is_target & batch["mask"]
    plain = stories.masked(rule, stories.train, torch.Generator().manual_seed(2))
    both = kept & (plain["targets"] == IGNORE)
    assert torch.equal(batch["ids"][both], plain["ids"][both])


def test_half_of_the_pairs_follow_each_other(stories):
    pairs = stories.paired(stories.train_sentences, seed=1)
    batch = collate_pairs(pairs)
    assert float(batch["targets"].float().mean()) == pytest.approx(0.5, abs=0.1)
    ids, segments, _ = pairs[0]
    assert ids.count(stories.special_ids["[SEP]"]) == 2
    assert segments.count(1) == len(ids) - 1 - ids.index(stories.special_ids["[SEP]"])


def test_student_learns_from_text_and_teacher_and_leaves_the_teacher_alone(stories):
    config = bert_tiny(stories.tokenizer.vocab_size, objectives.CONTEXT)
    model, teacher = new_model(config), new_model(config)
    torch.nn.init.normal_(teacher.embedding.weight)
    student = Student(model, teacher).train()
    batch = stories.masked("pieces", stories.train[:3], torch.Generator().manual_seed(1))
    logits, loss = student(**batch)
    hard = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), batch["targets"].flatten(), ignore_index=IGNORE
    )
    guesses = teacher(batch["ids"], mask=batch["mask"]).logits
    soft = distillation_loss(logits, guesses, batch["targets"])
    torch.testing.assert_close(loss, (hard + soft) / 2)
    loss.backward()
    assert all(p.grad is None for p in teacher.parameters())
    assert model.embedding.weight.grad is not None


def test_every_comparison_is_reported(stories, capsys):
    objectives.main(["--n-steps", "2"], load=lambda: stories)
    out = capsys.readouterr().out
    assert out.count("trained on hidden") == 9
    for row in ("one block for all", "with a teacher", "does the second sentence follow"):
        assert row in out
