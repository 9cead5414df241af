"""The recorded translations: whose they are, and what stands in the record."""

import json

import pytest

from benchmarks.chapters import translated_sentences
from benchmarks.chapters.translated_sentences import CONTROL, MODEL, N_SHOWN, looked_at
from benchmarks.papers.multi30k import Setting, Translations, baselines
from course_pkg.results import benchmark
from course_pkg.text.corpora.labelled_data import Parallel, Task
from course_pkg.text.stories.translation import sample_translations
from course_pkg.text.tokenizers import UNK

TINY = Setting(8, 12, 1, 0.0, d_model=16, n_blocks=1, n_epochs=1, batch_size=32)


@pytest.fixture(scope="module")
def task() -> Task:
    """English and an invented language in the places of Multi30k's English and German."""
    pairs = [
        Parallel(" ".join(pair.source), " ".join(pair.target))
        for pair in sample_translations(100, seed=4)
    ]
    return Task("toy", "here", "none", "pairs", pairs[:80], pairs[80:90], pairs[90:])


def test_every_word_written_has_weights_over_the_source(task):
    data = Translations.of(task)
    model = baselines(TINY, data)[MODEL]().eval()
    weights = looked_at(model, [5, 6, 7], [3, 4])
    assert len(weights) == 2
    assert all(len(row) == 3 and sum(row) == pytest.approx(1, abs=0.01) for row in weights)


def test_record_holds_the_first_sentences_of_the_test(task, tmp_path, monkeypatch):
    monkeypatch.setattr(translated_sentences, "LONGER", TINY)
    monkeypatch.setattr(translated_sentences, "load_task", lambda *_, **__: task)
    record = tmp_path / "translated_sentences.json"
    translated_sentences.main(["--record", str(record)])
    found = json.loads(record.read_text())
    assert found["n"]["test"] == len(task.test)
    assert found["models"][MODEL]["n_parameters"] > found["models"][CONTROL]["n_parameters"]
    assert [s["reference"] for s in found["sentences"]] == [p.source for p in task.test[:N_SHOWN]]
    for sentence in found["sentences"]:
        assert len(sentence["weights"]) == len(sentence["written"])
        said = sentence["as_it_was"].lower().split()
        assert all(a in (b, UNK) for a, b in zip(sentence["source"], said, strict=True))


def test_each_recorded_word_has_its_weights_over_the_source():
    record = benchmark("translated_sentences")
    assert len(record["sentences"]) == N_SHOWN
    for sentence in record["sentences"]:
        shape = {(len(sentence["written"]), len(sentence["source"]))}
        assert {(len(sentence["weights"]), len(row)) for row in sentence["weights"]} == shape
