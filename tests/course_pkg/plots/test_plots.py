"""Figures: what reaches the page, and the two small computations that place and smooth things."""

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_pkg import RECORDED, Result, plots

ORDERS = [1, 2, 3, 4, 5]
CURVES = {
    "add-one": (ORDERS, [9.0, 7.0, 8.0, 9.0, 9.5]),
    "Kneser–Ney": (ORDERS, [9, 6, 5, 4.5, 4.4]),
}
ROWS = [
    Result("counting", "3-gram", "stories", 2.4, 0.32),
    Result("networks", "LSTM", "stories", 1.8, 0.22, source=RECORDED),
    Result("networks", "no bytes counted", "stories", 1.9),
]
SOURCE = Result("counting", "the grammar itself", "stories", math.exp(0.5), 0.2)
SEVERAL = [
    Result("counting", "3-gram", "stories", 2.4, 0.32),
    Result("counting", "5-gram", "bank", 141.19, source=RECORDED),
    Result("counting", "worse", "stories", 2.5, 0.34),
    Result("networks", "LSTM", "stories", 1.8, 0.22),
    Result("networks", "LSTM", "bank", 114.5),
]

FIGURES = {
    "lines": lambda: plots.lines(CURVES, x_label="n", y_label="perplexity", floor=("floor", 4.0)),
    "log": lambda: plots.lines(CURVES, x_label="n", y_label="perplexity", log_x=True, log_y=True),
    "bars": lambda: plots.bars({"a": 1.0, "b": 2.5}, value_label="bits", floor=("floor", 0.5)),
    "heatmap": lambda: plots.heatmap(
        np.eye(3, 4), rows="abc", columns=["x", "y", "long name", "z"]
    ),
    "letters": lambda: plots.heatmap(
        np.eye(27),
        rows="·abcdefghijklmnopqrstuvwxyz",
        columns="·abcdefghijklmnopqrstuvwxyz",
        row_label="before",
        column_label="next",
        numbers=False,
    ),
    "loss_curves": lambda: plots.loss_curves({"m": (range(30), np.linspace(3, 1, 30))}, window=5),
    "gradient_norms": lambda: plots.gradient_norms({"Elman": (ORDERS, [1, 0.1, 0.01, 1e-3, 1e-4])}),
    "ladder": lambda: plots.ladder(ROWS),
    "ladders": lambda: plots.ladders(SEVERAL),
    "above_floor": lambda: plots.above_floor(ROWS, SOURCE),
    "sparsity": lambda: plots.sparsity(ORDERS, {"stories": [0, 0.1, 0.4, 0.7, 0.9]}),
}


@pytest.fixture(params=FIGURES, ids=str)
def picture(request) -> plots.Picture:
    return plots.show(
        FIGURES[request.param](), alt=f'A "figure" of {request.param} & its <finding>'
    )


def test_picture_is_well_formed_and_described(picture):
    svg = ET.fromstring(picture.svg)
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == picture.alt


def test_picture_keeps_its_text_as_text(picture):
    assert "<text" in picture.svg and "<path" in picture.svg


def test_picture_follows_the_theme(picture):
    """Every colour is the page's text colour or one of its variables; no style leaks out."""
    assert (
        ET.fromstring(picture.svg).get("fill") == "currentColor"
    )  # what names no colour of its own
    colours = re.findall(r"(?:fill|stroke): (?!none|url)([^;\"]+)", picture.svg)
    assert colours
    assert all(colour == "currentColor" or colour.startswith("var(--lm-") for colour in colours)
    assert "<style" not in picture.svg


def test_picture_offers_html_png_and_words(picture):
    bundle = picture._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/png", "text/plain"}
    assert picture.png.startswith(b"\x89PNG")


def labels_on_a_phone(picture: plots.Picture) -> list[float]:
    """Pixels of each label where a phone is narrower than any figure; exponents, indices aside."""
    (least,) = re.findall(r"min-width: (\d+)px", picture.svg)
    (width,) = re.findall(r'viewBox="0 0 ([\d.]+) ', picture.svg)
    labels = re.findall(r"<text.*?</text>", picture.svg)
    sizes = [max(map(float, re.findall(r"font-size: ([\d.]+)px", label))) for label in labels]
    return [size * float(least) / float(width) for size in sizes]


def test_labels_have_ten_pixels_on_a_phone(picture):
    assert min(labels_on_a_phone(picture)) > 9.95  # the least width is a whole number of pixels


def test_figures_of_the_usual_width_fit_a_phone(picture):
    assert int(re.findall(r"min-width: (\d+)px", picture.svg)[0]) <= 390
    assert "tabindex" not in picture._repr_mimebundle_()["text/html"]


def test_figure_with_small_type_scrolls_also_by_keys():
    figure, axes = plots.new_figure()
    axes.text(0.5, 0.5, "small", fontsize=7)
    picture = plots.show(figure, alt="x")
    assert min(labels_on_a_phone(picture)) > 9.95
    assert '<div class="lm-figure" tabindex="0">' in picture._repr_mimebundle_()["text/html"]


def test_figure_without_labels_may_be_small():
    figure = plots.Diagram(5.4, 1.0)
    figure.box(1.0, 0.5)
    assert "min-width: 131px" in plots.show(figure.figure, alt="x").svg


@pytest.mark.parametrize("name", FIGURES)
def test_picture_is_the_same_at_every_build(name):
    first, second = (plots.show(FIGURES[name](), alt="the same") for _ in range(2))
    assert first.svg == second.svg


def test_pictures_with_different_words_share_no_id():
    def ids(alt: str) -> set[str]:
        return set(re.findall(r' id="([^"]+)"', plots.show(FIGURES["lines"](), alt=alt).svg))

    assert ids("one") and not ids("one") & ids("two")


@pytest.mark.parametrize("alt", ["", "  "])
def test_show_rejects_a_figure_without_words(alt):
    with pytest.raises(ValueError, match="describe what the figure shows"):
        plots.show(FIGURES["bars"](), alt=alt)


def test_lines_label_every_line_and_the_floor():
    svg = plots.show(FIGURES["lines"](), alt="x").svg
    assert all(f">{name}</text>" in svg for name in ("add-one", "Kneser–Ney", "floor"))


def test_lines_take_tensors():
    x = torch.arange(4.0)
    figure = plots.lines({"square": (x, x**2)}, x_label="x", y_label="y")
    assert figure.axes[0].lines[0].get_ydata().tolist() == [0, 1, 4, 9]


def test_lines_end_at_the_last_finite_value():
    figure = plots.lines({"m": ([1, 2, 3], [5.0, 4.0, np.inf])}, x_label="x", y_label="y")
    assert [text.get_text() for text in figure.axes[0].texts] == ["m"]


@pytest.mark.parametrize(
    ("curves", "message"),
    [({}, "curves is empty"), ({"m": ([1, 2], [1])}, r"'m' has x \(2,\) and y \(1,\)"),
     ({"m": ([], [])}, r"'m' has x \(0,\)"), ({"m": ([1], [np.nan])}, "'m' has no finite")],
)  # fmt: skip
def test_lines_reject_curves_that_do_not_fit(curves, message):
    with pytest.raises(ValueError, match=message):
        plots.lines(curves, x_label="x", y_label="y")


def test_bars_reject_no_values():
    with pytest.raises(ValueError, match="values is empty"):
        plots.bars({}, value_label="bits")


def test_heatmap_rejects_names_that_do_not_fit():
    with pytest.raises(ValueError, match=r"\(2, 3\); rows and columns name 3 x 2"):
        plots.heatmap(np.zeros((2, 3)), rows="abc", columns="ab")


def test_heatmap_puts_the_first_row_on_top():
    figure = plots.heatmap([[1.0, 0.0], [0.0, 0.0]], rows="ab", columns="xy")
    low, high = figure.axes[0].get_ylim()
    assert low > high


def test_heatmap_frames_the_cells_it_is_told_to():
    figure = plots.heatmap(np.zeros((2, 3)), rows="ab", columns="xyz", framed=[(1, 2), (0, 0)])
    assert [patch.get_xy() for patch in figure.axes[0].patches] == [(2, 1), (0, 0)]


@pytest.mark.parametrize("cell", [(2, 0), (0, 3), (-1, 0)])
def test_heatmap_rejects_a_frame_outside_the_table(cell):
    with pytest.raises(ValueError, match=rf"framed has \({cell[0]}, {cell[1]}\).*\(2, 3\)"):
        plots.heatmap(np.zeros((2, 3)), rows="ab", columns="xyz", framed=[cell])


def test_attention_heads_have_a_panel_each_with_the_first_token_on_top():
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(3, 4))
    panels = plots.attention_heads(weights, ["the", "cat", "sat", "."], layer=2).axes
    titles = [axes.get_title(loc="left") for axes in panels if axes.axison]
    assert titles == [f"layer 2, head {n}" for n in (1, 2, 3)]
    shown = panels[1].collections[0].get_array()
    np.testing.assert_allclose(np.asarray(shown).reshape(4, 4), weights[1])
    assert panels[0].get_ylim() == (4, 0)
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["the", "cat", "sat", "."]


def test_attention_heads_reject_weights_of_other_tokens():
    with pytest.raises(ValueError, match=r"\(1, 2, 3\); 2 tokens"):
        plots.attention_heads(np.ones((1, 2, 3)), ["a", "b"], layer=1)


def test_positions_show_cosines():
    figure = plots.positions([[2.0, 0.0], [3.0, 3.0], [-1.0, 0.0]])
    shown = np.asarray(figure.axes[0].collections[0].get_array()).reshape(3, 3)
    half = 0.5**0.5
    np.testing.assert_allclose(shown, [[1, half, 0], [half, 1, 0], [0, 0, 1]], atol=1e-12)


def test_series_are_distinct_and_readable_on_white():
    """WCAG's contrast of text, 4.5 to 1, since labels are written in the colour of their line."""

    def luminance(colour: str) -> float:
        channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        return float(linear @ [0.2126, 0.7152, 0.0722])

    assert len(set(plots.SERIES)) == len(plots.SERIES) >= 6
    for colour in (*plots.SERIES, plots.MUTED):
        assert 1.05 / (luminance(colour) + 0.05) >= 4.5, colour


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0.01, 0.5))
def test_spread_keeps_order_centre_and_distance(wanted, gap):
    placed = plots.spread(wanted, gap)
    order = np.argsort(wanted, kind="stable")
    # 1e-9: sums of at most nine floats below 5.
    assert np.all(np.diff(placed[order]) >= gap - 1e-9)
    assert placed.mean() == pytest.approx(np.mean(wanted), abs=1e-9)


def test_spread_leaves_alone_what_is_far_apart():
    assert plots.spread([0.9, 0.1, 0.5], gap=0.2).tolist() == [0.9, 0.1, 0.5]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=30), st.integers(1, 12))
def test_moving_average_matches_its_definition(values, window):
    expected = [np.mean(values[max(0, i - window + 1) : i + 1]) for i in range(len(values))]
    # 1e-10: differences of cumulative sums below 300 in float64.
    np.testing.assert_allclose(plots.moving_average(values, window), expected, atol=1e-10)


def test_moving_average_rejects_no_window():
    with pytest.raises(ValueError, match="window is 0"):
        plots.moving_average([1.0], 0)


def test_ladder_shows_every_row_that_has_bits_and_recorded_ones_hollow():
    axes = plots.ladder(ROWS).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["3-gram", "LSTM"]
    assert [text.get_text() for text in axes.texts] == ["0.320", "0.220"]
    assert [line.get_markerfacecolor() for line in axes.lines] == [plots.SERIES[0], "none"]


@pytest.mark.parametrize("corpora", [(), ("stories", "wikipedia")])
def test_ladder_refuses_what_cannot_be_compared(corpora):
    rows = [Result("c", "m", corpus, 2.0, 0.3) for corpus in corpora]
    with pytest.raises(ValueError, match=r"rows has the corpora .* exactly one"):
        plots.ladder(rows)


def test_ladders_stand_below_each_other_each_with_its_unit_its_floor_and_its_stairs():
    stories, bank = plots.ladders(SEVERAL).axes
    assert [axes.get_title(loc="left") for axes in (stories, bank)] == ["stories", "bank"]
    assert stories.get_xlabel() == "bits per byte" and bank.get_xlabel() == "perplexity"
    assert [text.get_text() for text in stories.texts] == ["0.320", "0.340", "0.220"]
    assert [text.get_text() for text in bank.texts] == ["141.2", "114.5"]
    *_, stairs = stories.lines
    assert list(stairs.get_xdata()) == [0.32, 0.32, 0.22]
    points = [line.get_color() for line in (stories.lines[2], bank.lines[1])]
    assert points == [plots.SERIES[1]] * 2  # one colour for each chapter, in all ladders


@pytest.mark.parametrize(
    ("rows", "message"),
    [([], "rows is empty"), (ROWS, r"some rows of \['stories'\] have bits per byte")],
)
def test_ladders_refuse_what_cannot_be_drawn(rows, message):
    with pytest.raises(ValueError, match=message):
        plots.ladders(rows)


def test_what_is_left_above_the_floor_is_in_nats_per_token_of_the_source():
    """By hand: the source has 0.5 nats a token at 0.2 bits a byte, so 0.1 bits a byte are 0.25."""
    rows = [SOURCE, *ROWS, Result("bytes", "one byte a token", "stories", 1.25, 0.3)]
    axes = plots.above_floor(rows, SOURCE).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()][-1] == "one byte a token"
    *points, stairs = axes.lines
    np.testing.assert_allclose([p.get_xdata()[0] for p in points], [0.3, 0.05, 0.25])
    np.testing.assert_allclose(stairs.get_xdata(), [0.3, 0.05, 0.05])
    assert axes.get_xscale() == "log" and axes.get_xlim() == (0.003, 40)
    assert plots.above_floor(ROWS[:1], SOURCE).axes[0].get_xlim() == (
        0.003,
        40,
    )  # grows on one axis


@pytest.mark.parametrize(
    ("rows", "floor", "message"),
    [
        ([SOURCE], SOURCE, r"rows has the corpora \[\]"),
        (
            ROWS,
            Result("c", "m", "tales", 1.5, 0.2),
            r"floor is .*; it must have bits per byte on st",
        ),
        (ROWS, Result("c", "m", "stories", 1.5), "floor is .*; it must have bits per byte on stor"),
        (
            ROWS,
            Result("c", "m", "stories", 1.5, 0.25),
            "LSTM has 0.22 bits per byte; it must be ab",
        ),
    ],
)
def test_above_floor_refuses_what_no_logarithm_shows(rows, floor, message):
    with pytest.raises(ValueError, match=message):
        plots.above_floor(rows, floor)
