"""What students hand in stays text on every page, and files beside a notebook stay unread."""

import contextlib
import html.parser
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import pytest
from selenium.webdriver.support.ui import WebDriverWait

from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.records import State

PAYLOADS = {
    "script": "<script data-owned>alert(1)</script>",
    "event": "<img data-owned src=x onerror=alert(1)>",
    "out of an attribute": "\" data-owned onmouseover=alert(1) x=\"' data-owned x='",
    "out of an element": "</pre></code></textarea></style></script><p data-owned>",
    "vector image": "<svg data-owned onload=alert(1)><animate onbegin=alert(1)></svg>",
    "link": "[x](javascript:alert(1)) <a data-owned href=javascript:alert(1)>x</a>",
    "frame": "<iframe data-owned srcdoc='<script>alert(1)</script>'></iframe>",
    "style": "<style data-owned>*{display:none}</style><link data-owned rel=stylesheet href=//x>",
    "refresh": "<meta data-owned http-equiv=refresh content='0;url=//x'><base data-owned href=//x>",
    "form": "<form data-owned action=//x><input data-owned name=points value=100></form>",
    "template": "{{ 7 * 191 }} {% print(7 * 191) %} ${7 * 191} <%= 7 * 191 %>",
    "comment": "<!-- <p data-owned> --!><p data-owned>",
    "half an element": "<p data-owned ",
    "other letters": "\u202e\uff1cscript data-owned\uff1e \x00<scr\x00ipt data-owned>",
    "markup of mathematics": "$$\\href{javascript:alert(1)}{x}$$ $\\class{data-owned}{x}$",
}


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Owned(html.parser.HTMLParser):
    """Collects what a browser would act upon."""

    def __init__(self, text):
        super().__init__()
        self.found, self.words = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            acts = name == "data-owned" or name.startswith("on")
            if acts or str(value).strip().lower().startswith("javascript:"):
                self.found.append((tag, name, value))

    def handle_data(self, data):
        self.words.append(data)


def grade(course, folder, tmp_path):
    return grade_class(ReleasedSet(course, "toy"), folder, Settings(tmp_path / "out"))


def test_no_page_of_a_class_holds_what_a_student_injects(
    toys, toy_course, hand_in, tmp_path, without_sandbox
):
    for number, payload in enumerate(PAYLOADS.values()):
        clean, name = payload.replace("\0", ""), payload.replace("/", "|").replace("\0", "")
        raises = f"raise ValueError({payload!r})\n"
        hand_in(f"essay{number}", double=toys.double, mean=toys.mean, essay=payload)
        hand_in(f"code{number}", double=f"{toys.double}\n# {clean}", mean=toys.mean)
        hand_in(f"error{number}", double=raises + toys.double, mean=raises)
        hand_in(f"zero{number}", double=f"{toys.double}\n'\0\x1b'", mean=toys.mean, essay="\0\x1b")
        hand_in(f"broken{number}", payload.encode())
        folder = hand_in(f"{number}{name}"[:80], double=toys.square)
    result = grade(toy_course, folder, tmp_path)
    assert len(result.grades) == 6 * len(PAYLOADS)
    pages = list((tmp_path / "out").rglob("*.html"))
    assert len(pages) > 6 * len(PAYLOADS)
    for page in pages:
        parsed = Owned(page.read_text())
        assert parsed.found == [], page
        assert "1337" not in "".join(parsed.words), page  # 7 * 191
        assert not _CONTROLS.search(page.read_text()), page
    for notebook in (tmp_path / "out" / "autograded").rglob("*.ipynb"):
        cells = json.loads(notebook.read_text())["cells"]
        assert not any(_CONTROLS.search("".join(cell["source"])) for cell in cells), notebook


def test_reader_of_pages_sees_what_is_injected():
    for payload in PAYLOADS.values():
        harmless = "{{" in payload or "\uff1c" in payload or "$$" in payload
        assert bool(Owned(f'<p class="{payload}">{payload}</p>').found) or harmless


ACTS = "document.title='owned';window.owned=1"
IN_NAMES = {
    "element": f"<img src=x onerror={ACTS}>",
    "script": f'x";{ACTS};"',
    "escape": f"x\\u0022;{ACTS};\\u0022",
    "entity": f"&lt;img src=x onerror={ACTS}&gt;",
    "attribute": f'x" onmouseover={ACTS} autofocus onfocus={ACTS} x="',
}


# jQuery asks for what formgrader's pages show; a frame holds the notebook.
IS_SHOWN = "return document.readyState == 'complete' && !(window.jQuery && jQuery.active)"
IS_DRAWN = "return MathJax.loaded && !!document.querySelector('mjx-container')"


def wait_until(browser, script):
    """Wait until a page has what it asks for."""
    WebDriverWait(browser, 120).until(lambda _: browser.execute_script(script))


def listens(port):
    """Whether somebody answers there: a server says where it is before it is."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def formgrader(course, out, port):
    """Start formgrader as its command does; give a way to ask it for a page of its own."""
    command = [sys.executable, "-m", "autograder", f"--course={course.folder}", "formgrader"]
    command += [f"--out={out}", "--no-browser", f"--port={port}"]
    log = out.parent / "log"
    with open(log, "w") as file:
        jupyter = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    try:
        while not (token := re.search(r"\?token=\w+", log.read_text())) or not listens(port):
            assert jupyter.poll() is None, log.read_text()
            time.sleep(0.2)
        yield lambda place: f"http://127.0.0.1:{port}/formgrader/{place}{token[0]}"
    finally:
        os.killpg(jupyter.pid, signal.SIGKILL)  # asked to end, it asks back
        jupyter.wait()


def read_json(address):
    return json.load(urllib.request.urlopen(address))


def foreign_requests(browser, port):
    """Return what pages have asked other hosts for since this was last called."""
    messages = (json.loads(entry["message"]) for entry in browser.get_log("performance"))
    asked = [
        message["message"]["params"]["request"]["url"]
        for message in messages
        if message["message"]["method"] == "Network.requestWillBeSent"
    ]
    ours = (f"http://127.0.0.1:{port}/", "data:", "blob:")
    return [address for address in asked if not address.startswith(ours)]


# What a formula can carry: to a page that is opened, to another host, over the page's own words.
IN_FORMULAS = {
    "link": r"\href{javascript:ACTS}{x}",
    "token": r"\mmlToken{mtext}[href='javascript:ACTS']{x}",
    "border": r"\fcolorbox{red; background-image: url(https://elsewhere.example/a)}{white}{x}",
    "named border": r"\definecolor{c}{named}{red;background:url(//b.example)}\fcolorbox{c}{c}{x}",
    "box": r"\bbox[background: url(https://elsewhere.example/c)]{x}",
    "style": r"\style{background: url(https://elsewhere.example/d); position: fixed}{x}",
    "fetched": r"\require{html}\require{https://elsewhere.example/e.js}\cssId{notebook}{x}",
    "macro": r"\def\h#1{\hr#1}\h{ef}{javascript:ACTS}{x} \let\m\mmlToken \m{mi}[href='//f']{x}",
}


DRAWN_ALONE = """
const [formula, done] = arguments, acts = "[href], [id], [style*=url], [style*=fixed]";
MathJax.tex2chtmlPromise(formula).then((node) => done(node.querySelector(acts)?.outerHTML ?? ""));
"""


@pytest.mark.browser
@pytest.mark.slow
def test_formgrader_draws_formulas_by_itself_and_none_acts(
    toys, toy_course, hand_in, tmp_path, without_sandbox, unused_port, browser
):
    """No request leaves the machine, whatever a student or an instructor has written."""
    source = toy_course.folder / "toy" / "notebook.py"
    given = " ".join(f"$x {formula}$" for formula in IN_FORMULAS.values())
    text = source.read_text().replace("# Write two", f"# $\\sqrt{{2}}$ and {given}\n#\n# Write two")
    source.write_text(text)
    folder = hand_in("ada", double=toys.double, mean=toys.mean, essay=f"$\\frac12$ {given}")
    out = tmp_path / "out"
    grade_class(ReleasedSet(toy_course, "toy"), folder, Settings(out))
    with formgrader(toy_course, out, unused_port) as at:
        (one,) = read_json(at("api/submitted_notebooks/toy/toy"))
        foreign_requests(browser, unused_port)
        for place in ("gradebook", "gradebook/toy", f"submissions/{one['id']}"):
            browser.get(at(place))
            wait_until(browser, IS_SHOWN)
        wait_until(browser, IS_DRAWN)
        assert foreign_requests(browser, unused_port) == []
        shown = [each.text for each in browser.find_elements("css selector", ".text_cell mjx-math")]
        assert shown, browser.page_source
        assert browser.find_elements("css selector", "mjx-sqrt")
        assert browser.find_elements("css selector", "#notebook mjx-mfrac")
        for acting in ("[style*=url]", "[style*=fixed]", "[href]", "[id=notebook]"):
            assert not browser.find_elements("css selector", f"mjx-container {acting}"), acting
        # Nor would they, had nobody broken their commands before.
        for formula in IN_FORMULAS.values():
            assert browser.execute_async_script(DRAWN_ALONE, formula) == "", formula
        # The keys work, which formgrader gives their meaning after its formulas.
        assert browser.execute_script("return formgrader.loaded && !!formgrader.keyboard_manager")


@pytest.mark.exhaustive
@pytest.mark.browser
def test_no_field_that_a_student_chooses_acts_in_formgrader(
    toys, toy_course, hand_in, tmp_path, without_sandbox, unused_port, browser
):
    """A page of nbgrader's that acts has the rights of the instructor's Jupyter server."""
    act = IN_NAMES["element"]
    for number, name in enumerate(IN_NAMES.values()):
        for layout in ("exchange", "plain"):
            code = f"{toys.double}\nprint({act!r})\n# {act}"
            raises = f"raise ValueError({act!r})"
            handed = hand_in(f"{layout}{number}", double=code, mean=raises, essay=act)
            place = tmp_path / layout / name
            if layout == "exchange":
                place = tmp_path / layout / f"{name}+toy+2026-02-03 16:00:00.000000 UTC"
            place.mkdir(parents=True)
            (handed / f"{layout}{number}.ipynb").rename(place / f"{name}.ipynb")
    out = tmp_path / "out"
    for layout in ("exchange", "plain"):
        grade_class(ReleasedSet(toy_course, "toy"), tmp_path / layout, Settings(out))
    foreign_requests(browser, unused_port)  # those of the browser's own first page
    with formgrader(toy_course, out, unused_port) as at:
        students = read_json(at("api/students"))
        done = read_json(at("api/submissions/toy"))
        shown = read_json(at("api/submitted_notebooks/toy/toy"))
        assert len(students) == len(IN_NAMES) == len(done) == len(shown)
        places = ["gradebook", "gradebook/toy", "gradebook/toy/toy", "manage_students"]
        places += ["manage_submissions/toy", "manage_assignments"]
        for one in students:
            quoted = urllib.parse.quote(one["id"])
            places += [f"manage_students/{quoted}", f"manage_students/{quoted}/toy"]
        places += [f"submissions/{one['id']}" for one in shown]
        for place in places:
            browser.get(at(place))
            assert "formgrader" in browser.page_source, place
            wait_until(browser, IS_SHOWN)
            for element in browser.find_elements("css selector", "a, td, [title]"):
                browser.execute_script(
                    "arguments[0].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))",
                    element,
                )
            assert browser.execute_script("return window.owned") is None, place
            assert browser.title != "owned", place
        assert foreign_requests(browser, unused_port) == []


BESIDE = {
    "torch.py": "raise SystemExit(0)",
    "json.py": "raise SystemExit(0)",
    "sitecustomize.py": "raise SystemExit(0)",
    "usercustomize.py": "raise SystemExit(0)",
    "ipython_config.py": "raise SystemExit(0)",
    "nbgrader_config.py": "raise SystemExit(0)",
    "conftest.py": "raise SystemExit(0)",
    "kernel.json": '{"argv": ["/bin/false"]}',
    "gradebook.db": "mine",
    "toy.json": '{"points": 100}',
}


def test_files_beside_the_notebook_are_not_looked_at(
    toys, toy_course, hand_in, tmp_path, without_sandbox, monkeypatch
):
    for student, (name, text) in enumerate(BESIDE.items()):
        folder = hand_in(f"{student}", double=toys.square, mean=toys.mean)
        (folder / f"{student}").mkdir()
        (folder / f"{student}.ipynb").rename(folder / f"{student}" / "toy.ipynb")
        (folder / f"{student}" / name).write_text(text)
    monkeypatch.chdir(folder / "0")
    grades = grade(toy_course, folder, tmp_path).grades
    # A third of the points of what is wrong is earned, as it would be without the files.
    assert {grade.points for grade in grades} == {50.0} and len(grades) == len(BESIDE)
    for student, (name, text) in enumerate(BESIDE.items()):
        assert (folder / f"{student}" / name).read_text() == text


def test_half_a_character_anywhere_stops_nothing(
    toys, toy_course, hand_in, tmp_path, without_sandbox
):
    """JSON can spell a surrogate that UTF-8 cannot: whoever writes it to a file would fail."""
    answers = {
        "essay": {"double": toys.double, "essay": "HALF"},
        "comment": {"double": f"{toys.double}\n# HALF"},
        "error": {"double": f'{toys.double}\nraise ValueError("HALF")'},
        "output": {"double": f'{toys.double}\nprint("HALF")'},
        "result": {"double": 'def double(numbers):\n    return ["HALF"]'},
        "honest": {"double": toys.double},
    }
    for student, cells in answers.items():
        folder = hand_in(student, mean=toys.mean, **cells)
        path = folder / f"{student}.ipynb"
        path.write_text(path.read_text().replace("HALF", "\\ud800"))
    for _ in range(2):  # the second run reads what the first has recorded
        found = grade(toy_course, folder, tmp_path).grades
        assert not [one.reasons for one in found if one.state is State.GRADER_FAULT]
        points = {one.student: one.points for one in found}
        assert points == {student: 90.0 - 60.0 * (student == "result") for student in answers}
