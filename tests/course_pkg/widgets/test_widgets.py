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


TEXTS = ["a cat sat on a mat, a cat ran", "one day a cat sat"]


def sampler(**changes) -> widgets.Widget:
    return widgets.ngram_sampler(**{"texts": TEXTS, "prompt": "a cat", "alt": "w"} | changes)


def test_ngram_sampler_ships_its_texts_and_a_sample_of_each_order_and_method():
    widget = sampler()
    data = payload(widget)
    assert data["texts"] == TEXTS and data["prompt"] == "a cat"
    assert [row[:2] for row in widget.rows] == [
        (str(n), method) for method in data["methods"] for n in data["orders"]
    ]
    assert sampler().rows == widget.rows  # drawn with fixed seeds
    assert all(row[2].startswith("a cat") for row in widget.rows)


def test_ngram_sampler_opens_with_the_tokens_asked_for():
    assert payload(sampler())["unit"] == "words"
    assert payload(sampler(unit="letters"))["unit"] == "letters"


def test_ngram_sampler_stops_where_relative_frequencies_know_nothing():
    rows = {row[:2]: row[2] for row in sampler(prompt="mat cat").rows}
    assert rows["3", "none"] == "mat cat"  # never seen together
    assert any(len(rows[str(n), "add-one"].split()) > 2 for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"texts": [" "]}, "texts is empty"),
        ({"order": 9}, "order is 9; it must be one of"),
        ({"unit": "lines"}, "unit is 'lines'; it must be one of"),
        ({"prompt": "a dog"}, "dog"),
    ],
)
def test_ngram_sampler_rejects_what_it_cannot_count(changes, message):
    with pytest.raises(ValueError, match=message):
        sampler(**changes)


def test_table_escapes_text_and_keeps_markup():
    table = widgets.table(["n", "a & b"], [(1, "<eos>"), (2, widgets.Markup("<code>x</code>"))])
    shown = table.to_html()
    assert '<th scope="col">a &amp; b</th>' in shown
    assert "<td>1</td><td>&lt;eos&gt;</td>" in shown
    assert "<td><code>x</code></td>" in shown
    assert 'aria-label="n, a &amp; b"' in shown


def test_a_number_and_its_spread_are_one_piece():
    shown = widgets.table(["right"], [("82.3 ± 3.8",), ("<b> 5 ± 2 %",)]).to_html()
    assert '<td><span class="lm-pair">82.3 ± 3.8</span></td>' in shown
    assert '<td>&lt;b&gt; <span class="lm-pair">5 ± 2</span> %</td>' in shown


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
