"""Tables and interactive figures: their data, their table, and what they refuse."""

import json
import re

import numpy as np
import pytest

from course_pkg import widgets

ALPHABET = ["a", "b", " "]
TABLE = np.array([[0.5, 0.3, 0.2], [0.25, 0.5, 0.25], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]])


def guess(**changes) -> widgets.Widget:
    arguments = {"n_shown": 2, "alt": "words", "text": "ab b", "probabilities": TABLE} | changes
    return widgets.guess_letter(alphabet=ALPHABET, **arguments)


def payload(widget: widgets.Widget) -> dict:
    return json.loads(re.search(r"json\">(.*?)</script>", widget.to_html(), re.DOTALL)[1])


def test_guess_letter_gives_probability_rank_and_best_guess():
    data = payload(guess())
    assert data["probability"] == [0.5, 0.5, 0.8, 1.0]
    assert data["rank"] == [1, 1, 1, 1]
    assert payload(guess(text="b b "))["rank"] == [2, 2, 2, 2]
    assert data["best"] == ["a", "b", " ", "b"]


def test_guess_letter_writes_the_same_numbers_as_a_table():
    rows = guess().rows
    assert rows[0] == ("a", "0.500", "1.00", "1", "a")
    assert rows[2][0] == "␣"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probabilities": TABLE[:, :2]}, r"shape \(4, 2\).*\(4, 3\)"),
        ({"probabilities": TABLE * 0.5}, "sums to 0.5"),
        ({"text": "abcb"}, r"\['c'\]"),
        ({"n_shown": 4}, "n_shown is 4.*1 and 3"),
        ({"n_shown": 0}, "n_shown is 0"),
    ],
)
def test_guess_letter_rejects_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        guess(**changes)


def test_widget_cannot_be_ended_by_its_own_data():
    widget = widgets.Widget("lm-x", {"text": "</script><b>"}, "a <b> & c", ("<i>",), [("</td>",)])
    html = widget.to_html()
    assert html.count("</script>") == 1
    assert "<b>" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert payload(widget) == {"text": "</script><b>"}


def test_widget_speaks_where_there_is_no_html():
    assert guess()._repr_mimebundle_()["text/plain"] == "words"


def sample(order: int = 2, method: str = "none", seed: int = 0) -> widgets.SampledText:
    return widgets.sample_text(
        lambda ids: np.array([0.1, 0.2, 0.7]), ["<eos>", "a", "b"], method=method, order=order,
        start=0, n_tokens=7, rng=np.random.default_rng(seed), n_candidates=2,
    )  # fmt: skip


def test_sample_text_is_reproducible_and_stops_at_the_end_token():
    assert sample() == sample()
    for seed in range(20):
        tokens = sample(seed=seed).tokens
        assert len(tokens) <= 7
        assert "<eos>" not in tokens[:-1]


def test_sample_text_shows_the_drawn_token_among_its_candidates():
    for seed in range(20):
        drawn = sample(seed=seed)
        for token, candidates in zip(drawn.tokens, drawn.candidates, strict=True):
            assert token in dict(candidates)
            assert len(candidates) == 2


def test_sample_text_follows_the_model_given_the_history():
    """A model that is certain: after token i comes i + 1."""
    result = widgets.sample_text(
        lambda ids: np.eye(4)[(ids[-1] + 1) % 4], list("wxyz"), method="none", order=2, start=0,
        n_tokens=9, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert result.tokens == ["x", "y", "z", "w"]
    assert result.candidates[0] == [("x", 1.0)]


def test_ngram_sampler_offers_every_combination():
    data = payload(
        widgets.ngram_sampler([sample(1), sample(2), sample(1, "KN"), sample(2, "KN")], alt="w")
    )
    assert data["orders"] == [1, 2] and data["methods"] == ["none", "KN"]
    assert len(data["samples"]) == 4


@pytest.mark.parametrize(
    ("samples", "message"),
    [([], "samples is empty"), ([sample(1), sample(2, "KN")], r"\(1, 'KN'\), \(2, 'none'\)")],
)
def test_ngram_sampler_rejects_missing_combinations(samples, message):
    with pytest.raises(ValueError, match=message):
        widgets.ngram_sampler(samples, alt="w")


def test_table_escapes_text_and_keeps_markup():
    table = widgets.table(["n", "a & b"], [(1, "<eos>"), (2, widgets.Markup("<code>x</code>"))])
    shown = table.to_html()
    assert '<th scope="col">a &amp; b</th>' in shown
    assert "<td>1</td><td>&lt;eos&gt;</td>" in shown
    assert "<td><code>x</code></td>" in shown
    assert 'aria-label="n, a &amp; b"' in shown


def test_table_shows_every_row_where_there_is_no_html():
    shown = widgets.table(["n", "text"], [(1, "a"), (2, "b")])._repr_mimebundle_()
    assert shown["text/plain"] == "n | text\n1 | a\n2 | b"
    assert shown["text/html"].count("<tr>") == 3


def test_table_rejects_a_row_of_another_length():
    with pytest.raises(ValueError, match=r"row \(1,\) has 1 cells; the header has 2"):
        widgets.table(["n", "text"], [(1,)])


def alignment(**changes) -> widgets.Alignment:
    weights = {"A": [[0.2, 0.7, 0.1], [0.5, 0.25, 0.25]], "B": [[0, 0, 1], [1, 0, 0]]}
    arguments = {"source": ["a", "red", "ring"], "target": ["oston", "ruson"],
                 "links": {(2, 0), (1, 1)}, "weights": weights}  # fmt: skip
    return widgets.Alignment(**(arguments | changes))


def test_alignment_explorer_gives_each_target_word_its_gold_and_weights():
    data = payload(widgets.alignment_explorer([alignment()], selected=1, alt="w"))
    assert (data["models"], data["model"], data["selected"]) == (["A", "B"], "B", 1)
    (text,) = data["texts"]
    assert text["gold"] == [[2], [1]]
    assert text["weights"]["A"] == [[0.2, 0.7, 0.1], [0.5, 0.25, 0.25]]


def test_alignment_explorer_writes_the_strongest_link_of_each_word_as_a_table():
    rows = widgets.alignment_explorer([alignment()], selected=0, alt="w").rows
    assert rows[0] == ("1", "A", "oston", "red", "0.70", "ring")
    assert rows[3] == ("1", "B", "ruson", "a", "1.00", "red")


@pytest.mark.parametrize(
    ("texts", "selected", "message"),
    [
        ([], 0, "alignments is empty"),
        ([alignment(weights={})], 0, "alignments is empty"),
        ([alignment()], 2, "selected is 2.*0 and 1"),
        ([alignment(weights={"A": [[1.0, 0.0]]})], 0, r"'A' have shape \(1, 2\).*\(2, 3\)"),
        ([alignment(weights={"A": [[1, 0, 0], [0.5, 0, 0]]})], 0, "'A' sums to 0.5"),
        ([alignment(), alignment(weights={"B": np.eye(3)[:2]})], 0, r"text 2 .*\['B'\]"),
    ],
)
def test_alignment_explorer_rejects_what_does_not_fit(texts, selected, message):
    with pytest.raises(ValueError, match=message):
        widgets.alignment_explorer(texts, selected=selected, alt="w")
