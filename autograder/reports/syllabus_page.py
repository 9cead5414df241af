"""The syllabus as Markdown, from which its page and its PDF are made."""

from collections.abc import Iterator

from autograder.authoring.syllabus import Row, Syllabus


def syllabus_markdown(syllabus: Syllabus) -> str:
    """Return the syllabus as a page to hand out."""
    return "\n".join(_lines(syllabus)) + "\n"


def _lines(syllabus: Syllabus) -> Iterator[str]:
    words = syllabus.words
    yield f"# {words.get('title', 'Syllabus')}"
    yield ""
    for key in ("instructor", "contact", "place", "prerequisites"):
        if key in words:
            yield f"- **{key.capitalize()}:** {words[key]}"
    if syllabus.book:
        yield f"- **Book:** <{syllabus.book}>"
    yield from ("", "## Calendar", "")
    yield from _calendar(syllabus)
    if syllabus.weights:
        yield from ("", "## What counts", "", "| part | weight |", "|---|---|")
        yield from (f"| {part} | {weight:g} % |" for part, weight in syllabus.weights.items())
    if syllabus.late:
        yield from ("", "## Late work", "")
        yield from syllabus.late
    yield from ("", "## Assistants", "", syllabus.assistants[""])
    own = {name: rule for name, rule in syllabus.assistants.items() if name}
    yield from (f"\nIn {name}: {rule}" for name, rule in own.items())


def _calendar(syllabus: Syllabus) -> Iterator[str]:
    dated = any(row.day for row in syllabus.rows)
    first = ["when", "date"] if dated else ["when"]
    yield "| " + " | ".join([*first, "lecture and reading", "sets, examinations, events"]) + " |"
    yield "|" + "---|" * (len(first) + 2)
    for row in syllabus.rows:
        day = [f"{row.day:%a %d %b %Y}" if row.day else ""] if dated else []
        cells = [row.when, *day, _reading(row, syllabus.book), "; ".join(row.events)]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _reading(row: Row, book: str) -> str:
    entries = []
    for number, name, title in row.chapters:
        label = f"[{title}]({book}chapters/{name}.html)" if book else title
        entries.append(f"{number}. {label}")
    return "; ".join(entries)
