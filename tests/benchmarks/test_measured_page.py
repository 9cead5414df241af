"""The book's page of measurements says what is recorded, and all of it."""

import json

import pytest

from benchmarks import measured_page


def test_page_of_the_book_is_what_the_records_say():
    written = measured_page.PAGE.read_text(encoding="utf-8")
    assert written == measured_page.page(), "run: python -m benchmarks.measured_page"


def test_chapters_read_the_records_of_the_page():
    """Where a chapter shows a record, too, the package has a copy of it."""
    for path in (measured_page.ROOT / "course_pkg" / "results" / "benchmarks").glob("*.json"):
        original = measured_page.RESULTS / path.name
        assert not original.exists() or original.read_bytes() == path.read_bytes(), path.name


def test_record_without_a_place_on_the_page_is_told(tmp_path, monkeypatch):
    (tmp_path / "new.json").write_text(json.dumps({"what": "a new benchmark", "figures": []}))
    monkeypatch.setattr(measured_page, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match="new"):
        measured_page.page()


def test_figures_show_published_ones_with_their_source():
    record = {
        "what": "nats a token, <eos> counted",
        "date": "2026-01-02",
        "command": "python -m it",
        "figures": [
            {"subject": "ours alone", "ours": 1.23456, "published": None, "source": "notes"},
            {"subject": "both", "ours": 28.8354, "published": 30.2, "source": "A 2020"},
            {"subject": "theirs", "ours": None, "published": 33.0, "source": "A 2020"},
        ],
    }
    what, table, sources, provenance = measured_page._figures("surnames", record)
    assert what == "Nats a token, `<eos>` counted."  # bare, it would be an element of HTML
    assert table.splitlines()[2:] == [
        "| ours alone | 1.235 |  |",
        "| both | 28.84 | 30.2 |",
        "| theirs |  | 33 |",
    ]
    assert sources.splitlines()[1:2] == ["- A 2020 (both, theirs)"]
    assert provenance == "*Recorded 2026-01-02:* `python -m it`"
