"""Film reviews after their own text: what is chosen where, and what the record holds."""

from types import SimpleNamespace

import pytest
import torch

from benchmarks.chapters import film_pretraining as films
from benchmarks.chapters.backbones import Reading
from benchmarks.records import Recording, command_line
from benchmarks.weights.pretrain import hidden_tokens
from course_pkg.results import benchmark
from course_pkg.text.corpora.labelled_data import Labelled
from course_pkg.weights.model_folders import load_model, save_model
from course_pkg.weights.pretrained import load_pretrained

LABELS = ("bad", "good")


def task(n=12):
    """Texts that are numbers; odd ones are good."""
    records = [Labelled(str(i), LABELS[i % 2]) for i in range(n)]
    return SimpleNamespace(
        labels=LABELS,
        n_epochs={20: 1},
        valid=records[:4],
        test=records[4:],
        drawn=lambda n_labels, seed: records[seed : seed + n_labels],
        read=lambda _, some: [Reading([int(r.text)], LABELS.index(r.label)) for r in some],
    )


def test_rate_is_chosen_on_validation_text_by_the_first_seed_and_all_seeds_report(monkeypatch):
    asked = []

    def fine_tuned(model, readings, n_classes, n_epochs, lr, seed, *, is_pretrained):
        asked.append((lr, seed))
        return lr, seed

    def percent_right(made, readings):
        lr, seed = made
        is_valid = len(readings) == 4
        return {1e-4: 50.0, 3e-4: 70.0, 1e-3: 60.0}[lr] + seed + (0 if is_valid else lr * 1e4)

    monkeypatch.setattr(films, "fine_tuned", fine_tuned)
    monkeypatch.setattr(films, "percent_right", percent_right)
    found = films.few_labels(task(), None, 20, is_pretrained=True)
    assert found["setting"] == {"lr": 3e-4}
    assert found["valid_accuracy"] == [70.0, 71.0, 72.0, 73.0, 74.0]
    assert found["test_accuracy"] == [73.0, 74.0, 75.0, 76.0, 77.0]
    assert asked == [(lr, 0) for lr in films.RATES] + [(3e-4, seed) for seed in (1, 2, 3, 4)]


def test_ten_folds_share_nothing_and_cover_everything(monkeypatch):
    records = task(100)
    everything = records.valid + records.test
    fake = SimpleNamespace(labels=LABELS, train=everything, valid=[], test=[])
    monkeypatch.setattr(films, "load_task", lambda *_, **__: fake)
    asked = []

    def fine_tuned(model, readings, n_classes, n_epochs, lr, seed):
        return {reading.ids[0] for reading in readings}

    def percent_right(made, readings):
        test = {reading.ids[0] for reading in readings}
        assert len(made) == 90 and not made & test
        asked.extend(test)
        return 50.0

    monkeypatch.setattr(films, "fine_tuned", fine_tuned)
    monkeypatch.setattr(films, "percent_right", percent_right)
    model = SimpleNamespace(read=lambda text: [int(text)])
    assert films.ten_folds(model, 1e-3)["test_accuracy"] == [50.0] * films.N_FOLDS
    assert sorted(asked) == list(range(100))


def test_text_is_read_once_for_a_record_and_restored_better_after_it(monkeypatch, tmp_path):
    monkeypatch.setattr(films, "N_UPDATES", 5)
    texts = ["a slow film with a warm heart ."] * 40
    records = [Labelled(text, "good") for text in texts]
    parser = command_line("", films.__file__)
    recording = Recording(parser, [])
    texts_of = SimpleNamespace(train=records, valid=records[:9])
    films.films_read(texts_of, recording, tmp_path / "run")
    about = recording.content["pretraining"]
    assert about["nats_after"] < about["nats_before"] and about["n_updates"] == 5
    after, before = load_model(tmp_path / "run"), load_pretrained("bert-small")
    ids = torch.tensor(before.tokenizer.encode(texts[0]) * 9)
    first, second = (hidden_tokens(model, ids, 0.3)[0] for model in (before, after))
    assert second < first
    save_model(
        tmp_path / "run", before.model, before.tokenizer, kind="bert",
        structure=vars(before.model.config), card="",
    )  # fmt: skip
    again = films.films_read(
        SimpleNamespace(train=records, valid=records), recording, tmp_path / "run"
    )
    assert again.name == "run"
    kept = SimpleNamespace(model=again.model, tokenizer=before.tokenizer)
    assert hidden_tokens(kept, ids, 0.3)[0] == pytest.approx(first)  # nothing was trained anew


def test_record_has_every_arm_with_five_seeds():
    record = benchmark("film_pretraining")
    assert record["seeds"] == list(films.SEEDS)
    assert record["n_epochs"] == {str(n): k for n, k in films.N_EPOCHS.items()}
    assert record["pretraining"]["nats_after"] < record["pretraining"]["nats_before"]
    for arm in ("naive Bayes", "films read", "bert-small", "scratch"):
        runs = record["arms"][arm]
        has_all = arm in ("naive Bayes", "films read")
        assert [*runs] == [str(n) for n in films.N_EPOCHS][: None if has_all else -1]
        assert all(len(run["test_accuracy"]) == 5 for run in runs.values())
    for arm in ("naive Bayes", "films read", "scratch"):
        (n_phrases, run), *more = record["arms"][f"phrases: {arm}"].items()
        assert not more and int(n_phrases) in films.PHRASES
        assert len(run["valid_accuracy"]) == len(run["test_accuracy"]) == 5
    assert len(record["arms"]["MR, ten-fold: films read"]["10662"]["test_accuracy"]) == 10
