"""The bank of exam questions: one Markdown file a chapter, with numbers that are drawn from a seed.

    ## Two tokenizers
    derive · 8 points · 8 minutes · medium

    ```python numbers
    n = draw.choice([10, 12, 14])       # draws, and what follows from them
    ```
    A text of {{n}} bytes ...

    ### Answer
    ... {{bits / n:.2f}} bits per byte ...

    ### Rubric
    - 5: the bits are divided by what both share
    - 3: ...

    ```python checks
    assert ...                          # the answer, computed another way
    ```

Names of the first block stand for their values in the text; it has `math` and `Fraction` at hand.
`figure` and `alt` there make a plot,
which the text shows by `{{figure}}`. The second block also has the code that the question and the
answer show, `question_code` and `answer_code`, so that a bug is seen to be one. The bank is code of
the course's own, like its checks.
"""

import io
import math
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from autograder.authoring.course import Course
from autograder.records import GraderError

FOLDER = "exam"
KINDS = {
    "derive": "derive or compute",
    "plot": "read a plot",
    "bug": "find the bug",
    "claim": "judge a claim",
}
DIFFICULTIES = ("easy", "medium", "hard")

_HEAD = re.compile(r"(\w+) · (\d+) points · (\d+) minutes · (\w+)")
_BLOCK = re.compile(r"^```python (numbers|checks)\n(.*?)^```$\n*", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_DRAWN = re.compile(r"\{\{(.+?)\}\}")
_PARTIAL = re.compile(r"^- (\d+): (.+(?:\n  .+)*)", re.MULTILINE)
_DPI = 160
_ATTEMPTS = 60


@dataclass(frozen=True)
class Question:
    """A question as the bank has it.

    Attributes:
        chapter: number in the book, from 1.
        place: file and title, for messages.
        kind: a key of `KINDS`.
        numbers: code that draws and computes.
        checks: code that proves the answer.
    """

    chapter: int
    place: str
    title: str
    kind: str
    points: int
    minutes: int
    difficulty: str
    text: str
    answer: str
    rubric: str
    numbers: str = ""
    checks: str = ""


@dataclass(frozen=True)
class Drawn:
    """A question with its numbers.

    Attributes:
        rubric: what earns how many points; they sum to the question's.
        figure: its plot as PNG, shown in the text as `figure.png`; None without one.
        alt: what the plot shows, in words.
    """

    question: Question
    text: str
    answer: str
    rubric: tuple[tuple[int, str], ...]
    figure: bytes | None = field(default=None, repr=False)
    alt: str = ""


def read_bank(course: Course) -> list[Question]:
    """Read all questions, in the order of the course's chapters.

    Raises:
        GraderError: if there are none, or one is not complete; says which and what is missing.
    """
    chapters = list(course.settings("syllabus").get("chapters", {}))
    folder = course.folder / FOLDER
    files = sorted(folder.glob("*.md"), key=lambda path: path.stem)
    for path in files:
        if path.stem not in chapters:
            raise GraderError(
                f"{path} belongs to no chapter; course.toml has, below [syllabus.chapters]: "
                f"{', '.join(chapters) or 'none'}"
            )
    questions = [
        question
        for number, name in enumerate(chapters, 1)
        if (folder / f"{name}.md") in files
        for question in _of_file(folder / f"{name}.md", number)
    ]
    if not questions:
        raise GraderError(f"{folder} has no questions: it must have a file for each chapter")
    return questions


def secret_texts(course: Course) -> dict[str, str]:
    """Return the prose of the bank by file: what students must not find in what they get."""
    return {
        f"{FOLDER}/{path.name}": _FENCED.sub("", path.read_text(encoding="utf-8"))
        for path in sorted((course.folder / FOLDER).glob("*.md"))
    }


def _of_file(path: Path, chapter: int) -> Iterable[Question]:
    for part in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        place = f"{path.name}: {title}"
        head, _, body = rest.partition("\n")
        match = _HEAD.fullmatch(head.strip())
        if match is None or match[1] not in KINDS or match[4] not in DIFFICULTIES:
            raise GraderError(
                f"{place}: {head!r} must look like 'derive · 8 points · 8 minutes · medium', with "
                f"one of {', '.join(KINDS)} and one of {', '.join(DIFFICULTIES)}"
            )
        code = {kind: block for kind, block in _BLOCK.findall(body)}
        parts = re.split(r"^### (Answer|Rubric)\n", _BLOCK.sub("", body), flags=re.MULTILINE)
        if parts[1::2] != ["Answer", "Rubric"]:
            raise GraderError(f"{place} must have '### Answer' and '### Rubric', in this order")
        text, answer, rubric = (words.strip() for words in parts[::2])
        question = Question(
            chapter, place, title.strip(), match[1], int(match[2]), int(match[3]), match[4],
            text, answer, rubric, code.get("numbers", ""), code.get("checks", ""),
        )  # fmt: skip
        total = sum(int(points) for points, _ in _PARTIAL.findall(rubric))
        if total != question.points:
            raise GraderError(f"{place}: its rubric sums to {total}, and it has {match[2]} points")
        yield question


# ------------------------------------------------------------------ numbers
def draw_question(question: Question, seed: int) -> Drawn:
    """Draw the numbers of a question, and prove its answer.

    Raises:
        GraderError: if its code fails, or its answer is not what the checks compute.
    """
    # Salted by the title: another question in the paper does not change this one's numbers.
    names: dict[str, Any] = {"math": math, "Fraction": Fraction}
    names["draw"] = random.Random(f"{seed}: {question.place}")
    _run(question, "numbers", question.numbers, names)
    picture = names.get("figure")
    alt = str(names.get("alt", ""))
    names["figure"] = f"![{alt}](figure.png)"
    text, answer, rubric = (
        _filled(question, part, names) for part in (question.text, question.answer, question.rubric)
    )
    names["question_code"] = _SHOWN.findall(text)
    names["answer_code"] = _SHOWN.findall(answer)
    _run(question, "checks", question.checks, names)
    partial = tuple((int(points), said) for points, said in _PARTIAL.findall(rubric))
    if picture is not None and (hidden := _outside(picture)):
        raise GraderError(f"{question.place}: its figure's axes cut off {hidden}")
    return Drawn(question, text, answer, partial, _png(picture), alt)


def _run(question: Question, kind: str, code: str, names: dict[str, Any]) -> None:
    try:
        exec(compile(code, f"{question.place}, {kind}", "exec"), names)
    except Exception as error:
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise GraderError(f"{question.place}: its {kind} fail: {said}") from error


def _filled(question: Question, text: str, names: dict[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        try:
            return str(eval(f"f'''{{{match[1]}}}'''", names))
        except Exception as error:
            raise GraderError(f"{question.place}: {match[0]} cannot be filled: {error}") from error

    return _DRAWN.sub(value, text)


def _outside(figure: Any) -> str:
    """Name a point of a curve that the axes do not show, so that nobody can read it off."""
    for axes in getattr(figure, "axes", ()):  # whatever can be saved as PNG is a figure
        (left, right), (low, high) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
        # Of a level across the axes, x is no value of the data.
        curves = [line for line in axes.get_lines() if line.get_transform() == axes.transData]
        for x, y in (point for line in curves for point in line.get_xydata()):
            if not (left <= x <= right and low <= y <= high):
                return f"the point ({x:g}, {y:g})"
    return ""


def _png(figure: Any) -> bytes | None:
    if figure is None:
        return None
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=_DPI, metadata={"Software": None})
    return stream.getvalue()


# ------------------------------------------------------------------ a paper
def choose(
    bank: Sequence[Question], minutes: int, chapters: Iterable[int], seed: int
) -> list[Question]:
    """Choose questions for so many minutes: spread over the chapters, and over the kinds.

    Raises:
        GraderError: if no question of these chapters is as short.
    """
    wanted = set(chapters)
    allowed = [question for question in bank if question.chapter in wanted]
    if missing := wanted - {question.chapter for question in allowed}:
        raise GraderError(f"the bank has no questions on chapter {sorted(missing)[0]}")
    rng = random.Random(f"paper {seed}")
    tried = [_one_choice(allowed, minutes, wanted, rng) for _ in range(_ATTEMPTS)]
    best = max(tried, key=lambda chosen: _quality(chosen, wanted))
    if not best:
        shortest = min(question.minutes for question in allowed)
        raise GraderError(f"minutes is {minutes}; the shortest question takes {shortest}")
    return sorted(best, key=bank.index)


def _one_choice(
    allowed: Sequence[Question], minutes: int, chapters: set[int], rng: random.Random
) -> list[Question]:
    left = list(allowed)
    rng.shuffle(left)
    spent, kinds = dict.fromkeys(chapters, 0), dict.fromkeys(KINDS, 0)
    chosen: list[Question] = []
    while fitting := [q for q in left if q.minutes <= minutes - sum(spent.values())]:
        # The chapter with the fewest minutes so far, then the kind; the shuffle decides the rest.
        best = min(fitting, key=lambda q: (spent[q.chapter], kinds[q.kind]))
        chosen.append(best)
        left.remove(best)
        spent[best.chapter] += best.minutes
        kinds[best.kind] += best.minutes
    return chosen


def _quality(chosen: Sequence[Question], chapters: set[int]) -> tuple[int, int, int]:
    """Order choices: chapters asked about, minutes used, then the rarest kind's minutes."""
    by_kind = [sum(q.minutes for q in chosen if q.kind == kind) for kind in KINDS]
    asked = len(chapters & {q.chapter for q in chosen})
    return asked, sum(q.minutes for q in chosen), min(by_kind)
