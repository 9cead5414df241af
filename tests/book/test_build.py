"""What the build does about failing cells, unchanged pages and changed code."""

import fcntl
import json
import os
import platform
import re
import threading

import pytest

from tests.book.conftest import build, small_book

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


def report(folder) -> dict[str, dict]:
    """What the build wrote about the pages' cells."""
    return json.loads((folder / "_build" / "cells.json").read_text())


def test_build_reports_failing_cells_with_their_traceback(book_of, tmp_path):
    widget = "{'application/vnd.jupyter.widget-view+json': {'model_id': '1'}}"
    result = book_of(
        {
            "good": cell("2 + 2"),
            "bad": cell("number = 17\nnumber / 0"),
            "live": cell(f"from IPython.display import display\ndisplay({widget}, raw=True)"),
        }
    )
    assert result.returncode != 0
    assert "ZeroDivisionError" in result.stdout
    assert "asks other hosts" in result.stdout
    log = tmp_path / "_build" / "cells.log"
    assert "cells failed in bad, live." in result.stdout
    assert str(log) in result.stdout
    assert re.search(r"A cell of bad failed:.*ZeroDivisionError", log.read_text(), re.DOTALL)
    assert {name: row["succeeded"] for name, row in report(tmp_path).items()} == {
        "good": True,
        "bad": False,
        "live": False,
    }


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a choice among those of x86-64")
@pytest.mark.exhaustive_but("avx2")
@pytest.mark.parametrize("processor", ["avx2", "sse"])
def test_cells_run_as_on_an_older_processor_and_nothing_is_laid_out(processor, tmp_path):
    code = """import numpy as np
import torch
from numpy._core._multiarray_umath import __cpu_features__ as features

assert not features["X86_V4"]
assert torch.backends.cpu.get_cpu_capability() == %r"""
    book = small_book(tmp_path, {"page": cell(code % "AVX2"), "other": cell(code % "DEFAULT")})
    result = build(book, tmp_path, "--processor", processor)
    assert result.returncode == 1, result.stdout
    fails = {"avx2": "other", "sse": "page"}[processor]
    assert f"cells failed in {fails}." in result.stdout
    assert not (tmp_path / "_build" / "html").exists()


def test_build_rejects_what_would_leave_a_reader_alone_and_tries_again(book_of, tmp_path):
    options = "  - {text: a, correct: true, why: it is}\n  - text: b"
    pages = {
        "quiz": PAGE % f"```{{quiz}}\nquestion: Which?\noptions:\n{options}\n```",
        "reference": PAGE % "See {ref}`nowhere-at-all`.",
    }
    for _ in range(2):
        result = book_of(pages)
        assert result.returncode != 0
        assert "explain every option" in result.stdout
        assert "nowhere-at-all" in result.stdout
        assert str(tmp_path / "_build" / "book.log") in result.stdout


def test_build_does_again_what_changed_and_nothing_else(book_of, tmp_path, monkeypatch):
    """One book through its life, since each build takes seconds; with a module without torch."""
    marker, html = tmp_path / "runs", tmp_path / "_build" / "html" / "page.html"
    code = f"""from pathlib import Path
from course_pkg.text.tokenizers import merges

with open({os.fspath(marker)!r}, "a") as runs:
    print(Path.home(), (Path.home() / ".cache").exists(), file=runs)
merges.merge_pair([1, 2], (1, 2), 9)"""
    module = ".. automodule:: course_pkg.text.tokenizers.merges"
    pages = {
        "page": cell(f":tags: [hide-input]\n\n{code}"),
        "api": f"# Reference\n\n```{{eval-rst}}\n{module}\n```\n",
    }
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    (tmp_path / "_build").mkdir()
    with (tmp_path / "_build" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Timer(3, fcntl.flock, (lock, fcntl.LOCK_UN)).start()
        first = book_of(pages)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "" not in first.stdout.splitlines(), "no blank lines without a terminal"
    assert "another build of this book is running" in first.stdout
    assert report(tmp_path)["page"]["budget_seconds"] == 7
    assert report(tmp_path)["page"]["seconds"] > 0
    # Not the home folder of whoever builds, and nothing from an earlier build in it.
    (run,) = marker.read_text().splitlines()
    home, has_cache = run.split()
    assert home != os.environ["HOME"] and has_cache == "False"
    assert not (tmp_path / "cache").exists()
    page = html.read_text()
    assert "Show code cell source" not in page
    assert 0 < page.index("cell_output") < page.index("Show the code behind this")

    assert "nothing has changed" in book_of(pages).stdout

    pages["page"] = pages["page"].replace("# A page", "# A page with another title")
    html.unlink()
    again = book_of(pages)
    assert again.returncode == 0 and "nothing has changed" not in again.stdout
    assert "another title" in html.read_text()
    linked = "api.html#course_pkg.text.tokenizers.merges.merge_pair"
    assert linked in html.read_text()
    ran_once = len(marker.read_text().splitlines()) == 1

    pages["other"] = "# Another page\n"
    assert book_of(pages).returncode == 0
    assert linked in html.read_text(), "as it was before"

    pages["page"] = pages["page"].replace("[1, 2], (1", "[2, 1], (1")
    assert book_of(pages).returncode == 0
    if len(list((tmp_path / "_build" / ".jupyter_cache").iterdir())) > 1:
        pytest.skip("course_pkg was edited between the builds, so the cells had to run again")
    assert ran_once
    assert len(marker.read_text().splitlines()) == 2


def test_pages_run_side_by_side(book_of, tmp_path):
    """Each of two pages waits for the other one to have started."""
    if os.cpu_count() < 2:
        pytest.skip("there is one core only")
    wait = """import time
from pathlib import Path

Path({own!r}).touch()
deadline = time.monotonic() + 60
while not Path({other!r}).exists():
    assert time.monotonic() < deadline, "the other page has not started"
    time.sleep(0.1)"""
    one, two = os.fspath(tmp_path / "one"), os.fspath(tmp_path / "two")
    result = book_of(
        {
            "page1": cell(wait.format(own=one, other=two)),
            "page2": cell(wait.format(own=two, other=one)),
        }
    )
    assert result.returncode == 0, result.stdout + result.stderr
