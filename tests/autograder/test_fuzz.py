"""A short run of each fuzzer: blind, and by coverage where atheris is installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.autograder.fuzz import TARGETS, Dice

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("target", TARGETS)
def test_odd_input_is_read_or_refused(target, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    read = TARGETS[target]()
    for seed in range(300):
        read(Dice(seed))


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_fuzzer_by_coverage_breaks_nothing(target, tmp_path):
    pytest.importorskip("atheris", reason="atheris is not installed: no fuzzing by coverage")
    crashes = tmp_path / "crashes"
    crashes.mkdir()
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-m", "tests.autograder.fuzz", target, "-runs=2000", "-seed=1"],
        cwd=crashes,  # it would write them here
        env=os.environ | {"PYTHONPATH": paths, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done 2000 runs" in done.stderr
    assert list(crashes.iterdir()) == []
