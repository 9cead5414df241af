"""Copies in disguise against honest answers; the honest ones are the sets' own right answers."""

import inspect
import itertools
import random
import re
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from autograder.authoring.course import Course
from autograder.authoring.release import ReleasedSet
from autograder.class_run.pipeline import grade_class
from autograder.class_run.settings import Settings
from autograder.cli import output
from autograder.records import GraderError
from autograder.reports import similarity_report
from autograder.reports.similarity import (
    Likeness,
    Material,
    fingerprint_code,
    like_package,
    similar_students,
)
from autograder.reports.similarity_report import (
    Report,
    examine,
    independent_answers,
    reference_functions,
)

COURSE = Course(Path(__file__).parents[3] / "assignments")

ORIGINAL = '''
def rank_words(counts, limit):
    """Return the most frequent words."""
    ranked = []
    for word, count in counts.items():
        # rare words say nothing
        if count > limit and not word.startswith("_"):
            ranked.append((-count, word))
    ranked.sort()
    total = sum(counts.values())
    share = {word: -count / total for count, word in ranked}
    longest = max((len(word) for word in share), default=0)
    return [word.rjust(longest) for _, word in ranked], share
'''
RENAMED = """
def rank_words(d, k):
    out = []
    for w, n in d.items():
        if n > k and not w.startswith('#'):
            out.append((-n, w))
    out.sort()
    s = sum(d.values())
    p = {w: -n / s for n, w in out}
    width = max((len(w) for w in p), default=0)
    return [w.rjust(width) for _, w in out], p
"""
REFORMATTED = '''
def rank_words(
    counts,
    limit,
):
    ranked = []  # collects


    for word, count in counts.items():
            if (count > limit
                    and not word.startswith("_")):
                    ranked.append(
                        (-count, word))
    ranked.sort()
    """A text between statements."""
    total = sum(counts.values())

    share = {word: -count / total
             for count, word in ranked}
    longest = max((len(word) for word in share), default=0)
    return [word.rjust(longest) for _, word in ranked], share
'''
REORDERED = """
def rank_words(counts, limit):
    total = sum(counts.values())
    ranked = []
    for word, count in counts.items():
        if not word.startswith("_") and count > limit:
            ranked.append((-count, word))
    ranked.sort()
    longest = max((len(word) for _, word in ranked), default=0)
    share = {word: -count / total for count, word in ranked}
    return [word.rjust(longest) for _, word in ranked], share
"""
INDEPENDENT = """
def rank_words(counts, limit):
    frequent = [w for w in counts if counts[w] > limit and w[:1] != "_"]
    frequent = sorted(frequent, key=lambda w: (-counts[w], w))
    everything = 0
    for w in counts:
        everything += counts[w]
    width = 0
    shares = {}
    for w in frequent:
        shares[w] = counts[w] / everything
        if len(w) > width:
            width = len(w)
    padded = []
    for w in frequent:
        padded.append(" " * (width - len(w)) + w)
    return padded, shares
"""


def _overlap(left, right):
    left, right = fingerprint_code(left).hashes, fingerprint_code(right).hashes
    return len(left & right) / min(len(left), len(right))


def test_renaming_and_reformatting_leave_the_fingerprint_as_it_was():
    assert fingerprint_code(RENAMED).hashes == fingerprint_code(ORIGINAL).hashes
    stripped = [line for line in REFORMATTED.splitlines() if '"""' not in line]
    assert _overlap("\n".join(stripped), ORIGINAL) > 0.8  # brackets and commas are tokens


@pytest.mark.parametrize("copy", [RENAMED, REFORMATTED, REORDERED])
def test_disguised_copies_are_a_pair_and_an_independent_answer_is_in_none(copy):
    answers = {"ada": ORIGINAL, "bo": copy, "cy": INDEPENDENT}
    (pair,) = similar_students([Material("rank", answers, INDEPENDENT)], "")
    assert (pair.left, pair.right) == ("ada", "bo")
    assert pair.matches[0].share > 0.6


def test_what_everybody_has_is_no_evidence():
    answers = {f"student {i}": ORIGINAL for i in range(12)}
    assert similar_students([Material("rank", answers, ORIGINAL)], "") == ()


def test_what_was_released_is_no_evidence():
    answers = {"ada": ORIGINAL, "bo": ORIGINAL}
    known = {"solution": INDEPENDENT, "alternatives": [INDEPENDENT] * 4}
    assert similar_students([Material("rank", answers, **known)], "") != ()
    assert similar_students([Material("rank", answers, **known)], ORIGINAL) == ()


def test_short_functions_create_no_pairs():
    short = "def area(width, height):\n    return width * height\n"
    items = [
        Material(f"item {i}", {"ada": short, "bo": short, "cy": f"area = {i}"}) for i in range(9)
    ]
    assert similar_students(items, "") == ()


@pytest.mark.parametrize("answers", [{}, {"ada": ORIGINAL}, {"ada": "", "bo": ""}])
def test_classes_with_nobody_to_compare_have_no_pairs(answers):
    assert similar_students([Material("rank", answers)], "") == ()
    assert like_package([Material("rank", answers)], "", {}) == ()


@given(st.text() | st.text(alphabet="\"'#\\\n()[]rfb 1aif.:="))
def test_fingerprint_bears_any_text(code):
    lines = fingerprint_code(code).lines
    n_lines = code.count("\n") + 1
    assert all(0 <= line < n_lines for found in lines.values() for line in found)


@pytest.mark.parametrize("piece", ['"""', "'", '"\\', "(", "#", "a.", "\n", "x = 1\n", '\\"""\n'])
def test_fingerprint_takes_time_in_proportion_to_the_length(piece):
    def cost(length):
        times, code = [], (piece * length)[:length] + "\\"
        for _ in range(3):  # the least: garbage of other tests is collected in any of them
            start = time.process_time()
            fingerprint_code.__wrapped__(code)
            times.append(time.process_time() - start)
        return min(times)

    assert cost(96_000) < 16 * 8 * max(cost(6_000), 1e-4)


def test_fingerprint_of_one_long_line_costs_the_same_in_any_script():
    """For each of its names, the line was encoded anew up to there."""

    def cost(word):
        times = []
        for _ in range(2):
            start = time.process_time()
            fingerprint_code.__wrapped__(f'"{word}";' + "self.a;" * 14_000)
            times.append(time.process_time() - start)
        return min(times)

    assert cost("\u4e00") < 4 * cost("a")


# ------------------------------------------------------------------ the course's own sets
def _text(implementation):
    return textwrap.dedent(inspect.getsource(implementation))


@pytest.fixture(scope="module", params=["ps1", "ps2"])
def real_set(request):
    """A set, what is released of it, its right answers by item, and the package's functions."""
    released_set = ReleasedSet(COURSE, request.param)
    problem_set = released_set.problem_set
    cells = released_set.notebooks.student.cells
    released = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    known = independent_answers(released_set)
    functions = reference_functions(released_set)
    return problem_set, released, known, functions


@pytest.fixture(scope="module")
def solution(real_set):
    """The course's own answer to each item."""
    problem_set, *_ = real_set
    cells = ReleasedSet(COURSE, problem_set.name).notebooks.solution.cells
    return {
        check.item: "\n".join(c.source for c in cells if c.id == f"{check.item}_answer")
        for check in problem_set.checks
    }


def _pairs_of_two(known, solution, released, left, right):
    """What is said of a class of these two, whose answers the grader has not seen before."""
    materials = []
    for item, texts in known.items():
        others = [text for text in texts if text not in (left[item], right[item])]
        answers = {"left": left[item], "right": right[item]}
        materials.append(Material(item, answers, solution[item], others))
    return similar_students(materials, released)


def test_who_writes_plainly_is_no_pair_with_the_solution_or_another_who_does(real_set, solution):
    """Each author of right answers in turn, the one who writes as the course does among them."""
    _, released, known, _ = real_set
    known = {item: texts for item, texts in known.items() if len(texts) >= 6}
    authors = [{item: texts[i] for item, texts in known.items()} for i in range(6)]
    pairs = [(solution, author) for author in authors] + list(itertools.combinations(authors, 2))
    for left, right in pairs:
        assert _pairs_of_two(known, solution, released, left, right) == ()
    copied = list(known)[-2:]
    copy = authors[1] | {item: authors[2][item] for item in copied}
    (pair,) = _pairs_of_two(known, solution, released, authors[2], copy)
    assert {match.item for match in pair.matches} <= set(copied)
    assert _pairs_of_two(known, solution, released, solution, solution) != ()


def _materials(known, answers):
    return [
        Material(item, {s: found[item] for s, found in answers.items()}, alternatives=texts)
        for item, texts in known.items()
    ]


def _honest(known):
    """Three that were written to differ: who writes plainly comes close to the solution."""
    return {f"honest {i}": {item: texts[i] for item, texts in known.items()} for i in range(3)}


def test_independent_right_answers_are_neither_pairs_nor_copies(real_set):
    _, released, known, functions = real_set
    materials = _materials(known, _honest(known))
    assert similar_students(materials, released) == ()
    assert like_package(materials, released, functions) == ()


def _renamed(code):
    names = sorted(set(re.findall(r"\b(?:counts?|history|tokens?|total|word|pair)\b", code)))
    for number, name in enumerate(names):
        code = re.sub(rf"\b{name}\b", f"name_{number}", code)
    return code


def test_copied_answers_are_found_among_honest_ones(real_set):
    _, released, known, _ = real_set
    answers = _honest(known)
    answers["copy"] = {item: _renamed(code) for item, code in answers["honest 1"].items()}
    (pair,) = similar_students(_materials(known, answers), released)
    assert (pair.left, pair.right) == ("honest 1", "copy")
    assert len(pair.matches) > len(known) / 2


def test_source_of_the_package_is_recognised(real_set):
    problem_set, released, known, functions = real_set
    by_name = {name.rpartition(".")[2]: code for name, code in functions.items()}
    pasted = {c.item: _renamed(by_name.get(c.target, "")) for c in problem_set.checks}
    answers = _honest(known) | {"pasted": pasted}
    (found,) = like_package(_materials(known, answers), released, functions)
    assert (found.left, found.right) == ("pasted", "")
    targets = {check.item: check.target for check in problem_set.checks}
    assert all(match.right.endswith(f".{targets[match.item]}") for match in found.matches)
    assert len(found.matches) >= 5


def test_cost_of_a_large_class_grows_no_faster_than_its_pairs(real_set):
    problem_set, released, known, _ = real_set
    pool = {
        check.item: [*known[check.item], *(_text(m.implementation) for m in check.mistakes)]
        for check in problem_set.checks
    }
    rng = random.Random(5)

    def cost(n):
        answers = {
            f"s{n}-{i}": {item: f"{rng.choice(texts)}\nx = {i}\n" for item, texts in pool.items()}
            for i in range(n)
        }
        materials = _materials(known, answers)
        start = time.process_time()
        similar_students(materials, released)
        return time.process_time() - start

    cost(20)
    assert cost(200) < 16 * 5 * cost(50)  # 16 times the pairs, and room for a busy machine


# ------------------------------------------------------------------ the report
@pytest.fixture
def report(toys, toy_course, hand_in, tmp_path, without_sandbox):
    (tmp_path / "toy_pkg").mkdir()
    (tmp_path / "toy_pkg" / "__init__.py").write_text(ORIGINAL)
    path = toy_course.folder / "toy" / "problem_set.py"
    path.write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport toy_pkg\n{path.read_text()}"
    )
    hand_in("ada", double=f"{RENAMED}\n{toys.double}", mean=toys.mean)
    hand_in("<img src=x>", double=f"{RENAMED}\n{toys.double}  # <script>", mean=toys.mean)
    hand_in("cy", double=toys.double, mean=toys.mean)
    folder = hand_in("dee", b"{")
    grade_class(ReleasedSet(toy_course, "toy"), folder, Settings(tmp_path / "out"))
    yield examine(ReleasedSet(toy_course, "toy"), tmp_path / "out")
    sys.path.remove(str(tmp_path))
    sys.modules.pop("toy_pkg", None)


def test_report_names_pairs_and_copies_and_shows_both_sides(report, read_page):
    assert report.n_students == 3
    (pair,) = report.pairs
    (other,) = {pair.left, pair.right} - {"ada"}
    assert "img src=x" in other  # a file's name, of which no letter can be markup
    assert {copy.left for copy in report.copies} == {other, "ada"}
    page = read_page(report.page.read_text())
    assert f"{pair.left} and {pair.right}" in page.words
    assert "rank_words" in page.words
    assert page.tags.count("pre") == 2 * 3 and "mark" in page.tags


def test_report_escapes_what_students_wrote_and_gives_no_verdict(report, read_page):
    page = read_page(report.page.read_text())
    assert not {"script", "img"} & set(page.tags)
    assert "not why" in page.words
    for verdict in ("plagiar", "cheat", "guilty"):
        assert verdict not in page.words.lower()


@given(st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda p: p[0] < p[1])))
def test_groups_are_what_scipy_finds_connected(pairs):
    edges = np.zeros((9, 9))
    for left, right in pairs:
        edges[left, right] = 1
    _, labels = connected_components(edges, directed=False)
    expected = {
        tuple(str(n) for n in range(9) if labels[n] == label)
        for label in labels
        if (labels == label).sum() > 2
    }
    found = Report(9, tuple(Likeness(str(a), str(b), ()) for a, b in pairs), (), Path()).groups
    assert set(found) == expected and len(found) == len(expected)


def test_report_shows_groups(report, toy_course, tmp_path, read_page, monkeypatch):
    pairs = (Likeness("ada", "cy", ()), Likeness("cy", "<img src=x>", ()))
    monkeypatch.setattr(similarity_report, "similar_students", lambda *args: pairs)
    found = examine(ReleasedSet(toy_course, "toy"), tmp_path / "out")
    assert "3 students: <img src=x>, ada, cy" in read_page(found.page.read_text()).words
    console = output.new_console()
    with console.capture() as printed:
        output.print_report(console, found)
    assert "group of 3: <img src=x>, ada, cy" in printed.get()
    assert output.plain_report(found)["groups"] == (("<img src=x>", "ada", "cy"),)


def test_report_of_a_class_that_was_never_graded_is_an_error(toy_course, tmp_path):
    with pytest.raises(GraderError, match="no readable submission to toy"):
        examine(ReleasedSet(toy_course, "toy"), tmp_path)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_report_is_accessible_silent_and_fits(report, browser, look, complaints, theme, width):
    assert complaints(look(browser, report.page, theme, width)) == []
