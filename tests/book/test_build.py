"""What the build does about failing cells, unchanged pages and changed code."""

import fcntl
import json
import os
import threading

import pytest

pytestmark = pytest.mark.slow

PAGE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
budget_seconds: 7
---

# A page

%s
"""


def cell(code: str) -> str:
    return PAGE % f"```{{code-cell}}\n{code}\n```"


def test_build_reports_failing_cells_with_their_traceback(book_of, tmp_path):
    result = book_of({"good": cell("2 + 2"), "bad": cell("number = 17\nnumber / 0")})
    assert result.returncode != 0
    assert "ZeroDivisionError" in result.stdout + result.stderr
    report = json.loads((tmp_path / "_build" / "cells.json").read_text())
    assert report["good"]["succeeded"] and not report["bad"]["succeeded"]


def test_build_reports_seconds_and_budget(book_of, tmp_path):
    result = book_of({"page": cell("2 + 2")})
    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads((tmp_path / "_build" / "cells.json").read_text())
    assert report["page"]["budget_seconds"] == 7
    assert report["page"]["seconds"] > 0


def test_build_waits_for_another_one_of_the_same_book(book_of, tmp_path):
    (tmp_path / "_build").mkdir()
    with (tmp_path / "_build" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Timer(3, fcntl.flock, (lock, fcntl.LOCK_UN)).start()
        result = book_of({"page": cell("2 + 2")})
    assert result.returncode == 0, result.stdout + result.stderr
    assert "another build of this book is running" in result.stdout


def test_build_rejects_a_quiz_with_an_unexplained_option(book_of):
    options = "  - {text: a, correct: true, why: it is}\n  - text: b"
    result = book_of({"page": PAGE % f"```{{quiz}}\nquestion: Which?\noptions:\n{options}\n```"})
    assert result.returncode != 0
    assert "explain every option" in result.stdout + result.stderr


def test_build_rejects_a_broken_reference(book_of):
    result = book_of({"page": PAGE % "See {ref}`nowhere-at-all`."})
    assert result.returncode != 0
    assert "nowhere-at-all" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("old", "new", "runs"),
    [
        ("# A page", "# A page", 1),
        ("# A page", "# A page with another title", 1),
        ("print(", "1 + 1; print(", 2),
    ],
    ids=["nothing changes", "words change", "code changes"],
)
def test_cells_run_again_only_when_their_code_changes(book_of, tmp_path, old, new, runs):
    marker = tmp_path / "runs"
    page = cell(f"print('x', file=open({os.fspath(marker)!r}, 'a'))")
    for text in (page, page.replace(old, new)):
        assert book_of({"page": text}).returncode == 0
    if len(list((tmp_path / "_build" / ".jupyter_cache").iterdir())) > 1:
        pytest.skip("course_pkg was edited between the two builds, so the cells had to run again")
    assert marker.read_text().count("x") == runs


def test_unchanged_book_is_not_built_again(book_of, tmp_path):
    page = tmp_path / "_build" / "html" / "page.html"
    assert "nothing has changed" not in book_of({"page": cell("2 + 2")}).stdout
    assert "nothing has changed" in book_of({"page": cell("2 + 2")}).stdout
    page.unlink()
    assert "nothing has changed" not in book_of({"page": cell("2 + 2")}).stdout
    assert page.exists()
    assert "nothing has changed" not in book_of({"page": cell("2 + 3")}).stdout


def test_failed_build_is_tried_again(book_of):
    for _ in range(2):
        assert book_of({"page": PAGE % "See {ref}`nowhere-at-all`."}).returncode != 0


def test_names_stay_linked_when_an_unchanged_page_is_built_again(book_of, tmp_path):
    pages = {
        "page": cell("from course_pkg import plots\n\nplots.moving_average([1.0], 1)"),
        "reference": "# Reference\n\n```{eval-rst}\n.. automodule:: course_pkg.plots\n```\n",
    }
    for word in ("", "A word more.\n"):
        result = book_of({**pages, "other": f"# Another page\n\n{word}"})
        assert result.returncode == 0, result.stdout + result.stderr
        html = (tmp_path / "_build" / "html" / "page.html").read_text()
        assert "reference.html#course_pkg.plots.moving_average" in html
