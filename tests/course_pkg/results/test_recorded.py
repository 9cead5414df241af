"""Rows kept with the package: written on request, otherwise compared."""

import math
from dataclasses import replace

import pytest

from course_pkg.results import RECORD, Result, read_results, record, recorded

ROWS = [
    Result("first", "unigram", "stories", 65.5, 1.5, 127),
    Result("first", "greedy", "stories", math.inf, None, 7),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which ROWS are recorded."""
    monkeypatch.setenv(RECORD, "1")
    record(ROWS, folder=tmp_path)
    monkeypatch.delenv(RECORD)
    return tmp_path


def test_record_round_trips(folder):
    assert read_results(recorded("first", folder)) == ROWS
    record(ROWS, folder=folder)


def test_record_replaces_all_rows_of_a_chapter_when_asked(folder, monkeypatch):
    monkeypatch.setenv(RECORD, "1")
    record(ROWS[:1], folder=folder)
    assert read_results(recorded("first", folder)) == ROWS[:1]


def test_record_accepts_a_difference_within_the_tolerance_only(folder):
    near = [replace(ROWS[0], perplexity=65.5 * 1.009), ROWS[1]]
    record(near, folder=folder)
    with pytest.raises(ValueError, match=r"perplexity of .*unigram.* recorded is 65\.5"):
        record([replace(ROWS[0], perplexity=65.5 * 1.02), ROWS[1]], folder=folder)
    with pytest.raises(ValueError, match=r"bits_per_byte of .*unigram.* is 1\.6"):
        record([replace(ROWS[0], bits_per_byte=1.6), ROWS[1]], folder=folder)
    with pytest.raises(ValueError, match=r"perplexity of .*greedy.* is 9\.0; recorded is inf"):
        record([ROWS[0], replace(ROWS[1], perplexity=9.0)], folder=folder)
    with pytest.raises(ValueError, match=r"bits_per_byte of .*unigram.* is None"):
        record([replace(ROWS[0], bits_per_byte=None), ROWS[1]], folder=folder)


def test_record_lets_a_negligible_difference_through_whatever_its_share(folder):
    near = [replace(ROWS[0], bits_per_byte=1.54), ROWS[1]]  # 2.7 %
    record(near, negligible=0.05, folder=folder)
    with pytest.raises(ValueError, match=r"bits_per_byte of .*unigram.* is 1\.54"):
        record(near, negligible=0.02, folder=folder)


def test_record_rejects_missing_and_additional_rows(folder):
    with pytest.raises(ValueError, match="greedy"):
        record(ROWS[:1], folder=folder)
    with pytest.raises(ValueError, match="trigram"):
        record([*ROWS, replace(ROWS[0], model="trigram")], folder=folder)
    with pytest.raises(ValueError, match=r"second\.jsonl"):
        record([replace(ROWS[0], chapter="second")], folder=folder)


def test_record_rejects_rows_of_two_chapters(folder):
    with pytest.raises(ValueError, match=r"\['first', 'second'\]"):
        record([ROWS[0], replace(ROWS[1], chapter="second")], folder=folder)
