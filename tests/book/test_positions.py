"""The chapter on positions: its derivations on other numbers, its records, the turning figure."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from course_pkg import GPT, gpt_tiny, widgets
from course_pkg.layers.attention import attend
from course_pkg.layers.positions import (
    AttentionPositions,
    RotaryPositions,
    SinusoidalPositions,
    alibi_slopes,
)
from course_pkg.models import transformer_config
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.results import benchmark, chapter_results
from course_pkg.text.stories.grammar import StoryGrammar

ROOT = Path(__file__).parents[2]
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
K = 6
RECORD = benchmark("positions")
NATS = {name: np.array(row["test_nats_by_seed"]) for name, row in RECORD["schemes"].items()}


def test_product_of_waves_is_the_sum_of_cosines_of_the_offset():
    waves, omega = (
        SinusoidalPositions(14).waves(60).double(),
        10_000.0 ** (-np.arange(0, 14, 2) / 14),
    )
    for t, s in ((0, 0), (17, 3), (3, 17), (59, 1)):
        expected = np.cos(omega * (t - s)).sum()
        assert float(waves[t] @ waves[s]) == pytest.approx(expected, abs=1e-4)  # float32 angles


def test_waves_have_the_lengths_that_the_picture_names():
    lengths = [round(2 * math.pi * 10_000 ** (2 * i / 64)) for i in (0, 4, 8, 12)]
    assert lengths == [6, 20, 63, 199]


def test_even_attention_counts_the_positions_before_it():
    """With equal scores the start token's share is 1 / (t + 1), as the page derives."""
    T = 9
    value = torch.zeros(T, 2)
    value[0, 1] = 1
    share = attend(torch.zeros(T, 4), torch.randn(T, 4), value, is_causal=True)[:, 1]
    torch.testing.assert_close(share, 1 / torch.arange(1, T + 1))


def test_worked_numbers_of_alibi_are_right():
    slopes = alibi_slopes(4).tolist()
    assert (slopes[0], slopes[-1]) == (1 / 4, 1 / 256)
    assert [round(math.log(2) / s, 1) for s in (slopes[0], slopes[-1])] == [2.8, 177.4]
    eight = alibi_slopes(8).tolist()
    assert [round(math.exp(-20 * s), 2) for s in (eight[4], eight[3])] == [0.54, 0.29]
    weights = np.exp(-eight[4] * np.arange(5000))
    assert weights[20:].sum() / weights.sum() == pytest.approx(math.exp(-20 * eight[4]))


def test_quarter_turns_of_the_first_exercise_are_right():
    query, key = np.array([1.0, 0.0]), np.array([1.0, 1.0])

    def turned(vector, n):
        for _ in range(n):
            vector = np.array([-vector[1], vector[0]])
        return vector

    products = [turned(query, m) @ turned(key, n) for m, n in ((0, 0), (1, 0), (0, 1), (5, 4))]
    assert products == [1, 1, -1, 1]
    assert [
        math.sqrt(2) * math.cos(-math.pi / 4 + math.pi / 2 * (m - n))
        for m, n in ((0, 0), (1, 0), (0, 1), (5, 4))
    ] == pytest.approx(products)


def test_scheme_of_ones_own_is_a_class_and_a_line(monkeypatch):
    """What the page says of two files: nothing else has to know the new name."""

    class OnlyNeighbours(AttentionPositions):
        def bias(self, query, key):
            T, S = query.shape[2], key.shape[2]
            back = torch.arange(S - T, S)[:, None] - torch.arange(S)
            return torch.zeros(T, S).masked_fill(back > 1, -torch.inf)

    monkeypatch.setitem(
        transformer_config.ATTENTION_POSITIONS, "neighbours", lambda config: OnlyNeighbours()
    )
    config = TransformerConfig(**{**vars(gpt_tiny(11)), "n_layers": 1, "positions": "neighbours"})
    model = GPT(config, generator=torch.Generator().manual_seed(0)).eval()
    ids = torch.tensor([[1, 2, 3, 4]])
    changed = torch.tensor([[9, 9, 3, 4]])
    torch.testing.assert_close(model(ids)[0][:, -1], model(changed)[0][:, -1])
    assert not torch.allclose(model(ids)[0][:, 2], model(changed)[0][:, 2])


class TestRecord:
    """What the page says of the recorded comparison, at the precision at which it says it."""

    def test_record_has_six_schemes_three_seeds_and_where_it_was_made(self):
        assert list(NATS) == ["none", "learned", "sinusoidal", "relative", "rotary", "alibi"]
        assert {table.shape for table in NATS.values()} == {(3, len(RECORD["edges"]) - 1)}
        assert all(RECORD[name] for name in ("machine", "date", "command", "cpu_seconds"))

    def test_rate_is_the_best_of_those_tried_and_not_the_largest(self):
        for row in RECORD["schemes"].values():
            tried = {float(rate): nats for rate, nats in row["valid_nats_by_lr"].items()}
            assert min(tried, key=tried.__getitem__) == row["lr"]
            assert min(tried) < row["lr"] < max(tried)

    def test_learned_and_sinusoidal_break_at_the_training_length(self):
        inside = RECORD["edges"].index(RECORD["trained_length"]) - 1
        for name in ("learned", "sinusoidal"):
            jumps = NATS[name][:, inside + 1] - NATS[name][:, inside]
            assert jumps.min() > 0.3

    def test_relative_and_alibi_hold_and_rotary_does_not(self):
        for name in ("relative", "alibi"):
            assert np.ptp(NATS[name][:, 2:].mean(axis=0)) < 0.1
        assert (NATS["rotary"][:, -2:] - NATS["rotary"][:, 2:3]).min() > 1

    def test_without_positions_it_is_about_as_good_as_a_bigram(self):
        assert abs(NATS["none"][:, 2].mean() - RECORD["bigram_nats"]) < 0.05


def test_recorded_row_lies_between_the_floor_and_the_recurrent_network():
    (row,) = chapter_results("positions")
    lstm = next(r for r in chapter_results("recurrent") if r.key[1:] == ("LSTM", "stories"))
    assert StoryGrammar().floor_perplexity() < row.perplexity < lstm.perplexity
    assert row.n_parameters < lstm.n_parameters


def figure(**changes) -> widgets.Widget:
    source = torch.Generator().manual_seed(4)
    query, key = torch.randn(2, K, generator=source, dtype=torch.float64)
    arguments = {"query": query, "key": key, "last": 31} | changes
    return widgets.rotation_explorer(**arguments, alt="two arrows that turn")


def product(m: int, n: int, pair: int | None = None) -> float:
    """The dot product of the figure's query and key by the package's rotation."""
    rotary, data = RotaryPositions(K), figure().data["pairs"]
    halves = [
        torch.tensor([[p[name][j] for p in data] for j in (0, 1)]).flatten()
        for name in ("query", "key")
    ]
    query, key = (
        rotary(x[None, None, None], offset)[0, 0, 0].view(2, -1)
        for x, offset in zip(halves, (m, n), strict=True)
    )
    products = (query * key).sum(dim=0)
    return float(products.sum() if pair is None else products[pair])


def test_table_of_the_figure_matches_the_package():
    for m, n, offset, first, whole in figure().rows:
        m, n = int(m), int(n)
        assert int(offset) == m - n
        # float32 angles, three digits in the table
        assert float(first) == pytest.approx(product(m, n, 0), abs=6e-4)
        assert float(whole) == pytest.approx(product(m, n), abs=6e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key": torch.zeros(K + 2)}, r"\(6,\) and key \(8,\)"),
        ({"query": torch.zeros(3), "key": torch.zeros(3)}, "with K even"),
        ({"positions": (2, 32)}, r"\(2, 32\); both must lie between 0 and 31"),
    ],
)
def test_figure_rejects_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        figure(**changes)


@pytest.fixture
def page(browser, tmp_path):
    """The figure alone on a page, with the book's scripts and style."""
    for name in ("lm-base.js", "lm-rotation.js", "coursebook.css"):
        shutil.copy(ROOT / "book" / "_assets" / name, tmp_path)
    file = tmp_path / "page.html"
    file.write_text(
        '<!doctype html><html lang="en" data-theme="light"><head><title>Rotation</title>'
        '<meta charset="utf-8"><link rel="stylesheet" href="coursebook.css">'
        '<script defer src="lm-base.js"></script><script defer src="lm-rotation.js"></script>'
        f"</head><body><main><h1>Rotation</h1>{figure().to_html()}</main></body></html>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


def find(browser, selector):
    return browser.find_elements("css selector", f"lm-rotation {selector}")


def status(browser) -> str:
    return find(browser, ".lm-status")[0].text


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("pair", range(K // 2))
def test_figure_computes_what_the_package_does(page, pair):
    find(page, ".lm-choices input")[pair].send_keys(" ")
    shown = page.execute_script(
        "const figure = document.querySelector('lm-rotation');"
        "return [[9, 4], [0, 0], [3, 30]].map(([m, n]) => figure.dot(m, n, figure.pair.angle))"
    )
    expected = [product(m, n, pair) for m, n in ((9, 4), (0, 0), (3, 30))]
    assert shown == pytest.approx(expected, abs=1e-5)  # the package's angles are float32
    # What the reader is told: the slider's steps must not round the angle of a slow pair.
    said = status(page).split("dot product is ")[1].split(",")[0]
    assert float(said.replace("−", "-")) == pytest.approx(expected[0], abs=6e-4)


@pytest.mark.slow
@pytest.mark.browser
def test_dot_product_stays_when_both_move_and_changes_when_one_does(page):
    def said() -> str:
        return status(page).split("dot product is ")[1].split(",")[0]

    assert status(page).startswith("m = 9, n = 4:")
    before = said()
    for _ in range(7):
        find(page, "button")[1].click()
    assert status(page).startswith("m = 16, n = 11:")
    assert said() == before
    find(page, "input[type=range]")[0].send_keys("\ue014")  # the arrow to the right
    assert status(page).startswith("m = 17, n = 11:")
    assert said() != before
    for _ in range(12):
        find(page, "button")[0].click()
    assert "positions go from 0 to 31" in status(page)


@pytest.mark.slow
@pytest.mark.browser
def test_angle_is_the_readers_own_and_returns_with_the_pair(page):
    angle = find(page, "input[type=range]")[2]
    angle.send_keys("\ue011")  # home: no turning at all
    unturned = f"{product(0, 0, 0):.3f}".replace("-", "−")
    assert f"dot product is {unturned}," in status(page)
    find(page, ".lm-choices input")[1].send_keys(" ")
    assert float(angle.get_attribute("value")) == pytest.approx(10_000 ** (-2 / K), abs=0.005)


@pytest.mark.slow
@pytest.mark.browser
def test_figure_is_accessible_and_silent(page):
    # Before axe-core runs: it asks for the style sheet in a way that file:// refuses.
    assert [entry for entry in page.get_log("browser") if entry["level"] != "INFO"] == []
    page.execute_script(AXE)
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run('lm-rotation').then((result) => done(result.violations.map((v) => v.id)));"
    )
    assert found == []
