"""The page on which people grade written answers with the rubric."""

import base64
import json
import re
import stat
import struct
import threading
import urllib.error
import urllib.parse
import urllib.request
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbgrader import api

from autograder.authoring.release import ReleasedSet
from autograder.authoring.rubrics import Criterion, Level, criteria_of
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.class_run.written import _MOST_BYTES, Choice, WrittenAnswers, _pictures
from autograder.cli.main import main
from autograder.cli.written_command import WrittenPages, WrittenServer
from autograder.records import GraderError

pytestmark = pytest.mark.usefixtures("without_sandbox")

RUBRIC = """\
# All

## toy: toy_essay (10 points)

### 1. A reason (6 points)

- 6: it says why. "Because."
- 3 or 2: it hints at one. "Maybe because."
- 0: none.

### 2. Style (4 points)

- 4: clear.
- 0: not.
"""
HOSTILE = '<img src=x onerror=alert(1)> "quoted" & </pre><script>alert(2)</script>'


def picture(width, height, more=20):
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    return base64.b64encode(head + bytes(more)).decode()


DOT = picture(1, 1)


@pytest.fixture
def released(toy_course):
    (toy_course.folder / "rubrics.md").write_text(RUBRIC)
    return ReleasedSet(toy_course, "toy")


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path / "out")


@pytest.fixture
def write(toys, toy_course, hand_in, released, settings):
    """Hand essays in and grade."""

    def run(**essays):
        for student, essay in essays.items():
            notebook = toys.answer(toy_course, double=toys.double, mean=toys.mean, essay=essay)
            shown = nbformat.v4.new_code_cell("plot()")
            for kind, data in (("image/png", DOT), ("image/svg+xml", "<svg onload=alert(3)>")):
                shown.outputs.append(nbformat.v4.new_output("display_data", {kind: data}))
            notebook.cells.insert(1, shown)
            folder = hand_in(student, notebook)
        grade_class(released, folder, settings)

    return run


@pytest.fixture
def essays(released, settings):
    """Grade essays as somebody."""

    def of(grader="bea", section=""):
        return WrittenAnswers(released, settings, Choice(grader, section))

    return of


@pytest.fixture
def served(released, essays):
    """Serve the pages, and ask for them as a browser does."""
    servers = []

    def serve(grader="bea", section="", blind=False):
        pages = WrittenPages(essays(grader, section), released.outline, grader, section, blind)
        servers.append(WrittenServer(pages, 0))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return servers[-1].address

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def ask(address, accept="text/html", **form):
    """Return status, body and address after redirections."""
    data = urllib.parse.urlencode(form).encode() if form else None
    request = urllib.request.Request(address, data, {"Accept": accept})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode(), answer.url
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.url


def links(address):
    return [address + found for found in re.findall(r'href="(toy_essay/\w+/)"', ask(address)[1])]


def seen(page):
    return re.search(r'name="seen" value="(\w+)"', page)[1]


def recorded(settings, student="ada"):
    with api.Gradebook(settings.url) as book:
        row = book.find_grade("toy_essay", "toy", "toy", student)
        comment = book.find_comment("toy_essay", "toy", "toy", student)
        return row.manual_score, row.needs_manual_grade, comment.manual_comment


def test_nobody_is_asked_to_grade_what_could_not_be_read(
    released, settings, hand_in, write, essays
):
    hand_in("bo", b"{")
    write(ada="Because.")
    (question,) = essays().questions
    assert [answer.student for answer in essays().answers(question)] == ["ada"]


def test_address_stands_in_no_command_that_other_accounts_could_see(
    write, toy_course, settings, monkeypatch
):
    write(ada="Because.")
    seen = {}

    def look(called):
        page = Path(urllib.parse.urlparse(called).path)
        seen[called] = page.read_text(), stat.S_IMODE(page.parent.stat().st_mode), page

    def end(server):
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", look)
    monkeypatch.setattr(WrittenServer, "serve_forever", end)
    command = [f"--course={toy_course.folder}", "written", "toy", f"--out={settings.out}"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    ((called, (text, mode, page)),) = seen.items()
    address = done.output.splitlines()[0]
    assert address in text and address.split("/")[3] not in called
    assert mode == 0o700 and not page.exists()


def test_rubric_is_read_with_all_its_levels(released):
    assert criteria_of(released.course, "toy") == {
        "toy_essay": (
            Criterion(
                "1. A reason (6 points)",
                (
                    Level(6, 'it says why. "Because."'),
                    Level(3, 'it hints at one. "Maybe because."'),
                    Level(2, 'it hints at one. "Maybe because."'),
                    Level(0, "none."),
                ),
            ),
            Criterion("2. Style (4 points)", (Level(4, "clear."), Level(0, "not."))),
        )
    }


def test_levels_become_points_and_who_gave_them_is_known(write, served, settings, essays):
    write(ada="Because.", bo="Dunno.")
    address = served("bea")
    first, second = links(address)
    _, page, _ = ask(first)
    assert "it says why." in page and page.count('type="radio"') == 6
    form = {"seen": seen(page), "level-0": "3.0", "level-1": "4.0", "points": "", "comment": "So?"}
    status, _, url = ask(first, go="on", **form)
    assert (status, url) == (200, second)  # and on it goes to the next that waits
    listed = ask(address)[1]
    assert "1 of 2 graded: 1 by bea" in listed
    (one,) = [one for one in essays().answers(essays().questions[0]) if one.is_done]
    assert (one.given.points, one.by, one.levels) == (7, "bea", (3, 4))
    assert recorded(settings, one.student) == (7, False, "So?")
    status, said, _ = ask(
        first, "application/json", **form | {"seen": seen(ask(first)[1]), "points": "6,5"}
    )
    assert status == 200 and json.loads(said)["points"] == 6.5  # typed points come first


def test_two_graders_lose_nothing_of_each_other(write, served, settings):
    write(ada="Because.")
    (his,), (hers,) = links(served("carl")), links(served("bea"))
    version = seen(ask(his)[1])
    with ThreadPoolExecutor(2) as both:  # at once, each from a page as it was before
        answers = list(
            both.map(
                lambda one: ask(one[0], "application/json", seen=version, points=one[1]),
                ((his, "3"), (hers, "9")),
            )
        )
    statuses = [status for status, _, _ in answers]
    assert sorted(statuses) == [200, 409]
    won = statuses.index(200)
    assert recorded(settings)[0] == (3, 9)[won]
    said = json.loads(answers[1 - won][1])["state"]
    assert f"meanwhile {('carl', 'bea')[won]} gave {(3, 9)[won]} points" in said


def test_comment_that_somebody_wrote_meanwhile_is_not_replaced_and_can_be_taken_back(
    write, served, settings
):
    write(ada="Because.")
    (address,) = links(served())
    version = seen(ask(address)[1])
    assert ask(address, seen=version, points="5", comment="Short.")[0] == 200
    version = seen(ask(address)[1])
    assert ask(address, seen=version, points="5", comment="Short, but true.")[0] == 200
    assert ask(address, seen=version, points="5", comment="Too short.")[0] == 409
    assert recorded(settings) == (5, False, "Short, but true.")
    assert ask(address, seen=seen(ask(address)[1]), points="5", comment=" ")[0] == 200
    assert recorded(settings) == (5, False, None)


def test_points_that_formgrader_gives_later_are_not_called_those_of_the_page(
    write, served, settings, essays
):
    write(ada="Because.")
    (address,) = links(served("bea"))
    form = {"level-0": "3", "level-1": "4", "points": ""}
    assert ask(address, seen=seen(ask(address)[1]), **form)[0] == 200
    with api.Gradebook(settings.url) as book:
        book.find_grade("toy_essay", "toy", "toy", "ada").manual_score = 2.0
        book.db.commit()
    (one,) = essays().answers(essays().questions[0])
    assert (one.given.points, one.by, one.at, one.levels, one.is_done) == (2, "", "", (), True)
    assert "in formgrader" in ask(address)[1]
    write(ada="Since.")
    (one,) = essays().answers(essays().questions[0])
    assert one.given.earlier_points and not one.is_done  # a person has yet to look at this one


def test_picture_that_is_too_large_or_none_is_not_shown():
    def cell(data):
        output = nbformat.v4.new_output("display_data", {"image/png": data})
        return nbformat.v4.new_code_cell("plot()", outputs=[output])

    large, plot = picture(1, 1, _MOST_BYTES), picture(6_000, 4_800)
    swells = picture(23_040, 23_040)  # 64 KB of one colour took 2.6 GB of a browser's memory
    svg, cut = (base64.b64encode(data).decode() for data in (b"<svg onload=alert(3)>", b"\x89PNG"))
    notebook = nbformat.v4.new_notebook(
        cells=[cell(data) for data in (large, swells, svg, cut, plot, DOT)]
    )
    assert list(_pictures(nbformat.writes(notebook).encode(), {"toy_essay"})) == [plot, DOT]


def test_new_answer_meanwhile_is_not_graded_unseen_and_old_points_are_shown_as_such(
    write, served, settings
):
    write(ada="Because.")
    (address,) = links(served())
    version = seen(ask(address)[1])
    write(ada="Since.")
    status, page, _ = ask(address, seen=version, points="5")
    assert status == 409 and "another answer was handed in" in page
    assert recorded(settings)[0] is None
    assert ask(address, seen=seen(page), points="5", comment="Short.")[0] == 200
    write(ada="Therefore.")
    page = ask(address)[1]
    assert "What was given is for an earlier answer" in page and "Therefore." in page
    feedback = settings.out / "feedback/ada/toy/toy.html"
    assert "handed in before" in feedback.read_text()
    ask(address, seen=seen(page), points="5", comment="Short.")  # the same, for the new one
    write(ada="Therefore.")
    assert "handed in before" not in feedback.read_text()


def test_points_that_a_run_did_not_see_stay_those_of_the_answer_that_was_shown(
    write, served, settings, essays
):
    write(ada="Because.")
    (address,) = links(served())
    ask(address, seen=seen(ask(address)[1]), points="5")
    (note,) = (settings.out / "records/toy.by_hand").glob("*.json")
    given = note.read_text()
    write(ada="Since.")
    note.write_text(given)  # as if all this had come while that run was at work
    with api.Gradebook(settings.url) as book:
        book.find_grade("toy_essay", "toy", "toy", "ada").needs_manual_grade = False
        book.db.commit()
    write(ada="Since.")
    (one,) = essays().answers(essays().questions[0])
    assert one.given.earlier_points and one.given.waiting and not one.is_done
    assert "handed in before" in (settings.out / "feedback/ada/toy/toy.html").read_text()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"points": "11"}, "they must be from 0 to 10"),
        ({"points": "-1"}, "they must be from 0 to 10"),
        ({"points": "nan"}, "they must be from 0 to 10"),
        ({"points": "many"}, "is not a number of points"),
        ({"points": "", "level-0": "3"}, "choose a level for each, or give points"),
    ],
)
def test_what_cannot_be_given_is_said_and_nothing_is_saved(write, served, settings, form, said):
    write(ada="Because.")
    (address,) = links(served())
    status, page, _ = ask(address, seen=seen(ask(address)[1]), **form)
    assert status == 400 and said in page
    assert recorded(settings)[0] is None


def test_sections_and_graders_share_the_answers(write, essays, settings, served):
    write(ada="Because.", bo="Dunno.", cy="Since.")
    table = "student,section,grader\nada,tuesday,bea\nbo,friday,carl\ncy,friday,bea\n"
    (settings.out / "sections.csv").write_text(table)

    def students(*choice):
        answers = essays(*choice)
        return {(one.student, one.section) for one in answers.answers(answers.questions[0])}

    assert students("bea") == {("ada", "tuesday"), ("cy", "friday")}
    assert students("bea", "friday") == {("bo", "friday"), ("cy", "friday")}
    assert {student for student, _ in students("the professor")} == {"ada", "bo", "cy"}
    with pytest.raises(GraderError, match="has no section 'monday'; it has: friday, tuesday"):
        students("bea", "monday")


def test_links_from_one_answer_to_the_next_are_apart(write, served, read_page):
    write(ada="Because.", bo="Dunno.")
    words = read_page(ask(links(served())[0])[1]).words
    assert "Next Next that waits" in words


def test_blind_page_shows_no_name_and_what_students_wrote_stays_text(write, served, read_page):
    write(**{"ada lovelace": HOSTILE})
    address = served(blind=True)
    (one,) = links(address)
    listed, page = ask(address)[1], ask(one)[1]
    assert "lovelace" not in listed + page
    found = read_page(page)
    assert HOSTILE in found.text
    assert found.tags.count("script") == 1 and "onerror" not in dict(found.attributes)
    images = [value for name, value in found.attributes if name == "src"]
    assert images == [f"data:image/png;base64,{DOT}"]


def test_only_who_knows_the_address_is_answered(write, served):
    write(ada="Because.")
    address = served()
    assert ask(address)[0] == 200
    assert ask(address.replace(address.split("/")[3], "guess"))[0] == 404
    request = urllib.request.Request(address, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(request)


def test_command_says_what_is_missing(toy_course, tmp_path):
    words = ["--course", str(toy_course.folder), "written", "toy", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1 and "grade a class first" in done.output


@pytest.mark.browser
def test_page_saves_at_once_by_keyboard_and_is_accessible(
    write, served, settings, browser, complaints
):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    write(ada=HOSTILE)
    address = served()
    browser.get_log("browser")
    browser.get(address)
    assert not complaints(browser)
    browser.find_element(By.CSS_SELECTOR, "tbody a").send_keys(Keys.ENTER)
    WebDriverWait(browser, 60).until(lambda page: page.find_elements(By.TAG_NAME, "form"))
    assert not complaints(browser)
    state = browser.find_element(By.CSS_SELECTOR, "[role=status]")
    for number in (0, 1):
        best = browser.find_elements(By.NAME, f"level-{number}")[0]
        best.send_keys(Keys.SPACE)
    WebDriverWait(browser, 60).until(lambda page: "10 points by bea" in state.text)
    assert browser.find_element(By.NAME, "points").get_attribute("value") == "10"
    assert recorded(settings)[0] == 10
    browser.find_element(By.NAME, "comment").send_keys("Well said." + Keys.TAB)
    WebDriverWait(browser, 60).until(lambda _: recorded(settings)[2] == "Well said.")
    assert not complaints(browser)


@pytest.mark.browser
def test_page_is_not_left_before_what_was_typed_is_saved(write, served, settings, browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    write(ada=HOSTILE, bo="Another answer.")
    browser.get(served())
    browser.find_element(By.CSS_SELECTOR, "tbody a").send_keys(Keys.ENTER)
    WebDriverWait(browser, 60).until(lambda page: page.find_elements(By.TAG_NAME, "form"))
    leaves = (
        "const going = new Event('beforeunload', {cancelable: true});"
        "dispatchEvent(going); return !going.defaultPrevented"
    )
    assert browser.execute_script(leaves)
    # A comment alone cannot be saved yet, so whoever closes the page is asked.
    browser.find_element(By.NAME, "comment").send_keys("Nearly.")
    assert not browser.execute_script(leaves)
    # With points it is saved by the link itself, before the next answer is shown.
    browser.find_element(By.NAME, "points").send_keys("3")
    first = browser.current_url
    browser.find_element(By.CSS_SELECTOR, "a[rel=next]").click()
    WebDriverWait(browser, 60).until(lambda page: page.current_url != first)
    # Which of the two is shown first is drawn anew in each class.
    (given,) = [
        row for row in map(partial(recorded, settings), ("ada", "bo")) if row[0] is not None
    ]
    assert given[0] == 3 and given[2] == "Nearly."


@pytest.fixture
def explained(toy_course, settings):
    """What `explain` prints about an item, as text or as plain values."""

    def run(student, item="toy_essay", *options):
        words = ["explain", "toy", student, item, "--no-sandbox", f"--out={settings.out}", *options]
        done = CliRunner().invoke(main, [f"--course={toy_course.folder}", *words])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout) if options else done.stdout

    return run


def test_explain_shows_a_written_answer_and_what_people_gave_for_it(write, essays, explained):
    write(ada="Because \x1b[2J it must.", bo="Maybe.", cy="")
    assert explained("bo").splitlines() == [
        "toy_essay: 10 points; it waits for a person to read it",
        "`autograder written toy` shows it beside the rubric",
        "",
        "answer:",
        "       Maybe.",
    ]
    nothing = "toy_essay: 0 of 10 points; nothing was written, and nobody has to read\n"
    assert explained("cy") == nothing

    answers = essays()
    (question,) = answers.questions
    of_ada = answers.of(question, "ada")
    answers.give(question, of_ada.key, of_ada.version, [3.0, 4.0], None, "Say \x1b[31mwhy.")
    first, given, *rest = explained("ada").splitlines()
    assert first == "toy_essay: 7 of 10 points"
    assert re.fullmatch(r"7 points were given by bea at \d\d:\d\d on 20\d\d-\d\d-\d\d", given)
    assert rest[:2] == [
        '  3 for 1. A reason (6 points): it hints at one. "Maybe because."',
        "  4 for 2. Style (4 points): clear.",
    ]
    assert rest[2] == "comment:" and rest[3].endswith("why.") and rest[-1].endswith("it must.")
    assert "\x1b" not in "".join(rest)

    write(ada="Another reason.")
    again = explained("ada")
    assert "toy_essay: 7 of 10 points; it waits for a person to read it\n" in again
    assert "points and comment are for an earlier answer: look again\n" in again
    plain = explained("ada", "toy_essay", "--json")
    assert plain["answer"] == "Another reason." and plain["points"] == 7 and plain["waiting"]
    assert [level["points"] for level in plain["rubric"]] == [3, 4] and plain["by"] == "bea"


def test_explain_says_where_a_person_has_changed_the_points_of_a_check(write, settings, explained):
    write(ada="Because.")
    with api.Gradebook(settings.url) as book:
        row = book.find_grade("toy_double", "toy", "toy", "ada")
        row.manual_score, row.extra_credit = 50, 2
        book.db.commit()
    said = explained("ada", "toy_double")
    assert said.startswith("toy_double: 60 of 60 points\n")
    assert "\n50 points were given by a person\n2 points of extra credit\n" in said
    assert explained("ada", "toy_double", "--json")["by_hand"]["given"] == 50
