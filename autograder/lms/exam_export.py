"""An examination for Canvas (QTI) and for Moodle (its XML): written answers, graded by hand."""

import base64
import io
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from autograder.authoring.exam_bank import Drawn
from autograder.records import GraderError
from autograder.reports.documents import fragment
from autograder.reports.exam_paper import with_figure
from autograder.temporary import temporary_folder

_LINES = "15"


def moodle_xml(category: str, questions: Sequence[Drawn]) -> bytes:
    """Return questions as Moodle's question bank imports them: essays with notes for graders."""
    quiz = ET.Element("quiz")
    heading = ET.SubElement(quiz, "question", type="category")
    _text(ET.SubElement(heading, "category"), f"$course$/{category}")
    for drawn in questions:
        asked = drawn.question
        essay = ET.SubElement(quiz, "question", type="essay")
        _text(ET.SubElement(essay, "name"), asked.title)
        text = ET.SubElement(essay, "questiontext", format="html")
        _text(text, fragment(with_figure(drawn, drawn.text, "@@PLUGINFILE@@/figure.png")))
        if drawn.figure is not None:
            file = ET.SubElement(text, "file", name="figure.png", path="/", encoding="base64")
            file.text = base64.b64encode(drawn.figure).decode()
        _text(ET.SubElement(essay, "generalfeedback", format="html"), "")
        values: dict[str, object] = {"defaultgrade": asked.points, "penalty": 0, "hidden": 0}
        values |= {"responseformat": "editor", "responserequired": 1}
        values |= {"responsefieldlines": _LINES, "attachments": 0, "attachmentsrequired": 0}
        for tag, value in values.items():
            ET.SubElement(essay, tag).text = str(value)
        _text(ET.SubElement(essay, "graderinfo", format="html"), fragment(_for_graders(drawn)))
        _text(ET.SubElement(essay, "responsetemplate", format="html"), "")
        tags = ET.SubElement(essay, "tags")
        for tag in (f"chapter {asked.chapter}", asked.kind, asked.difficulty):
            _text(ET.SubElement(tags, "tag"), tag)
    ET.indent(quiz)
    written: bytes = ET.tostring(quiz, encoding="utf-8", xml_declaration=True)
    return written


def canvas_qti(title: str, questions: Sequence[Drawn]) -> bytes:
    """Return questions as a QTI archive, which Canvas imports as a quiz.

    Answers are not in it: Canvas shows an essay's remarks to students.

    Raises:
        GraderError: if text2qti, which writes it, is not installed.
    """
    try:
        from text2qti.config import Config
        from text2qti.qti import QTI
        from text2qti.quiz import Quiz
    except ImportError:
        raise GraderError(
            "text2qti writes QTI, and it is not installed: pip install text2qti"
        ) from None
    with temporary_folder("exam") as folder:
        lines = [f"Quiz title: {title}", ""]
        for number, drawn in enumerate(questions, 1):
            figure = folder / f"figure-{number}.png"
            if drawn.figure is not None:
                figure.write_bytes(drawn.figure)
            lines += [f"Title: {drawn.question.title}", f"Points: {drawn.question.points}"]
            lines += [
                _indented(f"{number}.", with_figure(drawn, drawn.text, str(figure))),
                "____",
                "",
            ]
        source = "\n".join(lines)
        quiz = Quiz(source, config=Config(), source_name=title)
        stream = io.BytesIO()
        QTI(quiz).write(stream)
        return stream.getvalue()


def _indented(number: str, text: str) -> str:
    """Return a text as text2qti wants it: all lines below the first begin where that begins."""
    first, *others = text.splitlines()
    indent = " " * (len(number) + 2)
    return "\n".join(
        [f"{number}  {first}", *(f"{indent}{line}" if line else "" for line in others)]
    )


def _for_graders(drawn: Drawn) -> str:
    points = "\n".join(f"- **{points}:** {said}" for points, said in drawn.rubric)
    return f"{drawn.answer}\n\n{points}"


def _text(parent: ET.Element, text: str) -> None:
    ET.SubElement(parent, "text").text = text
