"""The chapter's claims that no cell of it checks: prose against the package and the sources."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from course_pkg.results import chapter_results
from course_pkg.text.corpora import list_corpora, load_corpus
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.tokenizers import WordTokenizer

ROOT = Path(__file__).parents[2]
CHAPTER = (ROOT / "book" / "chapters" / "language_models.md").read_text(encoding="utf-8")


def test_figure_of_corpora_shows_all_that_are_shipped():
    """It reads sizes and licences itself; which corpora there are stands in its cell."""
    cell = CHAPTER.split("\n## What we read\n")[1].split("```\n")[0]
    drawn = re.findall(r'^    \("(\w+)", "\w+", ', cell, re.MULTILINE)
    shipped = {"generated", "package"}
    assert drawn == [info.name for info in list_corpora() if shipped & set(info.sources)]


def test_middle_is_visited_two_and_a_half_times_and_distracts_one_and_a_half():
    stories = StoryGrammar().sample(4000, seed=5)
    mean = np.mean([story.n_distractions for story in stories])
    # A geometric number with p = 0.6: mean 1.5, variance 3.75; four standard errors.
    assert abs(mean - 1.5) < 4 * math.sqrt(3.75 / 4000)


def test_first_test_story_is_as_improbable_as_the_text_says():
    story = load_corpus("stories").test[0]
    words = WordTokenizer.train([story]).words(story)
    one_in = math.exp(-sum(StoryGrammar().log_probs(words)))
    assert round(one_in / 1e6) == 175


def test_recorded_rows_lie_between_the_floor_and_the_uniform_model():
    rows = {(r.corpus, r.model): r for r in chapter_results("language_models")}
    assert len(rows) == 9
    stories = {model: r for (corpus, model), r in rows.items() if corpus == "stories"}
    # The grammar on 1,000 stories: its wobble is 0.4 % of the floor, measured in the chapter.
    floor = StoryGrammar().floor_perplexity()
    assert stories["the grammar itself"].perplexity == pytest.approx(floor, rel=0.004)
    assert stories["uniform"].perplexity == pytest.approx(127, rel=1e-9)
    for result in rows.values():
        assert result.perplexity >= floor


def test_worked_numbers_of_the_text_are_right():
    markov = {"vowels": 8638, "after a vowel": 1104, "letters": 20_000}
    consonants = markov["letters"] - markov["vowels"]
    assert round(markov["vowels"] / markov["letters"], 2) == 0.43
    assert round(markov["after a vowel"] / markov["vowels"], 2) == 0.13
    assert round((markov["vowels"] - markov["after a vowel"]) / consonants, 2) == 0.66
    assert math.log2(27) == pytest.approx(4.75, abs=0.006)
    assert math.sqrt(10 * 1000) == 100  # the perplexity over two equal halves
    assert (math.log(200), 1.4 * math.log(60)) == pytest.approx((5.30, 5.73), abs=0.005)
    per_word = math.exp(1.4 * math.log(60))
    assert (per_word, per_word / 200) == pytest.approx((309, 1.54), rel=0.003)
    assert -0.9 * math.log2(0.9) - 0.1 * math.log2(0.1) == pytest.approx(0.469, abs=5e-4)
    assert -0.9 * math.log2(0.99) - 0.1 * math.log2(0.01) == pytest.approx(0.677, abs=5e-4)
    assert -0.9 * math.log2(0.999) - 0.1 * math.log2(0.001) == pytest.approx(0.998, abs=5e-4)
