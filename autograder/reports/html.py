"""How every page is made: templates that escape all text, one file each, nothing from elsewhere.

No page may load anything, and none runs a script but the one that it was made with: a content
security policy names that script by its hash, so that what a student wrote stays text even where a
template would have failed to escape it.
"""

import base64
import contextlib
import functools
import hashlib
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from autograder.authoring.workspace import keep_beside
from autograder.files import as_utf8, write_if_new
from autograder.untrusted import as_html, as_seen

_TEMPLATES = Path(__file__).parent / "templates"
# One that is not closed runs on to the end, also to a backslash that stands last there: whatever a
# student writes, no branch gives up after it has read far, so all are linear in the code's length.
PYTHON_STRING = (
    r'(?:\b[rbfuRBFU]{1,2})?(?:"""(?:\\[\s\S]?|(?!""")[^\\])*(?:"""|\Z)'
    r"|'''(?:\\[\s\S]?|(?!''')[^\\])*(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'(?:\\.|[^'\\\n])*'?)"
)
_TOKEN = re.compile(
    rf"(?P<s>{PYTHON_STRING})"
    r"|(?P<c>#[^\n]*)"
    r"|(?P<k>\b(?:False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else"
    r"|except|finally|for|from|global|if|import|in|is|lambda|match|nonlocal|not|or|pass|raise"
    r"|return|try|while|with|yield)\b)"
    r"|(?P<n>\b\d[\w.]*)"
)
_AS_MADE = b"\n<!-- as made: %s -->\n"
_MARK = _AS_MADE[: _AS_MADE.index(b"%")]
_MOST_PATHS = 10
_HIGHLIGHTED_CHARACTERS = 50_000
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def render(
    template: str, script: str = "", images: bool = False, posts: bool = False, **values: Any
) -> str:
    """Fill a template.

    Args:
        script: file beside the templates that the page may run; without one it runs none.
        images: whether the page may show images that lie in it.
        posts: whether the page may send its form to where it came from.
    """
    code = (_TEMPLATES / script).read_text(encoding="utf-8") if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    allowed = f"; script-src 'sha256-{digest}'" if script else ""
    allowed += "; img-src data:" if images else ""
    allowed += "; connect-src 'self'; form-action 'self'" if posts else "; form-action 'none'"
    return (
        _environment()
        .get_template(template)
        .render(script=Markup(code), allowed=Markup(allowed), **values)
    )


def write_page(path: Path, page: str, like: Path | None = None) -> Path | None:
    """Write a page; one in which somebody has written since it was made is kept beside it.

    Each page ends with the digest of its own text. One of an older version has none, so that nobody
    knows: it is kept unless it says what this one says.

    Args:
        like: as `write_if_new` takes it.

    Returns:
        Where the page stands that somebody may have changed; None if nobody had.
    """
    text = as_utf8(page)
    data = text + _AS_MADE % _digest(text)
    kept = keep_changed(path, data)
    write_if_new(path, data, like)
    return kept


def keep_changed(path: Path, new: bytes) -> Path | None:
    """Copy a page beside itself if somebody may have written in it; return where the copy is.

    Args:
        new: the page that takes its place.
    """
    with contextlib.suppress(FileNotFoundError):
        page = path.read_bytes()
        made, mark, _ = page.rpartition(_MARK)
        is_ours = page == made + _AS_MADE % _digest(made) if mark else page == _text_of(new)
        if not is_ours:
            return keep_beside(path, page)
    return None


def said_of_kept(kept: Iterable[Path | None]) -> list[str]:
    """Return the one line that says where it is what was kept; none if that is nothing."""
    paths = [str(path) for path in kept if path is not None]
    if not paths:
        return []
    more = f" and {len(paths) - _MOST_PATHS} more beside theirs" if len(paths) > _MOST_PATHS else ""
    return [
        "what was written anew had been edited by hand, or is of a version that could not tell; "
        f"the old text is kept as {', '.join(paths[:_MOST_PATHS])}{more}"
    ]


def _text_of(page: bytes) -> bytes:
    return page.rpartition(_MARK)[0] or page


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode()


def highlight(code: str) -> Markup:
    """Escape Python code and mark its strings, comments, keywords and numbers."""
    code = as_seen(code)
    if len(code) > _HIGHLIGHTED_CHARACTERS:
        return as_html(code)
    pieces, end = [], 0
    for match in _TOKEN.finditer(code):
        pieces.append(as_html(code[end : match.start()]))
        pieces.append(Markup('<span class="{}">{}</span>').format(match.lastgroup, match[0]))
        end = match.end()
    pieces.append(as_html(code[end:]))
    return Markup("").join(pieces)


def number(value: float) -> str:
    """Return a number of points with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def still_open(points: float) -> str:
    """Return how a total goes on to which people have yet to add, wherever it is shown."""
    return f", and {number(points)} more are still to be given" if points else ""


def duration(seconds: float) -> str:
    """Return a time in its largest unit, rounded up as penalties count it: "2 days"."""
    for unit, length in _UNITS:
        if seconds >= length or unit == "second":
            n = -int(-seconds // length)
            return f"{n} {unit}{'s' if n != 1 else ''}"
    raise AssertionError(seconds)


def late_days(n: int) -> str:
    """Return a number of late days in words: "2 late days"."""
    return f"{n} late day{'s' if n != 1 else ''}"


def when(time: str) -> str:
    """Return an ISO 8601 time as people read it, with its offset from UTC."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M UTC%z").removesuffix("+0000")


def _as_seen(value: Any) -> Any:
    """Clean what a template shows; what is markup was made from clean text."""
    return as_seen(value) if type(value) is str else value


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_as_seen,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "still_open": still_open,
        "highlight": highlight,
        "duration": duration,
        "late_days": late_days,
        "when": when,
    }
    return environment
