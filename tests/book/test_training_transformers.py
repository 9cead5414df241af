"""The chapter on training transformers: its worked numbers, its records, and its figures."""

import math
import re
from pathlib import Path

import pytest
import torch

from course_pkg import widgets
from course_pkg.results import benchmark, chapter_results
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.training import schedules
from course_pkg.widgets.schedule import noise_step

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "training_transformers.md").read_text(encoding="utf-8")
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
START, N_STEPS = (-1.9, 0.9), 40


def valley(**changes) -> widgets.Widget:
    arguments = {"ratio": 30, "angle": 0, "start": START, "n_steps": N_STEPS, "alt": "a valley"}
    return widgets.optimizer_valley(**(arguments | changes))


def points_by_torch(name: str, rate: float, ratio: float, angle: float) -> list[list[float]]:
    """Where torch's own optimizer stands after each step; it finds the gradient itself."""
    turn = math.radians(angle)
    point = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    optimizer = {
        "SGD": lambda: torch.optim.SGD([point], lr=rate),
        "momentum": lambda: torch.optim.SGD([point], lr=rate, momentum=0.9),
        "Adam": lambda: torch.optim.Adam([point], lr=rate),
    }[name]()
    points = [point.tolist()]
    for _ in range(N_STEPS):
        optimizer.zero_grad()
        along = math.cos(turn) * point[0] + math.sin(turn) * point[1]
        across = -math.sin(turn) * point[0] + math.cos(turn) * point[1]
        ((along**2 + ratio * across**2) / 2).backward()
        optimizer.step()
        points.append(point.tolist())
    return points


def test_valley_table_matches_torch():
    widget = valley(angle=20)
    assert widget.header[2:] == tuple(f"loss after {n} steps" for n in (10, 20, 40))
    for name, rate, *losses in widget.rows:
        points = points_by_torch(name, float(rate), 30, 20)
        turn = math.radians(20)
        for n, loss in zip((10, 20, 40), losses, strict=True):
            x, y = points[n]
            along, across = (
                math.cos(turn) * x + math.sin(turn) * y,
                -math.sin(turn) * x + math.cos(turn) * y,
            )
            # the table has two digits
            assert float(loss) == pytest.approx((along**2 + 30 * across**2) / 2, rel=0.06)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ratio": 0.5}, "ratio is 0.5; it must be at least 1"),
        ({"n_steps": 0}, "n_steps is 0"),
        ({"start": (1.0, 2.0, 3.0)}, "start has 3 coordinates"),
    ],
)
def test_valley_rejects_what_is_none(changes, message):
    with pytest.raises(ValueError, match=message):
        valley(**changes)


def schedule(**changes) -> widgets.Widget:
    arguments = {"peak": 0.012, "n_warmup": 100, "n_steps": 1000, "alt": "a schedule"}
    return widgets.rate_schedule(**(arguments | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peak": 0.2}, "peak is 0.2; it must be from 0.00001 to 0.1"),
        ({"n_steps": 10}, "n_steps is 10; it must be from 100"),
        ({"n_warmup": 501}, "n_warmup is 501; it must be from 0 to half of 1000"),
    ],
)
def test_schedule_rejects_what_its_sliders_cannot_reach(changes, message):
    with pytest.raises(ValueError, match=message):
        schedule(**changes)


def test_noise_moves_weights_as_the_schedule_says_matches_torch():
    generator = torch.Generator().manual_seed(0)
    weights = torch.zeros(20_000, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=1.0, betas=(0.9, 0.9999), eps=0.0)
    moved = []
    for _ in range(30):
        before = weights.detach().clone()
        weights.grad = torch.randn(20_000, generator=generator, dtype=torch.float64)
        optimizer.step()
        moved.append((weights.detach() - before).square().mean().sqrt().item())
    # root mean squares of 20,000 draws
    assert moved == pytest.approx([noise_step(s) for s in range(1, 31)], rel=0.02)


@pytest.fixture
def page(browser, tmp_path):
    """The two figures alone on a page, with the book's scripts and style."""
    assets = ROOT / "book" / "_assets"
    head = f"<title>Valley</title><link rel=stylesheet href={(assets / 'coursebook.css').as_uri()}>"
    for name in ("lm-base.js", "lm-valley.js", "lm-schedule.js"):
        head += f"<script defer src={(assets / name).as_uri()}></script>"
    file = tmp_path / "valley.html"
    file.write_text(
        f'<!doctype html><html lang=en data-theme="light"><meta charset=utf-8>{head}'
        f"<main><h1>Valley</h1>{valley().to_html()}{schedule().to_html()}</main>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


def find(browser, selector, figure="lm-valley"):
    return browser.find_elements("css selector", f"{figure} {selector}")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("name", ["SGD", "momentum", "Adam"])
@pytest.mark.parametrize(("rate", "ratio", "angle"), [(0.03, 30, 0), (0.2, 7, 33)])
def test_valley_walks_as_the_optimizer_does_matches_torch(page, name, rate, ratio, angle):
    shown = page.execute_script(
        "return document.querySelector('lm-valley').walk(...arguments)", name, rate, ratio, angle
    )
    expected = points_by_torch(name, rate, ratio, angle)
    assert len(shown) == N_STEPS + 1
    # the same operations in another order, in double precision on both sides
    for point, other in zip(shown, expected, strict=True):
        assert point == pytest.approx(other, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@pytest.mark.browser
def test_valley_makes_its_point_at_rest_and_follows_the_keyboard(page):
    status = find(page, ".lm-status")[0]
    assert status.text.startswith("SGD, rate 0.03: after 40 steps the loss is 0.0")
    rate = find(page, "input[type=range]")[0]
    assert rate.accessible_name.startswith("Rate")
    for _ in range(25):  # up to 0.095, beyond 2 / 30
        rate.send_keys("\ue014")
    assert "it diverges" in status.text
    find(page, "input[value=Adam]")[0].send_keys(" ")
    assert status.text.startswith("Adam, rate 0.3: after 40 steps")
    assert len(find(page, "svg circle.lm-chosen")) == N_STEPS + 1
    angle = find(page, "input[type=range]")[2]
    angle.send_keys("\ue014")
    assert angle.get_attribute("aria-valuetext") == "Turned by 1°"


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("n_warmup", [0, 70])
def test_schedule_draws_the_rates_of_the_package(page, n_warmup):
    peak, n_steps = 0.004, 700
    expected = {
        "cosine": schedules.cosine_schedule(peak, n_warmup=n_warmup, n_steps=n_steps),
        "inverse root": schedules.inverse_sqrt_schedule(
            1, n_warmup=max(n_warmup, 1), factor=peak * max(n_warmup, 1) ** 0.5
        ),
        "constant": schedules.constant_schedule(peak, n_warmup=n_warmup),
    }
    for kind, rate in expected.items():
        for s in (1, 2, 69, 70, 71, 72, 350, 700):
            shown = page.execute_script(
                "return document.querySelector('lm-schedule').rate(...arguments)[0]",
                *(kind, s, peak, n_warmup, n_steps),
            )
            assert shown == pytest.approx(rate(s - 1), rel=1e-9), (kind, s)


@pytest.mark.slow
@pytest.mark.browser
def test_schedule_follows_the_keyboard_and_says_its_formula(page):
    status = find(page, ".lm-status", "lm-schedule")[0]
    assert status.text.startswith("Update 20: the rate is 0.012 · 20 / 100 = 0.0024. Adam moves")
    warmup, update = find(page, "input[type=range]", "lm-schedule")[2:]
    warmup.send_keys("\ue011")  # home: no warm-up
    assert "0.012 · (0.1 + 0.9 · (1 + cos 0.02π) / 2) = 0.012" in status.text
    assert warmup.get_attribute("aria-valuetext") == "No warm-up"
    update.send_keys("\ue010")  # end
    assert status.text.startswith("Update 1,000") and "= 0.0012." in status.text
    find(page, "input[value=constant]", "lm-schedule")[0].send_keys(" ")
    assert "the rate is its peak = 0.012" in status.text


@pytest.mark.slow
@pytest.mark.browser
def test_figures_are_accessible_and_silent(page):
    # Before axe-core runs: it asks for the style sheet in a way that file:// refuses.
    assert [entry for entry in page.get_log("browser") if entry["level"] != "INFO"] == []
    page.execute_script(AXE)
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run('main').then((result) => done(result.violations.map((v) => v.id)));"
    )
    assert found == []


def test_adam_by_hand_is_right_matches_torch():
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.1, eps=0.0)
    places = []
    for gradient in (3.0, -1.0):
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        places.append(weight.item())
    assert places == pytest.approx([-0.1, -0.140], abs=0.0005)  # as the solution says
    assert f"{0.17 / 0.19:.3f} {0.009991 / 0.001999:.3f}" == "0.895 4.998"


def test_weights_of_a_running_mean_sum_as_derived():
    for beta in (0.9, 0.999):
        for t in (1, 7, 300):
            given = (1 - beta) * sum(beta ** (t - i) for i in range(1, t + 1))
            assert given == pytest.approx(1 - beta**t, abs=1e-12)


def test_schedule_in_the_exercise_is_right():
    narrow = schedules.inverse_sqrt_schedule(512, n_warmup=4000)
    wide = schedules.inverse_sqrt_schedule(1024, n_warmup=2000)
    assert narrow(3999) == pytest.approx(wide(1999), rel=1e-12)
    assert f"{narrow(99_999):.1e} {wide(99_999):.1e}" == "1.4e-04 9.9e-05"


def test_memory_in_the_exercise_is_right():
    tokens, width, heads = 2048, 4096, 32
    numbers = 32 * (17 * width + heads + 4) + 2 * width + 32_000
    assert f"{4 * tokens * numbers / 1e9:.1f}" == "18.6"
    assert 7e9 * 16 == 112e9


def test_recorded_rows_stand_where_the_page_says():
    plain, recipe = chapter_results("training_transformers")
    assert (plain.model, recipe.model) == ("Transformer, plain Adam", "Transformer, trained well")
    assert StoryGrammar().floor_perplexity() < recipe.perplexity < plain.perplexity


def test_recorded_recipes_are_tuned_and_what_the_page_says():
    recorded = benchmark("optimizers")
    assert {"date", "machine", "versions", "command", "cpu_seconds"} <= recorded.keys()
    for arm in (*recorded["recipes"].values(), *recorded["warmups"].values()):
        assert len(arm["losses"]) == len(recorded["seeds"]) == 3
        rates = [rate for rate, _ in arm["tried"]]
        assert rates[0] < arm["lr"] < rates[-1]  # a rate on both sides was tried
        known = [(loss, rate) for rate, loss in arm["tried"] if loss is not None]
        assert min(known)[1] == arm["lr"]


def test_optimizers_of_the_page_have_at_most_fifteen_lines():
    functions = re.findall(
        r"^def (sgd|momentum|adam|adamw)\(.*?\n((?:    .*\n)+)", PAGE, re.MULTILINE
    )
    assert {name for name, _ in functions} == {"sgd", "momentum", "adam", "adamw"}
    assert all(body.count("\n") <= 15 for _, body in functions)


def test_lines_shown_of_the_package_stand_there():
    shown = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(shown) == 2
    source = "".join(
        (ROOT / "course_pkg" / "training" / f"{name}.py").read_text(encoding="utf-8")
        for name in ("trainer", "run")
    )
    lines = {line.strip() for line in source.splitlines()}
    for line in "".join(shown).splitlines():
        assert line.strip() in lines, line
