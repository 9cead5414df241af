"""Labels of TREC and RTE: how pairs are read, what chooses, and the record."""

from types import SimpleNamespace

import torch

from benchmarks.chapters import task_labels
from course_pkg.results import benchmark
from course_pkg.text.corpora.labelled_data import Labelled


def test_a_text_is_read_as_the_model_knows_it_and_a_pair_with_its_two_sides():
    model = SimpleNamespace(
        special_ids={"[CLS]": 1, "[SEP]": 2},
        context_length=8,
        encode=lambda text: [int(word) for word in text.split()],
        read=lambda text: [1, *map(int, text.split()), 2],
    )
    task = SimpleNamespace(targets=lambda records: [5 for _ in records])
    records = [Labelled("7 8", "a"), Labelled("7 8", "a", "9"), Labelled("3 4 5 6 7", "a", "8 9")]
    alone, pair, cut = task_labels.readings(model, task, records)
    assert (alone.ids, alone.segments, alone.target) == ([1, 7, 8, 2], None, 5)
    assert (pair.ids, pair.segments) == ([1, 7, 8, 2, 9, 2], [0, 0, 0, 0, 1, 1])
    assert cut.ids == [1, 3, 4, 5, 2, 8, 9, 2]  # the longer text loses its end


def test_words_of_both_texts_of_a_pair_are_counted(monkeypatch):
    monkeypatch.setattr(task_labels, "drawn", lambda task: task.test)
    rows = [Labelled("the same", label, word) for label, word in (("F", "no"), ("T", "yes"))] * 4
    task = SimpleNamespace(
        labels=("F", "T"),
        valid=rows,
        test=rows,
        drawn=lambda n_labels, seed: rows[:n_labels],
        targets=lambda records: ["FT".index(record.label) for record in records],
    )
    found = task_labels.counting(task, 4)
    assert found["drawn_accuracy"] == [100.0] * 5  # only the second text tells


def test_validation_chooses_and_the_test_does_not():
    says = {("a", "valid"): 60.0, ("b", "valid"): 70.0, ("a", "drawn"): 99.0, ("b", "drawn"): 50.0}
    found = task_labels.chosen(("a", "b"), lambda setting, seed, part: says[setting, part], "k")
    assert found == {"setting": {"k": "b"}, "drawn_accuracy": [50.0] * 5}


def test_the_better_rate_of_the_first_seed_is_every_seeds(monkeypatch):
    trained = []

    def fine_tune(classifier, examples, *, n_epochs, lr, seed):
        trained.append((lr, seed, n_epochs))
        classifier.lr = lr

    def classifier(backbone, n_labels, **_):
        return SimpleNamespace(lr=None)

    monkeypatch.setattr(task_labels, "fine_tune", fine_tune)
    monkeypatch.setattr(task_labels, "TextClassifier", classifier)
    monkeypatch.setattr(task_labels, "readings", lambda model, task, records: records)
    monkeypatch.setattr(task_labels, "drawn", lambda task: [1, 1, 1, 1])
    monkeypatch.setattr(task_labels, "predict", lambda made, asked: [int(made.lr == 3e-4)] * 4)
    task = SimpleNamespace(
        labels=("F", "T"),
        valid=[1, 1, 1, 1],
        targets=lambda records: records,
        drawn=lambda n_labels, seed: [seed],
    )
    model = SimpleNamespace(copy=lambda **_: torch.nn.Linear(1, 1))
    found = task_labels.trained(task, model, "MiniLM, full", 20)
    assert found["setting"] == {"lr": 3e-4} and found["drawn_accuracy"] == [100.0] * 5
    assert found["valid_accuracy_by_rate"] == {"0.0001": 0.0, "0.0003": 100.0}
    assert [(lr, seed) for lr, seed, _ in trained] == [(1e-4, 0), *((3e-4, s) for s in range(5))]


def test_the_record_has_five_draws_of_every_arm_and_the_better_rate():
    record = benchmark("task_labels")
    known = {f"{name}: {arm}" for name, arm in task_labels.ARMS}
    assert record["arms"].keys() == known
    for runs in record["arms"].values():
        assert set(runs) == {str(n) for n in task_labels.N_LABELS}
        for result in runs.values():
            assert len(result["drawn_accuracy"]) == len(record["seeds"]) == 5
            if "lr" in result["setting"]:
                rates = result["valid_accuracy_by_rate"]
                assert rates[f"{result['setting']['lr']:g}"] == max(rates.values())
