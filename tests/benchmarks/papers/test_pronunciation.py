"""Spelling to pronunciation: the dictionary's conventions, how errors count, and a toy language."""

from itertools import product

import pytest

from benchmarks.papers import pronunciation
from benchmarks.papers.pronunciation import Setting, errors, read_lexicon, split
from course_pkg.text.corpora.sources import SourceUnavailableError

LINES = [
    "aalborg AO1 L B AO0 R G # place, danish",
    "aalborg(2) AA1 L B AO0 R G",
    "close K L OW1 S",
    "close(2) K L OW1 Z",
    "desert D EH1 Z ER0 T",
    "desert(2) D EH2 Z ER0 T",
]


def test_lexicon_drops_stress_comments_and_what_is_then_the_same():
    assert read_lexicon(LINES) == {
        "aalborg": [("AO", "L", "B", "AO", "R", "G"), ("AA", "L", "B", "AO", "R", "G")],
        "close": [("K", "L", "OW", "S"), ("K", "L", "OW", "Z")],
        "desert": [("D", "EH", "Z", "ER", "T")],
    }


def test_split_puts_each_word_into_one_part_whatever_the_order():
    words = [f"word{number}" for number in range(200)]
    train, valid, test = split(words)
    assert (len(train), len(valid), len(test)) == (170, 10, 20)
    assert sorted([*train, *valid, *test]) == sorted(words)
    assert split(reversed(words)) == (train, valid, test)


def test_errors_count_against_the_nearest_pronunciation_worked_by_hand():
    written = [("K", "L", "OW", "Z"), ("D", "EH", "S", "ER"), ("T", "UW"), ("B", "AY", "S")]
    references = [
        [("K", "L", "OW", "S"), ("K", "L", "OW", "Z")],  # the second: right
        [("D", "EH", "Z", "ER", "T")],  # one replaced, one left out: 2 of 5
        [("T", "UW"), ("T", "AH")],  # the first: right
        [("B", "AY")],  # one too many: 1 of 2
    ]
    found = errors(written, references)
    assert found.word == 50.0
    assert found.phoneme == pytest.approx(100 * 3 / (4 + 5 + 2 + 2), abs=1e-9)
    assert found.low <= 50.0 <= found.high


def test_missing_dictionary_is_reported_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    monkeypatch.setattr(pronunciation, "find_spec", lambda name: None)
    with pytest.raises(SourceUnavailableError, match=r"\[pronunciation\]"):
        pronunciation.load_lexicon()
    (tmp_path / "cmudict").mkdir()
    (tmp_path / "cmudict" / "cmudict.dict").write_text("\n".join(LINES), encoding="utf-8")
    assert len(pronunciation.load_lexicon()) == 3


def test_measure_learns_and_reports_both_searches_on_the_test_words():
    sounds = {"a": "AA", "b": "B", "c": "K"}
    words = ["".join(word) for n in (1, 2, 3, 4) for word in product("abc", repeat=n)]
    lexicon = {word: [tuple(sounds[letter] for letter in word)] for word in words}
    setting = Setting(8, 32, 1, 0.0, n_epochs=6, batch_size=16, lr=1e-2, aim=50.0)
    found = pronunciation.measure(lexicon, setting)
    assert found["n_words"] == [102, 6, 12]
    # From log 4, a guess among three sounds and the end, to what the length alone tells or less.
    assert found["valid_loss_by_epoch"][-1] < 1.2 < found["valid_loss_by_epoch"][0]
    greedy, beam = pronunciation.figures(found, setting)[-2:]
    assert (greedy.ours, beam.ours) == (found["greedy"]["word"], found["beam"]["word"])
