import json
import shutil
from pathlib import Path
from types import FunctionType

import pytest
from click.testing import CliRunner
from nbgrader import api

from autograder.authoring.course import Course, NbgraderCourse
from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.cli.main import main
from autograder.records import Grade, State
from autograder.store.grade_changes import describe_item_change
from autograder.store.gradebook import Gradebook
from autograder.store.hand_given import digests
from autograder.store.input_digests import _CodeDigest, part_digests
from autograder.store.journal import Journal
from tests.autograder import nbgrader_course as nb

pytestmark = pytest.mark.usefixtures("without_sandbox")


def test_answer_that_changes_changes_the_digests_of_its_own_cells_only():
    about = {"essay": ["essay"], "sketch": ["sketch", "caption"]}
    texts = {"essay": "One.", "sketch": "Two.", "caption": "Three."}
    first, then = (
        digests([*about, "all"], each, about) for each in (texts, texts | {"caption": "4"})
    )
    assert {cell for cell in first if first[cell] != then[cell]} == {"sketch", "all"}


@pytest.fixture
def changed_course(toys, toy_course, tmp_path):
    """Make the same course anew, with replacements in its checks; modules load once by path."""
    made = []

    def make(*replacements):
        folder = tmp_path / f"changed-{len(made)}"
        made.append(toys.make_course(folder / "course"))
        path = folder / "course" / "toy" / "problem_set.py"
        text = path.read_text()
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text)
        return Course(folder / "course")

    return make


@pytest.fixture
def grade(tmp_path):
    def run(course, folder, **settings):
        return grade_class(
            ReleasedSet(course, "toy"), folder, Settings(tmp_path / "out", **settings)
        )

    return run


MORE_NUMBERS = ("for size in (1, 3, 7)", "for size in (1, 3, 7, 11)")
EMPTY_MEAN_IS_ZERO = ("if numbers else math.nan", "if numbers else 0.0")


def test_changed_check_says_which_parts_changed_and_what_turned(
    toys, toy_course, hand_in, grade, changed_course
):
    hand_in("ada", double=toys.double, mean=toys.mean)
    folder = hand_in("bo", double=toys.double, mean=toys.mean.replace("math.nan", "0.0"))
    grade(toy_course, folder)
    result = grade(changed_course(EMPTY_MEAN_IS_ZERO), folder)
    assert result.reused == 0
    ada, bo = result.changes
    assert (ada.student, ada.before, ada.after) == ("ada", 90, 75)
    assert (bo.student, bo.before, bo.after) == ("bo", 75, 90)
    # The reference answers every part, so both of them may demand something else now.
    cause = "the check of toy_mean changed: values, empty"
    assert ada.causes == bo.causes == (cause,)
    (item,) = ada.items
    assert (item.before, item.after, item.now_fail, item.now_pass) == (30, 15, ("empty",), ())
    assert describe_item_change(bo.items[0]) == "toy_mean 15 -> 30; now passed: empty"


def test_grade_that_stays_is_no_change_though_its_check_has_changed(
    toys, toy_course, hand_in, grade, changed_course
):
    folder = hand_in("ada", double=toys.double, mean=toys.mean)
    grade(toy_course, folder)
    result = grade(changed_course(MORE_NUMBERS), folder)
    assert (result.reused, result.changes) == (0, ())


def test_changed_submission_is_the_cause_even_where_checks_changed_elsewhere(
    toys, toy_course, hand_in, grade, changed_course
):
    folder = hand_in("ada", double=toys.square, mean=toys.mean)
    grade(toy_course, folder)
    hand_in("ada", double=toys.double, mean=toys.mean)
    (change,) = grade(changed_course(EMPTY_MEAN_IS_ZERO), folder).changes
    assert change.causes == (
        "another file was handed in",
        "the check of toy_mean changed: values, empty",
    )
    assert [item.item for item in change.items] == ["toy_double", "toy_mean"]


def test_points_that_cancel_out_are_a_change_all_the_same(
    toys, toy_course, hand_in, grade, changed_course
):
    folder = hand_in("ada", double=toys.double, mean=toys.no_empty_mean)
    grade(toy_course, folder)
    course = changed_course(("weight=2", "weight=1"), ("2 * number for", "3 * number for"))
    (change,) = grade(course, folder).changes
    (item,) = change.items
    assert item.check_changed == ("values", "empty")
    assert (item.before, item.after, item.now_fail) == (60, 30, ("values",))


def test_answer_that_varies_is_said_to_vary(toys, toy_course, hand_in, grade, tmp_path):
    varies = f"import pathlib\nseen = pathlib.Path({str(tmp_path / 'seen')!r})\n"
    varies += "factor = 3 if seen.exists() else 2\nseen.touch()\n"
    varies += "def double(numbers):\n    return [factor * n for n in numbers]"
    folder = hand_in("ada", double=varies, mean=toys.mean)
    grade(toy_course, folder)
    (change,) = grade(toy_course, folder, resume=False).changes
    assert change.causes == (
        "nothing was changed: the student's code answers differently each time",
    )


def test_refused_file_that_is_replaced_says_so(toys, toy_course, hand_in, grade):
    folder = hand_in("ada", b"{")
    grade(toy_course, folder)
    hand_in("ada", double=toys.double, mean=toys.mean)
    (change,) = grade(toy_course, folder).changes
    assert (change.state_before, change.state_after) == ("refused", "graded")
    assert change.causes == ("another file was handed in",)


def test_points_given_by_hand_survive_a_regrade(
    toys, toy_course, hand_in, grade, changed_course, tmp_path
):
    folder = hand_in("ada", double=toys.double, mean=toys.mean, essay="Because.")
    grade(toy_course, folder)
    url = f"sqlite:///{tmp_path / 'out' / 'gradebook.db'}"
    with api.Gradebook(url) as theirs:
        for cell, points in (("toy_essay", 7.5), ("toy_double", 45.0)):
            row = theirs.find_grade(cell, "toy", "toy", "ada")
            row.manual_score, row.needs_manual_grade = points, False
        theirs.db.commit()
    result = grade(changed_course(EMPTY_MEAN_IS_ZERO), folder)
    assert result.changes
    with api.Gradebook(url) as theirs:
        # 7.5 and 45 by hand, and 15 of the 30 points for the mean.
        assert theirs.find_submission("toy", "ada").score == 67.5
    page = (tmp_path / "out" / "feedback" / "ada" / "toy" / "toy.html").read_text()
    assert "67.5" in page


def test_history_keeps_every_change_and_the_page_shows_it(
    toys, toy_course, hand_in, grade, changed_course, tmp_path
):
    folder = hand_in("<b>ada</b>"[1:2] + "da", double=toys.double, mean=toys.mean)
    grade(toy_course, folder)
    grade(changed_course(EMPTY_MEAN_IS_ZERO), folder)
    grade(toy_course, folder)
    history = Journal(tmp_path / "out", "toy").changes()
    assert [(change["before"], change["after"]) for change in history] == [(90, 75), (75, 90)]
    json.dumps(history)
    page = (tmp_path / "out" / "dashboard" / "toy" / "changes.html").read_text()
    assert page.index("75 → 90") < page.index("90 → 75")  # the newest first
    assert "the check of toy_mean changed: values, empty" in page


def test_run_that_is_killed_between_history_and_record_notes_a_change_once(
    toys, toy_course, hand_in, grade, changed_course, tmp_path, monkeypatch
):
    folder = hand_in("ada", double=toys.double, mean=toys.mean)
    grade(toy_course, folder)
    course, write = changed_course(EMPTY_MEAN_IS_ZERO), Journal.write

    def dies(self, record):
        raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "write", dies)
    with pytest.raises(KeyboardInterrupt):
        grade(course, folder)
    monkeypatch.setattr(Journal, "write", write)
    assert len(grade(course, folder).changes) == 1
    assert len(Journal(tmp_path / "out", "toy").changes()) == 1


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("def _mean(", "# a comment\n\ndef _mean(", []),
        (*MORE_NUMBERS, ["toy_double: values", "toy_mean: values"]),
        ("weight=2", "weight=3", ["toy_double: values"]),
        ("return [2 * number", "return [number * 2", ["toy_double: values", "toy_double: empty"]),
        ("points=30", "points=31", ["toy_mean: values", "toy_mean: empty"]),
        ('"numbers": []', '"numbers": [0.0][1:]', ["toy_double: empty", "toy_mean: empty"]),
        ("// throws", "/ throws", []),  # a hint decides no points
    ],
)
def test_part_digests_change_exactly_where_code_changes(
    toy_course, changed_course, old, new, parts
):
    before, after = (
        part_digests(ReleasedSet(toy_course, "toy")),
        part_digests(ReleasedSet(changed_course((old, new)), "toy")),
    )
    assert [name for name in before if before[name] != after[name]] == parts


# Whatever a check may compute with, in the order in which a later test changes it.
COMPUTES_WITH = """
import dataclasses, functools
import numpy as np

LIMITS = {"low": [101, (102, 103)]}
CHOSEN = {("104", 105), ("106", 107)}
TABLE = np.arange(2000) + 108
LETTERS = None

class Base:
    base = 109

@dataclasses.dataclass
class Settings(Base):
    size: int = 110

    @property
    def double(self):
        return self.size * 111

    @staticmethod
    def plain(x, by=112):
        return x

    @functools.cached_property
    def kept(self):
        return 113

SETTINGS = Settings(114)

def called(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) + 115
    return wrapper

@called
def decorated(x, y=116):
    return x

@functools.cache
def cached(x=117):
    return lambda z=118: z + 119

def guarded(x, *, key=120):
    try:
        return [x for x in range(121)]
    finally:
        x = {122: "123"}

added = functools.partial(decorated, 124)

def _used(numbers, first=((125,), [126]), second=[[127], [128]]):
    SETTINGS.double, SETTINGS.kept, SETTINGS.plain(1), added(), cached(), guarded(1)
    return LIMITS, CHOSEN, TABLE, LETTERS, first, second

"""
CONSTANTS = [str(number) for number in range(101, 129)]


@pytest.fixture
def computes_with(changed_course):
    def make(*replacement):
        text = COMPUTES_WITH
        for old, new in [replacement] if replacement else []:
            assert text.count(old) == 1
            text = text.replace(old, new)
        replaced = ("return [2 * number", "_used(numbers); return [2 * number")
        return ReleasedSet(changed_course(("def _double", f"{text}def _double"), replaced), "toy")

    return make


@pytest.mark.parametrize(
    "old, new", [*((number, f"9{number}") for number in CONSTANTS), ("LETTERS = None", "LETTERS=1")]
)
def test_part_digest_changes_with_each_default_and_constant(computes_with, old, new):
    before, after = part_digests(computes_with()), part_digests(computes_with(old, new))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"toy_double: values", "toy_double: empty"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [f"ps{number}" for number in range(1, 9)])
def test_every_default_and_constant_of_a_set_of_ours_is_in_its_digests(name):
    course = Course(Path(__file__).parents[3] / "assignments")
    own = (course.folder.parent, Path(part_digests.__code__.co_filename).parents[1])
    tried, missed, seen = 0, [], set()
    for check in ReleasedSet(course, name).problem_set.checks:
        for part in check.parts:
            walk = _CodeDigest(own)
            digest = walk.of(check, part)
            assert _CodeDigest(own).of(check, part) == digest
            reached = [value for _, value in walk._seen.values() if isinstance(value, FunctionType)]
            for function in reached:
                if function in seen or not walk._is_own(function.__code__.co_filename):
                    continue
                seen.add(function)
                for undo in _changes(function):
                    tried += 1
                    if _CodeDigest(own).of(check, part) == digest:
                        missed.append(function)
                    undo()
    assert missed == [] and tried > 50


def _changes(function):
    """Change each default and each number or text in turn; yield how it is changed back."""
    defaults, code = function.__defaults__ or (), function.__code__
    for place in range(len(defaults)):
        function.__defaults__ = (*defaults[:place], "another", *defaults[place + 1 :])
        yield lambda: setattr(function, "__defaults__", defaults)
    for place, value in enumerate(code.co_consts):
        if isinstance(value, (int, float, str)):
            consts = (*code.co_consts[:place], ["another"], *code.co_consts[place + 1 :])
            function.__code__ = code.replace(co_consts=tuple(map(_frozen, consts)))
            yield lambda: setattr(function, "__code__", code)


def _frozen(value):
    return tuple(value) if isinstance(value, list) else value


def test_part_digests_are_the_same_in_another_process(computes_with):
    import subprocess
    import sys

    released = computes_with()
    code = (
        "import json, sys; from pathlib import Path\n"
        "from autograder.authoring.course import Course\n"
        "from autograder.authoring.release import ReleasedSet\n"
        "from autograder.store.input_digests import part_digests\n"
        "print(json.dumps(part_digests(ReleasedSet(Course(Path(sys.argv[1])), 'toy'))))"
    )
    folder = shutil.copytree(released.course.folder, released.course.folder.parent / "moved")
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, check=True
    )
    assert json.loads(done.stdout) == part_digests(released)


def test_check_may_use_a_module_that_is_built_into_the_interpreter(toy_course):
    checks = toy_course.folder / "toy/problem_set.py"
    text = checks.read_text().replace("import math\n", "import math, sys, itertools\n")
    checks.write_text(text.replace("return [2 *", "sys, itertools, math; return [2 *"))
    assert "toy_double: values" in " ".join(part_digests(ReleasedSet(toy_course, "toy")))


@pytest.fixture
def by_hand(tmp_path):
    """Give something to ada as formgrader does: points end the waiting, a comment does not."""

    def give(cell, points=None, comment=None):
        with api.Gradebook(f"sqlite:///{tmp_path / 'out' / 'gradebook.db'}") as book:
            if points is not None:
                row = book.find_grade(cell, "toy", "toy", "ada")
                row.manual_score, row.needs_manual_grade = points, False
            if comment is not None:
                place = cell if cell == "toy_essay" else f"{cell}_answer"
                book.find_comment(place, "toy", "toy", "ada").manual_comment = comment
            book.db.commit()

    return give


@pytest.fixture
def essay(toys, toy_course, hand_in, grade):
    """Hand an essay in, grade, and return what people gave for it."""

    def write(text, cell="toy_essay", double=toys.double):
        folder = hand_in("ada", double=double, mean=toys.mean, essay=text)
        return grade(toy_course, folder).by_hand["ada"][cell]

    return write


def test_what_was_given_for_an_earlier_answer_is_known_until_a_person_looks_again(
    essay, by_hand, tmp_path
):
    page = tmp_path / "out" / "feedback" / "ada" / "toy" / "toy.html"
    essay("Because.")
    by_hand("toy_essay", 7.0, "A reason is missing.")
    assert not essay("Because.").is_of_earlier
    for _ in range(2):  # in later runs, too
        found = essay("Since.")
        assert (found.points, found.earlier_points, found.earlier_comment) == (7.0, True, True)
        assert found.waiting
        assert "handed in before: a person will look at it again" in page.read_text()
        assert "said of what you had handed in before" in page.read_text()
    assert not essay("Because.").is_of_earlier  # it is what they saw
    essay("Since.")
    by_hand("toy_essay", comment="Now there is one.")
    found = essay("Since.")
    assert (found.earlier_points, found.earlier_comment) == (True, False)
    by_hand("toy_essay", 7.0)  # the same again, for what stands there now
    assert not essay("Since.").is_of_earlier
    assert "handed in before" not in page.read_text()


def test_comment_without_points_is_known_to_be_of_an_earlier_answer(essay, by_hand, toys, tmp_path):
    page = tmp_path / "out" / "feedback" / "ada" / "toy" / "toy.html"
    essay("Because.")
    by_hand("toy_essay", comment="A reason is missing.")
    found = essay("Since.")
    assert (found.waiting, found.earlier_points, found.earlier_comment) == (True, False, True)
    assert "said of what you had handed in before" in page.read_text()
    by_hand("toy_essay", 5.0)  # with the comment left as it is
    assert not essay("Since.").is_of_earlier

    by_hand("toy_double", comment="Nicely short.")
    assert not essay("Since.", "toy_double").is_of_earlier
    found = essay("Since.", "toy_double", toys.square)
    assert (found.waiting, found.earlier_comment) == (True, True)


def test_extra_credit_for_an_earlier_answer_is_known_as_such(essay, tmp_path):
    essay("Because.")
    with api.Gradebook(f"sqlite:///{tmp_path / 'out' / 'gradebook.db'}") as book:
        book.find_grade("toy_essay", "toy", "toy", "ada").extra_credit = 2.0
        book.db.commit()
    assert not essay("Because.").is_of_earlier
    found = essay("Since.")
    assert (found.extra, found.earlier_points, found.waiting) == (2.0, True, True)


def test_changed_check_is_no_changed_answer(
    toys, toy_course, hand_in, grade, changed_course, by_hand, tmp_path
):
    folder = hand_in("ada", double=toys.double, mean=toys.mean)
    grade(toy_course, folder)
    by_hand("toy_mean", 20.0)
    found = grade(changed_course(EMPTY_MEAN_IS_ZERO), folder).by_hand["ada"]["toy_mean"]
    assert found.waiting and not found.is_of_earlier
    page = (tmp_path / "out/feedback/ada/toy/toy.html").read_text()
    assert "handed in before" not in page


def test_what_was_given_for_an_earlier_answer_is_said_alike_everywhere(
    essay, by_hand, toy_course, tmp_path
):
    def run(*arguments):
        out = ("--course", str(toy_course.folder), *arguments, "--out", str(tmp_path / "out"))
        return CliRunner().invoke(main, out)

    essay("Because.")
    by_hand("toy_essay", 7.0, "A reason is missing.")
    essay("Since.")
    said = "Why?: points and comment given by hand for an earlier answer; look again"
    assert said in (tmp_path / "out/dashboard/toy/index.html").read_text()
    graded = run("grade", "toy", "--submissions", str(tmp_path / "class"))
    assert "given by hand for an earlier" in graded.output
    moodle = ("--format", "moodle", "--identifier", "Username", "--comments")
    exported = run("export", "toy", *moodle)
    assert "Why?: 7 points of 10, given for an earlier answer" in exported.stdout
    assert "of an earlier answer: A reason is missing." in exported.stdout
    for form in ("csv", "moodle"):
        notes = run("export", "toy", "--format", form).stderr
        assert "ada: toy_essay has changed since people graded it" in notes
    mailed = run("feedback", "toy", "--to", "mail").stderr
    assert "ada: toy_essay has changed since people graded it" in mailed
    page = (tmp_path / "out/given_back/toy-mail/pages/ada.html").read_text()
    assert "said of what you had handed in before" in page


def test_comment_in_an_answer_of_any_name_belongs_to_the_item_below(tmp_path):
    released = ReleasedSet(NbgraderCourse(nb.make_course(tmp_path / "course")), "hw1")
    belongs = released.outline.belongs
    assert belongs == {"squares_answer": "squares", "mean-answer": "mean-tests", "why": "why"}
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    grade = Grade("ada", "hw1", State.GRADED, "ab" * 32, 7)
    with Gradebook(url) as book:
        book.register("hw1", released.notebooks.recorded)
        book.record("hw1", [(grade, frozenset())])
        with api.Gradebook(url) as theirs:
            row = theirs.find_comment("mean-answer", "hw1", "hw1", "ada")
            row.manual_comment = "Read the task again."
            theirs.db.commit()
        given = book.hand_grades("hw1", belongs)["ada"]
        assert given["mean-tests"].comment == "Read the task again."
        (score,) = book.final_scores("hw1", belongs)
        assert {item.name: item.comment for item in score.items if item.comment} == {
            "mean-tests": "Read the task again."
        }
