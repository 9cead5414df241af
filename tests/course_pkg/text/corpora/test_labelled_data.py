"""Labelled, parallel and tagged data: files, hub rows, published counts."""

import gzip
import sys
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from course_pkg.text.corpora import labelled_data as labelled
from course_pkg.text.corpora.labelled_data import (
    Labelled,
    Parallel,
    Tagged,
    capital_letters,
    list_tasks,
    load_task,
    read_conllu,
)
from course_pkg.text.corpora.sources import SourceUnavailableError


@pytest.fixture(autouse=True)
def no_local_folder(monkeypatch):
    monkeypatch.delenv("COURSE_DATA", raising=False)


@pytest.fixture
def any_text(monkeypatch):
    """Let small fixtures stand for the published data."""
    for name, entry in labelled.TASKS.entries.items():
        monkeypatch.setitem(labelled.TASKS.entries, name, replace(entry, check=None))


def write(folder, files: dict[str, str], encoding: str = "utf-8") -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(text.encode(encoding))


def install_hub(monkeypatch, rows: dict) -> list:
    """Put a stand-in for the `datasets` library; return the list of what it is asked for."""
    asked = []

    def load_dataset(path, config, split):
        asked.append((path, config, split))
        return rows[split]

    errors = SimpleNamespace(DatasetsError=type("DatasetsError", (Exception,), {}))
    stub = SimpleNamespace(load_dataset=load_dataset, exceptions=errors)
    monkeypatch.setitem(sys.modules, "datasets", stub)
    return asked


def test_sst2_reads_either_heading_line_ends_and_hidden_labels(tmp_path, any_text):
    files = {
        "sst2/glue_train.tsv": "label\tsentence\r\n1\ta fine film \r\n0\tdull\u2028so dull\r\n",
        "sst2/glue_dev.tsv": "label\tcontent\n1\tgood\n",
        "sst2/glue_test.tsv": "label\tcontent\n-1\twho knows\n",
    }
    write(tmp_path, files)
    task = load_task("sst2", folder=tmp_path)
    # a line separator inside a sentence does not end it
    assert task.train == [
        Labelled("a fine film", "positive"),
        Labelled("dull\u2028so dull", "negative"),
    ]
    assert task.test == [Labelled("who knows", None)]
    assert task.labels == ("negative", "positive")
    assert task.source == "local: sst2/glue_*.tsv"


def test_hub_rows_give_the_same_records_as_files(tmp_path, any_text, monkeypatch):
    table = "idx\tlabel\tsentence1\tsentence2\n0\t{}\tA dog runs.\tAn animal runs.\n"
    files = {"train": "entailment", "dev": "not_entailment", "test": "-"}
    write(tmp_path, {f"rte/{split}.tsv": table.format(label) for split, label in files.items()})
    local = load_task("rte", folder=tmp_path)
    row = {"sentence1": "A dog runs. ", "sentence2": "An animal runs."}
    asked = install_hub(
        monkeypatch,
        {
            "train": [{**row, "label": 0}],
            "validation": [{**row, "label": 1}],
            "test": [{**row, "label": -1}],
        },
    )
    online = load_task("rte", source="hub")
    assert (online.train, online.valid, online.test) == (local.train, local.valid, local.test)
    assert online.source == "hub: nyu-mll/glue"
    assert asked == [("nyu-mll/glue", "rte", s) for s in ("train", "validation", "test")]


def test_mnli_takes_matched_for_validation_and_mismatched_for_test(any_text, monkeypatch):
    rows = {
        split: [{"premise": split, "hypothesis": "x", "label": 2}]
        for split in ("train", "validation_matched", "validation_mismatched")
    }
    install_hub(monkeypatch, rows)
    task = load_task("mnli")
    assert task.valid == [Labelled("validation_matched", "contradiction", "x")]
    assert task.test[0].text == "validation_mismatched"


def test_snli_leaves_out_pairs_without_agreement(any_text, monkeypatch):
    rows = [{"premise": "p", "hypothesis": "h", "label": label} for label in (-1, 1)]
    install_hub(monkeypatch, dict.fromkeys(("train", "validation", "test"), rows))
    assert load_task("snli").train == [Labelled("p", "neutral", "h")]


def test_published_counts_are_required_of_the_hub(monkeypatch):
    rows = [{"premise": "p", "hypothesis": "h", "label": 1}]
    install_hub(monkeypatch, dict.fromkeys(("train", "validation", "test"), rows))
    with pytest.raises(ValueError, match=r"'snli' from source 'hub' has \(1, 1, 1\) records"):
        load_task("snli")


def test_multi30k_pairs_lines_and_refuses_a_ragged_file(tmp_path, any_text, monkeypatch):
    for split in ("train", "val", "test_2016_flickr"):
        write(tmp_path, {f"multi30k/{split}.en": "A dog.\nA cat.\n"})
        write(tmp_path, {f"multi30k/{split}.de": "Ein Hund.\nEine Katze.\n"})
    task = load_task("multi30k_de", folder=tmp_path)
    assert task.train == [Parallel("A dog.", "Ein Hund."), Parallel("A cat.", "Eine Katze.")]
    assert task.labels == ()
    rows = [{"en": r.source, "de": r.target} for r in task.train]
    install_hub(monkeypatch, dict.fromkeys(("train", "validation", "test"), rows))
    assert load_task("multi30k_de", source="hub").train == task.train
    write(tmp_path, {"multi30k/val.de": "Ein Hund.\n"})
    with pytest.raises(ValueError, match="shorter"):
        load_task("multi30k_de", folder=tmp_path)


CONLLU = """# text = He can't go
1\tHe\the\tPRON\t_
2-3\tcan't\t_\t_\t_
2\tca\tcan\tAUX\t_
3\tn't\tnot\tPART\t_
4\tgo\tgo\tVERB\t_
4.1\tgone\tgo\tVERB\t_

# text = Go
1\tGo\tgo\tVERB\t_"""


def test_conllu_skips_joined_and_understood_words():
    assert read_conllu(CONLLU.splitlines()) == [
        Tagged(("He", "ca", "n't", "go"), ("PRON", "AUX", "PART", "VERB")),
        Tagged(("Go",), ("VERB",)),
    ]
    assert read_conllu([]) == []


def test_questions_are_latin_1_and_hold_out_a_tenth(tmp_path, any_text):
    questions = "".join(f"NUM:date When was Café {i} built ?\n" for i in range(200))
    (tmp_path / "trec").mkdir()
    (tmp_path / "trec/TREC.train.gz").write_bytes(gzip.compress(questions.encode("latin-1")))
    write(tmp_path, {"trec/TREC.test": "LOC:city What is it ?\n"})
    task = load_task("trec", folder=tmp_path)
    assert task.labels == ("NUM",)
    assert len(task.train) + len(task.valid) == 200
    assert 5 < len(task.valid) < 40
    assert "Café" in task.train[0].text
    assert task.test == [Labelled("What is it ?", "LOC")]


def test_unknown_or_missing_data_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"'imdb'.*sst2, .*ud_en_ewt"):
        load_task("imdb")
    with pytest.raises(SourceUnavailableError, match=r"'ud_en_ewt'.*en_ewt-ud-train\.conllu"):
        load_task("ud_en_ewt", folder=tmp_path)
    assert [info.name for info in list_tasks()] == list(labelled.TASKS.entries)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("sst2", (67_349, 872, 1_821)),
        ("sst2_sentences", (6_920, 872, 1_821)),
        ("mr", (10_662,)),
        ("trec", (5_452, 500)),
        ("rte", (2_490, 277, 3_000)),
        ("snli_small", (9_842, 0, 9_824)),
        ("multi30k_de", (29_000, 1_014, 1_000)),
        ("multi30k_fr", (29_000, 1_014, 1_000)),
        ("ud_en_ewt", (12_544, 2_001, 2_077)),
    ],
)
def test_sizes_match_published(shared_data, name, sizes):
    task = load_task(name, source="local", folder=shared_data)
    found = [len(task.train), len(task.valid), len(task.test)]
    if len(sizes) == 1:
        found = [sum(found)]
    elif len(sizes) == 2:
        found = [found[0] + found[1], found[2]]
    assert tuple(found) == sizes


@pytest.mark.shared_data
def test_web_treebank_words_match_published(shared_data):
    task = load_task("ud_en_ewt", folder=shared_data)
    words = [sum(len(s.words) for s in split) for split in (task.train, task.valid, task.test)]
    assert words == [204_577, 25_147, 25_094]
    assert len(task.labels) == 17


@pytest.mark.shared_data
def test_two_copies_of_sst2_agree_on_test_labels(shared_data):
    glue, classic = (load_task(n, folder=shared_data).test for n in ("sst2", "sst2_sentences"))
    assert Counter(glue) == Counter(classic)


def test_capital_letters_asks_for_every_word_but_the_first():
    text = (
        'In 1821 he saw "Paris" (in France), and died. Too short. '
        "It has the eight words that are needed, but asks? And no lone . ) stop may stand here now."
    )
    (found,) = capital_letters([text])
    assert found.words == ("in", "1821", "he", "saw", "paris", "in", "france", "and", "died")
    assert found.tags == ("first", *["small"] * 3, "capital", "small", "capital", *["small"] * 2)


def test_capital_letters_of_a_text_without_sentences_is_empty():
    assert capital_letters(["", "no stop here at the end of all these words"]) == []
