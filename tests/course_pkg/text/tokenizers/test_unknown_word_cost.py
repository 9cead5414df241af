"""The bill for what a word tokenizer leaves unsaid, against sums worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.text.tokenizers.unknown_word_cost import N_GAPS, N_LETTERS, UnknownWordCost

TEXTS = ["a cat, a dog", "a cat\nran"]


def tokenizer_of(texts: list[str], **settings) -> WordTokenizer:
    return WordTokenizer.train(texts, min_count=2, **settings)


def test_spelling_of_gaps_matches_hand_worked_sum():
    """All words are known, so only the gaps cost: start|a, a|cat, cat|end."""
    cost = UnknownWordCost(tokenizer_of(TEXTS)).learn(TEXTS)
    at_start = (2 + 1) / (2 + N_GAPS)  # nothing before the first word, twice
    inside = (3 + 1) / (4 + N_GAPS)  # a space in "a cat", "a dog", "a cat"; a break in "cat\nran"
    at_end = (2 + 1) / (2 + N_GAPS)
    assert cost.nats(["a cat"]) == pytest.approx(-math.log(at_start * inside * at_end), abs=1e-12)


def test_spelling_of_an_unknown_word_matches_hand_worked_sum():
    """Unknown in training: the comma, dog and ran; that is 7 letters and 3 ends."""
    cost = UnknownWordCost(tokenizer_of(TEXTS)).learn(TEXTS)
    by_letter = {"d": 1, "a": 1, "n": 1, "end": 3}
    letters = -sum(math.log((n + 1) / (10 + N_LETTERS)) for n in by_letter.values())
    gained = cost.nats(["a dan"]) - cost.nats(["a cat"])
    assert gained == pytest.approx(letters, abs=1e-12)


def test_spelling_sums_to_one_over_all_gaps_and_letters():
    cost = UnknownWordCost(tokenizer_of(TEXTS)).learn(TEXTS)
    for table, outcomes in (
        (cost._letters, [*range(256), "end"]),
        (cost._gaps, ["", " ", "\n", "other"]),
    ):
        for context in [*table.counts, "never seen"]:
            total = sum(math.exp(-table.nats(context, outcome)) for outcome in outcomes)
            assert total == pytest.approx(1, abs=1e-12)


def test_spelling_charges_more_for_a_smaller_vocabulary():
    texts = ["the cat saw the dog and the dog saw the cat"]
    small, large = (WordTokenizer.train(texts, max_size=size) for size in (4, 9))
    bills = [UnknownWordCost(t).learn(texts).nats(texts) for t in (small, large)]
    assert bills[0] > bills[1]


@given(st.lists(st.text(max_size=9), max_size=3))
def test_spelling_bill_is_finite_and_not_negative_on_any_text(texts):
    cost = UnknownWordCost(tokenizer_of(TEXTS)).learn(TEXTS)
    nats = cost.nats(texts)
    assert 0 <= nats < math.inf
    assert (nats > 0) == bool(texts)


def test_spelling_rejects_folded_case():
    with pytest.raises(ValueError, match="lowercase=True"):
        UnknownWordCost(tokenizer_of(TEXTS, lowercase=True))


def test_spelling_rejects_a_pattern_that_loses_text():
    cost = UnknownWordCost(tokenizer_of(TEXTS, pattern=r"\w+"))
    with pytest.raises(ValueError, match=r"skips ', '"):
        cost.learn(TEXTS)
