import base64
import hashlib
import re
import time

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring.outline import Outline
from autograder.reports import html
from autograder.reports.html import highlight, said_of_kept, write_page
from autograder.reports.instructor_pages import class_page
from autograder.untrusted import as_seen


@pytest.fixture
def outline():
    return Outline("toy", "Toy set", ())


@given(st.text() | st.text(alphabet="\"'#\\\nrfb 1aif&<>"))
def test_highlight_keeps_the_text_and_adds_only_spans(read_page, code):
    parsed = read_page(f"<pre>{highlight(code)}</pre>")
    assert set(parsed.tags) <= {"pre", "span"}
    assert parsed.text == as_seen(code)


def test_highlight_marks_texts_comments_keywords_and_numbers():
    assert str(highlight("return 'a' + 1  # no")) == (
        '<span class="k">return</span> <span class="s">&#39;a&#39;</span> + '
        '<span class="n">1</span>  <span class="c"># no</span>'
    )


@pytest.mark.parametrize(
    "piece", ['"""', "'", '"\\', "r'''", "\\", "#", 'f"', "1", "ab ", '\\"""\n']
)
def test_highlight_takes_time_in_proportion_to_the_length(piece):
    def cost(length):
        times, code = [], (piece * length)[:length] + "\\"
        for _ in range(3):  # the least: garbage of other tests is collected in any of them
            start = time.process_time()
            highlight(code)
            times.append(time.process_time() - start)
        return min(times)

    assert cost(48_000) < 16 * 8 * max(cost(3_000), 1e-4)


def test_templates_are_strict(monkeypatch, tmp_path):
    (tmp_path / "odd.html").write_text("{{ nothing }}")
    monkeypatch.setattr(html, "_TEMPLATES", tmp_path)
    html._environment.cache_clear()
    with pytest.raises(jinja2.UndefinedError, match="'nothing' is undefined"):
        html.render("odd.html")
    monkeypatch.undo()
    html._environment.cache_clear()


def test_page_allows_its_own_script_alone(outline, read_page):
    page = class_page(outline, [], {})
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parsed = read_page(page)
    (policy,) = [v for k, v in parsed.attributes if k == "content" and "default-src" in v]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and "unsafe-eval" not in policy


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "1 second"), (61, "2 minutes"), (3600, "1 hour"), (86_400, "1 day"), (86_401, "2 days")],
)
def test_duration_rounds_up_as_penalties_do(seconds, words):
    assert html.duration(seconds) == words


def test_when_names_the_offset_unless_there_is_none():
    assert html.when("2026-03-04T05:06:07+00:00") == "2026-03-04 05:06 UTC"
    assert html.when("2026-03-04T05:06:07-05:00") == "2026-03-04 05:06 UTC-0500"


@pytest.mark.parametrize("edit", [lambda page: f"{page}<p>mine", lambda page: f"mine{page}"])
def test_page_in_which_somebody_has_written_is_kept_beside_the_new_one(tmp_path, edit):
    page = tmp_path / "page.html"
    for text in ("<p>1", "<p>2", "<p>2"):
        assert write_page(page, text) is None and page.read_text().startswith(text)
    page.write_text(edit(page.read_text()))
    before = page.read_text()
    kept = write_page(page, "<p>2")
    assert kept.parent == tmp_path and kept.read_text() == before
    assert page.read_text().startswith("<p>2") and write_page(page, "<p>2") is None
    assert len(list(tmp_path.iterdir())) == 2


def test_page_of_an_older_version_is_kept_unless_it_says_the_same(tmp_path):
    """It bears no digest, so nobody can know whether somebody has written in it."""
    page = tmp_path / "page.html"
    for before in ("<p>1 of an older version", "<p>1 with a remark of the tutor's"):
        page.write_text(before)
        kept = write_page(page, "<p>1")
        assert kept.read_text() == before and page.read_text().startswith("<p>1\n")
    page.write_text("<p>1")
    assert write_page(page, "<p>1") is None
    assert said_of_kept([None]) == []
    (line,) = said_of_kept([None, kept])
    assert str(kept) in line and "a version that could not tell" in line
