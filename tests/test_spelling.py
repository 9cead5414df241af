"""The spelling check reads what people read, knows our own words, and finds a planted mistake."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = ("README.md", "book/index.md", "book/chapters/tokenization.md", "book/_assets/lm-base.js",
         "book/_assets/the-path.svg", "assignments/ps1/notebook.py",
         "course_pkg/plots/charts.py")  # fmt: skip


def misspelled(folder: Path) -> str:
    """What codespell says of a folder under the project's own settings."""
    pytest.importorskip("codespell_lib")
    command = [sys.executable, "-m", "codespell_lib", "--toml", str(ROOT / "pyproject.toml"), "."]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not result.stderr, result.stderr
    return result.stdout


@pytest.mark.parametrize("path", TEXTS)
def test_spelling_is_checked_in_every_kind_of_text(path, tmp_path):
    copy = tmp_path / path
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / path, copy)
    assert misspelled(tmp_path) == ""
    with copy.open("a", encoding="utf-8") as file:
        file.write("\nThis was recieved.\n")
    assert "recieved ==> received" in misspelled(tmp_path)
