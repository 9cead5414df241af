"""Feedback on its way back: each archive is read as its platform reads it, and hostile names."""

import csv
import io
import json
import zipfile

import nbformat
import pytest
from click.testing import CliRunner

from autograder.authoring.notebooks import as_text
from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.cli import main as cli
from autograder.files import OWN_FILES
from autograder.store.gradebook import Gradebook

pytestmark = pytest.mark.usefixtures("without_sandbox")

# Names as in tests/autograder/intake/test_layouts.py, which says where they are from.
CANVAS = (
    "lovelaceada_12345_67890_toy.ipynb",
    "turingalan_LATE_12346_67891_my_2_toy.ipynb",
    "anon_x3YzQ_67892_toy-1.ipynb",
)
MOODLE = "{}_assignsubmission_file/toy.ipynb"
HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) `"


@pytest.fixture
def give_back(toy_course, toys, tmp_path):
    """Grade files of these names, and pack the feedback; return what was said, and the result."""

    def do(way, *names, expect=0, roster="", essay="", texts=()):
        folder = tmp_path / "download"
        notebook = as_text(toys.answer(toy_course, double=toys.square, essay=essay))
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(notebook if name.endswith(".ipynb") else "an essay")
        grade_class(ReleasedSet(toy_course, "toy"), folder, Settings(tmp_path / "out"))
        more = []
        if roster:
            (tmp_path / "people.csv").write_text(roster)
            more = ["--roster", str(tmp_path / "people.csv")]
        words = ["feedback", "toy", "--to", way, "--out", str(tmp_path / "out"), "--json", *more]
        result = CliRunner().invoke(cli.main, [f"--course={toy_course.folder}", *words])
        assert result.exit_code == expect, result.output
        if expect == 1:
            return result.output, None
        said = json.loads(result.stdout)
        return said, tmp_path / "out" / "given_back" / f"toy-{way}"

    return do


def unzipped(path):
    with zipfile.ZipFile(path.with_suffix(".zip")) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


# ------------------------------------------------------------------ Canvas
def canvas_reads(name):
    """Whose file Canvas takes one for: the student's and the attachment's number.

    By infer_comment_context_from_filename in app/models/abstract_assignment.rb of
    github.com/instructure/canvas-lms: pieces between underscores, "LATE" left out; of an anonymous
    one the two after "anon", of others the first two that are numbers.
    """
    pieces = [piece for piece in name.split("_") if piece != "LATE"]
    if pieces[0] == "anon":
        return pieces[1], pieces[2]
    student, attachment = [piece for piece in pieces if piece.isdecimal()][:2]
    return student, attachment


def test_canvas_finds_each_student_and_gets_a_notebook_that_opens(give_back):
    said, path = give_back("canvas", *CANVAS, essay=HOSTILE)
    found = unzipped(path)
    assert sorted(found) == sorted(CANVAS)  # under the very names under which they came
    assert {canvas_reads(name) for name in found} == {
        ("12345", "67890"),
        ("12346", "67891"),
        ("x3YzQ", "67892"),
    }
    assert (said["students"], said["notes"]) == (3, [])
    notebook = nbformat.reads(found[CANVAS[0]].decode(), as_version=4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "feedback for lovelaceada_12345" in text
    assert "## 1. Double: 20 of 60 points" in text  # the empty list stays empty
    assert "\u2717 Every number is doubled" in text
    assert "**A likely cause.** Twice a number is not its square." in text
    assert "    <\u200bscript>" in text and "]\u200b(javascript:" in text  # nothing acts
    (code,) = [cell.source for cell in notebook.cells if "number * number" in cell.source]
    assert code.startswith("def double")
    assert not any(cell.get("outputs") for cell in notebook.cells)


def test_canvas_gets_nothing_under_a_name_that_is_no_notebook_s(give_back):
    essay, evil = "diracpaul_12350_9_toy.pdf", "evileve_12351_10_..\\..\\toy.ipynb"
    said, path = give_back("canvas", *CANVAS, essay, evil, expect=4)
    assert sorted(unzipped(path)) == sorted(CANVAS)
    assert said["notes"] == [
        f"diracpaul_12350 is left out: {essay} is no notebook, and Canvas would show the feedback "
        "under that name",
        "evileve_12351 is left out: a sign in its file's name that could mislead another program",
    ]


@pytest.mark.parametrize("way", ["canvas", "moodle"])
def test_class_from_elsewhere_is_refused_with_what_to_do(give_back, way):
    said, _ = give_back(way, "ada.ipynb", expect=1)
    assert f"nothing of toy came as a {way.title()} archive, whose names are needed: run" in said


# ------------------------------------------------------------------ Moodle
def moodle_reads(path):
    """Whose feedback Moodle takes a file for, and how it calls it.

    By is_valid_filename_for_import in mod/assign/feedback/file/importziplib.php of
    github.com/moodle/moodle: of the folders, then the file, the first with four pieces between
    underscores (five until 2022) whose second is a number and whose next two name a plugin.
    """
    first, *rest = path.split("/")
    _, number, kind, plugin, *more = first.split("_", 4)
    assert number.isdecimal() and (kind, plugin) == ("assignsubmission", "file")
    name = "/".join([*more, *rest]).lstrip("/")
    assert name and not name.startswith((".", "~"))
    return int(number), name


@pytest.mark.parametrize("end", ["", "_"])  # the underscore is that of Moodle before 4.1
def test_moodle_finds_each_participant_by_the_folder(give_back, tmp_path, end):
    people = ("Ada Lovelace_123456", "Participant_123458", "Team A_7")
    names = [f"{one}_assignsubmission_file{end}/toy.ipynb" for one in people]
    said, path = give_back("moodle", *names)
    found = unzipped(path)
    assert {moodle_reads(name) for name in found} == {
        (number, "toy-feedback.html") for number in (123456, 123458, 7)
    }
    assert [name.split("/")[0] + "/toy.ipynb" for name in found] == sorted(names)
    page = tmp_path / "out" / "feedback" / "Ada Lovelace_123456" / "toy" / "toy.html"
    assert found[names[0].replace("toy.ipynb", "toy-feedback.html")] == page.read_bytes()
    assert said["notes"] == []


def test_moodle_takes_one_folder_of_all_files_too(give_back):
    names = [f"{one}_assignsubmission_file_toy.ipynb" for one in ("Ada L_1", "Alan T_2")]
    _, path = give_back("moodle", *names, "Default group_assignsubmission_file_toy.ipynb", expect=4)
    assert {moodle_reads(name) for name in unzipped(path)} == {
        (1, "toy-feedback.html"),
        (2, "toy-feedback.html"),
    }


# ------------------------------------------------------------------ mail
def test_mail_gets_a_page_and_a_row_for_everybody(give_back, tmp_path):
    roster = "student,email\nada,ada@example.edu\nbo@example.edu,bo@example.edu\n"
    names = ("ada.ipynb", "bo@example.edu.ipynb", "=1+1.ipynb")
    said, path = give_back("mail", *names, roster=roster, expect=4, essay="So.")
    rows = {
        row["student"]: row for row in csv.DictReader(io.StringIO((path / "mail.csv").read_text()))
    }
    assert set(rows) == {"ada", "bo@example.edu", "'=1+1"}  # a spreadsheet runs nothing
    assert rows["ada"] == {
        "student": "ada",
        "email": "ada@example.edu",
        "problem_set": "Toy set",
        "points": "20",
        "max_points": "100",
        "total": "20 of 90 points, and 10 more are still to be given",
        "attachment": "pages/ada.html",
    }
    for row in rows.values():
        assert "feedback" in (path / row["attachment"]).read_text()
    assert rows["'=1+1"]["email"] == ""
    assert said["notes"] == [
        "=1+1 is not in people.csv",
        "1 without an address (--roster has them?): =1+1",
    ]


def test_late_days_stand_beside_the_points(give_back, toy_course):
    toml = "late_days = 2\n[sets.toy]\ndue = 2026-10-12 12:00:00\n"
    (toy_course.folder / "course.toml").write_text(toml)
    _, path = give_back("mail", "ada@example.edu.ipynb")
    (row,) = csv.DictReader(io.StringIO((path / "mail.csv").read_text()))
    assert (row["late_days"], row["late_days_left"]) == ("0", "2")


def test_points_that_a_person_has_given_since_are_in_the_pages(give_back, tmp_path):
    _, path = give_back("mail", "ada@example.edu.ipynb", essay="Because.")
    assert "has not been graded yet" in (path / "pages" / "ada@example%2Eedu.html").read_text()
    with Gradebook(f"sqlite:///{tmp_path / 'out' / 'gradebook.db'}") as book:
        grade = book._book.find_grade("toy_essay", "toy", "toy", "ada@example.edu")
        grade.manual_score, grade.needs_manual_grade = 7.0, False
        book._book.db.commit()
    (path / "notes of mine.txt").write_text("stays")
    _, path = give_back("mail", "ada@example.edu.ipynb", essay="Because.")
    assert "given by a person" in (path / "pages" / "ada@example%2Eedu.html").read_text()
    assert "27,100" in (path / "mail.csv").read_text()
    assert (path / "notes of mine.txt").read_text() == "stays"


def test_what_somebody_has_written_into_pages_and_lists_is_found_again(give_back, tmp_path):
    _, path = give_back("mail", "ada@example.edu.ipynb")
    shown = tmp_path / "out" / "feedback" / "ada@example.edu" / "toy" / "toy.html"
    board = tmp_path / "out" / "dashboard" / "toy" / "index.html"
    for page in (shown, board, path / "pages" / "ada@example%2Eedu.html"):
        page.write_text(f"{page.read_text()}<p>A remark of the tutor's.</p>")
        before = page.read_text()
        give_back("mail", "ada@example.edu.ipynb")
        assert "the tutor's" not in page.read_text()
        (kept,) = page.parent.glob(f"{page.stem}-*.html")
        assert kept.read_text() == before
    addresses = path / "mail.csv"
    addresses.write_text(f"{addresses.read_text()}bo,bo@example.edu\n")
    before = addresses.read_text()
    said, _ = give_back("mail", "ada@example.edu.ipynb", expect=1)
    assert addresses.read_text() == before
    assert f"{addresses} was changed since it was made" in said and "--out" not in said
    assert addresses.read_text() == before


def test_list_for_mail_of_an_older_version_is_moved_aside_once(give_back):
    """It noted nowhere what it had written, so people may have added addresses."""
    _, path = give_back("mail", "ada@example.edu.ipynb")
    (path / OWN_FILES).unlink()
    (path / "mail.csv").write_text(before := "student,email\nada,ada@example.edu\nbo,bo@x.edu\n")
    for _ in range(2):
        give_back("mail", "ada@example.edu.ipynb")
        (kept,) = path.glob("mail-*.csv")
        assert kept.read_text() == before and "attachment" in (path / "mail.csv").read_text()
