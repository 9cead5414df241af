import contextlib
import csv
import dataclasses
import io
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from nbgrader import api, dbutil
from sqlalchemy import Engine, event

from autograder.authoring.outline import Outline
from autograder.authoring.release import ReleasedSet
from autograder.intake.repair import repair
from autograder.lms.export import ExportRequest
from autograder.lms.formats.nbgrader_csv import nbgrader_csv
from autograder.records import (
    Grade,
    GraderError,
    Misconception,
    PartVerdict,
    State,
    Timing,
    Verdict,
)
from autograder.store.formgrader_notebook import describe_verdict, formgrader_notebook
from autograder.store.gradebook import _BATCH_SIZE, Gradebook

DOUBLE = Verdict(
    "toy_double",
    20.0,
    60.0,
    (PartVerdict("values", False, 2.0, "Too large."), PartVerdict("empty", True, 1.0)),
    Misconception("squares", "Twice a number is not its square."),
)
MEAN = Verdict("toy_mean", 30.0, 30.0, (PartVerdict("values", True, 1.0),))
GRADE = Grade("ada", "toy", State.GRADED, "ab" * 32, 7, (DOUBLE, MEAN))


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'gradebook.db'}"


@pytest.fixture
def recorded(toy_course):
    return ReleasedSet(toy_course, "toy").notebooks.recorded


@pytest.fixture
def book(url, recorded):
    with Gradebook(url) as book:
        book.register("toy", recorded)
        yield book


def _rows(url, student="ada"):
    with api.Gradebook(url) as theirs:
        notebook = theirs.find_submission_notebook("toy", "toy", student)
        return {
            row.name: (row.auto_score, row.manual_score, row.needs_manual_grade)
            for row in notebook.grades
        }


def _give(url, cell, points, comment=None):
    """What formgrader does when a person grades a cell."""
    with api.Gradebook(url) as theirs:
        row = theirs.find_grade(cell, "toy", "toy", "ada")
        row.manual_score, row.needs_manual_grade = points, False
        if comment:
            theirs.find_comment(cell, "toy", "toy", "ada").manual_comment = comment
        theirs.db.commit()


@pytest.mark.slow
def test_registered_set_matches_what_nbgrader_would_record(url, book, recorded, tmp_path):
    """nbgrader's own SaveCells, fed with the same notebook, leaves the same rows."""
    from nbgrader.preprocessors import SaveCells

    other = f"sqlite:///{tmp_path / 'theirs.db'}"
    with Gradebook(other):
        pass
    with api.Gradebook(other) as theirs:
        theirs.add_assignment("toy")
    resources = {"nbgrader": {"notebook": "toy", "assignment": "toy", "db_url": other}}
    SaveCells().preprocess(recorded, resources)
    found = []
    for address in (url, other):
        with api.Gradebook(address) as opened:
            notebook = opened.find_notebook("toy", "toy")
            cells = [
                *notebook.grade_cells,
                *notebook.solution_cells,
                *notebook.task_cells,
                *notebook.source_cells,
            ]
            rows = [cell.to_dict() for cell in cells]
            found.append(sorted(str({k: v for k, v in r.items() if k != "id"}) for r in rows))
            found[-1].append(notebook.kernelspec)
    assert found[0] == found[1]


def test_record_writes_scores_and_asks_for_a_person_only_where_one_is_needed(url, book):
    book.record("toy", [(GRADE, frozenset())])
    assert _rows(url) == {
        "toy_double": (20.0, None, False),
        "toy_mean": (30.0, None, False),
        "toy_essay": (None, None, True),
    }


def test_blank_answer_needs_no_person(url, book):
    book.record("toy", [(GRADE, frozenset({"toy_essay"}))])
    assert _rows(url)["toy_essay"] == (0.0, None, False)
    assert book.hand_grades("toy")["ada"]["toy_essay"].blank
    _give(url, "toy_essay", 7.5, "")
    assert not book.hand_grades("toy")["ada"]["toy_essay"].blank


def test_hand_given_points_survive_regrading(url, book):
    book.record("toy", [(GRADE, frozenset())])
    _give(url, "toy_essay", 7.5, "Nice.")
    book.record("toy", [(GRADE, frozenset())])
    assert _rows(url)["toy_essay"] == (None, 7.5, False)
    given = book.hand_grades("toy")["ada"]
    assert (given["toy_essay"].points, given["toy_essay"].comment) == (7.5, "Nice.")
    assert given["toy_double"].points is None


def test_what_was_given_in_one_notebook_of_an_assignment_is_no_other_s(url, recorded):
    """Two of them may well have cells of the same name."""
    with Gradebook(url) as book:
        for name in ("toy", "toy+more"):
            book.register(name, recorded)
            book.record(name, [(dataclasses.replace(GRADE, problem_set=name), frozenset())])
        _give(url, "toy_essay", 7.5)
        given = {n: book.hand_grades(n)["ada"]["toy_essay"].points for n in ("toy", "toy+more")}
    assert given == {"toy": 7.5, "toy+more": None}


def test_person_looks_again_where_the_machine_changed_its_mind(url, book):
    book.record("toy", [(GRADE, frozenset())])
    _give(url, "toy_double", 55)
    book.record("toy", [(GRADE, frozenset())])
    assert _rows(url)["toy_double"] == (20.0, 55.0, False)
    better = dataclasses.replace(DOUBLE, points=60.0)
    book.record("toy", [(dataclasses.replace(GRADE, verdicts=(better, MEAN)), frozenset())])
    assert _rows(url)["toy_double"] == (60.0, 55.0, True)


def test_person_who_only_commented_looks_again_where_the_machine_changed_its_mind(url, book):
    book.record("toy", [(GRADE, frozenset())])
    with api.Gradebook(url) as theirs:
        comment = theirs.find_comment("toy_double_answer", "toy", "toy", "ada")
        comment.manual_comment = "Squares, you mean?"
        theirs.db.commit()
    better = dataclasses.replace(DOUBLE, points=60.0)
    book.record("toy", [(dataclasses.replace(GRADE, verdicts=(better, MEAN)), frozenset())])
    assert _rows(url)["toy_double"] == (60.0, None, True)


def test_who_is_asked_to_look_again_is_still_asked_for_what_was_open(url, book):
    book.record("toy", [(GRADE, frozenset())])
    book.ask_again("toy", "ada", {"toy_double"})
    waiting = {cell for cell, (*_, is_waiting) in _rows(url).items() if is_waiting}
    assert waiting == {"toy_double", "toy_essay"}


def test_answer_that_comes_under_a_comment_on_none_is_shown_to_a_person(url, book):
    book.record("toy", [(GRADE, frozenset({"toy_essay"}))])
    with api.Gradebook(url) as theirs:
        theirs.find_comment("toy_essay", "toy", "toy", "ada").manual_comment = "Nothing here?"
        theirs.db.commit()
    book.record("toy", [(GRADE, frozenset())])
    assert _rows(url)["toy_essay"] == (None, None, True)


def test_extension_that_is_withdrawn_leaves_the_gradebook(url, book):
    def extension(timing):
        book.record("toy", [(dataclasses.replace(GRADE, timing=timing), frozenset())])
        with api.Gradebook(url) as theirs:
            return theirs.find_submission("toy", "ada").extension

    with api.Gradebook(url) as theirs:
        theirs.find_assignment("toy").duedate = datetime(2026, 5, 1)
        theirs.db.commit()
    own, common = "2026-05-03T00:00:00+00:00", "2026-05-01T00:00:00+00:00"
    assert extension(Timing(due=own, extended=True)) == timedelta(days=2)
    assert extension(Timing(due=common)) is None


def test_penalty_takes_no_more_than_there_is(url, book):
    late = dataclasses.replace(GRADE, timing=Timing(due="2026-05-01T00:00:00Z", penalty=60.0))
    book.record("toy", [(late, frozenset())])
    (score,) = book.final_scores("toy")
    assert (score.raw_points, score.penalty, score.points) == (50, 60, 0)


def test_refused_submission_has_no_points_and_is_shown_to_a_person(url, book):
    none = tuple(dataclasses.replace(v, points=0.0, parts=()) for v in GRADE.verdicts)
    book.record(
        "toy", [(dataclasses.replace(GRADE, state=State.REFUSED, verdicts=none), frozenset())]
    )
    assert set(_rows(url).values()) == {(None, None, True)}
    assert not book.final_scores("toy")[0].is_graded  # which is not 0 points


def test_fault_of_the_course_keeps_an_earlier_score(url, book):
    book.record("toy", [(GRADE, frozenset())])
    faulty = dataclasses.replace(DOUBLE, points=60.0, fault="the check broke")
    fault = dataclasses.replace(GRADE, state=State.GRADER_FAULT, verdicts=(faulty, MEAN))
    book.record("toy", [(fault, frozenset())])
    assert _rows(url)["toy_double"] == (20.0, None, True)
    score = next(one for one in book.final_scores("toy")[0].items if one.name == "toy_double")
    assert (score.points, score.waiting) == (20.0, False)  # it counts until a person has looked
    book.record("toy", [(dataclasses.replace(fault, student="bo"), frozenset())])
    assert _rows(url, "bo")["toy_double"] == (60.0, None, True)


def test_item_added_later_reaches_submissions_that_were_recorded_before(url, book, toy_course):
    book.record("toy", [(GRADE, frozenset())])
    path = toy_course.source("toy")
    extra = (
        '\n# %% nbgrader={"grade": true, "grade_id": "toy_extra", "locked": true, "points": 5, '
        '"schema_version": 3, "solution": false, "task": false}\npass\n'
    )
    path.write_text(path.read_text() + extra)
    book.register("toy", ReleasedSet(toy_course, "toy").notebooks.recorded)
    verdict = Verdict("toy_extra", 5.0, 5.0, ())
    book.record(
        "toy", [(dataclasses.replace(GRADE, verdicts=(*GRADE.verdicts, verdict)), frozenset())]
    )
    assert _rows(url)["toy_extra"] == (5.0, None, False)


def test_item_removed_later_disappears_unless_a_person_has_graded_it(url, book, recorded):
    book.record("toy", [(GRADE, frozenset())])
    shorter = nbformat.from_dict(recorded)
    shorter.cells = [cell for cell in recorded.cells if cell.id != "toy_essay"]
    _give(url, "toy_essay", 7)
    with pytest.raises(GraderError, match="toy_essay is no longer in toy"):
        book.register("toy", shorter)
    _give(url, "toy_essay", None)
    book.register("toy", shorter)
    assert set(_rows(url)) == {"toy_double", "toy_mean"}


@pytest.mark.parametrize("kind", ["extra credit", "comment"])
def test_item_of_which_a_person_said_anything_is_never_removed(url, book, recorded, kind):
    book.record("toy", [(GRADE, frozenset())])
    with api.Gradebook(url) as theirs:
        if kind == "comment":
            theirs.find_comment("toy_essay", "toy", "toy", "ada").manual_comment = "Why?"
        else:
            theirs.find_grade("toy_essay", "toy", "toy", "ada").extra_credit = 1.0
        theirs.db.commit()
    shorter = nbformat.from_dict(recorded)
    shorter.cells = [cell for cell in recorded.cells if cell.id != "toy_essay"]
    with pytest.raises(GraderError, match="toy_essay is no longer in toy"):
        book.register("toy", shorter)


def test_extra_credit_beside_an_automatic_score_counts_wherever_it_is_read(url, book):
    book.record("toy", [(GRADE, frozenset())])
    with api.Gradebook(url) as theirs:
        theirs.find_grade("toy_double", "toy", "toy", "ada").extra_credit = 4.0
        theirs.db.commit()
    given = book.hand_grades("toy")["ada"]["toy_double"]
    assert (given.points, given.extra, given.counts(20.0)) == (None, 4.0, 24.0)
    (score,) = book.final_scores("toy")
    assert score.points == 20 + 4 + 30
    assert {item.name: item.by_hand.extra for item in score.items}["toy_double"] == 4


def test_comments_on_several_cells_of_one_item_are_read_together(url, book):
    book.record("toy", [(GRADE, frozenset())])
    with api.Gradebook(url) as theirs:
        for cell in ("toy_double_answer", "toy_mean_answer"):
            theirs.find_comment(cell, "toy", "toy", "ada").manual_comment = f"on {cell}"
        theirs.db.commit()
    belongs = {"toy_double_answer": "toy_double", "toy_mean_answer": "toy_double"}
    found = book.hand_grades("toy", belongs)["ada"]["toy_double"].comment
    (score,) = book.final_scores("toy", belongs)
    (shown,) = [item.comment for item in score.items if item.name == "toy_double"]
    both = ["on toy_double_answer", "on toy_mean_answer"]
    assert sorted(found.split("\n")) == sorted(shown.split("\n")) == both


def test_comment_says_what_is_wrong_and_carries_no_markup(url, book):
    part = PartVerdict("values", False, 1.0, "<script>alert(1)</script>")
    verdict = dataclasses.replace(DOUBLE, points=0.0, parts=(part,))
    grade = dataclasses.replace(GRADE, verdicts=(verdict, MEAN))
    book.record("toy", [(grade, frozenset({"toy_mean"}))])
    with api.Gradebook(url) as theirs:
        notebook = theirs.find_submission_notebook("toy", "toy", "ada")
        comments = {row.name: row.auto_comment for row in notebook.comments}
    assert "<script" not in comments["toy_double_answer"]
    assert "Twice a number is not its square." in comments["toy_double_answer"]
    assert comments["toy_mean_answer"] == "No response."
    assert comments["toy_essay"] is None


def test_csv_has_nbgraders_columns_and_no_formula(url, book, tmp_path):
    from nbgrader.plugins import CsvExportPlugin

    book.record("toy", [(GRADE, frozenset())])
    book.record("toy", [(dataclasses.replace(GRADE, student='=HYPERLINK("x"),"'), frozenset())])
    request = ExportRequest(Outline("toy", "", ()), book.final_scores("toy"))
    rows = list(csv.DictReader(io.StringIO(nbgrader_csv(request).text)))
    assert [row["student_id"] for row in rows] == ['\'=HYPERLINK("x"),"', "ada"]
    plugin = CsvExportPlugin(to=str(tmp_path / "theirs.csv"), student=["ada"])
    with api.Gradebook(url) as theirs:
        plugin.export(theirs)
    (their_row,) = csv.DictReader((tmp_path / "theirs.csv").open())
    assert rows[1] == their_row


def test_formgrader_notebook_shows_points_and_disarms_what_a_student_wrote(toy_course, toys):
    released = ReleasedSet(toy_course, "toy")
    notebook = toys.answer(
        toy_course, toys.double, toys.mean, "<img src=x onerror=alert(1)> `<eos>`"
    )
    repaired = repair(nbformat.writes(notebook).encode(), released)
    shown = formgrader_notebook(repaired.notebook, GRADE)
    nbformat.validate(shown)
    cells = {cell.id: cell for cell in shown.cells}
    (output,) = cells["toy_double"].outputs
    assert output.text == describe_verdict(DOUBLE)
    assert "nbgrader_cell" not in nbformat.writes(shown)
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter().from_notebook_node(shown)
    assert "<img src=x" not in html
    assert "onerror=alert(1)&gt;" in html
    assert "eos&gt;</code>" in html


def test_describe_verdict_says_points_properties_and_hint():
    assert describe_verdict(DOUBLE).splitlines() == [
        "20 of 60 points",
        "- values: Too large.",
        "+ empty: passed",
        "Hint: Twice a number is not its square.",
    ]


@pytest.mark.parametrize("kept", [0, 5000])
def test_damaged_gradebook_is_never_begun_anew(tmp_path, kept):
    path = tmp_path / "gradebook.db"
    with Gradebook(f"sqlite:///{path}"):
        pass
    damaged = path.read_bytes()[:kept]
    path.write_bytes(damaged)
    with (
        pytest.raises(GraderError, match=r"It is damaged: put the one of your backup in its place"),
        Gradebook(f"sqlite:///{path}") as book,
    ):
        book.final_scores("toy")
    assert path.read_bytes() == damaged


def test_gradebook_whose_upgrade_broke_off_is_not_gone_on_with(url, book, tmp_path):
    """nbgrader would make the table that is away anew, empty, and hide every grade."""
    path = tmp_path / "gradebook.db"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("ALTER TABLE assignment RENAME TO _alembic_tmp_assignment")
    before = path.read_bytes()
    said = rf"broke off\. Put the copy .* `nbgrader db upgrade --db sqlite:///{path}`"
    with pytest.raises(GraderError, match=said), Gradebook(url):
        pass
    assert path.read_bytes() == before


def test_gradebook_of_an_older_nbgrader_is_upgraded_by_the_command_that_is_named(
    recorded, tmp_path
):
    path = tmp_path / "class of '26" / "gradebook.db"
    url = f"sqlite:///{path}"
    with Gradebook(url):
        pass
    with contextlib.closing(sqlite3.connect(path)) as older:
        older.execute("INSERT INTO student (id) VALUES ('ada')")
        older.execute("ALTER TABLE student DROP COLUMN lms_user_id")
        older.execute("UPDATE alembic_version SET version_num = '167914646830'")
        older.execute("DROP TABLE assignment")
        older.execute("DROP TABLE course")
        older.execute("CREATE TABLE assignment (id VARCHAR(32) PRIMARY KEY, name VARCHAR(128))")
        older.commit()
    with pytest.raises(GraderError, match="of an older nbgrader") as error, Gradebook(url) as book:
        book.register("toy", recorded)
    command = re.search(r"run `(.+?)`, then", str(error.value))[1]
    here = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(shlex.split(command), check=True, cwd=tmp_path, env=here, capture_output=True)
    with Gradebook(url) as book:
        assert book.students() == {"ada"}


def test_gradebook_rejects_a_database_it_cannot_use_without_showing_the_password():
    with (
        pytest.raises(GraderError, match=r"gradebook sqlite://…@nowhere/x cannot be used") as error,
        Gradebook("sqlite://teacher:secret@nowhere/x"),
    ):
        pass
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("pragma", "advice"),
    [
        ("query_only = ON", "readonly database. Make the file and its folder writable for you"),
        ("max_page_count = 1", "disk is full. Make room on that disk"),
    ],
)
def test_gradebook_that_takes_no_grades_says_what_to_do(url, book, tmp_path, pragma, advice):
    def restrict(connection, record):
        connection.execute(f"PRAGMA {pragma}")

    many = (dataclasses.replace(GRADE, student=f"student {n}" * 50) for n in range(400))
    event.listen(Engine, "connect", restrict)
    try:
        with pytest.raises(GraderError) as error, Gradebook(url) as restricted:
            restricted.record("toy", ((grade, frozenset()) for grade in many))
    finally:
        event.remove(Engine, "connect", restrict)
    assert advice in str(error.value)
    assert f"the gradebook {tmp_path / 'gradebook.db'} cannot be used" in str(error.value)


def test_gradebook_that_is_locked_or_out_of_reach_says_what_to_do(url, book, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "gradebook.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(GraderError, match=r"locked\. Another program writes to it"):
            book.record("toy", [(GRADE, frozenset())])
    with (
        pytest.raises(GraderError, match=r"Is the server running.*--db") as error,
        Gradebook("postgresql://teacher:secret@127.0.0.1:1/grades"),
    ):
        pass
    assert "secret" not in str(error.value)


def test_new_gradebook_is_made_whole_or_not_at_all(url, tmp_path, monkeypatch):
    def dies():
        raise FileNotFoundError("alembic")

    monkeypatch.setattr(api, "get_alembic_version", dies)
    with pytest.raises(GraderError, match="alembic"), Gradebook(url):
        pass
    assert not (tmp_path / "gradebook.db").exists()


def test_new_gradebook_says_the_version_that_nbgrader_itself_would_say():
    with dbutil._temp_alembic_ini("sqlite://") as settings:
        command = [sys.executable, "-m", "alembic.config", "-c", settings, "heads"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert api.get_alembic_version() == said.split()[0]


def test_class_of_more_than_one_transaction_is_recorded_whole_and_again(url, book):
    students = [f"student-{number:03d}" for number in range(2 * _BATCH_SIZE + 1)]
    marked = [(dataclasses.replace(GRADE, student=student), frozenset()) for student in students]
    book.record("toy", marked[:3])
    for _ in range(2):
        book.record("toy", marked)
        scores = book.final_scores("toy")
        assert [score.student for score in scores] == students
        assert {score.points for score in scores} == {GRADE.points}
