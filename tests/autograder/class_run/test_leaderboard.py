"""The leaderboard of a toy challenge: doubling in the least CPU time."""

from dataclasses import replace

import pytest

from autograder.authoring.release import ReleasedSet
from autograder.class_run.leaderboard import make_leaderboard, plain_board
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.grading import grader
from autograder.records import GraderError

CELL = """\
PSEUDONYM = ""


def fast(numbers):
    return double(numbers)"""
CHALLENGE = """

from dataclasses import replace
from autograder.authoring.checks import Challenge

PROBLEM_SET = replace(
    PROBLEM_SET,
    challenge=Challenge(
        "Double many numbers.",
        replace(PROBLEM_SET.checks[0], item="toy_challenge", target="fast", mistakes=()),
        "the plain way",
    ),
)
"""
RIGHT = "def fast(numbers):\n    return [n + n for n in numbers]\n"
CLAIMS = "cpu_seconds = seconds = 0.001\nprint('0.001 CPU seconds')\n"


@pytest.fixture
def board(toy_course, hand_in, toys, tmp_path, without_sandbox, monkeypatch):
    """Grade students by the text of their challenge's cell, and make the leaderboard.

    A comment in the cell says what CPU time each of its runs takes.
    """
    source = toy_course.folder / "toy" / "notebook.py"
    source.write_text(f'{source.read_text()}\n# %% tags=["workshop"]\n{CELL}\n')
    checks = source.with_name("problem_set.py")
    checks.write_text(checks.read_text() + CHALLENGE)

    class Timed(grader.Sandbox):
        def run(self, cells, requests, known=None, counts_cpu=False):
            run = super().run(cells, requests, known)
            times = cells[-1].partition("# takes ")[2].split() or ["0.5"]
            seen = tuple(replace(one, seconds=0.1) for one in run.observations)
            self.n_runs = getattr(self, "n_runs", -1) + 1
            used = float(times[self.n_runs % len(times)])
            return replace(run, observations=seen, probe_cpu_seconds=used)

    def make(settings='sets = ["toy"]', **cells):
        (toy_course.folder / "course.toml").write_text(f"[leaderboard]\n{settings}\n")
        for student, text in cells.items():
            notebook = toys.answer(toy_course, double=toys.double)
            notebook.cells[-1].source = text or CELL
            hand_in(student, notebook)
        released = ReleasedSet(toy_course, "toy")
        if cells:
            grade_class(released, tmp_path / "class", Settings(tmp_path / "out"))
        monkeypatch.setattr(grader, "Sandbox", Timed)
        return make_leaderboard(released, Settings(tmp_path / "out"))

    return make


def test_right_answers_are_ranked_by_the_fastest_of_three_runs(board, read_page):
    made = board(
        ada=f"{RIGHT}# takes 1.5 1.25 1.75", bo=f'{RIGHT}PSEUDONYM = "Ben"\n# takes 1', cy=""
    )
    rows = [(entry.student, entry.cpu_seconds) for entry in made.ranked]
    assert rows == [("", 0.5), ("bo", 1.0), ("ada", 1.25)]  # cy has not changed the cell
    words = read_page(made.page.read_text()).words
    assert "Double many numbers." in words and "1 Ben 1.00 2" in words and "1.25" in words
    assert "ada" not in words and "to beat: the plain way 0.50" in words


def test_number_that_an_answer_claims_is_nowhere(board, read_page):
    made = board(ada=f"{CLAIMS}{RIGHT}# takes 1.25")
    assert "0.001" not in made.page.read_text() + str(plain_board(made))


def test_wrong_or_uncounted_answer_is_not_ranked(board):
    made = board(
        ada="def fast(numbers):\n    return numbers",
        bo="def fast(numbers):\n    return 1 / 0",
        cy="fast = None",
        di=f"{RIGHT}# takes 0.02",
    )
    assert [entry.student for entry in made.ranked] == [""]
    problems = {entry.student: entry.problem for entry in made.unranked}
    assert all(problems[student].startswith("values: ") for student in ("ada", "bo", "cy"))
    assert problems["di"].startswith("less than half of the time that passed was counted")


def test_name_that_is_no_name_is_replaced_by_one_that_the_salt_draws(board):
    chosen = ["0.001 s", "<b>x", "=A", "Ada  1", "a" * 25, "the plain way", "x--y", "a\u202eb", "Ⅷ"]
    chosen += ["\u3164", "Ada\u3164", "\u0410da", "e\u0301" * 50_000]  # invisible, Cyrillic, long
    cells = {f"s{n}": f'PSEUDONYM = "{name}"\n{RIGHT}# takes 1' for n, name in enumerate(chosen)}
    drawn = [entry.pseudonym for entry in board(**cells).ranked if entry.student]
    assert len(set(drawn)) == len(chosen)
    assert all(name.isalpha() and len(name) == 8 for name in drawn)


def test_name_is_given_once_and_the_instructor_chooses_first(board):
    ben = f'PSEUDONYM = "Ben"\n{RIGHT}# takes 1'
    made = board('sets = ["toy"]\nnames = {cy = "Ben"}', ada=ben, bo="x = 1\n" + ben, cy=ben)
    names = {entry.student: entry.pseudonym for entry in made.ranked}
    assert names["cy"] == "Ben" and len({name.casefold() for name in names.values()}) == 4


def test_name_that_two_have_chosen_is_neither_s(board):
    cells = {
        who: f'PSEUDONYM = "{name}"\n{RIGHT}# takes 1'
        for who, name in {"ada": "Ben", "bo": "ben", "cy": "Cyrus"}.items()
    }
    names = {entry.student: entry.pseudonym for entry in board(**cells).ranked}
    assert names["cy"] == "Cyrus" and not {"ben"} & {name.casefold() for name in names.values()}


def test_blanks_that_an_editor_removes_are_no_answer(board):
    made = board(ada="\n".join(line + "  " for line in CELL.splitlines()))
    assert [entry.student for entry in made.ranked] == [""]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("", r'the leaderboard of toy is off; write sets = \["toy"\] below \[leaderboard\]'),
        ('sets = ["ps9"]', r"leaderboard.sets is \['ps9'\]; it must be a list of these: toy"),
        ("sets = 3", "leaderboard.sets is 3; it must be a list"),
        ('sets = ["toy"]\nnames = {ada = 3}', "leaderboard.names is {'ada': 3}; it must be"),
        ('sets = ["toy"]', r"no grades for toy in .*: grade a class first"),
    ],
)
def test_leaderboard_is_refused_in_words(board, settings, message):
    with pytest.raises(GraderError, match=message):
        board(settings)


def test_name_that_an_instructor_may_not_choose_is_refused(board):
    with pytest.raises(
        GraderError, match=r"leaderboard\.names calls ada 'A1'; a name is Latin letters"
    ):
        board('sets = ["toy"]\nnames = {ada = "A1"}', ada=RIGHT)


def test_set_without_a_challenge_is_refused(toy_course, tmp_path):
    with pytest.raises(GraderError, match=r"toy has no challenge .* sets have one: none"):
        make_leaderboard(ReleasedSet(toy_course, "toy"), Settings(tmp_path))
