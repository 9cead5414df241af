"""The running table of the book, and the rows kept for it: written on request, else compared."""

import math
from dataclasses import replace

import pytest

from course_pkg.results import (
    RECORD,
    RECORDED,
    Result,
    StorySoFar,
    chapter_results,
    check_results,
    story_so_far,
)

ROWS = [
    Result("first", "unigram", "stories", 65.5, 1.5, 127),
    Result("first", "greedy", "stories", math.inf, None, 7),
]
BIGRAM = Result("second", "2-gram <KN> | a", "stories", math.inf, source=RECORDED)
OTHER = Result("second", "2-gram", "wikipedia", 1234.567)


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """Keep rows in a folder, which is returned."""

    def save(rows):
        with monkeypatch.context() as change:
            change.setenv(RECORD, "1")
            check_results(rows, folder=tmp_path)
        return tmp_path

    return save


@pytest.fixture
def folder(keep):
    """A folder in which ROWS are kept."""
    return keep(ROWS)


def test_results_round_trip(folder):
    assert chapter_results("first", folder) == ROWS
    assert chapter_results("not built yet", folder) == []
    check_results(ROWS, folder=folder)


def test_kept_rows_are_all_replaced_when_a_chapter_is_recorded_again(folder, keep):
    keep(ROWS[:1])
    assert chapter_results("first", folder) == ROWS[:1]
    assert [p.name for p in folder.iterdir()] == ["first.jsonl"]  # no scratch file stays


def test_check_accepts_a_difference_within_the_tolerance_only(folder):
    near = [replace(ROWS[0], perplexity=65.5 * 1.009), ROWS[1]]
    check_results(near, folder=folder)
    for change, message in [
        ({"perplexity": 65.5 * 1.02}, r"perplexity of .*unigram.* recorded is 65\.5"),
        ({"bits_per_byte": 1.6}, r"bits_per_byte of .*unigram.* is 1\.6"),
        ({"bits_per_byte": None}, r"bits_per_byte of .*unigram.* is None"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_results([replace(ROWS[0], **change), ROWS[1]], folder=folder)
    with pytest.raises(ValueError, match=r"perplexity of .*greedy.* is 9\.0; recorded is inf"):
        check_results([ROWS[0], replace(ROWS[1], perplexity=9.0)], folder=folder)


def test_check_accepts_a_negligible_difference_whatever_its_share(folder):
    near = [replace(ROWS[0], bits_per_byte=1.54), ROWS[1]]  # 2.7 %
    check_results(near, negligible=0.05, folder=folder)
    with pytest.raises(ValueError, match=r"bits_per_byte of .*unigram.* is 1\.54"):
        check_results(near, negligible=0.02, folder=folder)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:1], "greedy"),
        ([*ROWS, replace(ROWS[0], model="trigram")], "trigram"),
        ([replace(ROWS[0], chapter="second")], r"second\.jsonl"),
        ([ROWS[0], replace(ROWS[1], chapter="second")], r"\['first', 'second'\]"),
    ],
)
def test_check_rejects_missing_and_additional_rows_and_other_chapters(folder, rows, message):
    with pytest.raises(ValueError, match=message):
        check_results(rows, folder=folder)


def test_story_so_far_filters_by_corpus_and_skips_chapters_not_built(folder, keep):
    keep([BIGRAM, OTHER])
    slugs = ["first", "missing", "second"]
    assert story_so_far(slugs, folder=folder).results == (*ROWS, BIGRAM, OTHER)
    assert story_so_far(slugs, corpus="stories", folder=folder).results == (*ROWS, BIGRAM)


def test_table_shows_every_row_and_escapes_markup():
    table = StorySoFar([ROWS[0], BIGRAM])
    assert table._repr_markdown_().splitlines()[2:] == [
        "| first | unigram | stories | 65.50 | 1.500 | 127 | computed here |",
        r"| second | 2-gram <KN> \| a | stories | ∞ | – | – | recorded |",
    ]
    shown = table._repr_html_()
    assert "<td>2-gram &lt;KN&gt; | a</td>" in shown
    assert shown.count("<tr>") == 3


def test_table_of_one_corpus_names_it_once_and_no_slug():
    shown = StorySoFar([replace(row, chapter="fixed_window") for row in ROWS])._repr_html_()
    assert "<caption>The story so far: stories</caption>" in shown
    assert "<td>stories</td>" not in shown
    assert "<td>fixed window</td>" in shown


def test_result_rejects_bad_values(folder):
    with pytest.raises(ValueError, match=r"perplexity is 0\.5"):
        Result("a", "b", "c", 0.5)
    with pytest.raises(ValueError, match="perplexity is nan"):
        Result("a", "b", "c", math.nan)
    with pytest.raises(ValueError, match="source is 'guessed'"):
        Result("a", "b", "c", 2.0, source="guessed")
    path = folder / "first.jsonl"
    kept = path.read_text()
    for line in ("[1]", "{", '{"chapter": "a"}', '{"colour": 1}'):
        path.write_text(kept + line + "\n")
        with pytest.raises(ValueError, match="line 3"):
            chapter_results("first", folder)
