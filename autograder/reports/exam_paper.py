"""An examination as Markdown: the paper, and its answers for those who grade."""

import base64
from collections.abc import Iterator, Sequence

from autograder.authoring.exam_bank import KINDS, Drawn


def paper_markdown(title: str, questions: Sequence[Drawn], seed: int) -> str:
    """Return the paper: questions with their points and minutes, and nothing of the answers."""
    return "\n".join([*_head(title, questions, seed), *_asked(questions)]) + "\n"


def answers_markdown(title: str, questions: Sequence[Drawn], seed: int) -> str:
    """Return each question with its answer and its rubric."""
    lines = [*_head(f"{title}: answers", questions, seed)]
    for number, drawn in enumerate(questions, 1):
        lines += [*_question(number, drawn), "", "**Answer.**", "", drawn.answer, "", "**Points.**"]
        lines += ["", *(f"- **{points}:** {said}" for points, said in drawn.rubric), ""]
        kind = KINDS[drawn.question.kind]
        lines += [f"*Chapter {drawn.question.chapter}; {kind}; {drawn.question.difficulty}.*"]
    return "\n".join(lines) + "\n"


def with_figure(drawn: Drawn, text: str, address: str = "") -> str:
    """Put a figure's address into a text, or the figure itself as a part of the page."""
    if drawn.figure is None:
        return text
    data = base64.b64encode(drawn.figure).decode()
    return text.replace("(figure.png)", f"({address or f'data:image/png;base64,{data}'})")


def _head(title: str, questions: Sequence[Drawn], seed: int) -> Iterator[str]:
    points = sum(drawn.question.points for drawn in questions)
    minutes = sum(drawn.question.minutes for drawn in questions)
    yield f"# {title}"
    yield ""
    yield f"{len(questions)} questions, {points} points, {minutes} minutes; variant {seed}."
    yield "A pocket calculator is allowed. Say how you found each answer."


def _asked(questions: Sequence[Drawn]) -> Iterator[str]:
    yield from ("", "Name: ____________________________________", "")
    for number, drawn in enumerate(questions, 1):
        yield from _question(number, drawn)


def _question(number: int, drawn: Drawn) -> Iterator[str]:
    asked = drawn.question
    yield from ("", f"## {number}. {asked.title} ({asked.points} points, {asked.minutes} minutes)")
    yield from ("", with_figure(drawn, drawn.text))
