"""Seeded faults, on a toy project: what is changed, and what its tests make of it."""

import ast
import json
import os
import subprocess
import sys

import pytest

from benchmarks.suite import seeded_faults
from benchmarks.suite.faults import draw_faults, sources
from benchmarks.suite.trial import trial

SOURCE = '''"""Says 1 + 1."""

LIMIT: "1 < 2" = 3  # a comment that stays


def is_allowed(n):
    """Whether n < 3 (not more)."""
    if n < 0:
        raise ValueError(f"{n + 1} is less than {0}")
    return n < LIMIT


def nobody_tests_this(n):
    return n + 7


def wait(n):
    while n > 0:
        n -= 1
'''
TESTS = """from course_pkg import limits


def test_fails_always():
    assert False


def test_limit():
    assert limits.is_allowed(2) and not limits.is_allowed(3)


def test_wait():
    limits.wait(1)
"""

needs_mounts = pytest.mark.skipif(
    os.system("unshare --mount --map-root-user true 2>/dev/null"), reason="nothing can be mounted"
)


@pytest.fixture
def toy(tmp_path):
    root = tmp_path / "toy"
    for path, text in {
        "course_pkg/__init__.py": "",
        "course_pkg/limits.py": SOURCE,
        "tests/test_limits.py": TESTS,
        "assignments/ps1/answers/limit.py": "wrong = 1 + 1\n",
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n'
        'markers = ["gpu", "browser", "exhaustive"]\n',
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / ".gitignore").write_text(".venv", encoding="utf-8")
    (root / ".venv").symlink_to(sys.prefix)
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "toy"]
    for command in (["init"], ["add", "."], commit):
        subprocess.run(["git", "-C", root, *command], check=True, capture_output=True)
    return root


def test_each_fault_changes_one_line_that_computes_and_leaves_the_others_as_written(toy):
    assert sources(toy) == ["course_pkg/__init__.py", "course_pkg/limits.py"]
    seen = set()
    for seed in range(12):
        for fault in draw_faults(toy, 6, seed):
            old, new = SOURCE.splitlines(), fault.text.splitlines()
            assert len(old) == len(new)
            changed = [
                n for n, pair in enumerate(zip(old, new, strict=True), 1) if len({*pair}) > 1
            ]
            assert changed == [fault.line]
            assert ast.dump(ast.parse(fault.text)) != ast.dump(ast.parse(SOURCE))
            seen.add((fault.before, fault.after))
    assert {after for before, after in seen if before == "return n < LIMIT"} == {
        "return (n <= LIMIT)",
        "return (n >= LIMIT)",
        "return None",
    }
    assert {after.partition("  #")[0] for before, after in seen if before.startswith("LIMIT")} == {
        'LIMIT: "1 < 2" = 4',
        'LIMIT: "1 < 2" = 2',
        "pass",
    }
    assert not any(before.startswith(('"""', "raise", "while n > 0:  ")) for before, _ in seen)


def test_faults_are_the_same_for_a_seed_and_no_more_than_there_are_lines(toy):
    assert draw_faults(toy, 4, 1) == draw_faults(toy, 6, 1)[:4] != draw_faults(toy, 4, 2)
    with pytest.raises(ValueError, match=r"99 faults asked for, but only 6 lines may change"):
        draw_faults(toy, 99, 1)


@needs_mounts
def test_what_the_tests_find_is_told_from_what_they_do_not(toy, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(seeded_faults, "ROOT", toy)
    monkeypatch.setattr(seeded_faults, "PRELOADED", ["pytest"])
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    log, record = tmp_path / "log.jsonl", tmp_path / "record.json"
    command = ["--faults", "6", "--seconds", "1", "--log", str(log), "--record", str(record)]
    seeded_faults.main([*command, "--only", "1", "2"])
    first = log.read_text(encoding="utf-8")
    seeded_faults.main(command)
    assert log.read_text(encoding="utf-8").startswith(first)

    kept = json.loads(record.read_text(encoding="utf-8"))
    of_line = {int(place.rpartition(":")[2]): fate for place, fate in kept["fates"].items()}
    lines = SOURCE.splitlines()
    assert of_line[lines.index("    return n + 7") + 1] == "passed; passed"
    failed = "failed tests/test_limits.py::test_limit"
    assert of_line[lines.index("    return n < LIMIT") + 1] == failed
    assert "n + 7" in first + log.read_text(encoding="utf-8") and "n + 7" not in record.read_text()
    assert kept["faults"] == len(first.splitlines()) + 4 == 6
    assert kept["caught_every_day"] + kept["caught_by_neither"] == 6
    assert (toy / "course_pkg/limits.py").read_text(encoding="utf-8") == SOURCE

    with pytest.raises(ValueError, match="has tried other faults"):
        seeded_faults.main([*command, "--seed", "5"])


@needs_mounts
def test_process_that_never_ends_is_told_from_one_that_fails(toy, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    endless = SOURCE.replace("n -= 1", "n += 1")
    with trial(toy, preloaded=["pytest"]) as copy:
        outcome = copy.run(
            ["tests/test_limits.py::test_wait"], (), {"course_pkg/limits.py": endless}, seconds=1
        )
        assert outcome.end == "endless" and outcome.test.endswith("test_wait")
        assert copy.run(["tests/test_limits.py::test_wait"]).end == "passed"
