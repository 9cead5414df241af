"""The speed of the GPT in the page: what a round reads off the figure."""

import json

import pytest

from benchmarks.speed import page_engine

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def test_rounds_are_read_off_the_figure_and_recorded(monkeypatch, tmp_path):
    pytest.importorskip("selenium.webdriver")
    monkeypatch.setattr(page_engine, "N_ROUNDS", 1)
    record = tmp_path / "engine.json"
    page_engine.main(["--record", str(record)])
    written = json.loads(record.read_text(encoding="utf-8"))
    (one,) = written["rounds"]
    assert one["tokens"] == 100
    # The page rounds its speed, and the clock here also covers the button and the last lines.
    assert one["tokens"] / one["seconds"] <= one["per_second"] + 1
    assert one["cpu_seconds"] > 0
    by_subject = {figure["subject"]: figure["ours"] for figure in written["figures"]}
    assert by_subject["tokens per second, best round"] == one["per_second"]
    assert 10 < by_subject["megabytes fetched"] < 12
