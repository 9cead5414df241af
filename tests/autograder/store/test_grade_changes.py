import json
import shutil
from pathlib import Path
from types import FunctionType

import pytest
from nbgrader import api

from autograder.authoring.course import Course
from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.store.grade_changes import describe_item_change
from autograder.store.input_digests import _CodeDigest, part_digests
from autograder.store.journal import Journal

pytestmark = pytest.mark.usefixtures("without_sandbox")


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


def test_person_is_asked_again_where_the_written_answer_is_another(
    toys, toy_course, hand_in, grade, tmp_path
):
    folder = hand_in("ada", double=toys.double, mean=toys.mean, essay="Because.")
    grade(toy_course, folder)
    url = f"sqlite:///{tmp_path / 'out' / 'gradebook.db'}"
    with api.Gradebook(url) as book:
        row = book.find_grade("toy_essay", "toy", "toy", "ada")
        row.manual_score, row.needs_manual_grade = 7.0, False
        book.find_grade("toy_double", "toy", "toy", "ada").extra_credit = 2.0
        book.db.commit()
    page = tmp_path / "out" / "feedback" / "ada" / "toy" / "toy.html"
    for essay, asked in (("Because.", False), ("Since.", True), ("Since.", True)):
        hand_in("ada", double=toys.double, mean=toys.mean, essay=essay)
        result = grade(toy_course, folder)
        given = result.by_hand["ada"]
        assert (given["toy_essay"].points, given["toy_essay"].is_of_earlier) == (7.0, asked)
        assert not given["toy_double"].is_of_earlier  # that code is as it was
        assert ("handed in before" in page.read_text()) == asked
