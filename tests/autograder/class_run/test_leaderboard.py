"""The leaderboard of a toy challenge: doubling in the least CPU time."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from autograder.authoring.release import ReleasedSet
from autograder.class_run.leaderboard import (
    NotRankedError,
    _score,
    make_leaderboard,
    plain_board,
)
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
SCORED = """

PROBLEM_SET = replace(
    PROBLEM_SET,
    challenge=replace(
        PROBLEM_SET.challenge,
        score=lambda values, withheld: float(len(withheld)),
        unit="cases",
        shown="{:.0f}",
    ),
)
"""
REASON = """

PROBLEM_SET = replace(PROBLEM_SET, challenge="its text is known")
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
    (tmp_path / "out").mkdir()

    class Timed(grader.Sandbox):
        def run(self, cells, requests, known=None, counts_cpu=False):
            run = super().run(cells, requests, known)
            times = cells[-1].partition("# takes ")[2].split() or ["0.5"]
            self.n_runs = getattr(self, "n_runs", -1) + 1
            used = float(times[self.n_runs % len(times)])
            return replace(run, probe_cpu_seconds=used)

    def make(settings='sets = ["toy"]', challenge="", **cells):
        checks.write_text(checks.read_text() + challenge)
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
    rows = [(entry.student, entry.score) for entry in made.ranked]
    assert rows == [("", 0.5), ("bo", 1.0), ("ada", 1.25)]  # cy has not changed the cell
    words = read_page(made.page.read_text()).words
    assert "Double many numbers." in words and "1 Ben 1.00 2" in words and "1.25" in words
    assert "ada" not in words and "to beat: the plain way 0.50" in words


def test_equal_numbers_share_a_rank_and_do_not_beat_the_one_to_beat(board, read_page):
    took = {"ada": 0.504, "bo": 0.5, "cy": 0.2, "di": 0.9}
    made = board(**{who: f"{RIGHT}# takes {seconds}" for who, seconds in took.items()})
    ranks = {entry.student: entry.rank for entry in made.ranked}
    assert ranks == {"cy": 1, "": 0, "ada": 2, "bo": 2, "di": 4}
    assert list(ranks)[1] == ""
    assert "1 of 4 on the board beats the number to beat" in read_page(made.page.read_text()).words


def test_score_is_computed_by_the_grader_within_the_limit_of_time(board, read_page):
    cells = {"ada": f"{RIGHT}# takes 9.5", "bo": f"{RIGHT}# takes 10.5", "cy": "fast = None"}
    made = board(challenge=SCORED, **cells)
    shown = {entry.student: entry.shown for entry in made.ranked}
    assert shown == {"": "4", "ada": "4"}
    problems = {entry.student: entry.problem for entry in made.unranked}
    assert problems["bo"] == "it took 10.5 seconds of CPU time; at most 10 are allowed"
    words = read_page(made.page.read_text()).words
    assert "2 more answers are not ranked" in words and "Cases" in words


def test_page_without_anybody_says_so(board, read_page):
    words = read_page(board(ada="").page.read_text()).words
    assert "Nobody is on the board yet" in words and "to beat: the plain way 0.50" in words


def test_number_that_an_answer_claims_is_nowhere(board, read_page):
    made = board(ada=f"{CLAIMS}{RIGHT}# takes 1.25")
    assert "0.001" not in made.page.read_text() + str(plain_board(made))


def test_wrong_or_uncounted_answer_is_not_ranked(board):
    made = board(
        ada="def fast(numbers):\n    return numbers",
        bo="def fast(numbers):\n    return 1 / 0",
        cy="fast = None",
    )
    assert [entry.student for entry in made.ranked] == [""]
    problems = {entry.student: entry.problem for entry in made.unranked}
    assert all(problems[student].startswith("values: ") for student in ("ada", "bo", "cy"))


def test_name_that_is_no_name_is_replaced_by_one_that_the_salt_draws(board):
    chosen = ["0.001 s", "<b>x", "=A", "Ada  1", "a" * 25, "the plain way", "x--y", "a\u202eb", "Ⅷ"]
    chosen += ["\u3164", "Ada\u3164", "\u0410da", "e\u0301" * 50_000]  # invisible, Cyrillic, long
    chosen += ["D\u0133kstra", "A\u01c0an", "\u017fam"]  # signs that look like other letters
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


def test_name_that_another_has_or_seems_to_have_is_nobody_else_s(board):
    first = board(ada=f'PSEUDONYM = "Alan"\n{RIGHT}# takes 1', dee=f"{RIGHT}# takes 1")
    (drawn,) = [entry.pseudonym for entry in first.ranked if entry.student == "dee"]
    # Who comes first in the alphabet takes the name under which somebody led the last time.
    cells = {who: f'PSEUDONYM = "{drawn}"\n{RIGHT}# takes 1' for who in ("ada",)}
    cells |= {"bo": f'PSEUDONYM = "AIan"\n{RIGHT}# takes 1', "cy": f'PSEUDONYM = "Alan"\n{RIGHT}'}
    cells |= {"eva": f'PSEUDONYM = "Ian"\n{RIGHT}', "fay": f'PSEUDONYM = "Lan"\n{RIGHT}'}
    names = {entry.student: entry.pseudonym for entry in board(**cells).ranked}
    assert names["dee"] == drawn and drawn not in names["ada"]
    assert not {"Alan", "AIan"} & set(names.values())
    assert (names["eva"], names["fay"]) == ("Ian", "Lan")  # which nobody takes for one another


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
    with pytest.raises(
        GraderError,
        match=r"challenge of toy is not ranked: there is none.*have a leaderboard: none",
    ):
        make_leaderboard(ReleasedSet(toy_course, "toy"), Settings(tmp_path))


def test_challenge_that_cannot_be_ranked_says_why(board):
    with pytest.raises(GraderError, match=r"of toy is not ranked: its text is known\. These sets"):
        board(challenge=REASON)


def test_page_that_cannot_be_written_is_one_line_before_anything_runs(board, tmp_path):
    (tmp_path / "out" / "leaderboard").write_text("in the way")
    with pytest.raises(GraderError, match=r"out/leaderboard\S* cannot be written: Not a dir"):
        board(ada=RIGHT)


def test_answer_whose_judge_had_to_be_ended_is_not_ranked_and_the_board_says_why():
    ended = {"toy_double": "toy_double was not judged"}
    grader = SimpleNamespace(judge=lambda *_, **__: (None, (), ended))
    with pytest.raises(NotRankedError, match="toy_double was not judged"):
        _score(grader, SimpleNamespace(check=None), None, 7)
