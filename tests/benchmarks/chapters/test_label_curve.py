"""The label curve: its floor by hand, its search for a rate."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchmarks.chapters import film_labels, film_pretraining, label_curve, published_labels
from benchmarks.chapters.label_curve import fit_head, naive_bayes, terms_of, trained
from course_pkg.text.corpora.labelled_data import Labelled

RECORDED = Path(label_curve.__file__).parents[2] / "course_pkg" / "results" / "benchmarks"
TOY = [Labelled("who was he", "P"), Labelled("where is it", "L"), Labelled("who is it", "P")]


def task() -> SimpleNamespace:
    labels = ("L", "P")
    return SimpleNamespace(
        labels=labels,
        n_epochs={25: 1},
        valid=["valid"],
        test=["test"],
        targets=lambda records: [labels.index(r.label) for r in records],
        read=lambda model, records: records,
        drawn=lambda n_labels, seed: TOY,
    )


def test_terms_are_words_and_pairs_of_neighbours():
    assert terms_of("Who was he", 1) == ["who", "was", "he"]
    assert terms_of("Who was he", 2) == ["who", "was", "he", "who was", "was he"]


def test_naive_bayes_counts_words_and_leaves_out_unknown_ones():
    asked = [Labelled("who xyz", "P"), Labelled("where", "L"), Labelled("xyz", "P")]
    assert naive_bayes(task(), TOY, asked, 1, 1.0) == 100
    # the tie of an unknown word is decided by the prior, which favours P
    assert naive_bayes(task(), TOY, [Labelled("xyz", "L")], 1, 1.0) == 0


def test_head_is_at_its_optimum():
    generator = torch.Generator().manual_seed(0)
    inputs, targets = torch.randn(20, 5, generator=generator), torch.arange(20) % 3
    head = fit_head(inputs, targets, 3, 0.1)
    loss = torch.nn.functional.cross_entropy(head(inputs), targets)
    (gradient,) = torch.autograd.grad(loss + 0.1 * head.weight.square().sum(), head.weight)
    assert gradient.abs().max() < 1e-3  # float32, a line search that stops


@pytest.mark.parametrize("best", [2, 7])
def test_rate_is_found_by_moving_outwards(monkeypatch, best):
    made = []

    class Classifier(torch.nn.Linear):
        def __init__(self, *_, **__):
            super().__init__(1, 1)

    def fine_tune(model, readings, *, n_epochs, lr, seed, batch_size):
        model.place = label_curve.RATES.index(lr)
        made.append((model.place, seed))

    def predict(model, asked):
        return [model.place]

    monkeypatch.setattr(label_curve, "TextClassifier", Classifier)
    monkeypatch.setattr(label_curve, "fine_tune", fine_tune)
    monkeypatch.setattr(label_curve, "predict", predict)
    monkeypatch.setattr(label_curve, "accuracy", lambda guess, _: -abs(guess[0] - best) / 100)
    toy = task()
    toy.targets = lambda records: records
    model = SimpleNamespace(copy=lambda **_: torch.nn.Linear(1, 1))
    found = trained(toy, model, "full", 25, 4)
    assert found["setting"]["lr"] == label_curve.RATES[best]
    assert {best - 1, best, best + 1} <= {place for place, seed in made if seed == 0}
    assert [pair for pair in made if pair[1]] == [(best, 1), (best, 2)]


def test_record_with_other_epochs_is_not_gone_on_with(tmp_path, capsys):
    begun = tmp_path / "label_curve.json"
    whole = json.loads((RECORDED / "label_curve.json").read_text())
    begun.write_text(json.dumps(whole | {"n_epochs": {"25": 7}}))
    with pytest.raises(SystemExit):
        label_curve.main(["--record", str(begun)])
    assert "with n_epochs {'25': 7}; it must be {'25': 30, '100'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "benchmark", [label_curve, film_labels, film_pretraining, published_labels]
)
def test_arms_that_can_be_asked_for_are_those_of_the_record(benchmark):
    """`--only` refuses others, so a name that is missing here could not be measured by itself."""
    name = benchmark.__name__.rpartition(".")[2]
    whole = json.loads((RECORDED / f"{name}.json").read_text())
    assert set(benchmark.ARMS) == set(whole["arms"])
