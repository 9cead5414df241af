import contextlib
import csv
import importlib.metadata
import io
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from jupyter_server.serverapp import ServerApp
from nbgrader import api

from autograder.authoring.notebooks import as_text
from autograder.authoring.outline import Outline
from autograder.cli import formgrader_command, output
from autograder.cli import main as cli
from autograder.cli.options import ERROR, FINDINGS, NO_SANDBOX
from autograder.grading import grader
from autograder.lms.export import comment_html
from autograder.records import SandboxUnavailable, Timing
from autograder.sandbox import doctor
from autograder.store.gradebook import Gradebook


@pytest.fixture
def run(toy_course, tmp_path):
    """Run a command as people type it, on the toy course; return exit code, stdout, stderr."""

    def invoke(*words, expect=0):
        result = CliRunner().invoke(cli.main, [f"--course={toy_course.folder}", *map(str, words)])
        shown = f"{result.stdout}\n{result.stderr}\n{result.exception!r}"
        assert result.exit_code == expect, shown
        return result

    return invoke


@pytest.fixture
def graded(run, hand_in, toys, tmp_path, without_sandbox):
    hand_in("ada", double=toys.double, mean=toys.mean, essay="Because.")
    hand_in("bo", double=toys.square, mean=toys.mean)
    folder = hand_in("cy [red]", b"{")
    out = tmp_path / "out"
    result = run("grade", "toy", "--submissions", folder, "--out", out, expect=FINDINGS)
    return out, folder, result


@pytest.mark.parametrize("command", sorted(cli.main.commands))
def test_help_teaches_every_command(run, command):
    overview = run("--help").stdout
    assert f"  {command} " in overview and "Exit codes of every command:" in overview
    taught = run(command, "--help").stdout
    assert "Usage:" in taught and "\n    autograder " in taught
    if command not in ("formgrader", "written"):  # they open a page, and print nothing for scripts
        assert "--json" in taught and "one JSON document" in taught


def test_version_is_told_of_program_and_python(run):
    installed = importlib.metadata.version("language-models-by-hand")
    said = run("--version").stdout
    assert said == f"autograder {installed} (Python {platform.python_version()})\n"


@pytest.mark.parametrize(
    ("penalty", "words"),
    [
        (0.0, "30 minutes late: 0 points, 1 late day spent"),
        (20.0, "30 minutes late: -20 points, 1"),
    ],
)
def test_lateness_that_late_days_make_good_takes_nothing_off(penalty, words):
    (said,) = output._late(Timing(seconds_late=1800, penalty=penalty, late_days=1))
    assert said.startswith(words)


def test_formgrader_asks_for_a_graded_class(run, tmp_path):
    result = run("formgrader", "--out", tmp_path, expect=ERROR)
    assert f"no gradebook at {tmp_path / 'gradebook.db'}: grade a class first" in result.stderr


def test_formgrader_opens_on_the_gradebook_and_ends_without_a_question(run, graded, monkeypatch):
    out, _, _ = graded
    started = []

    def interrupted(command, **options):
        started.append(command)
        raise KeyboardInterrupt

    monkeypatch.setattr(formgrader_command.subprocess, "run", interrupted)
    run("formgrader", "--out", out, "--no-browser")
    (command,) = started
    assert "--ServerApp.default_url=/formgrader/gradebook" in command
    assert "--ServerApp.answer_yes=True" in command  # on Ctrl-C, which it gets as we do
    config = ServerApp()
    config.parse_command_line(command[3:])
    assert config.default_url == "/formgrader/gradebook" and config.answer_yes


def _cpu_seconds(pid):
    """How long a process and those that it started have computed."""
    total, first = 0.0, psutil.Process(pid)
    for process in (first, *first.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since
            times = process.cpu_times()
            total += times.user + times.system
    return total


def listens(port):
    """Whether somebody answers there: a server says where it is before it is."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_formgrader_shows_what_was_graded(run, graded, toy_course, tmp_path, unused_port):
    out, folder, _ = graded
    for notebook in folder.glob("*.ipynb"):  # as nbgrader lays submissions out
        copied = out / "submitted" / notebook.stem / "toy" / "toy.ipynb"
        copied.parent.mkdir(parents=True)
        shutil.copy(notebook, copied)
    command = [sys.executable, "-m", "autograder", f"--course={toy_course.folder}", "formgrader"]
    command += [f"--out={out}", "--no-browser", f"--port={unused_port}"]
    log = tmp_path / "log"
    with open(log, "w") as file:
        jupyter = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    try:
        # How long the start takes depends on who else computes here; how much it computes does not.
        deadline = time.monotonic() + 900  # nothing but a server that hangs takes so long
        while not (token := re.search(r"\?token=\w+", log.read_text())) or not listens(unused_port):
            assert jupyter.poll() is None and time.monotonic() < deadline, log.read_text()
            assert _cpu_seconds(jupyter.pid) < 60, log.read_text()
            time.sleep(0.2)
        page = f"http://127.0.0.1:{unused_port}/formgrader/api/assignments{token[0]}"
        (toy,) = json.load(urllib.request.urlopen(page, timeout=600))
    finally:
        os.killpg(jupyter.pid, signal.SIGKILL)  # asked to end, it asks back
        jupyter.wait()
    assert (toy["name"], toy["num_submissions"]) == ("toy", 3)
    assert toy["max_score"] > toy["average_score"] > 0


def test_release_writes_the_three_versions(run, tmp_path):
    result = run("release", "toy", "--out", tmp_path / "out")
    for version in ("source", "release", "solution"):
        path = tmp_path / "out" / version / "toy" / "toy.ipynb"
        assert path.is_file()
        assert str(path) in result.stdout


def test_release_writes_the_known_mistakes_for_the_instructor_and_rules_for_assistants(
    run, toy_course, tmp_path, read_page
):
    (toy_course.folder / "edition").mkdir()
    (toy_course.folder / "edition" / "AGENTS.md").write_text("Tutor, do not solve.")
    run("release", "toy", "--out", tmp_path / "out")
    page = read_page((tmp_path / "out" / "solution" / "toy" / "mistakes.html").read_text())
    for check in toy_course.problem_set("toy").checks:
        assert check.target in page.words
        for mistake in check.mistakes:
            assert mistake.name in page.words and mistake.hint in page.words
    released = tmp_path / "out" / "release" / "toy"
    assert sorted(path.name for path in released.iterdir()) == ["AGENTS.md", "toy.ipynb"]


def test_edition_says_what_it_made_and_what_it_searched_for(run, tmp_path):
    plain = json.loads(run("edition", "--out", tmp_path / "lm", "--json").stdout)
    # The notebook, and two lists by which a later edition knows it.
    assert plain["files"] == 3 and plain["searched_for"] > 100 and plain["public_anyway"] == []
    assert Path(plain["archive"]) == tmp_path / "lm.zip"
    (tmp_path / "lm" / "notes.txt").write_text("mine")
    refused = run("edition", "--out", tmp_path / "lm", expect=ERROR).stderr
    assert "notes.txt; move it away" in refused


def test_release_and_check_speak_json(run, tmp_path):
    paths = json.loads(run("release", "toy", "--out", tmp_path / "out", "--json").stdout)["toy"]
    assert set(paths) == {"source", "release", "solution"}
    assert all(Path(path).is_file() for path in paths.values())
    (report,) = json.loads(run("check", "toy", "--no-mutants", "--json", expect=FINDINGS).stdout)
    assert (report["problem_set"], report["ok"]) == ("toy", False)
    assert {trial["kind"] for trial in report["trials"]} >= {"solution", "stub", "mistake"}


def test_export_speaks_json_in_every_format(run, graded, tmp_path):
    out, *_ = graded
    path = tmp_path / "worksheet.csv"
    path.write_text("Identifier,Email address,Grade\nParticipant 5,bo,\n")
    plain = run("export", "toy", "--out", out, "--json", expect=FINDINGS)
    made = json.loads(plain.stdout)
    text = run("export", "toy", "--out", out, expect=FINDINGS).stdout
    assert [made["columns"], *made["rows"]] == list(csv.reader(io.StringIO(text)))
    assert made["notes"] == ["cy [red] has no grade: nothing could be read"]
    words = ("--format", "moodle-worksheet", "--roster", path)
    result = run("export", "toy", "--out", out, "--json", *words, expect=FINDINGS)
    made = json.loads(result.stdout)
    assert (made["problem_set"], made["format"]) == ("toy", "moodle-worksheet")
    assert made["rows"] == [["Participant 5", "bo", "50"]]
    assert any(note.startswith("ada (90 of 100 points)") for note in made["notes"])
    assert result.stderr == ""


def test_doctor_speaks_json(run, monkeypatch):
    found = doctor.Report("tier A", (doctor.Outcome("files", "read files", True),))
    monkeypatch.setattr(doctor, "run_escape_attempts", lambda container: found)
    plain = json.loads(run("doctor", "--json").stdout)
    assert (plain["ok"], plain["attempts"][0]["description"]) == (True, "read files")
    monkeypatch.setattr(
        doctor, "run_escape_attempts", lambda container: doctor.Report("none", (), "install it")
    )
    assert not json.loads(run("doctor", "--json", expect=NO_SANDBOX).stdout)["ok"]


def test_gradescope_speaks_json(run, tmp_path):
    made = json.loads(run("gradescope", "toy", "--out", tmp_path, "--json").stdout)
    assert Path(made["package"]).stat().st_size == made["bytes"]


def test_release_refuses_a_set_that_does_not_agree_with_its_checks(run, toy_course, tmp_path):
    path = toy_course.source("toy")
    path.write_text(path.read_text().replace('"points": 60', '"points": 50'))
    result = run("release", "--all", "--out", tmp_path / "out", expect=FINDINGS)
    assert "toy: toy_double: 50 points in the notebook, 60 in its check" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [("release",), ("release", "toy", "--all"), ("grade", "toy")])
def test_wrong_usage_is_said(run, words):
    assert "Error" in run(*words, expect=2).stderr


def test_unknown_set_is_one_clear_line(run, toy_course):
    found = run("release", "ps9", expect=ERROR).stderr
    assert found == f"error: no problem set 'ps9' in {toy_course.folder}; it has: toy\n"


def test_interrupted_grading_says_what_is_kept_and_goes_on_from_there(
    run, hand_in, toys, tmp_path, without_sandbox, monkeypatch
):
    for student in ("ada", "bo", "cy"):
        folder = hand_in(student, double=toys.double)
    whole, graded = grader.Grader.grade, []

    def interrupted(self, task):
        graded.append(task)
        if len(graded) == 2:
            raise KeyboardInterrupt
        return whole(self, task)

    monkeypatch.setattr(grader.Grader, "grade", interrupted)
    words = ("grade", "toy", "--submissions", folder, "--out", tmp_path / "out")
    result = run(*words, expect=ERROR)
    assert "1 of 3 grades are recorded and kept; the same command goes on" in result.stderr
    assert "stopped by Ctrl-C" in result.stderr
    assert "2 graded now, 1 taken over" in run(*words).stdout


def test_gradebook_is_opened_before_anything_is_graded(
    run, hand_in, toys, tmp_path, without_sandbox, monkeypatch
):
    def never(self, task):
        raise AssertionError("student code has no need to run")

    monkeypatch.setattr(grader.Grader, "grade", never)
    folder = hand_in("ada", double=toys.double)
    words = ("--out", tmp_path / "out", "--db", "postgresql://teacher@127.0.0.1:1/grades")
    result = run("grade", "toy", "--submissions", folder, *words, expect=ERROR)
    assert "Is the server running" in result.stderr


def test_grade_names_the_gradebook_it_wrote(run, hand_in, toys, tmp_path, without_sandbox):
    folder, book = hand_in("ada", double=toys.double), tmp_path / "elsewhere" / "grades.db"
    words = ("toy", "--submissions", folder, "--out", tmp_path / "out", "--db", f"sqlite:///{book}")
    assert f"Gradebook    {book}\n" in run("grade", *words).stdout
    assert book.exists() and not (tmp_path / "out" / "gradebook.db").exists()


def test_grade_prints_a_table_that_adds_up(graded):
    out, _, result = graded
    states = "2 graded + 0 graded with problems + 0 tampering + 1 refused + 0 grader fault"
    assert f"3 received = {states}" in result.stdout
    assert "90 of 90" in result.stdout and "50 of 100" in result.stdout  # bo: blank
    assert "cy [red]" in result.stdout
    assert "not JSON" in result.stdout
    assert str(out / "dashboard" / "toy" / "index.html") in result.stdout


def test_every_total_says_in_the_same_words_what_people_have_yet_to_give(run, graded):
    out, _, result = graded
    still = ", and 10 more are still to be given"
    how = "`autograder written toy` or `autograder formgrader`"
    assert f" seconds of 90 points{still}: {how}" in " ".join(result.stdout.split())
    assert f"mean of 90{still}" in (out / "dashboard" / "toy" / "index.html").read_text()
    assert f"of 90 points{still}" in next((out / "feedback" / "ada").rglob("*.html")).read_text()
    run("feedback", "toy", "--to", "mail", "--out", out, expect=FINDINGS)
    assert f"90 of 90 points{still}" in (out / "given_back/toy-mail/mail.csv").read_text()
    with Gradebook(f"sqlite:///{out / 'gradebook.db'}") as book:
        comments = [comment_html(one, Outline("toy", "", ())) for one in book.final_scores("toy")]
    assert any(f"90 of 90 points{still}" in one for one in comments)


def test_grade_says_what_a_second_run_took_over_and_what_has_changed(run, graded, hand_in, toys):
    out, folder, _ = graded
    hand_in("bo", double=toys.double, mean=toys.mean)
    (folder / "ada.ipynb").unlink()
    result = run("grade", "toy", "--submissions", folder, "--out", out, expect=FINDINGS)
    assert "1 in the gradebook handed in nothing here; what was recorded of them stays: ada" in (
        result.stdout.replace("\n", " ")
    )
    assert "1 graded now, 1 taken over from an earlier run" in result.stdout
    assert "bo: changed: 50 -> 90 points" in result.stdout


def test_grade_counts_what_people_have_given_by_hand(run, graded):
    out, folder, _ = graded
    with api.Gradebook(f"sqlite:///{out / 'gradebook.db'}") as book:
        essay = book.find_grade("toy_essay", "toy", "toy", "ada")
        essay.manual_score, essay.needs_manual_grade = 7, False
        book.db.commit()
    result = run("grade", "toy", "--submissions", folder, "--out", out, expect=FINDINGS)
    assert "97 of 100" in result.stdout and "50 of 100" in result.stdout  # bo left it blank


def test_grade_again_takes_over_nothing(run, graded):
    out, folder, _ = graded
    words = ("grade", "toy", "--submissions", folder, "--out", out)
    result = run(*words, "--again", expect=FINDINGS)
    assert "3 graded now, 0 taken over" in result.stdout


def test_grade_prints_json_for_scripts(run, graded):
    out, folder, _ = graded
    words = ("grade", "toy", "--submissions", folder, "--out", out, "--json")
    loaded = json.loads(run(*words, expect=FINDINGS).stdout)
    assert loaded["received"] == 3 == sum(loaded["states"].values())
    assert loaded["grades"][1]["items"] == {"toy_double": 20, "toy_mean": 30}


def test_grade_rejects_a_missing_folder(run, tmp_path):
    result = run("grade", "toy", "--submissions", tmp_path / "nowhere", expect=ERROR)
    assert result.stderr.startswith("error: no folder of submissions at")
    assert len(result.stderr.splitlines()) == 1


def test_grade_refuses_where_nothing_isolates(run, hand_in, toys, tmp_path, monkeypatch):
    def unavailable(*args, **kwargs):
        raise SandboxUnavailable("bubblewrap is not installed: apt-get install bubblewrap")

    monkeypatch.setattr(grader, "Sandbox", unavailable)
    folder = hand_in("ada", double=toys.double)
    result = run(
        "grade", "toy", "--submissions", folder, "--out", tmp_path / "out", expect=NO_SANDBOX
    )
    assert "apt-get install bubblewrap" in result.stderr


def test_container_is_handed_to_the_sandbox_and_excludes_none(run, hand_in, toys, tmp_path):
    folder, out = hand_in("ada", double=toys.double), tmp_path / "out"
    chosen = ("grade", "toy", "--submissions", folder, "--out", out, "--container", "runsc")
    if shutil.which("runsc") is None:
        assert "tier C: runsc is not installed" in run(*chosen, expect=NO_SANDBOX).stderr
    result = run(*chosen, "--no-sandbox", expect=2)
    assert "--container and --no-sandbox exclude each other" in result.stderr


def test_explain_shows_what_the_student_may_not_see(run, graded):
    out, *_ = graded
    shown = run("explain", "toy", "bo", "toy_double", "--out", out).stdout
    assert "toy_double: 20 of 60 points" in shown
    assert "FAILED  values: Every number is doubled." in shown
    for word in ("inputs:", "expected:", "observed:"):
        assert word in shown
    assert "nearest mistake: squares\n  hint: Twice a number is not its square." in shown


@pytest.mark.parametrize(
    ("student", "item", "message"),
    [
        ("zoe", "toy_double", "no grade of 'zoe' for toy"),
        ("ada", "toy_x", "no item 'toy_x' in toy; it has: toy_double, toy_mean, toy_essay"),
    ],
)
def test_explain_rejects_what_it_does_not_know(run, graded, student, item, message):
    out, *_ = graded
    result = run("explain", "toy", student, item, "--out", out, expect=ERROR)
    assert message in result.stderr


def test_export_prints_nbgraders_columns(run, graded):
    out, *_ = graded
    made = run("export", "toy", "--out", out, expect=FINDINGS)
    rows = list(csv.DictReader(io.StringIO(made.stdout)))
    assert [(row["student_id"], row["score"], row["max_score"]) for row in rows] == [
        ("ada", "90.0", "100.0"),
        ("bo", "50.0", "100.0"),
        ("cy [red]", "", "100.0"),  # nothing could be read: no grade, which is not 0 points
    ]
    assert made.stderr == "note: cy [red] has no grade: nothing could be read\n"


def test_export_rejects_a_class_that_was_never_graded(run, tmp_path):
    result = run("export", "toy", "--out", tmp_path, expect=ERROR)
    assert "grade a class first" in result.stderr


def test_grade_says_how_it_read_the_submissions(run, toys, toy_course, tmp_path, without_sandbox):
    path = tmp_path / "submissions.zip"
    notebook = as_text(toys.answer(toy_course, double=toys.double))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("lovelaceada_LATE_12345_678_toy-1.ipynb", notebook)
    out = tmp_path / "out"
    shown = run("grade", "toy", "--submissions", path, "--out", out).stdout
    assert "read as: Canvas archive" in shown
    assert "the learning platform marks it as late" in shown
    roster = tmp_path / "gradebook.csv"
    roster.write_text(
        "\ufeffStudent;ID;SIS Login ID;Section;Toy set (9)\n    Points Possible;;;;100\n"
        '"Lovelace, Ada";12345;ada@uni.example;A;\n"Turing, Alan";12346;alan;A;\n'
    )
    words = ("export", "toy", "--out", out, "--format", "canvas", "--roster", roster)
    made = run(*words, expect=FINDINGS)
    assert list(csv.DictReader(io.StringIO(made.stdout)))[1] == {
        "Student": "Lovelace, Ada",
        "ID": "12345",
        "SIS Login ID": "ada@uni.example",
        "Section": "A",
        "Toy set (9)": "60",
    }
    assert "note: 1 in gradebook.csv without a grade here: Turing, Alan" in made.stderr


def test_grade_takes_a_layout_at_its_word(run, toys, toy_course, tmp_path, without_sandbox):
    folder = tmp_path / "class"
    folder.mkdir()
    name = "lovelaceada_12345_678_toy"
    (folder / f"{name}.ipynb").write_text(as_text(toys.answer(toy_course)))
    words = ("grade", "toy", "--submissions", folder, "--out", tmp_path / "out", "--layout")
    result = run(*words, "plain")
    assert name in result.stdout and "read as: a notebook or a folder for each" in result.stdout
    assert "'--layout': 'blackboard' is not one of" in run(*words, "blackboard", expect=2).stderr


@pytest.mark.parametrize("form", ["canvas", "moodle-worksheet"])
def test_export_asks_for_the_roster_it_needs(run, graded, form):
    out, *_ = graded
    result = run("export", "toy", "--out", out, "--format", form, expect=ERROR)
    assert f"--format {form} needs --roster" in result.stderr


def test_export_fills_in_moodle_s_worksheet(run, graded, tmp_path):
    out, *_ = graded
    path = tmp_path / "worksheet.csv"
    path.write_text("Identifier,Email address,Grade,Feedback comments\nParticipant 5,BO,,\n")
    words = ("export", "toy", "--out", out, "--format", "moodle-worksheet", "--roster", path)
    made = run(*words, "--comments", expect=FINDINGS)
    (row,) = csv.DictReader(io.StringIO(made.stdout))
    assert row["Grade"] == "50"
    assert row["Feedback comments"].startswith("1. Double: 20 points of 60<br>2. Mean: 30 points")
    assert "ada (90 of 100 points) was not entered: not in worksheet.csv" in made.stderr
    (row,) = csv.DictReader(io.StringIO(run(*words, expect=FINDINGS).stdout))
    assert row["Feedback comments"] == ""


def test_export_for_moodle_s_gradebook_names_people_by_the_chosen_column(run, graded):
    out, *_ = graded
    words = ("export", "toy", "--out", out, "--format", "moodle", "--identifier", "Username")
    rows = list(csv.DictReader(io.StringIO(run(*words, expect=FINDINGS).stdout)))
    assert [(row["Username"], row["Toy set"]) for row in rows] == [
        ("ada", "90"),
        ("bo", "50"),
    ]


def test_a_new_export_format_is_one_new_file(graded, toy_course, tmp_path):
    """Choices, help and output follow from a module that lies among the formats."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "blackboard.py").write_text(
        "from autograder.lms.export import Export, Format\n"
        "write = lambda request: Export(f'{request.outline.title}\\t{len(request.scores)}\\n')\n"
        "FORMATS = (Format('blackboard', 'one line', write, roster='Full Grade Center'),)\n"
    )
    command = (
        "import sys; from autograder.lms import formats; formats.__path__.append(sys.argv.pop(1))\n"
        "from autograder.cli.main import main; main()"
    )

    def run(*words):
        line = [sys.executable, "-c", command, tmp_path / "plugins", "--course", toy_course.folder]
        return subprocess.run([*line, "export", *words], capture_output=True, text=True).stdout

    assert run("toy", "--out", graded[0], "--format", "blackboard") == "Toy set\t2\n"
    taught = run("--help")
    assert "[canvas|moodle|moodle-worksheet|csv|blackboard]" in taught
    assert "blackboard        one line" in taught and "blackboard        Full Grade" in taught


def test_names_cannot_command_the_terminal(run, hand_in, toys, tmp_path, without_sandbox):
    folder = hand_in("eve\x1b[2J\x1b]0;owned\x07", double=toys.double)
    result = run("grade", "toy", "--submissions", folder, "--out", tmp_path / "out")
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout


def test_class_lies_beside_the_course_wherever_the_command_is_typed(
    run, hand_in, toys, toy_course, tmp_path, without_sandbox, monkeypatch
):
    folder = hand_in("ada", double=toys.double)
    for n, name in enumerate(("here", "there")):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        result = run("grade", "toy", "--submissions", folder)
        assert f"{1 - n} graded now, {n} taken over" in result.stdout
        assert list(Path.cwd().iterdir()) == []
    assert (toy_course.top / "class" / "gradebook.db").exists()
    assert "60" in run("export", "toy").stdout


def test_class_that_an_older_version_left_in_build_is_moved_by_the_next_command(
    run, graded, toy_course
):
    out, *_ = graded
    (toy_course.top / "_build").mkdir()
    shutil.copytree(out, toy_course.top / "_build" / "course")
    before = run("export", "toy", "--out", out, expect=FINDINGS).stdout
    after = run("export", "toy", expect=FINDINGS)
    assert after.stdout == before and "is now in" in after.stderr
    assert "is now in" not in run("export", "toy", expect=FINDINGS).stderr
    shutil.copytree(out, toy_course.top / "_build" / "course")
    for command in (["export"], ["dashboard"], ["grade", "--dry-run", "--submissions", out]):
        result = run(command[0], "toy", *command[1:], expect=ERROR)
        assert "two classes" in result.stderr


def test_release_and_work_never_write_over_an_answer(run, toy_course, toys):
    """The folder of releases is where older versions sent students."""
    run("release", "toy")
    released = toy_course.top / "_build" / "course" / "release" / "toy" / "toy.ipynb"
    mine = as_text(toys.answer(toy_course, double=toys.double)).encode()
    released.write_bytes(mine)
    result = run("release", "toy")
    work = toy_course.top / "work" / "toy" / "toy.ipynb"
    assert f"note: toy: the answers in {released} are now in {work}" in result.stderr
    assert work.read_bytes() == mine and released.read_bytes() != mine
    assert "as you left them" in run("work", "toy").stdout and work.read_bytes() == mine
    other = as_text(toys.answer(toy_course, mean=toys.mean)).encode()
    released.write_bytes(other)
    assert str(released) in run("work").stdout
    assert {path.read_bytes() for path in work.parent.iterdir()} == {mine, other}


def test_work_needs_only_released_notebooks(run, toy_course, toys, tmp_path, monkeypatch):
    run("release", "toy", "--out", tmp_path / "made")
    monkeypatch.chdir(tmp_path)
    words = ("work", "--from", tmp_path / "made" / "release")
    assert "put into work/toy/toy.ipynb" in run(*words).stdout
    report = json.loads(run(*words, "--json").stdout)
    assert [one["name"] for one in report["notebooks"]] == ["toy"] and report["lines"] == []
    assert "no problem set 'tox'; there are: toy" in run(*words, "tox", expect=ERROR).stderr
    assert "has no released notebooks" in run("work", "--from", ".", expect=ERROR).stderr
