"""Commands for the instructor's desk: a syllabus, the course for a platform, an examination."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.authoring.course import Course, find_course_with_checks
from autograder.cli.options import json_option, note, report_errors, shown
from autograder.files import OwnFiles
from autograder.temporary import temporary_folder

if TYPE_CHECKING:
    from autograder.lms.cartridge import HandedOut

_PDF = click.option(
    "--pdf/--no-pdf",
    default=None,
    help="Also print it as PDF, by Chromium.  [default: if Chromium is installed]",
)


def _names(name: str) -> list[str]:
    """How a document's files are called."""
    return [f"{name}.{kind}" for kind in ("md", "html", "pdf")]


def _written(files: OwnFiles, name: str, title: str, markdown: str, pdf: bool | None) -> list[Path]:
    """Write a document as Markdown, as a page and, if wanted or possible, as PDF."""
    from autograder.reports.documents import chromium, page, print_pdf

    text, html, printed = _names(name)
    paths = [files.write(text, markdown.encode())]
    paths.append(files.write(html, page(title, markdown).encode()))
    if pdf or (pdf is None and chromium()):
        with temporary_folder("pdf") as scratch:
            print_pdf(paths[1], scratch / printed)
            paths.append(files.write(printed, (scratch / printed).read_bytes()))
    elif pdf is None:
        note(["no PDF: Chromium is not installed; the page can be printed from any browser"])
    return paths


@click.command(
    epilog="\b\nExamples:\n"
    "  autograder syllabus                       every calendar of course.toml\n"
    "  autograder syllabus --calendar 10         ten weeks\n"
    "  autograder syllabus --calendar workshop --out handouts\n\n"
    "\b\nEverything in it stands in course.toml: the calendar, weights and first day below\n"
    "[syllabus]; due dates, penalties, late days and the rule on assistants where grading reads\n"
    "them, too. What does not fit together, such as a due date in another week than the\n"
    "calendar's, is named."
)
@click.option("--calendar", "names", multiple=True, help="Of course.toml; can be repeated.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Output folder.  [default: _build/syllabus beside the course]",
)
@_PDF
@json_option
@click.pass_obj
@report_errors
def syllabus(
    folder: Path | None, names: tuple[str, ...], out: Path | None, pdf: bool | None, as_json: bool
) -> None:
    """Make the page to hand out on the first day: Markdown, HTML and PDF."""
    from autograder.authoring.syllabus import TABLE, calendars, read_syllabus
    from autograder.reports.syllabus_page import syllabus_markdown

    course = find_course_with_checks(folder)
    names = names or calendars(course)
    if not names:
        course.refuse(f"{TABLE}.calendars", {}, "it must have at least one calendar")
    out = out or shown(course.top / "_build" / "syllabus")
    syllabuses, paths = {name: read_syllabus(course, name) for name in names}, []
    files = OwnFiles(out, [one for name in syllabuses for one in _names(f"syllabus-{name}")])
    for name, read in syllabuses.items():
        note(f"calendar {name}: {doubt}" for doubt in read.doubts)
        title = read.words.get("title", "Syllabus")
        paths += _written(files, f"syllabus-{name}", title, syllabus_markdown(read), pdf)
    if as_json:
        click.echo(json.dumps([str(path) for path in paths], indent=1))
    else:
        for path in paths:
            click.echo(path)


@click.command(
    epilog="\b\nExamples:\n"
    "  autograder cartridge                      the first calendar of course.toml\n"
    "  autograder cartridge --calendar 10        ten weeks\n\n"
    "\b\nWhat it writes, into OUT:\n"
    "  course-14.imscc                    Common Cartridge 1.3, for Canvas and most others\n"
    "  course-14-moodle.imscc             version 1.1, which is what Moodle reads\n\n"
    "\b\nCanvas: Settings > Import Course Content > Common Cartridge 1.x Package. Assignments\n"
    "have points, dates and the kind of file they take, and stay unpublished until you act.\n"
    "Moodle: Course reuse > Restore. It has no assignments in this format: each is a page.\n"
    "Links lead to the book where course.toml says that it is, at [book] address."
)
@click.option("--calendar", "name", help="Of course.toml.  [default: its first]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Output folder.  [default: _build/cartridge beside the course]",
)
@json_option
@click.pass_obj
@report_errors
def cartridge(folder: Path | None, name: str | None, out: Path | None, as_json: bool) -> None:
    """Make the course for Canvas and Moodle: weeks, links, syllabus, assignments with dates."""
    from autograder.authoring.syllabus import TABLE, calendars, read_syllabus
    from autograder.lms import cartridge as lms

    course = find_course_with_checks(folder)
    name = name or next(iter(calendars(course)), None)
    if name is None:
        course.refuse(f"{TABLE}.calendars", {}, "it must have at least one calendar")
    syllabus = read_syllabus(course, name)
    wanted = {one for row in syllabus.rows for one in lms.handed_out(row)}
    sets = [_handed_out(course, one) for one in course.sets() if one in wanted]
    note(syllabus.doubts)
    if not syllabus.book:
        note(["no links to the book: course.toml does not say where it is, at [book] address"])
    for doubt, doubtful in {
        f"not in calendar {name}, so left out": [one for one in course.sets() if one not in wanted],
        "without a due date in course.toml": [one.name for one in sets if one.due is None],
    }.items():
        note([f"{doubt}: {', '.join(doubtful)}"] if doubtful else [])
    out = out or shown(course.top / "_build" / "cartridge")
    made = {
        f"course-{name}.imscc": lms.cartridge(syllabus, sets, "1.3"),
        f"course-{name}-moodle.imscc": lms.cartridge(syllabus, sets, "1.1"),
    }
    files = OwnFiles(out, made)
    paths = [files.write(file, data) for file, data in made.items()]
    if as_json:
        click.echo(json.dumps([str(path) for path in paths], indent=1))
    else:
        for path in paths:
            click.echo(path)


def _handed_out(course: Course, name: str) -> "HandedOut":
    """Return what students and graders read of a set."""
    from autograder.authoring.release import ReleasedSet
    from autograder.authoring.rubrics import rubric_of
    from autograder.authoring.syllabus import late_rule
    from autograder.lms.cartridge import HandedOut

    released = ReleasedSet(course, name)
    outline, policy = released.outline, released.policy
    lines = [f"Hand in `{name}.ipynb`, the notebook itself, under this name.", ""]
    lines += ["| task | points |", "|---|---|"]
    lines += [f"| {item.title} | {item.points:g} |" for item in outline.items]
    if released.files:
        lines += ["", f"Beside the notebook you are given {', '.join(released.files)}."]
    if policy.due:
        lines += ["", f"Due {policy.due:%a %d %b %Y, %H:%M %Z}. {late_rule(policy)}"]
    lines += ["", f"Assistants: {course.assistants(name)}"]
    rubric, dates = rubric_of(course, name), (policy.released, policy.due)
    return HandedOut(name, outline.heading, outline.points, "\n".join(lines), rubric, *dates)


def _chapters(context: click.Context, option: click.Parameter, value: str) -> list[int]:
    """Read "1-8" or "2,5,7-9"."""
    chapters: set[int] = set()
    for part in value.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise click.BadParameter(f"{part!r} is neither a chapter nor a range, such as 5 or 1-8")
        chapters.update(range(int(first), int(last or first) + 1))
    return sorted(chapters)


@click.command(
    epilog="\b\nExamples:\n"
    "  autograder exam --seed 7 --minutes 90 --chapters 1-8\n"
    "  autograder exam --seed 7 --numbers 8 --minutes 90 --chapters 1-8\n"
    "                                     the same questions with other numbers\n"
    "  autograder exam --seed 2 --minutes 120 --chapters 1-16 --title 'Final examination'\n\n"
    "\b\nWhat it writes, into OUT:\n"
    "  exam-7.md, .html, .pdf             the paper\n"
    "  exam-7-answers.md, .html, .pdf     answers, and what earns how many points\n"
    "  exam-7-canvas.zip                  QTI: import it in Canvas as a quiz\n"
    "  exam-7-moodle.xml                  import it into Moodle's question bank\n\n"
    "\b\nThe questions lie in the course's folder exam/, one Markdown file a chapter. Numbers are\n"
    "drawn from the seed; the code beside each answer computes it from them, and proves it in\n"
    "another way before a paper is written. Nothing of it is in the student edition."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Which questions.")
@click.option("--numbers", type=int, help="Which numbers in them.  [default: as --seed]")
@click.option("--minutes", type=click.IntRange(1), default=90, show_default=True)
@click.option(
    "--chapters", callback=_chapters, default="1-16", show_default=True, help="As 1-8 or 2,5,7-9."
)
@click.option("--title", default="Examination", show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Output folder.  [default: _build/exam beside the course]",
)
@_PDF
@json_option
@click.pass_obj
@report_errors
def exam(
    folder: Path | None,
    seed: int,
    numbers: int | None,
    minutes: int,
    chapters: list[int],
    title: str,
    out: Path | None,
    pdf: bool | None,
    as_json: bool,
) -> None:
    """Make an examination and its answers from the course's bank of questions."""
    from autograder.authoring.exam_bank import choose, draw_question, read_bank
    from autograder.lms.exam_export import canvas_qti, moodle_xml
    from autograder.reports.exam_paper import answers_markdown, paper_markdown

    course = find_course_with_checks(folder)
    variant = seed if numbers is None else numbers
    name = f"exam-{seed}" if variant == seed else f"exam-{seed}-{variant}"
    chosen = choose(read_bank(course), minutes, chapters, seed)
    drawn = [draw_question(question, variant) for question in chosen]
    exports = {"canvas.zip": canvas_qti(title, drawn), "moodle.xml": moodle_xml(title, drawn)}
    out = out or shown(course.top / "_build" / "exam")
    ends = [f"{name}-{end}" for end in exports]
    files = OwnFiles(out, [*_names(name), *_names(f"{name}-answers"), *ends])
    paths = _written(files, name, title, paper_markdown(title, drawn, variant), pdf)
    answers = answers_markdown(title, drawn, variant)
    paths += _written(files, f"{name}-answers", f"{title}: answers", answers, pdf)
    paths += map(files.write, ends, exports.values())
    if as_json:
        click.echo(json.dumps([str(path) for path in paths], indent=1))
        return
    spent, points = (sum(getattr(q, of) for q in chosen) for of in ("minutes", "points"))
    click.echo(f"{len(chosen)} questions, {points} points, {spent} of {minutes} minutes")
    for question in chosen:
        click.echo(
            f"  {question.chapter:>2} {question.kind:<7}{question.minutes:>3} min  {question.title}"
        )
    for path in paths:
        click.echo(path)
