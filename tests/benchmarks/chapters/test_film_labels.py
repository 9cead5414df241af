"""Film reviews by number of labels: folds share nothing, and the record is of the settings here."""

from types import SimpleNamespace

import pytest
import torch

from benchmarks.chapters import film_labels
from course_pkg.results import benchmark
from course_pkg.text.corpora.labelled_data import Labelled


@pytest.mark.parametrize(("spread", "expected"), [(0.0, 100.0), (1e3, 50.0)])
def test_folds_find_what_the_vectors_say_and_no_more(monkeypatch, spread, expected):
    labels = ("bad", "good")
    records = [Labelled(str(n), labels[n % 2]) for n in range(200)]
    noise = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    said = torch.arange(200).remainder(2).unsqueeze(1) + spread * noise
    monkeypatch.setattr(film_labels, "TextClassifier", lambda *_, **__: None)
    monkeypatch.setattr(film_labels, "vectors", lambda *_: said)
    model = SimpleNamespace(copy=lambda: None, read=lambda text: [int(text)])
    found = film_labels.folds(model, records, labels)
    assert len(found) == film_labels.N_FOLDS
    assert sum(found) / len(found) == pytest.approx(expected, abs=12 * (spread > 0))


def test_record_has_every_arm_and_no_better_rate_beside_the_chosen():
    record = benchmark("film_labels")
    assert record["n_epochs"] == {str(n): k for n, k in film_labels.N_EPOCHS.items()}
    for arm in ("naive Bayes", "frozen, minilm", "frozen, bert-small"):
        assert [*record["arms"][arm]] == [str(n) for n in film_labels.N_LABELS]
    for name in film_labels.MODELS:
        run = record["arms"][f"full, {name}"]["500"]
        rates = run["valid_accuracy_by_rate"]
        assert len(run["test_accuracy"]) == 3
        assert f"{run['setting']['lr']:.1g}" in [*rates][1:-1]
        assert rates[f"{run['setting']['lr']:.1g}"] == max(rates.values())
