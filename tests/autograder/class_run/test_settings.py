from pathlib import Path

import pytest

from autograder.class_run.settings import Settings
from autograder.store.gradebook import Gradebook


@pytest.mark.parametrize(
    ("database", "gradebook"),
    [
        ("", "out/gradebook.db"),
        ("sqlite:////srv/class.db", "/srv/class.db"),
        ("sqlite:///class.db?timeout=30", "class.db"),
        ("sqlite+pysqlite:///file:/srv/class.db?uri=true", "/srv/class.db"),
        ("sqlite:///file:class.db", "file:class.db"),
        ("postgresql://db/class", None),
        ("postgresql://db:five/class", None),
        ("no address", None),
    ],
)
def test_output_submissions_and_gradebook_are_private(tmp_path, monkeypatch, database, gradebook):
    monkeypatch.chdir(tmp_path)
    settings = Settings(Path("out"), database)
    private = set(settings.hiding(Path("submitted")).confinement.private)
    expected = {tmp_path / "out", tmp_path / "submitted"}
    if gradebook is not None:
        ends = ("", "-journal", "-wal", "-shm")
        expected |= {tmp_path / (gradebook + end) for end in ends}
    assert private == expected


@pytest.mark.parametrize("database", ["", "sqlite:///class.db?timeout=30"])
def test_gradebook_is_missing_until_its_file_is_there(tmp_path, monkeypatch, database):
    monkeypatch.chdir(tmp_path)
    settings = Settings(tmp_path, database)
    assert settings.has_no_gradebook
    with Gradebook(settings.url):
        assert not settings.has_no_gradebook
    assert [path.suffix for path in tmp_path.iterdir()] == [".db"]  # none that is named by the rest


def test_what_is_private_is_no_reason_to_grade_again(tmp_path):
    settings = Settings(tmp_path)
    hiding = settings.hiding(tmp_path / "submitted")
    assert repr(hiding.confinement) == repr(settings.confinement)
