import dataclasses
import json

import pytest
from click.testing import CliRunner
from nbgrader import api

from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.cli import main as cli
from autograder.cli import options
from autograder.intake.repair import repair
from autograder.records import (
    Difference,
    Grade,
    HandGrade,
    Misconception,
    PartVerdict,
    State,
    Timing,
    Verdict,
)
from autograder.reports.instructor_pages import changes_page, class_page, overview_page
from autograder.reports.student_feedback import student_page

HOSTILE = "</td></script><script>document.title = 'Attacked'</script><img src=x onerror=alert(1)>"
DOUBLE = Verdict(
    "toy_double",
    20.0,
    60.0,
    (PartVerdict("values", False, 2.0, "Too large."), PartVerdict("empty", True, 1.0)),
    Misconception("squares", "Twice a number is not its square."),
)
MEAN = Verdict("toy_mean", 30.0, 30.0, (PartVerdict("values", True, 1.0),))
GRADE = Grade("ada", "toy", State.GRADED, "ab" * 32, 7, (DOUBLE, MEAN), isolation="bubblewrap")
LATE = Timing("2026-03-04T12:00:00+00:00", "a list", "2026-03-02T12:00:00+00:00", False, 2e5, 20.0)


SECTIONS = {"ada": "tuesday", "bo": HOSTILE, "dee": "tuesday"}  # Cy is in none


@pytest.fixture
def released(toy_course):
    return ReleasedSet(toy_course, "toy")


@pytest.fixture
def outline(released):
    return released.outline


def test_class_page_counts_ranks_and_lists(outline, read_page):
    others = [
        dataclasses.replace(GRADE, student="bo"),
        Grade("cy", "toy", State.REFUSED, "", 7, reasons=("the file is empty",)),
    ]
    right = (dataclasses.replace(DOUBLE, points=60.0, misconception=None), MEAN)
    others.append(dataclasses.replace(GRADE, student="dee", verdicts=right))
    waiting = HandGrade(None, waiting=True)
    by_hand = {"ada": {"toy_essay": HandGrade(10)}, "bo": {"toy_essay": waiting}}
    words = read_page(class_page(outline, [GRADE, *others], by_hand)).words
    states = "3 graded 0 graded with problems 0 tampering 1 refused 0 grader fault"
    assert f"4 received {states}" in words
    assert "66.7 mean of 100" in words  # (60 + 50 + 90) / 3: the refused one does not count
    assert "60 median" in words
    assert "1 answers wait" not in words and "1 answer waits for a person" in words
    assert "squares 2 students 1. Double" in words
    assert "the file is empty" in words


def test_class_page_shows_sections_where_there_are_any(outline, read_page):
    others = [dataclasses.replace(GRADE, student=name) for name in ("bo", "cy")]
    parsed = read_page(class_page(outline, [GRADE, *others], {}, sections=SECTIONS))
    assert parsed.words.count(HOSTILE) == 3  # among sections, in the filter, beside Bo
    assert "tuesday 1 50 50" in parsed.words
    assert ("data-section", HOSTILE) in parsed.attributes
    assert ("data-section", "") in parsed.attributes  # Cy's
    assert parsed.tags.count("script") == 1 and "img" not in parsed.tags
    assert "Section" not in read_page(class_page(outline, [GRADE], {})).words


def test_blank_answer_is_judged_and_nobody_waits_for_what_could_not_be_read(outline, read_page):
    """Once a page said `of 90` of what was `of 100` in every export, and that an answer waits."""
    refused = Grade("cy", "toy", State.REFUSED, "", 7, reasons=("the file is empty",))
    waits = {"toy_essay": HandGrade(None, waiting=True)}
    by_hand = {"ada": {"toy_essay": HandGrade(None, blank=True)}, "cy": waits}
    words = read_page(class_page(outline, [GRADE, refused], by_hand)).words
    assert "of 100 graded" in words and "of 90" not in words
    assert "for a person" not in words


def test_nothing_read_is_not_0_points_on_any_page(outline, read_page):
    none = tuple(dataclasses.replace(one, points=0.0, parts=()) for one in (DOUBLE, MEAN))
    refused = Grade("cy", "toy", State.REFUSED, "", 7, none, reasons=("the file is empty",))
    for given, said, summed in (
        ({}, "cy open refused", "cy none 0"),
        ({"cy": {"toy_essay": HandGrade(8.0)}}, "cy 8 of 10 refused", "cy 8 8"),
    ):
        assert said in read_page(class_page(outline, [refused], given)).words
        assert summed in read_page(overview_page([(outline, [refused], given)])).words


def test_class_page_of_nobody_is_still_a_page(outline, read_page):
    assert "0 received" in read_page(class_page(outline, [], {})).words


def test_class_page_says_how_many_met_each_property(outline, read_page):
    right = (dataclasses.replace(DOUBLE, parts=(PartVerdict("values", True, 2.0),)), MEAN)
    other = dataclasses.replace(GRADE, student="bo", verdicts=right)
    words = read_page(class_page(outline, [GRADE, other], {})).words
    assert "Every number is doubled. met by 1 of 2" in words
    assert "An empty list stays empty. met by 1 of 1" in words


def test_class_page_draws_the_distribution_and_says_it_in_words(outline, read_page):
    full = (dataclasses.replace(DOUBLE, points=60.0), dataclasses.replace(MEAN, points=40.0))
    best = dataclasses.replace(GRADE, student="bo", verdicts=full)
    parsed = read_page(class_page(outline, [GRADE, best], {}))
    assert parsed.tags.count("svg") == 1 and parsed.tags.count("rect") == 10
    assert "50 to 60: 1; 60 to 70: 0;" in parsed.words
    assert "90 to 100: 1." in parsed.words  # the highest points belong to the last column


def test_late_students_are_marked_and_their_penalty_is_taken_off(outline, read_page):
    late = dataclasses.replace(GRADE, timing=LATE)
    words = read_page(class_page(outline, [late], {"ada": {"toy_essay": HandGrade(8.0)}})).words
    assert "1 late" in words
    assert "38 of 100 graded 3 days late: −20 points" in words  # 20 + 30 + 8 - 20
    spent = dataclasses.replace(LATE, penalty=0.0, late_days=3)
    words = read_page(class_page(outline, [dataclasses.replace(GRADE, timing=spent)], {})).words
    assert "3 days late: 0 points, 3 late days spent" in words


def test_penalty_never_makes_points_negative(outline, read_page):
    ruined = dataclasses.replace(GRADE, timing=dataclasses.replace(LATE, penalty=80.0))
    assert "0 of 90 graded" in read_page(class_page(outline, [ruined], {})).words


def test_changes_page_of_nothing_says_so(outline, read_page):
    assert "No grade has changed." in read_page(changes_page(outline, [])).words


def test_overview_adds_up_the_sets_of_each_student(outline, read_page):
    other = dataclasses.replace(outline, name="toy2")
    second = dataclasses.replace(GRADE, student="bo")
    page = overview_page([(outline, [GRADE, second], {}), (other, [GRADE], {})])
    words = read_page(page).words
    assert "ada 50 50 100" in words and "bo 50 none 50" in words


@pytest.mark.parametrize("place", ["student", "reason", "note", "fault", "misconception"])
def test_nothing_on_a_dashboard_becomes_markup(outline, read_page, place):
    def odd(here, otherwise="harmless"):
        return HOSTILE if place == here else otherwise

    verdict = dataclasses.replace(
        DOUBLE, fault=odd("fault"), misconception=Misconception(odd("misconception"), "hint")
    )
    timing = dataclasses.replace(LATE, note=odd("note"))
    grade = dataclasses.replace(
        GRADE,
        student=odd("student", "ada"),
        reasons=(odd("reason"),),
        verdicts=(verdict,),
        timing=timing,
    )
    change = {
        "at": "2026-03-04T12:00:00+00:00",
        "student": odd("student", "ada"),
        "before": 1.0,
        "after": 2.0,
        "causes": [odd("reason")],
        "items": [],
        "state_before": "graded",
        "state_after": "graded",
    }
    pages = [
        class_page(outline, [grade], {}, 1),
        changes_page(outline, [change]),
        overview_page([(outline, [grade], {})]),
    ]
    for page in pages:
        parsed = read_page(page)
        assert "img" not in parsed.tags
        assert parsed.tags.count("script") == ("script-src" in page)
        assert not any(name.startswith("on") for name, _ in parsed.attributes)


# ------------------------------------------------------------------ in a browser
@pytest.fixture
def opened(browser, look, outline, released, toys, toy_course, tmp_path):
    """Write the pages of a class of three and open one of them."""
    notebook = toys.answer(toy_course, toys.square, toys.mean, "Because.")
    repaired = repair(as_text(notebook).encode(), released)
    difference = Difference("toy_double", "double([1.5, 2])", (2.25, 4.0), (3.0, 4.0))
    late = dataclasses.replace(GRADE, timing=LATE, differences=(difference,))
    better = dataclasses.replace(
        GRADE, student="bo", verdicts=(dataclasses.replace(DOUBLE, points=60.0), MEAN)
    )
    refused = Grade("cy", "toy", State.REFUSED, "", 7, reasons=(HOSTILE,))
    grades = [late, better, refused]
    pages = {
        "student": student_page(outline, late, repaired, {}),
        "class": class_page(outline, grades, {}, sections=SECTIONS),
        "overview": overview_page([(outline, grades, {})]),
    }

    def open_page(name, theme="light", width=1280):
        path = tmp_path / f"{name}.html"
        path.write_text(pages[name])
        return look(browser, path, theme, width)

    return open_page


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["student", "class", "overview"])
def test_pages_are_accessible_silent_and_fit(opened, complaints, name, theme, width):
    page = opened(name, theme, width)
    assert page.title != "Attacked"
    assert complaints(page) == []


@pytest.mark.slow
@pytest.mark.browser
def test_students_can_be_sorted_and_filtered_with_the_keyboard(opened):
    from selenium.webdriver.common.keys import Keys

    page = opened("class")

    def shown():
        rows = page.find_elements("css selector", "#students tbody tr")
        return [row.text.split()[0] for row in rows if row.is_displayed()]

    button = page.find_elements("css selector", "#students th button")[2]
    button.send_keys(Keys.ENTER)
    assert shown() == ["cy", "ada", "bo"]
    button.send_keys(Keys.SPACE)
    assert shown() == ["bo", "ada", "cy"]
    heading = page.execute_script("return arguments[0].parentElement.ariaSort", button)
    assert heading == "descending"
    page.find_element("name", "words").send_keys("ADA")
    assert shown() == ["ada"]
    assert page.find_element("css selector", "form output").text == "1 of 3 shown"
    page.find_element("name", "words").clear()
    page.find_element("name", "words").send_keys(Keys.TAB, "late")
    assert shown() == ["ada"]
    page.find_element("name", "state").send_keys(Keys.HOME)
    section = page.find_element("name", "section")
    section.send_keys("tuesday")
    assert shown() == ["ada"]
    section.send_keys(Keys.UP)
    assert shown() == ["bo"]


# ------------------------------------------------------------------ on the command line
@pytest.fixture
def run(toy_course, hand_in, toys, tmp_path, without_sandbox):
    """Grade a class of two, and run commands about it."""
    hand_in("ada", double=toys.double, mean=toys.mean, essay="Because.")
    folder = hand_in("bo", double=toys.square)
    result = grade_class(ReleasedSet(toy_course, "toy"), folder, Settings(tmp_path / "out"))

    def invoke(*words, expect=0):
        words = [f"--course={toy_course.folder}", *words, "--out", str(tmp_path / "out")]
        done = CliRunner().invoke(cli.main, words)
        assert done.exit_code == expect, f"{done.output}\n{done.exception!r}"
        return done

    return invoke, result


def test_dashboard_is_made_again_after_grading_by_hand(run, tmp_path, monkeypatch):
    invoke, result = run
    with api.Gradebook(f"sqlite:///{tmp_path / 'out' / 'gradebook.db'}") as theirs:
        row = theirs.find_grade("toy_essay", "toy", "toy", "ada")
        row.manual_score, row.needs_manual_grade = 8.5, False
        theirs.db.commit()
    monkeypatch.setattr("autograder.class_run.workers.Grader", None)
    assert invoke("dashboard", "toy").stdout.strip() == str(result.page.resolve())
    assert "98.5 of 100" in result.page.read_text()
    student = tmp_path / "out" / "feedback" / "ada" / "toy" / "toy.html"
    assert "98.5" in student.read_text()


def test_dashboard_takes_sections_from_their_file_and_names_a_damaged_one(run, tmp_path, read_page):
    invoke, result = run
    sections = tmp_path / "out" / "sections.csv"
    for text, said in (
        ("student,section\nada,tuesday\nbo,friday\n", "friday 1 20 20 tuesday 1 90 90"),
        ("who,section\nada,tuesday\n", "sections.csv has no column"),
    ):
        sections.write_text(text)
        invoke("dashboard", "toy")
        assert said in read_page(result.page.read_text()).words


def test_dashboard_of_all_sets_leads_to_each(run, tmp_path, read_page):
    invoke, _ = run
    shown = json.loads(invoke("dashboard", "--all", "--json").stdout)
    page = tmp_path / "out" / "dashboard" / "toy" / "index.html"
    assert shown == {"page": str(page.resolve())}  # the course has one set
    overview = read_page((tmp_path / "out" / "dashboard" / "index.html").read_text())
    assert ("href", "toy/index.html") in overview.attributes
    assert "ada 90 90 bo 20 20" in overview.words


def test_dashboard_rejects_what_was_never_graded(run, toy_course, tmp_path):
    invoke, _ = run
    assert "name at least one problem set" in invoke("dashboard", expect=2).stderr
    assert "no problem set 'ps9'" in invoke("dashboard", "ps9", expect=options.ERROR).stderr
    words = [f"--course={toy_course.folder}", "dashboard", "toy", "--out", str(tmp_path / "new")]
    done = CliRunner().invoke(cli.main, words)
    assert (done.exit_code, "grade a class first" in done.stderr) == (options.ERROR, True)


def test_similarity_and_explain_speak_json(run):
    invoke, _ = run
    shown = json.loads(invoke("similarity", "toy", "--json").stdout)
    assert (shown["students"], shown["pairs"], shown["copies"]) == (2, [], [])
    assert "2 submissions compared. To look at, pairs: 0," in invoke("similarity", "toy").stdout
    verdict = json.loads(invoke("explain", "toy", "bo", "toy_double", "--json").stdout)
    assert (verdict["recorded_points"], verdict["points"]) == (20, 20)
    assert "expected: " in verdict["parts"][0]["staff_note"]
