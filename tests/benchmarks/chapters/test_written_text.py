"""Descriptions, summaries and replies: what is scored, and a whole small run."""

import pytest

from benchmarks.chapters import written_text
from course_pkg.text.corpora.written_data import Written

FACTS = [
    Written(
        f"name[{name}], food[{food}], near[{near}]",
        (f"{name} near {near} serves {food} food.", f"There is {food} food at {name}."),
    )
    for name, near in (("Zizzi", "Café Rouge"), ("The Mill", "Zizzi"), ("Aromi", "The Mill"))
    for food in ("Thai", "French", "Indian")
]


def test_names_become_words_that_every_restaurant_shares():
    record = written_text.without_names(FACTS[0])
    assert record.source == "name[xname], food[Thai], near[xnear]"
    assert record.references[0] == "xname near xnear serves Thai food."


def test_small_run_scores_each_rule_of_decoding():
    figures, details = written_text.descriptions(FACTS, FACTS[:2], FACTS, 150, "cpu")
    assert len(figures) == len(written_text.RULES)
    scores = [figure.ours for figure in figures]
    # eighteen sentences, seen in training: what is likeliest shares most words with one of them
    assert scores[0] > 60 and scores[1] > 60
    for rule in written_text.RULES:
        assert 0 < details["descriptions"][rule]["rouge_l"] <= 100


def test_summaries_by_rule_are_scored_against_the_best_reference():
    dialogue = Written("A: the cat sat\nB: no, the dog sat there", ("b: the dog sat there", "x"))
    by_name = {figure.subject: figure.ours for figure in written_text.summaries([dialogue])}
    # the second turn has all five words of the reference and one more: F1 = 10 / 11
    assert by_name["a dialogue's summary, the longest turn: ROUGE-1"] == pytest.approx(1000 / 11)
    # all words of both turns, nine, hold the five
    assert by_name["a dialogue's summary, the first three turns: ROUGE-1"] == pytest.approx(
        1000 / 15
    )


def test_replies_are_scored_with_more_and_more_of_the_dialogue():
    figures = written_text.replies(
        [Written("A: Do you like the dog?\nB: Yes, the dog.", ("A: The dog likes you.",))]
    )
    nothing, one, everything = (figure.ours for figure in figures)
    assert everything < one < nothing
