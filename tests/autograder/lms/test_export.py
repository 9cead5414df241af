"""Grades on their way out: who is entered where, who is not and why, and what a cell may hold."""

import csv
import dataclasses
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbgrader import api

from autograder.authoring.outline import Item, Outline
from autograder.authoring.release import ReleasedSet
from autograder.files import Table, read_table, write_table
from autograder.intake.layouts import student_name
from autograder.lms.export import ExportRequest, comment_html, export_formats
from autograder.lms.formats.canvas import canvas
from autograder.lms.formats.moodle import moodle, moodle_worksheet
from autograder.lms.formats.nbgrader_csv import nbgrader_csv
from autograder.records import FinalScore, Grade, GraderError, HandGrade, ItemScore, State, Verdict
from autograder.store.gradebook import Gradebook

# The rows and columns of both are those of github.com/instructure/canvas-lms,
# lib/gradebook_exporter.rb: the first as most courses get it, the second with all that a course may
# switch on. What lib/gradebook_importer.rb reads again is the header up to "Section".
CANVAS_ROSTER = """\
Student,ID,SIS User ID,SIS Login ID,Section,Quiz (7),Problem set 1 (4711),Current Score
,,,,,,Manual Posting,
    Points Possible,,,,,10,100,(read only)
"Lovelace, Ada",12345,s-001,ada@uni.example,A,9,,90
"Turing, Alan",12346,s-002,alan,A,8,55,80
"Hopper, Grace",12347,s-003,grace,B,7,EX,70
"O'Neil, Bo",12348,s-004,bo,B,6,,60
"Student, Test",12349,,,A,,,
"""
CANVAS_EVERYTHING = '''\
LastName,FirstName,ID,SIS User ID,SIS Login ID,Integration ID,Root Account,Section,Notes,\
Quiz (7),Problem set 1 (4711),Assignments Current Points,Assignments Final Points,\
Assignments Current Score,Assignments Unposted Current Score,Assignments Final Score,\
Assignments Unposted Final Score,Current Score,Final Grade,Override Score
,,,,,,,,,,Manual Posting (scores hidden from instructors),,,,,,,,,
    Points Possible,,,,,,,,,"10,00","100,00",(read only),(read only),(read only),(read only),\
(read only),(read only),(read only),(read only),
Lovelace,Ada,12345,s-001,ada@uni.example,i1,canvas.uni.example,"A and B",a note,"9,00",,\
9,9,90,90,9,9,90,B,
"=""=Turing""",Alan,12346,s-002,alan,i2,canvas.uni.example,A,,,N/A,,,,,,,,,
'''
# The columns of mod/assign/gradingtable.php of github.com/moodle/moodle; what
# mod/assign/feedback/offline/importgradeslib.php needs of them again are Identifier, Grade and the
# date of the grade.
WORKSHEET = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,\
Last modified (submission),Last modified (grade),Feedback comments
Participant 501,Ada Lovelace,ada@uni.example,Submitted for grading,,100.00,Yes,\
"Wednesday, 10 June 2026, 2:14 PM",-,
Participant 502,Alan Turing,alan@uni.example,Submitted for grading,12.00,100.00,Yes,-,-,earlier
Participant 503,Grace Hopper,grace@uni.example,No submission,,100.00,No,-,-,
"""


def _table(text, name="roster.csv"):
    rows = list(csv.reader(io.StringIO(text)))
    return Table(name, tuple(rows[0]), tuple(tuple(row) for row in rows[1:]))


def _score(student, points=87.5, **more):
    return FinalScore(student, points, 100.0, **more)


def _request(scores, roster=None, title="Problem set 1", **more):
    table = _table(roster) if roster is not None else None
    items = (Item("ps1_mean", "1. The <mean>", 4.0, False, {}),)
    return ExportRequest(Outline("ps1", title, items), scores, table, **more)


def _rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_writes_points_without_the_dust_of_adding_them_up():
    (row,) = _rows(nbgrader_csv(_request([_score("ada", 50.6 + 1e-14, raw_points=0.1 + 0.2)])).text)
    assert (row["score"], row["raw_score"]) == ("50.6", "0.3")


# ------------------------------------------------------------------ Canvas
@pytest.mark.parametrize(
    "student", ["ada@uni.example", "ADA@uni.example ", "12345", "S-001", "lovelaceada_12345"]
)
def test_canvas_finds_a_student_by_any_identifier(student):
    made = canvas(_request([_score(student)], CANVAS_ROSTER))
    points, ada = _rows(made.text)
    assert points["Student"] == "    Points Possible"
    assert points["Problem set 1 (4711)"] == "100"
    assert ada == {
        "Student": "Lovelace, Ada",
        "ID": "12345",
        "SIS User ID": "s-001",
        "SIS Login ID": "ada@uni.example",
        "Section": "A",
        "Problem set 1 (4711)": "87.5",
    }


def test_canvas_reports_everybody_whom_it_leaves_out():
    scores = [_score("ada@uni.example"), _score("zoe", 12.0), _score("grace", 99.0)]
    made = canvas(_request(scores, CANVAS_ROSTER))
    assert [row["ID"] for row in _rows(made.text)] == ["", "12345"]
    assert made.notes == (
        "zoe (12 of 100 points) was not entered: not in roster.csv",
        "3 in roster.csv without a grade here: Turing, Alan; O'Neil, Bo; Student, Test",
        "Hopper, Grace is excused in Canvas; 99 not entered",
    )


def test_canvas_name_that_ends_in_another_s_number_gets_nobody_s_row():
    """In the archive, Eve called herself eve_12346, which is Alan's number."""
    made = canvas(_request([_score("eve_12346")], CANVAS_ROSTER))
    assert len(_rows(made.text)) == 1
    assert "the number 12346 belongs to Turing, Alan in roster.csv" in made.notes[0]


def test_two_students_for_one_row_enter_neither():
    scores = [_score("alan", 1.0), _score("12346", 99.0)]
    made = canvas(_request(scores, CANVAS_ROSTER))
    assert len(_rows(made.text)) == 1
    assert made.notes[0] == (
        "alan (1 of 100 points) and 12346 (99 of 100 points) all stand for Turing, Alan in "
        "roster.csv; none was entered"
    )


def test_one_identifier_in_two_rows_enters_nothing():
    twice = CANVAS_ROSTER + '"Turing, A.",12350,s-002,alan2,A,,,\n'
    made = canvas(_request([_score("s-002")], twice))
    assert len(_rows(made.text)) == 1
    assert "Turing, Alan and Turing, A. in roster.csv both have that identifier" in made.notes[0]


def test_canvas_new_assignment_is_announced_with_those_that_exist():
    made = canvas(_request([_score("alan")], CANVAS_ROSTER, column="ps9"))
    assert _rows(made.text)[1]["ps9"] == "87.5"
    assert made.notes[0] == (
        "roster.csv has no column 'ps9': Canvas will create a new assignment; it has: "
        "Quiz (7), Problem set 1 (4711)"
    )


def test_canvas_column_may_be_named_and_must_be_one():
    made = canvas(_request([_score("alan")], CANVAS_ROSTER, column="quiz (7)"))
    assert _rows(made.text)[1]["Quiz (7)"] == "87.5"
    assert "Canvas has 10 points possible, the problem set 100" in made.notes
    several = CANVAS_ROSTER.replace("Quiz (7)", "Problem set 1 (9)")
    with pytest.raises(GraderError, match=r"Problem set 1 \(9\), Problem set 1 \(4711\)"):
        canvas(_request([_score("alan")], several))


@pytest.mark.parametrize(
    "heading", ["Week 3: Problem set 1 (4711)", "PS1 - n-grams (4711)", "Homework: ps1 (4711)"]
)
def test_canvas_column_is_found_when_its_title_says_more(heading):
    roster = CANVAS_ROSTER.replace("Problem set 1 (4711)", heading)
    made = canvas(_request([_score("alan")], roster))
    assert _rows(made.text)[1][heading] == "87.5"
    assert made.notes[0] == f"grades go into the column {heading!r}"
    several = roster.replace("Quiz (7)", "Old: problem set 1 (9)")
    if "Problem" in heading:
        with pytest.raises(GraderError, match="several columns"):
            canvas(_request([_score("alan")], several))
    others = roster.replace(heading, "Problem set 10 (4711)")
    assert "has no column 'ps1'" in canvas(_request([_score("alan")], others)).notes[0]


def test_canvas_reads_separate_first_and_last_names():
    text = "LastName,FirstName,ID,Section,HW (3)\nPoints Possible,,,,10\nLovelace,Ada,5,A,\n"
    made = canvas(_request([_score("lovelaceada_5", 8.25)], text, "HW"))
    assert _rows(made.text)[1] == {
        "LastName": "Lovelace",
        "FirstName": "Ada",
        "ID": "5",
        "Section": "A",
        "HW (3)": "8.25",
    }


def test_canvas_gradebook_with_all_that_a_course_may_switch_on_is_read(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text(CANVAS_EVERYTHING, encoding="utf-8-sig")
    request = _request([_score("ada@uni.example"), _score("alan", 5.0)])
    made = canvas(dataclasses.replace(request, roster=read_table(path)))
    points, ada = _rows(made.text)
    assert points["Problem set 1 (4711)"] == "100"
    assert list(ada.items()) == [
        *(("LastName", "Lovelace"), ("FirstName", "Ada"), ("ID", "12345")),
        *(("SIS User ID", "s-001"), ("SIS Login ID", "ada@uni.example")),
        *(("Integration ID", "i1"), ("Root Account", "canvas.uni.example")),
        *(("Section", "A and B"), ("Problem set 1 (4711)", "87.5")),
    ]
    assert made.notes == (
        "Canvas ignores scores of Problem set 1 (4711) while they are hidden from instructors",
        '="=Turing", Alan is not assigned it in Canvas; 5 not entered',
    )


def test_canvas_rejects_what_is_no_gradebook():
    with pytest.raises(GraderError, match=r"roster\.csv has no column 'Section'; it has: a, b"):
        canvas(_request([], "a,b\n1,2\n"))


# ------------------------------------------------------------------ Moodle
# docs.moodle.org, "Grade import": one column of the file is mapped to the user's address, ID number
# or name, others to grade items and their feedback; the names of the columns are free.
@pytest.mark.parametrize(
    ("identifier", "expected"),
    [("Email address", "alan@uni.example"), ("Identifier", "Participant 502")],
)
def test_moodle_names_people_by_the_chosen_column_of_a_roster(identifier, expected):
    scores = [_score("Alan Turing_502"), _score("nobody")]
    made = moodle(_request(scores, WORKSHEET, identifier=identifier))
    assert _rows(made.text) == [{identifier: expected, "Problem set 1": "87.5"}]
    assert made.notes[0] == "nobody (87.5 of 100 points) was not entered: not in roster.csv"
    assert made.notes[1].startswith("2 in roster.csv without a grade here: Ada Lovelace; Grace")


def test_name_in_which_markup_was_replaced_is_still_found_in_the_roster():
    roster = WORKSHEET.replace("Alan Turing", "Turing & Co")
    made = moodle(_request([_score(student_name("Turing & Co_502"))], roster))
    assert [row["Problem set 1"] for row in _rows(made.text)] == ["87.5"]


def test_moodle_without_a_roster_takes_names_as_they_are_and_addresses_from_the_gradebook():
    scores = [_score("ada", email="a@x.org"), _score("bo@x.org", 5.0), _score("cy")]
    by_name = moodle(_request(scores, column="Grade", identifier="Username"))
    assert [row["Username"] for row in _rows(by_name.text)] == ["ada", "bo@x.org", "cy"]
    by_mail = moodle(_request(scores, column="Grade"))
    assert [row["Email address"] for row in _rows(by_mail.text)] == ["a@x.org", "bo@x.org"]
    assert by_mail.notes == ("cy (87.5 points) has no Email address",)


def test_moodle_comments_say_points_by_item_and_carry_no_markup():
    items = (
        ItemScore("ps1_mean", 3.0, 4.0, comment="<b>Nice</b>\nwork"),
        ItemScore("ps1_essay", 0.0, 10.0, waiting=True),
    )
    score = _score("ada", 3.0, items=items, penalty=0.5)
    assert comment_html(score, _request([]).outline) == (
        "1. The &lt;mean&gt;: 3 points of 4<br>&lt;b&gt;Nice&lt;/b&gt;<br>work<br>"
        "ps1_essay: not graded yet of 10<br>"
        "together: 3 of 90 points, and 10 more are still to be given<br>late: 0.5 points taken off"
    )
    made = moodle(_request([score], identifier="Username", comments="Remarks"))
    assert _rows(made.text)[0]["Remarks"] == comment_html(score, _request([]).outline)
    assert made.notes == ("1 answer of 1 student is not graded by hand yet and counts 0",)


def test_worksheet_keeps_every_other_cell_as_it_came():
    scores = [_score("Ada Lovelace_501"), _score("alan@uni.example", 40.0)]
    made = moodle_worksheet(_request(scores, WORKSHEET))
    before, after = _rows(WORKSHEET), _rows(made.text)
    assert [row.pop("Grade") for row in after] == ["87.5", "40", ""]
    for row in before:
        row.pop("Grade")
    assert after == before
    assert made.notes == ("1 in roster.csv without a grade here: Grace Hopper",)


def test_worksheet_takes_comments_where_asked():
    made = moodle_worksheet(
        _request(
            [_score("Ada Lovelace_501", items=(ItemScore("q", 1.0, 2.0),))],
            WORKSHEET,
            comments="Feedback comments",
        )
    )
    assert [row["Feedback comments"] for row in _rows(made.text)] == [
        "q: 1 points of 2",
        "earlier",
        "",
    ]


def test_worksheet_respects_moodle_s_locks_and_maximum():
    scores = [_score("Grace Hopper_503"), _score("Ada Lovelace_501", 100.5)]
    made = moodle_worksheet(_request(scores, WORKSHEET))
    assert [row["Grade"] for row in _rows(made.text)] == ["", "12.00", ""]
    assert "Grace Hopper: 87.5 not entered: locked in Moodle" in made.notes
    assert "Ada Lovelace: 100.5 not entered: more than Moodle's maximum of 100.00" in made.notes


def test_worksheet_number_with_another_name_is_not_believed():
    made = moodle_worksheet(_request([_score("Eve_501")], WORKSHEET))
    assert "the number 501 belongs to Ada Lovelace in roster.csv" in made.notes[0]


def test_worksheet_of_blind_marking_needs_only_the_number():
    text = "Identifier,Status,Grade\nParticipant 9,Submitted,\n"
    made = moodle_worksheet(_request([_score("Participant_9")], text))
    assert _rows(made.text)[0]["Grade"] == "87.5"


def test_worksheet_in_another_language_is_filled_in_by_its_own_column_names():
    text = "ID,Vollständiger Name,Bewertung\nTeilnehmer/in9,Ada Lovelace,\n"
    with pytest.raises(GraderError, match="no column 'Grade'; it has: ID, Vollständiger Name"):
        moodle_worksheet(_request([], text))
    made = moodle_worksheet(
        _request([_score("Teilnehmerin_9")], text, identifier="ID", column="Bewertung")
    )
    assert _rows(made.text)[0]["Bewertung"] == "87.5"


# ------------------------------------------------------------------ every format
@pytest.mark.parametrize("form", export_formats().values(), ids=lambda form: form.name)
class TestEveryFormat:
    """Each without a roster, the one thing that all of them can be asked for."""

    @staticmethod
    def write(form, scores):
        request = _request(scores, identifier="" if form.roster == "" else "Username")
        try:
            return form.write(request)
        except GraderError as error:
            assert form.roster, "a format that takes no roster cannot need one"
            assert f"--format {form.name} needs --roster" in str(error)
            return None

    def test_every_grade_is_written_once_or_the_roster_is_asked_for(self, form):
        made = self.write(form, [_score("ada", 87.5), _score("bo", 12.25)])
        if made is not None:
            text = made.text.splitlines()
            for student, points in (("ada", "87.5"), ("bo", "12.25")):
                (row,) = (line for line in text if student in line)
                assert points in row

    def test_a_name_is_no_formula(self, form):
        made = self.write(form, [_score("=1+1"), _score('@SUM(1)","x')])
        if made is not None:
            cells = [cell for row in csv.reader(io.StringIO(made.text)) for cell in row]
            assert any("1+1" in cell for cell in cells)
            assert not [cell for cell in cells if cell.lstrip().startswith(("=", "@", "+"))]

    def test_a_class_without_grades_is_a_table_without_rows(self, form):
        made = self.write(form, [])
        assert made is None or len(made.text.splitlines()) == 1


# ------------------------------------------------------------------ tables
def test_carriage_return_begins_no_new_cell():
    assert write_table([["ada\r\n=1", "bo\r@2"]]) == '"ada\n\'=1","bo\n\'@2"\n'


_cells = st.text(alphabet=st.characters(codec="utf-8")) | st.text(alphabet="=+-@\r\n\t\"', a1")


@given(st.lists(st.tuples(_cells, _cells)))
def test_no_written_cell_begins_like_a_formula(rows):
    read = list(csv.reader(io.StringIO(write_table(rows), newline="")))
    assert len(read) == len(rows)
    for row in read:
        for cell in row:
            assert not cell.lstrip().startswith(("=", "@"))


def test_moodle_says_which_identifier_it_had_to_change():
    made = moodle(_request([_score("=1+1")], identifier="Username"))
    assert _rows(made.text)[0]["Username"] == "'=1+1"
    assert "=1+1 got an apostrophe" in made.notes[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_table_is_read_as_platforms_and_spreadsheets_save_it(tmp_path, encoding, delimiter):
    path = tmp_path / "roster.csv"
    rows = [["Student", "Größe", "ID"], ["Müller, Jörg", "a\nb", "7"], ["", "", ""], ["x"]]
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    table = read_table(path)
    assert table.header == ("Student", "Größe", "ID")
    assert table.rows == (("Müller, Jörg", "a\nb", "7"), ("x", "", ""))
    assert table.index("größe ") == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n,,\n", "is empty"),
        (b"a,b\n\xff\xfe,1\n", "is not UTF-8 text"),
        (b"\xff\xfea", "is not UTF-8 text"),
        (b'a,b\n"' + b"x" * 200_000 + b'",1\n', "is not CSV"),
    ],
)
def test_table_rejects_what_it_cannot_read(tmp_path, data, message):
    path = tmp_path / "roster.csv"
    path.write_bytes(data)
    with pytest.raises(GraderError, match=message):
        read_table(path)
    with pytest.raises(GraderError, match="cannot be read: No such file"):
        read_table(tmp_path / "nowhere.csv")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_table_or_a_clear_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("table") / "roster.csv"
    path.write_bytes(data)
    try:
        table = read_table(path)
    except GraderError:
        return
    assert all(len(row) == len(table.header) for row in table.rows)


# ------------------------------------------------------------------ the gradebook's numbers
def test_final_score_is_nbgraders_with_hand_grades_and_penalty(tmp_path, toy_course):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    verdicts = (Verdict("toy_double", 20.0, 60.0, ()), Verdict("toy_mean", 30.0, 30.0, ()))
    grade = Grade("ada", "toy", State.GRADED, "ab" * 32, 7, verdicts)
    with Gradebook(url) as book:
        book.register("toy", ReleasedSet(toy_course, "toy").notebooks.recorded)
        book.record(grade.problem_set, [(grade, frozenset())])
        (waiting,) = book.final_scores("toy")
        assert [(item.name, item.waiting) for item in waiting.items] == [
            ("toy_double", False),
            ("toy_mean", False),
            ("toy_essay", True),
        ]
        with api.Gradebook(url) as theirs:
            row = theirs.find_grade("toy_essay", "toy", "toy", "ada")
            row.manual_score, row.needs_manual_grade = 7.5, False
            theirs.find_comment("toy_essay", "toy", "toy", "ada").manual_comment = "Nice."
            theirs.find_submission_notebook("toy", "toy", "ada").late_submission_penalty = 10.0
            theirs.find_student("ada").email = "ada@uni.example"
            theirs.db.commit()
        book._book.db.expire_all()
        (score,) = book.final_scores("toy")
        (row,) = _rows(nbgrader_csv(ExportRequest(Outline("toy", "Toy set", ()), [score])).text)
    assert (score.points, score.max_points, score.penalty) == (47.5, 100.0, 10.0)
    assert float(row["score"]) == score.points
    assert score.email == "ada@uni.example"
    given = HandGrade(7.5, "Nice.")
    assert score.items[2] == ItemScore("toy_essay", 7.5, 10.0, False, "Nice.", given)
    assert dataclasses.replace(score, items=()) == FinalScore(
        "ada", 47.5, 100.0, 10.0, "ada@uni.example", raw_points=57.5
    )
