"""One sanitiser for each place where text that a student may have chosen is shown.

    as_html       a page, a comment on a learning platform
    as_markdown   a notebook that formgrader renders
    as_cell       a table that a spreadsheet opens
    as_line       a terminal

Each keeps the text readable and takes from it whatever its reader would act upon. What needs more
than one of them passes through each, in the order in which it is read.
"""

import html
import re
import string
import unicodedata

from markupsafe import Markup, escape

_BREAK = "\u200b"  # zero width: seen by a parser, not by a person
_IGNORED = re.compile(r"[^\x21-\x7e]|[\\<]")
_SCHEMES = ("http", "https", "mailto")
_LONGEST_SCHEME = 100
_LONGEST_NUMBER = len("&#x10ffff;")
_FORMULA_COMMANDS = "bbox|class|cssId|data|definecolor|fcolorbox|href|mmlToken|require|style|url"
REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Signs nobody sees by which the rest of a line is shown in another order: 0.51 for 15.0."""
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{REORDERING}]")
_MOST_MARKS = 5  # of a letter: Hebrew with vowels and accents has four
_LETTERS = frozenset(string.ascii_letters)
_NUMBER = re.compile(r"[+-]?\d*[.,]?\d*%?")  # or a dash
# The start of what may become a cell, and the sign by which it would be a formula.
_CELL_START = re.compile(r'((?:^|[;\t\n])[;\s"]*+)([=+@\-\uff1d\uff0b\uff20\uff0d]?)')


def as_html(text: str) -> Markup:
    """Return text as an element or a quoted attribute of a page may hold it."""
    return escape(as_seen(text))


def as_seen(text: str) -> str:
    """Return text of several lines as it stands, without signs that only control how it is shown.

    They are replaced: zero bytes, which no page may hold, escapes, and what shows the rest of a
    line in another order, so that code reads otherwise than it runs.
    """
    return without_stacks(_CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")))


def without_stacks(text: str) -> str:
    """Return text in which no letter bears so many accents that they cover the lines above it."""
    if text.isascii():
        return text
    kept, n_marks = [], 0
    for char in text:
        is_mark = char > "\u02ff" and unicodedata.category(char) in ("Mn", "Me")
        n_marks = n_marks + 1 if is_mark else 0
        if n_marks <= _MOST_MARKS:
            kept.append(char)
        elif n_marks == _MOST_MARKS + 1:
            kept.append("\ufffd")
    return "".join(kept)


def as_markdown(text: str) -> str:
    """Return Markdown that a page may render: its words and formulas, but no markup of its own.

    Tags become text, images and links that lead elsewhere than to the web or a mailbox become
    text, and so do the commands by which a formula carries a link or a style. An invisible
    character breaks what would act; so `<eos>`, which browsers would swallow, is seen.
    """
    text = as_seen(text)
    text = re.sub(r"<(?=[A-Za-z/!?])", f"<{_BREAK}", text)
    text = text.replace("![", f"!{_BREAK}[")
    text = re.sub(r"&(?:#\w+|\w+);?", _without_disguise, text)
    text = re.sub(rf"\\(?=(?:{_FORMULA_COMMANDS})(?![A-Za-z]))", rf"\\{_BREAK}", text)
    return re.sub(r"\](?=[(:])", _without_strange_scheme, text)


def _without_disguise(entity: re.Match[str]) -> str:
    r"""Break an entity that stands for what a formula begins with, or for a part of a command.

    Nobody needs the number of a letter; and `\h&#114;ef`, outside what Markdown takes for a
    formula, would be a command once the page is there.
    """
    is_number = entity[0].startswith("&#")
    spells = _LETTERS if is_number else frozenset()
    # A number that is longer than any letter's has zeros before it, or is none that can be read.
    hidden = (is_number and len(entity[0]) > _LONGEST_NUMBER) or (
        set(html.unescape(entity[0])) & (spells | set("\\$"))
    )
    return f"&{_BREAK}{entity[0][1:]}" if hidden else entity[0]


def _without_strange_scheme(bracket: re.Match[str]) -> str:
    """Part the bracket after a link's text, or a reference's name, from where it leads."""
    start = bracket.end() + 1
    target = bracket.string[start : start + _LONGEST_SCHEME]
    # As generously as any parser and any browser may read it.
    if "&" in target:
        target = html.unescape(html.unescape(target))
    bare = _IGNORED.sub("", target)
    scheme = re.split("[:/?#)]", bare, maxsplit=1)[0]
    end = bare[len(scheme) : len(scheme) + 1]
    is_strange = end == ":" and scheme.lower() not in _SCHEMES
    is_endless = not end and start + _LONGEST_SCHEME < len(bracket.string)
    return f"]{_BREAK}" if is_strange or is_endless else "]"


def as_cell(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe stands before its sign.

    Also where a spreadsheet splits it at semicolons, as it does where decimals have commas, or at
    tabs and ends of lines. What is not text is returned as it is.
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return _CELL_START.sub(_as_text, as_seen(value))


def _as_text(start: re.Match[str]) -> str:
    return f"{start[1]}'{start[2]}" if start[2] else start[1]


def as_line(text: str) -> str:
    """Return text on one line of which a terminal obeys nothing."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
