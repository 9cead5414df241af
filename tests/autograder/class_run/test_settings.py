from pathlib import Path

import pytest

from autograder.class_run.settings import Settings


@pytest.mark.parametrize(
    ("database", "gradebook"),
    [
        ("", "out/gradebook.db"),
        ("sqlite:////srv/class.db", "/srv/class.db"),
        ("postgresql://db/class", None),
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


def test_what_is_private_is_no_reason_to_grade_again(tmp_path):
    settings = Settings(tmp_path)
    hiding = settings.hiding(tmp_path / "submitted")
    assert repr(hiding.confinement) == repr(settings.confinement)
