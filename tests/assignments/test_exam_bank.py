"""The bank of exam questions: of every kind in every chapter, with numbers that code proves."""

import math
import re
from collections import Counter
from pathlib import Path

import pytest

from autograder.authoring.course import find_course
from autograder.authoring.exam_bank import (
    KINDS,
    Question,
    choose,
    draw_question,
    read_bank,
    secret_texts,
)
from autograder.authoring.secrets import Secrets

ROOT = Path(__file__).parents[2]
COURSE = find_course(ROOT / "assignments")
BANK = read_bank(COURSE)
CHAPTERS = list(COURSE.settings("syllabus")["chapters"])
SEEDS = range(3)


def of(chapter: str) -> list[Question]:
    return [q for q in BANK if q.chapter == CHAPTERS.index(chapter) + 1]


def test_bank_is_large_and_no_title_occurs_twice():
    assert len(BANK) >= 120
    assert len({q.title for q in BANK}) == len(BANK)
    by_kind = Counter(q.kind for q in BANK)
    assert all(by_kind[kind] >= 16 for kind in KINDS)
    assert all(q.points == q.minutes for q in BANK)  # a student sees where to spend time


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_chapter_has_questions_to_derive_read_correct_and_judge(chapter):
    questions = of(chapter)
    assert len(questions) >= 7
    missing = KINDS.keys() - {q.kind for q in questions}
    assert missing <= {"plot", "bug"} and len(missing) <= 1
    assert {q.difficulty for q in questions} == {"easy", "medium", "hard"} or len(missing) <= 1
    for q in questions:
        assert len(q.answer) > 80
        if q.kind == "bug":
            assert "```python" in q.text and "```python" in q.answer and q.checks, q.place
        if q.kind == "plot":
            assert "{{figure}}" in q.text, q.place


def test_no_line_of_code_is_broken_where_the_paper_ends():
    """At the size of type of autograder/reports/templates/document.html."""
    texts = [text for q in BANK for text in (q.text, q.answer)]
    blocks = [block for text in texts for block in re.findall(r"```python\n(.*?)```", text, re.S)]
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) > 200 and [line for line in lines if len(line) > 88] == []


NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
TERM = rf"(?:{NUMBER}|[-−+·×/^()\[\]√²]|log₂|ln|log|exp|cos| )"
# From the beginning of a sentence or of a part of it up to a plain number, which ends one.
EQUATION = re.compile(
    rf"(?:^|(?<=[,;:.)] ))((?:{TERM})+)= ({NUMBER})(?: ?%)?(?=[.,;:)]? |[.,;:)]$|$)", re.MULTILINE
)
PART = re.compile(r"^\([a-e]\) ")
SPELLED = {"−": "-", "·": "*", "×": "*", "^": "**", "[": "(", "]": ")", "²": "**2", ",": ""}
FUNCTIONS = {"log2": math.log2, "log": math.log, "exp": math.exp, "cos": math.cos}


def wrong_sums(text: str) -> list[str]:
    """Return the equations between numbers that do not hold for the numbers as they are printed."""
    found = []
    for left, right in EQUATION.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        left = PART.sub("", left.strip())
        if not re.search(rf"{NUMBER}\S* ?[-−+·×/^] ?\S*\d|[a-z√]", left):
            continue
        spelled = left
        for sign, python in SPELLED.items():
            spelled = spelled.replace(sign, python)
        spelled = re.sub(r"(?:log₂|ln|log) ?([\d.]+(?:/\d+)?(?![\d.]))", _function, spelled)
        spelled = re.sub(r"√ ?(\([^()]*\)|[\d.]+)", r"(\1)**0.5", spelled).replace("ln", "log")
        try:
            value = eval(spelled, {"__builtins__": {}}, dict(FUNCTIONS))
        except (SyntaxError, TypeError):  # a piece of a formula with names in it
            continue
        stated = right.replace(",", "")
        digits, _, power = stated.partition("e")
        last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
        if not math.isclose(value, float(stated), rel_tol=1e-9, abs_tol=0.501 * last):
            found.append(f"{left} = {right}, and it is {value:.6g}")
    return found


def _function(match: re.Match[str]) -> str:
    return f"{'log2' if match[0].startswith('log₂') else 'log'}({match[1]})"


def test_sums_are_found_and_computed():
    assert wrong_sums("(c) 1.29 − 0.90 = 0.38 nats.") == ["1.29 − 0.90 = 0.38, and it is 0.39"]
    assert wrong_sums("So: 0.21^(1/20) = 0.924, √(1/4) = 0.6.") == [
        "0.21^(1/20) = 0.924, and it is 0.924934",
        "√(1/4) = 0.6, and it is 0.5",
    ]
    assert (
        wrong_sums("(a) log₂ 26 − log₂ 13 = 1.00 bits; 4 · 1,000 = 4,000. x = 3. 2 · D = 7.") == []
    )


def test_a_plot_says_where_each_of_its_values_stands():
    for question in BANK:
        if question.kind == "plot":
            alt = draw_question(question, 0).alt
            bare = re.search(r": (?:[\d.]+, ){3,}", alt)
            assert bare is None or re.search(r"\b(at|from) \d", alt) or "row by row" in alt, alt


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_answers_are_proved_for_several_seeds(chapter):
    for question in of(chapter):
        drawn = [draw_question(question, seed) for seed in SEEDS]
        for one in drawn:
            assert "{{" not in one.text + one.answer
            assert wrong_sums(one.answer) == [], question.place
            assert sum(points for points, _ in one.rubric) == question.points
            assert (one.figure is not None) == ("figure.png" in one.text)
            assert one.figure is None or len(one.alt) > 60


@pytest.mark.exhaustive
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_answers_are_proved_for_a_hundred_seeds(chapter):
    for question in of(chapter):
        for seed in range(100):
            assert wrong_sums(draw_question(question, seed).answer) == [], (question.place, seed)


def test_variants_differ_in_most_questions_that_draw():
    drawing = [q for q in BANK if "draw." in q.numbers and q.kind != "plot"]
    assert len(drawing) >= 80
    same = [q.place for q in drawing if len({draw_question(q, s).text for s in range(6)}) == 1]
    assert same == []


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("minutes", "chapters"), [(90, range(1, 9)), (120, range(1, 17))])
def test_paper_fills_its_time_and_asks_about_every_chapter(seed, minutes, chapters):
    chosen = choose(BANK, minutes, chapters, seed)
    assert minutes - 2 <= sum(q.minutes for q in chosen) <= minutes
    assert {q.chapter for q in chosen} >= set(chapters) or minutes / len(chapters) < 9
    assert len({q.kind for q in chosen}) == 4
    assert chosen == choose(BANK, minutes, chapters, seed)


def test_no_page_or_slide_of_the_book_gives_an_answer_away():
    """As the student edition is searched, whose test takes minutes."""
    secrets = Secrets([], secret_texts(COURSE))
    pages = sorted((ROOT / "book").rglob("*.md"))
    found = [one for page in pages for one in secrets.find(page.name, page.read_bytes())]
    assert len(secrets) > 10_000 and found == []
