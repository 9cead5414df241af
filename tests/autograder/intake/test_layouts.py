"""Which layout a delivery has, and whose each file is, from names as the platforms write them."""

import os
import sys
import unicodedata
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake.archives import Delivered, contents
from autograder.intake.collection import choose, collect, read_notebook
from autograder.intake.layouts import MARKUP, Layout, by_student, recognise, student_name
from autograder.records import GraderError

# As github.com/instructure/canvas-lms, lib/content_zipper.rb, puts them together: the sortable name
# in small letters and without punctuation, LATE, the user's number, the attachment's number and the
# file's name; of anonymous students LATE, anon_ and letters.
CANVAS = (
    "lovelaceada_12345_67890_ps1.ipynb",
    "turingalan_LATE_12346_67891_my homework_2.ipynb",
    "o_neil_12347_67892_ps1-1.ipynb",
    "李雷_12348_67893_ps1.ipynb",
)
# As github.com/moodle/moodle puts them together: the full name without underscores, or what stands
# for it in blind marking, or the team, which has no number if it is the default one; the number of
# the participant or team; and the plugin. mod/assign/classes/downloader.php makes folders of this
# name (since 2022; mod/assign/locallib.php before added an underscore), or one folder of all files.
MOODLE = {
    "Ada Lovelace_123456": "Ada Lovelace_123456_assignsubmission_file",
    "Alan Turing_123457": "Alan Turing_123457_assignsubmission_file",
    "Participant_123458": "Participant_123458_assignsubmission_file",
    "Team A_7": "Team A_7_assignsubmission_file",
    "Default group": "Default group_assignsubmission_file",
}
EXCHANGE = "{student}+{set}+2026-02-03 {time} UTC{random}"


def _make(folder, *names):
    """Write files that hold their own path."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def _zipped(folder, path):
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder))
    return path


def _submitted(student, time="16:00:00.000000", random="+x3J_9-abcDEF", name="ps1"):
    return EXCHANGE.format(student=student, set=name, time=time, random=random)


@pytest.fixture(params=["folder", "zip"])
def delivered(request, tmp_path):
    """Deliver files once as a folder and once as a zip file; return the collection."""

    def deliver(*names, layout=None, problem_set="ps1", zones=(UTC,)):
        path = _make(tmp_path / "class", *names)
        if request.param == "zip":
            path = _zipped(path, tmp_path / "class.zip")
        return collect(path, problem_set, layout, zones)

    return deliver


def _read(collection):
    """For each student, the path that their notebook had in the delivery; None without one."""
    return {one.student: one.path and read_notebook(one).decode() for one in collection.submissions}


def test_moodle_folders_may_end_without_an_underscore_and_hold_typed_text(delivered):
    ada, alan = "Ada Lovelace_123456_assignsubmission_", "Alan Turing_123457_assignsubmission_"
    found = delivered(
        f"{ada}file/ps1.ipynb",
        f"{ada}onlinetext/onlinetext.html",
        f"{alan}onlinetext.html",
        f"{alan}file_/solution.ipynb",
    )
    assert found.layout is Layout.MOODLE
    assert _read(found) == {
        "Ada Lovelace_123456": f"{ada}file/ps1.ipynb",
        "Alan Turing_123457": f"{alan}file_/solution.ipynb",
    }


def test_canvas_archive_is_recognised_and_its_names_are_taken_apart(delivered):
    found = delivered(*CANVAS)
    assert found.layout is Layout.CANVAS
    assert found.layout.words == "Canvas archive"
    assert _read(found) == {
        "lovelaceada_12345": CANVAS[0],
        "turingalan_12346": CANVAS[1],
        "o_neil_12347": CANVAS[2],
        "李雷_12348": CANVAS[3],
    }
    late = {one.student: one.marked_late for one in found}
    assert late.pop("turingalan_12346") is True
    assert set(late.values()) == {False}  # Canvas knows of a due date, and they met it
    assert all(one.submitted_at is None for one in found)


def test_canvas_archive_without_a_late_mark_says_nothing_of_time(delivered):
    assert {one.marked_late for one in delivered(CANVAS[0], CANVAS[2])} == {None}


def test_canvas_anonymous_and_text_entries_are_students_too(delivered):
    found = delivered(
        "anon_x3YzQ_67890_ps1.ipynb",
        "LATE_anon_aB1cD_67891_ps1.ipynb",
        "hoppergrace_12350_text.html",
        "knuthdon_LATE_12351_link.html",
        "diracpaul_12352_9_essay.pdf",
    )
    read = _read(found)
    assert read.pop("anon_x3YzQ") and read.pop("anon_aB1cD")
    assert read == {"hoppergrace_12350": None, "knuthdon_12351": None, "diracpaul_12352": None}
    reasons = {one.student: one.reasons for one in found}
    assert reasons["diracpaul_12352"] == (
        "the folder holds no notebook of this set, only essay.pdf; hand in ps1.ipynb itself",
    )


def test_canvas_file_named_for_the_set_is_graded_among_several(delivered):
    names = ("ada_12345_3_scratch.ipynb", "ada_12345_4_ps1-2.ipynb", "ada_12345_5_a_plot.png")
    (found,) = delivered(*names)
    assert read_notebook(found).decode() == names[1]
    assert found.reasons == ("2 notebooks (ps1-2.ipynb, scratch.ipynb); ps1-2.ipynb was graded",)


def test_canvas_name_that_claims_another_student_s_number_is_no_other_student(delivered):
    """A student may be called `eve_777` and a file may begin with digits: neither is believed."""
    found = delivered(
        "turingalan_777_10_ps1.ipynb", "eve_777_12349_11_ps1.ipynb", "ada_5_12_1_ps1.ipynb"
    )
    read = _read(found)
    assert read["turingalan_777"] == "turingalan_777_10_ps1.ipynb"
    assert set(read) == {"turingalan_777", "eve_777", "ada_5"}
    reasons = {one.student: one.reasons for one in found}
    assert "the number 777 is also that of eve_777" in reasons["turingalan_777"]
    assert "the number 777 is also that of turingalan_777" in reasons["eve_777"]
    assert reasons["ada_5"] == ("ada_5_12_1_ps1.ipynb was taken for number 5's",)


def test_names_with_one_number_for_all_are_no_canvas_archive(delivered):
    found = delivered("ada_2026_01_ps1.ipynb", "bo_2026_01_ps1.ipynb", "cy_2026_01_ps1.ipynb")
    assert found.layout is Layout.PLAIN
    assert set(_read(found)) == {f"{name}_2026_01_ps1" for name in ("ada", "bo", "cy")}


def test_canvas_stranger_is_kept_under_its_own_name(delivered):
    found = delivered(*CANVAS, "zoe.ipynb", "read me.txt")
    assert _read(found)["zoe"] == "zoe.ipynb"
    (zoe,) = [one for one in found if one.student == "zoe"]
    assert zoe.reasons == ("the name zoe.ipynb does not fit: Canvas archive",)


@pytest.mark.parametrize("separator", ["/", "_/", "_"])
def test_moodle_archive_is_recognised_in_folders_and_flat(delivered, separator):
    names = {student: f"{name}{separator}my_ps1.ipynb" for student, name in MOODLE.items()}
    typed = [name.replace("_file", "_onlinetext") for name in MOODLE.values()]
    found = delivered(*names.values(), *(f"{name}{separator}onlinetext.html" for name in typed))
    assert found.layout is Layout.MOODLE
    assert _read(found) == names
    assert all(one.reasons == () for one in found)


def test_moodle_folders_of_one_student_belong_together(delivered):
    found = delivered(
        "Ada Lovelace_12_assignsubmission_file_/deep/er/ps1.ipynb",
        "Ada Lovelace_12_assignsubmission_onlinetext_/onlinetext.html",
        "Alan Turing_13_assignsubmission_onlinetext_/onlinetext.html",
    )
    assert _read(found) == {
        "Ada Lovelace_12": "Ada Lovelace_12_assignsubmission_file_/deep/er/ps1.ipynb",
        "Alan Turing_13": None,
    }


@pytest.mark.parametrize("others", [CANVAS, ()])
def test_moodle_name_inside_a_canvas_archive_changes_nothing(delivered, others):
    found = delivered(*others, "eve_13_14_x_3_assignsubmission_file_y.ipynb")
    assert found.layout is Layout.CANVAS
    assert "eve_13" in _read(found)


def test_exchange_grades_the_newest_and_says_how_many_it_passed_over(delivered):
    first, last = _submitted("ada", "09:30:00.5"), _submitted("ada", "16:00:01.000000", random="")
    found = delivered(
        f"{first}/ps1.ipynb",
        f"{last}/ps1.ipynb",
        f"{_submitted('b+o', '10:00:00.000001')}/ps1.ipynb",
        f"{_submitted('ada', '23:00:00.0', name='ps2')}/ps2.ipynb",
    )
    assert found.layout is Layout.EXCHANGE
    assert _read(found) == {
        "ada": f"{last}/ps1.ipynb",
        "b+o": f"{_submitted('b+o', '10:00:00.000001')}/ps1.ipynb",
    }
    ada, bo = found
    assert ada.submitted_at == datetime(2026, 2, 3, 16, 0, 1, tzinfo=UTC)
    assert bo.submitted_at == datetime(2026, 2, 3, 10, 0, 0, 1, tzinfo=UTC)
    assert ada.time_source == "nbgrader's exchange"
    assert ada.reasons == ()  # handing in again is no problem
    again, *copied = found.remarks
    assert again == "1 student handed in again; 1 earlier submission was not graded"
    # The files of the folder were made today, so it cannot be the exchange itself.
    assert all("as in a copy of the exchange" in remark for remark in copied)
    assert len(copied) == (ada.path.parent.is_dir()) and ada.arrived_at is None


def test_newest_in_an_exchange_is_the_one_that_came_last_whatever_its_clock_showed(delivered):
    first = "ada+ps1+2026-02-03 11:30:00.0 CET/ps1.ipynb"  # half past ten, by UTC
    last = "ada+ps1+2026-02-03 10:45:00.0 UTC/ps1.ipynb"
    found = delivered(first, last, zones=(ZoneInfo("Europe/Berlin"),))
    assert _read(found) == {"ada": last}


def test_exchange_s_own_file_system_says_when_a_file_arrived(delivered):
    now = datetime.now(UTC)
    honest = [f"{name}+ps1+{now:%Y-%m-%d %H:%M:%S.%f} UTC/ps1.ipynb" for name in ("ada", "bo")]
    yesterday = now - timedelta(days=1)
    found = delivered(*honest, f"eve+ps1+{yesterday:%Y-%m-%d %H:%M:%S.%f} UTC/ps1.ipynb")
    assert found.remarks == ()
    in_zip = not found.submissions[0].path.exists()  # where times are the archive's own
    for one in found:
        assert in_zip or abs(one.arrived_at - now) < timedelta(minutes=5)
    (eve,) = [one for one in found if one.student == "eve"]
    assert eve.submitted_at == yesterday  # a claim; lateness compares the two


def _owned(*owned):
    """Deliver a notebook in each of the folders of these names and owners."""
    found = []
    for name, owner in owned:
        found.append(Delivered((name,), Path(name), is_folder=True, owner=owner))
        found.append(Delivered((name, "ps1.ipynb"), Path(name, "ps1.ipynb")))
    return found


def _in_exchange(*owned):
    """Collect submissions from folders of these names and owners."""
    students, remarks = by_student(_owned(*owned), Layout.EXCHANGE, "ps1")
    chosen = {student: one.files[0][1].parts[0] for student, one in students.items()}
    return chosen, {student: one.reasons for student, one in students.items()}, remarks


def test_exchange_folder_of_another_account_replaces_nobody_s_work():
    own, bo = _submitted("alice", "09:00:00.0"), _submitted("bo")
    forged, alone = _submitted("alice", "23:00:00.0"), _submitted("cy")
    chosen, reasons, remarks = _in_exchange(
        (own, "alice"), (forged, "mallory"), (bo, "bo"), (alone, "mallory")
    )
    assert chosen == {"alice": own, "bo": bo, "cy": alone}
    belongs = "belongs to the account mallory, not to this student; it was"
    assert reasons == {
        "alice": [f"the folder {forged} {belongs} not graded"],
        "bo": [],
        "cy": [f"the folder {alone} {belongs} graded, for there is no other"],
    }
    assert remarks == ()  # alice has not handed in again


def test_thousands_of_folders_of_another_account_fill_nobody_s_page():
    owned = [(_submitted("alice"), "alice"), (_submitted("bo"), "bo")]
    owned += [(f"{_submitted('alice')}{number}", "mallory") for number in range(1_000)]
    students, _ = by_student(_owned(*owned), Layout.EXCHANGE, "ps1")
    alice = choose("alice", students["alice"], "ps1", Layout.EXCHANGE)
    assert alice.path == Path(owned[0][0], "ps1.ipynb")
    assert len(alice.reasons) == 21 and alice.reasons[-1] == "980 more like these"


def test_exchange_that_was_copied_says_nothing_by_its_owners():
    first, last = _submitted("alice", "09:00:00.0"), _submitted("alice", "23:00:00.0")
    chosen, reasons, remarks = _in_exchange((first, "root"), (last, "root"))
    assert (chosen, reasons) == ({"alice": last}, {"alice": []})
    assert remarks == ("1 student handed in again; 1 earlier submission was not graded",)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no accounts by number")
def test_owner_of_a_folder_is_read_from_the_file_system(tmp_path):
    import pwd

    me = pwd.getpwuid(os.getuid()).pw_name
    for student in (me, "alice"):
        _make(tmp_path / "inbound", f"{_submitted(student)}/ps1.ipynb")
    found = {one.student: one.reasons for one in collect(tmp_path, "ps1")}
    assert found[me] == () and f"belongs to the account {me}," in found["alice"][0]


def test_exchange_name_of_dots_leads_nowhere(delivered):
    (found,) = delivered(f"{_submitted('..')}/ps1.ipynb", layout=Layout.EXCHANGE)
    assert found.student.startswith("..~")


@pytest.mark.slow
def test_exchange_and_collected_folder_match_what_nbgrader_writes(tmp_path, monkeypatch):
    """nbgrader's own submit, twice, and its own collect: the same file and time by either way."""
    from nbgrader.auth import Authenticator
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.exchange.default import (
        ExchangeCollect,
        ExchangeReleaseAssignment,
        ExchangeSubmit,
    )
    from traitlets.config import Config

    config = Config()
    config.Exchange.root = str(_made(tmp_path / "exchange"))
    config.Exchange.cache = str(tmp_path / "cache")
    config.CourseDirectory.root = str(_make(tmp_path / "course", "release/ps1/ps1.ipynb"))
    config.CourseDirectory.course_id, config.CourseDirectory.assignment_id = "lm", "ps1"
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def run(step):
        step(
            coursedir=CourseDirectory(config=config),
            authenticator=Authenticator(config=config),
            config=config,
        ).start()

    run(ExchangeReleaseAssignment)
    monkeypatch.chdir(_make(tmp_path / "ada", "ps1/ps1.ipynb"))
    for text in ("first", "second"):
        (tmp_path / "ada" / "ps1" / "ps1.ipynb").write_text(text)
        run(ExchangeSubmit)
    run(ExchangeCollect)
    inbound = collect(tmp_path / "exchange" / "lm" / "inbound", "ps1")
    submitted = collect(tmp_path / "course", "ps1")
    assert (inbound.layout, submitted.layout) == (Layout.EXCHANGE, Layout.NBGRADER)
    (newest,), (collected,) = inbound, submitted
    assert read_notebook(newest) == read_notebook(collected) == b"second"
    assert newest.student == collected.student
    assert newest.submitted_at == collected.submitted_at is not None
    assert len(inbound.remarks) == 1


def _made(folder):
    folder.mkdir()
    folder.chmod(0o777)  # as nbgrader demands of an exchange
    return folder


def test_exchange_of_other_sets_only_says_which(delivered):
    with pytest.raises(
        GraderError, match=r"no submission of ps1 in this exchange; it has: ps2, ps3"
    ):
        delivered(
            f"{_submitted('ada', name='ps2')}/ps2.ipynb", f"{_submitted('bo', name='ps3')}/x.ipynb"
        )


def test_exchange_is_found_below_inbound(delivered):
    found = delivered(f"inbound/{_submitted('ada')}/ps1.ipynb", "outbound/ps1/ps1.ipynb")
    assert list(_read(found)) == ["ada"]


def test_exchange_folder_without_a_notebook_is_a_student(tmp_path):
    (tmp_path / _submitted("ada")).mkdir()
    (found,) = collect(tmp_path, "ps1")
    nothing = "the folder holds no notebook of this set"
    assert found.reasons == (f"{nothing}; hand in ps1.ipynb itself",)


def test_exchange_date_that_does_not_exist_is_a_stranger(delivered):
    impossible = _submitted("bo", "25:00:00.0")
    read = _read(delivered(f"{_submitted('ada')}/ps1.ipynb", f"{impossible}/ps1.ipynb"))
    assert set(read) == {"ada", impossible}


def test_nbgrader_folder_is_recognised_with_its_times(delivered, tmp_path):
    found = delivered("submitted/ada/ps1/ps1.ipynb", "submitted/bo/ps1/ps1.ipynb", "release/x.txt")
    assert found.layout is Layout.NBGRADER
    for folder in ("ada", "bo"):
        _make(tmp_path / "course" / folder / "ps1", "ps1.ipynb")
    (tmp_path / "course/ada/ps1/timestamp.txt").write_text("2026-02-03 17:30:00.250000 +0130\n")
    (tmp_path / "course/bo/ps1/timestamp.txt").write_text("yesterday")
    ada, bo = collect(tmp_path / "course", "ps1")
    assert ada.submitted_at == datetime(2026, 2, 3, 16, 0, 0, 250_000, tzinfo=UTC)
    assert ada.time_source == "timestamp.txt"
    assert (bo.submitted_at, bo.time_source) == (None, "")


def test_given_layout_is_not_questioned(delivered):
    found = delivered(*CANVAS, layout=Layout.PLAIN)
    assert found.layout is Layout.PLAIN
    assert "lovelaceada_12345_67890_ps1" in _read(found)


def test_zip_of_one_wrapping_folder_is_unwrapped(tmp_path):
    _make(tmp_path / "x" / "my class", "ada.ipynb", "bo/ps1.ipynb")
    path = _zipped(tmp_path / "x", tmp_path / "whatever.zip")
    assert set(_read(collect(path, "ps1"))) == {"ada", "bo"}


def test_zip_of_one_student_s_folder_is_that_student(tmp_path):
    path = _zipped(_make(tmp_path / "x", "ada/homework.ipynb"), tmp_path / "x.zip")
    assert _read(collect(path, "ps1")) == {"ada": "ada/homework.ipynb"}


def test_archive_of_a_student_in_a_plain_folder_is_not_overlooked(tmp_path):
    _make(tmp_path, "ada.ipynb", "bo.zip", "cy.tar.gz")
    found = {one.student: one.reasons for one in collect(tmp_path, "ps1")}
    assert found["ada"] == ()
    assert "which is not opened" in found["bo"][0]
    assert "which is not opened" in found["cy.tar"][0]


def test_recognition_needs_most_of_the_names(tmp_path):
    plain = [f"student{number}.ipynb" for number in range(5)]
    _make(
        tmp_path,
        *plain,
        CANVAS[0],
        f"{MOODLE['Team A_7']}/ps1.ipynb",
        f"{_submitted('eve')}/ps1.ipynb",
    )
    found = contents(tmp_path)
    assert recognise(found, "ps1") is Layout.PLAIN


@pytest.mark.parametrize("character", ["\n", "\r", "\x1b", "\0", "\u2028", "\x85"])
def test_name_that_would_break_a_row_is_shown_without_its_break(character):
    name = student_name(f"ada{character}lovelace_5")
    assert name.startswith("ada\ufffdlovelace_5~") and name != student_name("ada\ufffdlovelace_5")
    assert len(name.splitlines()) == 1


HOSTILE = (
    "<img src=x onerror=owned()>",
    'x";owned();"',
    "\\u0022;owned()",
    "&lt;img src=x onerror=owned()&gt;",
    "`owned()`",
)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("as_delivered", [*["{}.ipynb", "{}/ps1/ps1.ipynb", "{}_5_6_ps1.ipynb"]])
def test_no_name_of_a_folder_or_file_is_markup(name, as_delivered):
    parts = tuple(as_delivered.format(name).split("/"))
    for layout in (Layout.PLAIN, Layout.NBGRADER, Layout.CANVAS, Layout.MOODLE, Layout.EXCHANGE):
        students, _ = by_student([Delivered(parts, Path(*parts))], layout, "ps1")
        assert not any(MARKUP & set(student) for student in students) and len(students) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_that_a_platform_or_the_exchange_passes_on_is_markup(name):
    for parts, layout in (
        ((_submitted(name), "ps1.ipynb"), Layout.EXCHANGE),
        ((f"{name}_5_assignsubmission_file", "ps1.ipynb"), Layout.MOODLE),
    ):
        (student,) = by_student([Delivered(parts, Path(*parts))], layout, "ps1")[0]
        assert not MARKUP & set(student)


@pytest.mark.parametrize(
    "sign", [*"\u200b\ufeff\u200d\u200e\u061c\u00ad\u3164\u2060\ufe0f\U000e0041\u034f"], ids=ascii
)
def test_no_name_looks_like_another_by_what_is_not_seen(sign):
    assert {student_name(f"ada{sign}"), student_name(f"a{sign}da")}.isdisjoint({"ada"})
    for name in (student_name(f"ada{sign}"), student_name(f"a{sign}da")):
        assert sign not in name and "\ufffd" in name


def test_no_name_covers_those_above_it():
    name, other = student_name("e" + "\u0301" * 50), student_name("e" + "\u0301" * 49)
    assert name.startswith("\u00e9" + "\u0301" * 5 + "\ufffd~") and name != other


def test_signs_that_a_script_needs_stay_in_a_name():
    for name in ("\u0645\u06cc\u200c\u062e", "\u0915\u094d\u200d\u0937", "Zoë Müller", "李 小龍"):
        assert student_name(name) == name


def test_student_is_late_whose_one_file_canvas_marks(tmp_path):
    names = "lovelaceada_LATE_12345_1_a.ipynb", "lovelaceada_12345_2_ps1.ipynb", "x_9_3_ps1.ipynb"
    found = [Delivered((name,), Path(name)) for name in names]
    students, _ = by_student(found, Layout.CANVAS, "ps1")
    assert students["lovelaceada_12345"].marked_late and students["x_9"].marked_late is False


@pytest.mark.parametrize("place", ["ada/timestamp.txt", "ada/ps1/old/timestamp.txt"])
def test_time_counts_only_where_nbgrader_writes_it(tmp_path, place):
    for path, text in ((place, "2026-02-03 17:30:00 UTC"), ("ada/ps1/ps1.ipynb", "{}")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (ada,) = collect(tmp_path, "ps1").submissions
    assert (ada.submitted_at, ada.time_source) == (None, "")


@pytest.mark.parametrize("secret", ["ada", "../../ada", "x" * 500], ids=len)
def test_secret_of_the_exchange_that_can_be_guessed_is_none(tmp_path, secret):
    folder = tmp_path / "ada/ps1"
    folder.mkdir(parents=True)
    (folder / "ps1.ipynb").write_text("{}")
    (folder / "submission_secret.txt").write_text(secret)
    (ada,) = collect(tmp_path, "ps1").submissions
    assert ada.origin.secret == ""


@pytest.mark.parametrize("sign", "\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
def test_no_name_shows_the_rest_of_a_line_in_another_order(sign):
    names = [student_name(name) for name in (f"ada{sign}", f"{sign}ada", f"ada{sign}\u202c", "ada")]
    assert len(set(names)) == 4 and not any(sign in name for name in names)
    assert student_name("\u0646\u0645\u06cc\u200c\u062f\u0627\u0646\u0645").count("\u200c") == 1


def test_name_like_one_that_was_cleaned_is_nobody_else_s():
    cleaned = student_name("A & B_7")
    assert cleaned.startswith("A \ufffd B_7~") and student_name(cleaned) != cleaned
    assert student_name("Bo O'Neil_7") == "Bo O'Neil_7"


@pytest.mark.parametrize("name", ["", ".", "..", "...", "../../ada", "/etc/ada"])
def test_name_that_is_no_file_s_leads_nowhere(tmp_path, name):
    shown = student_name(name)
    assert (tmp_path / shown / "toy.html").resolve().parents[1] == tmp_path.resolve()


def test_file_of_dots_alone_is_a_student_whose_pages_stay_below_the_others(delivered):
    names = [one.student for one in delivered("...ipynb", "ada.ipynb", "bo.ipynb")]
    assert names[1:] == ["ada", "bo"] and names[0].startswith("..~")


def test_name_with_spaces_of_any_script_stays_as_it_is():
    assert student_name("山田\u3000太郎") == "山田\u3000太郎"


@given(st.text(max_size=300), st.text(max_size=300))
def test_student_names_stay_apart_short_and_the_same_twice(one, other):
    names = student_name(one), student_name(other)
    assert all(len(name.encode()) <= 120 for name in names)
    same = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    assert (names[0] == names[1]) == same or one == other
    assert student_name(one) == names[0]
