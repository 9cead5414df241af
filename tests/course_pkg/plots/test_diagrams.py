"""Drawings: arrows end at edges, grids have the shape of their values, nonsense is refused."""

import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from course_pkg import Diagram, plots
from course_pkg.plots.diagrams import Box


@pytest.fixture
def drawing():
    return Diagram(4.0, 2.0)


@pytest.mark.parametrize(
    ("point", "edge"),
    [
        ((9.0, 1.0), (3.0, 1.0)),  # to the right: the right edge
        ((2.0, -5.0), (2.0, 0.5)),  # downwards: the lower edge
        ((4.0, 2.0), (3.0, 1.5)),  # along the diagonal: the corner
        ((3.0, 3.0), (2.25, 1.5)),  # steeper than the diagonal: the upper edge
        ((2.0, 1.0), (2.0, 1.0)),  # the centre itself
    ],
)
def test_line_leaves_a_box_at_its_edge(point, edge):
    assert Box(2.0, 1.0, 2.0, 1.0).towards(point) == pytest.approx(edge)


def test_edges_of_a_box_are_the_middles_of_its_sides():
    box = Box(2.0, 1.0, 2.0, 1.0)
    assert (box.left, box.right) == ((1.0, 1.0), (3.0, 1.0))
    assert (box.top, box.bottom) == ((2.0, 1.5), (2.0, 0.5))


def test_drawing_becomes_a_picture_that_follows_the_theme(drawing):
    mask = drawing.grid(1.0, 1.0, np.tril(np.ones((3, 3))), rows="abc", columns="abc", title="mask")
    box = drawing.box(3.0, 1.0, "softmax", series=2)
    drawing.arrow(mask, box, label="scores", bend=0.2)
    drawing.arrow(drawing.vector(3.8, 1.0, 3), drawing.circle(3.0, 1.8), dashed=True)
    drawing.path([(3.0, 0.5), (3.5, 0.5), (3.5, 0.9)], series=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = plots.show(drawing.figure, alt="A mask leads to a softmax.")
    written = [text.text for text in ET.fromstring(picture.svg).iter() if text.tag.endswith("text")]
    assert {"a", "b", "c", "mask", "softmax", "scores", "+"} <= set(written)
    assert "var(--lm-series-2" in picture.svg


def test_words_side_by_side_share_a_baseline_and_signs_stand_in_the_middle(drawing):
    for x, text in enumerate(["as", "the", "proctor", ",", "naïve", "+"]):
        drawing.text(0.5 + 0.6 * x, 1.0, text)
    picture = plots.show(drawing.figure, alt="Words in a row.")
    found = [text for text in ET.fromstring(picture.svg).iter() if text.tag.endswith("text")]
    *words, sign = [float(text.get("y")) for text in found]
    assert words == pytest.approx([words[0]] * 5) and len(found) == 6
    middle = 72.0  # of a drawing of two inches
    assert middle < sign < words[0] < middle + 5


def test_grid_shades_by_value_and_writes_numbers(drawing):
    drawing.grid(1.0, 1.0, [[0.0, 0.25], [0.5, 1.0]], numbers=True)
    axes = drawing.figure.axes[0]
    assert [patch.get_facecolor()[3] for patch in axes.patches] == pytest.approx(
        [0, 0.175, 0.35, 0.7]
    )
    assert [text.get_text() for text in axes.texts] == ["0", ".25", ".5", "1"]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda d: Diagram(9.0, 1.0), "9.0 x 1.0 inches"),
        (lambda d: Diagram(3.0, 0.0), "both must be positive"),
        (lambda d: d.grid(1.0, 1.0, [[2.0]]), "entries from 0 to 1"),
        (lambda d: d.grid(1.0, 1.0, [0.5]), r"shape \(1,\)"),
        (lambda d: d.grid(1.0, 1.0, np.eye(2), rows="abc"), "rows names 3; values has 2"),
        (lambda d: d.box(1.0, 1.0, series=7), "series is 7; it must be from 1 to 6"),
        (lambda d: d.path([(0.0, 0.0)]), "points has 1"),
    ],
)
def test_drawing_refuses_what_cannot_be_drawn(drawing, draw, message):
    with pytest.raises(ValueError, match=message):
        draw(drawing)
