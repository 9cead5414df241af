"""Tags, pairs and choices reach the models as the experiments say, and are scored by hand."""

import json
from argparse import Namespace

import pytest
import torch

from benchmarks.chapters import adaptation
from benchmarks.chapters.adaptation import Question
from benchmarks.chapters.backbones import Pretrained, Reading
from course_pkg.models import IGNORE
from course_pkg.text.corpora.labelled_data import Labelled, Tagged

SENTENCES = [Tagged(("a", "cat"), ("DET", "NOUN")), Tagged(("cat", "a"), ("NOUN", "DET"))]
OPTIONS = Namespace(device="cpu", n_epochs=1, n_train=40)


def test_first_piece_of_a_word_carries_its_tag(checkpoints):
    model = Pretrained(checkpoints["bert"])
    (reading, _) = adaptation.tag_readings(model, SENTENCES, {"DET": 0, "NOUN": 1})
    no = IGNORE
    assert bytes(reading.ids[1:-1]).decode() == "a cat"
    assert reading.target == [no, 0, 1, no, no, no, no]  # [CLS] a _cat [SEP]: the space is cat's


def test_tag_accuracy_counts_words_not_pieces_or_padding():
    readings = [Reading([5, 6, 7], [IGNORE, 1, 0]), Reading([5], [1])]
    assert adaptation.tag_accuracy([[9, 1, 1], [1, 0, 0]], readings) == pytest.approx(200 / 3)


def test_frequent_tags_fall_back_on_the_most_frequent_of_all():
    train = [Tagged(("a", "cat", "run", "cat"), ("DET", "NOUN", "VERB", "NOUN"))]
    test = [Tagged(("Cat", "a", "dog"), ("NOUN", "NOUN", "NOUN"))]
    assert adaptation.frequent_tags(train, test) == pytest.approx(200 / 3)


def test_pairs_are_framed_as_each_kind_wants_them(checkpoints):
    record = [Labelled("ab", "contradiction", "c")]
    gpt, bert = (Pretrained(checkpoints[kind]) for kind in ("gpt", "bert"))
    frame = adaptation.framed(gpt, gpt.copy())
    (reading,) = adaptation.pair_readings(gpt, frame, record)
    V = gpt.model.vocab_size
    assert reading == Reading([V, 97, 98, V + 1, 99, V + 2], 2)
    (reading,) = adaptation.pair_readings(bert, None, record)
    cls_id, sep_id = bert.special_ids["[CLS]"], bert.special_ids["[SEP]"]
    assert reading.ids == [cls_id, 97, 98, sep_id, 99, sep_id]
    assert reading.segments == [0, 0, 0, 0, 1, 1]


def test_questions_hide_the_last_sentence_among_those_of_others():
    paragraphs = [f"One {c}. Two {c}. Three {c}." for c in "abcdef"] + ["Short. One."]
    found = adaptation.questions(paragraphs, seed=3)
    assert len(found) == 6
    for letter, question in zip("abcdef", found, strict=True):
        assert question.text == f"One {letter}. Two {letter}."
        assert question.answers[question.target] == f"Three {letter}."
        assert len(set(question.answers)) == adaptation.N_CHOICES
    assert len({question.target for question in found}) > 1


def test_shared_words_choose_the_answer_that_repeats_the_paragraph():
    question = Question("The cat sat.", ["A dog ran.", "The cat slept.", "It was late.", "No."], 1)
    assert adaptation.shared_words(question) == 1


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_stories_are_judged_from_new_and_from_pretrained_weights(kind, checkpoints, monkeypatch):
    monkeypatch.setattr(adaptation, "N_TEST", 30)
    rows = adaptation.stories(Pretrained(checkpoints[kind]), OPTIONS)
    assert [subject.split(", ")[1] for subject, _, _ in rows] == [
        "from scratch",
        "full fine-tuning",
    ]
    assert all(0 <= score <= 100 for _, score, _ in rows)


def test_choices_are_scored_per_question(checkpoints):
    choices = [adaptation.Choice([[1], [2, 3], [4], [5]], 2), adaptation.Choice([[6]] * 4, 0)]
    batch = adaptation.collate_choices(choices)
    assert batch["ids"].shape == (2, 4, 2)
    assert batch["lengths"].tolist() == [[1, 2, 1, 1], [1, 1, 1, 1]]
    assert batch["targets"].tolist() == [2, 0]
    model = adaptation.MultipleChoice(Pretrained(checkpoints["gpt"]).copy())
    assert model(**batch)[0].shape == (2, 4)
    assert torch.isfinite(model(**batch)[1])


def test_missing_data_are_skipped_and_said(checkpoints, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    record = tmp_path / "record.json"
    model = ["--model", str(checkpoints["bert"])]
    adaptation.main([*model, "--tasks", "tags", "snli", "--record", str(record)])
    assert capsys.readouterr().out.count("Not run:") == 2
    figures = json.loads(record.read_text(encoding="utf-8"))["figures"]
    assert all(figure["ours"] is None for figure in figures)
