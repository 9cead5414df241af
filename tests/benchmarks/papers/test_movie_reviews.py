"""Naive Bayes by hand, and each way to adapt a checkpoint on a toy task."""

from argparse import Namespace

import pytest
import torch

from benchmarks.chapters import backbones
from benchmarks.chapters.backbones import Pretrained, Reading
from benchmarks.papers import movie_reviews
from course_pkg.models.adaptation import TextClassifier
from course_pkg.text.corpora.labelled_data import Labelled

TOY = [
    Labelled("good good film", "positive"),
    Labelled("good song", "positive"),
    Labelled("bad film", "negative"),
]


def test_naive_bayes_matches_a_case_worked_by_hand():
    # Positive: good 2, film 1, song 1 (once a text); negative: bad 1, film 1; four words; alpha 1.
    # "film song": positive 2/3 * 2/8 * 2/8, negative 1/3 * 2/6 * 1/6: positive by 0.042 to 0.019.
    # "bad": positive 2/3 * 1/8 = 0.083, negative 1/3 * 2/6 = 0.111.
    assert movie_reviews.naive_bayes(TOY, ["film song", "bad"]) == ["positive", "negative"]
    # With hardly any smoothing a word never seen with a label rules this label out.
    assert movie_reviews.naive_bayes(TOY, ["good good bad bad"], alpha=1e-9) == ["positive"]


def test_features_count_no_word_twice():
    found = movie_reviews.features("good good film", 2)
    assert found == {("good",), ("film",), ("good", "good"), ("good", "film")}


@pytest.mark.shared_data
def test_naive_bayes_on_ten_folds_matches_published(shared_data, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(shared_data))
    data = movie_reviews.Data.load("mr")
    records = data.train + data.test
    assert len(records) == 10_662
    # Wang and Manning 2012: 77.9; other folds give other tenths.
    assert movie_reviews.ten_fold(records, 1) == pytest.approx(77.9, abs=0.6)


def toy_data():
    generator = torch.Generator().manual_seed(2)
    records = []
    for _ in range(96):
        label = int(torch.randint(2, (), generator=generator))
        filler = "xyz"[int(torch.randint(3, (), generator=generator))] * 3
        records.append(Labelled(f"{filler} {'good' if label else 'bad'}", ("no", "yes")[label]))
    return movie_reviews.Data("toy", records[:64], records[64:], ("no", "yes"))


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_every_method_is_compared_with_naive_bayes(kind, checkpoints):
    model = Pretrained(checkpoints[kind])
    rows = movie_reviews.compare(toy_data(), [model], Namespace(device="cpu", n_epochs=1))
    found = {row["model"].split(", ")[-1]: row for row in rows}
    assert set(found) == {"single words", *movie_reviews.METHODS}
    assert found["single words"]["accuracy"] == 100
    assert found["linear probe"]["accuracy"] == 100  # a toy that a byte decides
    assert found["linear probe"]["n_trained"] == 2 * 64 + 2
    assert found["LoRA"]["n_trained"] == 2 * 64 + 2 + 2 * 2 * 8 * 128
    assert found["full fine-tuning"]["n_trained"] > 100_000
    # float32, weights and thin layers summed in another order
    assert found["LoRA"]["merging_changes"] < 1e-3
    for row in rows[1:]:
        interval = row["above_naive_bayes"]
        assert interval["difference"] == pytest.approx(row["accuracy"] / 100 - 1)
        assert "to naive Bayes" in movie_reviews.line(row).source


def test_copy_has_the_weights_of_the_checkpoint_or_none_of_them(checkpoints):
    model = Pretrained(checkpoints["bert"])
    same, other = model.copy().embedding.weight, model.copy(is_pretrained=False).embedding.weight
    assert torch.equal(same, model.model.embedding.weight)
    assert not torch.equal(other, same)
    assert model.copy().embedding.weight is not same


def test_checkpoint_reads_texts_as_it_was_pretrained(checkpoints):
    gpt, bert = Pretrained(checkpoints["gpt"]), Pretrained(checkpoints["bert"])
    assert gpt.read("ab") == [gpt.eos_id, 97, 98]
    assert bert.read("ab") == [bert.special_ids["[CLS]"], 97, 98, bert.special_ids["[SEP]"]]
    assert len(gpt.read("a" * 99)) == len(bert.read("a" * 99)) == 64
    assert bert.read("a" * 99)[-1] == bert.special_ids["[SEP]"]


def test_probe_finds_the_minimum_of_its_loss(checkpoints):
    model = Pretrained(checkpoints["gpt"])
    readings = [Reading(model.read(text), y) for text, y in (("a", 0), ("b", 1), ("cc", 1))]
    classifier = TextClassifier(model.copy(), 2, is_frozen=True)
    backbones.fit_probe(classifier, readings, penalty=0.1)
    inputs = backbones.vectors(classifier, readings)
    loss = torch.nn.functional.cross_entropy(classifier.output(inputs), torch.tensor([0, 1, 1]))
    loss = loss + 0.1 * classifier.output.weight.square().sum()
    gradient = torch.autograd.grad(loss, [*classifier.output.parameters()])
    assert max(float(g.abs().max()) for g in gradient) < 1e-3  # L-BFGS in float32
