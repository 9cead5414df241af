"""The chapter on recurrent networks: the gradient's figure against torch."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from course_pkg import widgets
from course_pkg.layers.recurrent import set_spectral_radius
from course_pkg.results import RECORDED, benchmark, chapter_results

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "recurrent.md").read_text(encoding="utf-8")
R, T = 3, 11


def system() -> tuple[Tensor, Tensor, Tensor]:
    """A matrix of spectral radius 1, inputs, and a gradient of the last state."""
    source = torch.Generator().manual_seed(3)
    weight, projected, gradient = (
        torch.randn(*shape, generator=source, dtype=torch.float64)
        for shape in ((R, R), (T, R), (R,))
    )
    return weight / torch.linalg.eigvals(weight).abs().max(), projected, gradient


def lstm() -> tuple[Tensor, Tensor]:
    """Recurrent weights and inputs of an LSTM, in torch's order of gates."""
    source = torch.Generator().manual_seed(5)
    gates, projected = (
        torch.randn(*shape, generator=source, dtype=torch.float64)
        for shape in ((4 * R, R), (T, 4 * R))
    )
    return gates, projected


def lstm_norms_by_torch(bias: float) -> list[float]:
    """Length of the gradient at (hidden, memory), the last first, by torch's own cell."""
    gates, projected = lstm()
    cell = torch.nn.LSTMCell(4 * R, R, dtype=torch.float64)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.weight_ih.copy_(torch.eye(4 * R))  # the inputs are already multiplied
        cell.weight_hh.copy_(gates)
        cell.bias_ih[R : 2 * R] = bias
    states = [(torch.zeros(1, R, dtype=torch.float64, requires_grad=True),) * 2]
    for inputs in projected:
        after = cell(inputs[None], states[-1])
        states.append(tuple(part.detach().requires_grad_() for part in after))
    grads = system()[2][None], torch.zeros(1, R, dtype=torch.float64)
    norms = [float(torch.cat(grads).norm())]
    for t in reversed(range(1, T)):  # what a step hands on is hidden state and memory, side by side
        grads = torch.autograd.grad(cell(projected[t][None], states[t]), states[t], grads)
        norms.append(float(torch.cat(grads).norm()))
    return norms


def norms_by_torch(cell: str, radius: float) -> list[float]:
    """Length of the gradient at each state, the last first, by automatic differentiation."""
    if cell == "LSTM":
        return lstm_norms_by_torch(radius)
    weight, projected, gradient = system()
    hidden, states = torch.zeros(R, dtype=torch.float64), []
    for inputs in projected:
        hidden = inputs + radius * weight @ hidden
        hidden = (torch.tanh(hidden) if cell == "tanh" else hidden).requires_grad_()
        hidden.retain_grad()
        states.append(hidden)
    hidden.backward(gradient)
    return [float(state.grad.norm()) for state in reversed(states)]


def figure(**changes) -> widgets.Widget:
    names = ("weight", "projected", "gradient", "gates", "projected_gates")
    arguments = dict(zip(names, system() + lstm(), strict=True)) | changes
    return widgets.gradient_through_time(**arguments, alt="lines that fall or rise")


def test_gradient_table_matches_torch():
    widget = figure(radii=(0.7, 1.3), biases=(-0.5, 2.0))
    assert widget.header == (
        "steps back",
        *(f"{cell}, radius {radius}" for cell in ("linear", "tanh") for radius in (0.7, 1.3)),
        "LSTM, bias -0.5",
        "LSTM, bias 2",
    )
    expected = [norms_by_torch(cell, r) for cell in ("linear", "tanh") for r in (0.7, 1.3)]
    expected += [lstm_norms_by_torch(bias) for bias in (-0.5, 2.0)]
    for row in widget.rows:
        k = int(row[0])
        assert [float(cell) for cell in row[1:]] == pytest.approx(
            [norms[k] for norms in expected], rel=0.05
        )  # the table has two digits
    assert [row[0] for row in widget.rows] == ["0", "5", "10"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": np.eye(R + 1)}, r"weight has shape \(4, 4\).*need \(3, 3\)"),
        ({"projected": np.zeros((T, R + 1))}, r"projected has shape \(11, 4\)"),
        ({"gates": np.zeros((3 * R, R))}, r"gates has shape \(9, 3\).*need \(12, 3\)"),
        ({"weight": 2 * np.eye(R)}, "spectral radius 2.0; it must be 1"),
    ],
)
def test_gradient_figure_rejects_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        figure(**changes)


@pytest.fixture
def page(browser, tmp_path):
    """The figure alone on a page, with the book's scripts and style."""
    assets = ROOT / "book" / "_assets"
    style = (assets / "coursebook.css").as_uri()
    head = f"<title>Gradient</title><link rel=stylesheet href={style}>"
    for name in ("lm-base.js", "lm-gradient.js"):
        head += f"<script defer src={(assets / name).as_uri()}></script>"
    file = tmp_path / "gradient.html"
    file.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8>{head}"
        f"<main><h1>Gradient</h1>{figure().to_html()}</main>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


def find(browser, selector):
    return browser.find_elements("css selector", f"lm-gradient {selector}")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("cell", ["linear", "tanh", "LSTM"])
@pytest.mark.parametrize("value", [0.5, 1.0, 1.37])
def test_gradient_figure_computes_what_the_cell_does_matches_torch(page, cell, value):
    shown = page.execute_script(
        "return document.querySelector('lm-gradient').norms(arguments[0], arguments[1])",
        cell,
        value,
    )
    # the same operations in another order, in double precision on both sides
    assert shown == pytest.approx(norms_by_torch(cell, value), rel=1e-10)


@pytest.mark.slow
@pytest.mark.browser
def test_gradient_figure_makes_its_point_at_rest_and_follows_the_keyboard(page):
    labels = [text.text for text in find(page, "svg text.lm-reference")]
    assert labels == ["1.20", "1.00", "0.80"]  # from the top: what explodes, stays, vanishes
    assert find(page, "svg text.lm-chosen")[0].text == "1.10"
    assert find(page, ".lm-status")[0].text.startswith("Spectral radius 1.10: after 10 steps")
    slider = find(page, "input[type=range]")[0]
    assert slider.accessible_name.startswith("Spectral radius")
    for _ in range(3):
        slider.send_keys("\ue014")  # right arrow
    assert find(page, "svg text.lm-chosen")[0].text == "1.13"
    find(page, "input[type=radio]")[2].send_keys(" ")
    norms = lstm_norms_by_torch(2.0)
    assert find(page, ".lm-status")[0].text == (
        "Bias of the forget gates 2.00: after 10 steps back the gradient is "
        f"{norms[-1] / norms[0]:.2g} of its first length."
    )
    assert slider.get_attribute("max") == "6"
    assert page.get_log("browser") == []


def test_recorded_wikipedia_rows_are_those_of_the_benchmark():
    measured = benchmark("recurrent")
    rows = {r.model: r for r in chapter_results("recurrent") if r.corpus == "wikipedia"}
    assert set(rows) == {"LSTM", "LSTM and 5-gram"}
    for name, row in rows.items():
        assert row.source == RECORDED
        assert row.perplexity == measured["rows"][name]["test_perplexity"]
        assert row.bits_per_byte == measured["rows"][name]["bits_per_byte"]


def test_clipping_was_compared_at_each_arms_own_best_rate():
    arms = benchmark("clipping")["arms"]
    assert list(arms) == ["not clipped", "clipped at 1", "clipped at 0.25"]
    for name, arm in arms.items():
        tried = dict(arm["tried"])
        assert arm["lr"] == min(tried, key=tried.get), name
        assert min(tried) < arm["lr"] < max(tried), f"{name}: best rate at the edge"
        assert len(arm["losses"]) == 3


def test_power_of_a_matrix_is_the_sum_over_its_eigenvectors_that_the_page_derives():
    weight, _, gradient = system()
    values, columns = torch.linalg.eig(weight)
    rows = torch.linalg.inv(columns)
    k = 7
    by_parts = sum(
        (gradient.to(columns.dtype) @ columns[:, i]) * values[i] ** k * rows[i] for i in range(R)
    )
    expected = gradient @ torch.linalg.matrix_power(weight, k)
    assert torch.allclose(by_parts.real, expected, rtol=0, atol=1e-10)
    assert by_parts.imag.abs().max() < 1e-10


@pytest.mark.parametrize("radius", [0.8, 1.2])
def test_gradient_length_follows_the_spectral_radius(radius):
    weight, _, gradient = system()
    set_spectral_radius(weight, radius)
    lengths = []
    for _ in range(400):
        gradient = gradient @ weight
        lengths.append(float(gradient.norm().log()))
    slope = (lengths[-1] - lengths[199]) / 200
    # a complex pair of eigenvalues makes the length swing by a bounded factor about its trend
    assert slope == pytest.approx(math.log(radius), abs=0.01)


def test_solutions_in_numbers_are_right():
    half_lives = [math.log(2) / -math.log(f) for f in (0.5, 0.73, 0.98, 0.999)]
    assert half_lives == pytest.approx([1, 2.2, 34.3, 692.8], abs=0.05)
    forget = 2 ** (-1 / 100)
    assert math.log(forget / (1 - forget)) == pytest.approx(4.97, abs=0.005)
    block = 64 * (32 + 64 + 1)
    assert (block, 3 * block, 4 * block) == (6208, 18624, 24832)
    assert 64 * (32 * 12 + 1) < 4 * block < 64 * (32 * 13 + 1)
