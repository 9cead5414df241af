"""The running table of the book."""

import math

import pytest

from course_pkg.results import (
    RECORDED,
    Result,
    append_result,
    read_results,
    story_so_far,
)

UNIGRAM = Result("what-is-a-language-model", "unigram", "stories", 65.4769, 2.5, 128)
BIGRAM = Result("n-grams", "2-gram <KN> | a", "stories", math.inf, source=RECORDED)
OTHER = Result("n-grams", "2-gram", "wikipedia", 1234.567)


def test_results_round_trip(tmp_path):
    path = tmp_path / "results.jsonl"
    for row in (UNIGRAM, BIGRAM, OTHER):
        append_result(path, row)
    assert read_results(path) == [UNIGRAM, BIGRAM, OTHER]


def test_result_replaces_its_earlier_self_when_a_chapter_is_built_again(tmp_path):
    path = tmp_path / "results.jsonl"
    append_result(path, UNIGRAM)
    append_result(path, BIGRAM)
    again = Result(*UNIGRAM.key, 60.0)
    append_result(path, again)
    assert read_results(path) == [BIGRAM, again]
    assert [p.name for p in tmp_path.iterdir()] == ["results.jsonl"]  # no scratch file stays


def test_story_so_far_filters_by_corpus_and_chapter(tmp_path):
    paths = [tmp_path / "one.jsonl", tmp_path / "missing.jsonl", tmp_path / "two.jsonl"]
    append_result(paths[0], UNIGRAM)
    append_result(paths[2], BIGRAM)
    append_result(paths[2], OTHER)
    assert story_so_far(paths).results == (UNIGRAM, BIGRAM, OTHER)
    assert story_so_far(paths, corpus="stories").results == (UNIGRAM, BIGRAM)
    assert story_so_far(paths, until=UNIGRAM.chapter).results == (UNIGRAM,)
    assert len(story_so_far(paths, until="no such chapter")) == 0


def test_table_shows_every_row_and_escapes_markup(tmp_path):
    path = tmp_path / "results.jsonl"
    append_result(path, UNIGRAM)
    append_result(path, BIGRAM)
    table = story_so_far([path])
    assert table.to_markdown().splitlines()[2:] == [
        "| what-is-a-language-model | unigram | stories | 65.48 | 2.500 | 128 | computed here |",
        r"| n-grams | 2-gram <KN> \| a | stories | ∞ | – | – | recorded |",
    ]
    assert table._repr_markdown_() == table.to_markdown()
    shown = table._repr_html_()
    assert "<td>2-gram &lt;KN&gt; | a</td>" in shown
    assert shown.count("<tr>") == 3


def test_result_rejects_bad_values(tmp_path):
    with pytest.raises(ValueError, match=r"perplexity is 0\.5"):
        Result("a", "b", "c", 0.5)
    with pytest.raises(ValueError, match="perplexity is nan"):
        Result("a", "b", "c", math.nan)
    with pytest.raises(ValueError, match="source is 'guessed'"):
        Result("a", "b", "c", 2.0, source="guessed")
    path = tmp_path / "results.jsonl"
    for line in ("[1]", "{", '{"chapter": "a"}', '{"colour": 1}'):
        append_result(path, UNIGRAM)
        path.write_text(path.read_text() + line + "\n")
        with pytest.raises(ValueError, match="line 2"):
            read_results(path)
        path.unlink()
