r"""Read docstrings as what they are: plain text with `code` in single backticks.

Sphinx reads them as reStructuredText, in which a|b|, x_ or *args would be markup. Outside of
backticks such characters are escaped here; a block indented under a paragraph is set verbatim.
"""

import re

from sphinx.application import Sphinx

CODE = re.compile(r"(`+[^`]+`+)")
MARKUP = re.compile(r"([*|]|(?<=\w)_(?!\w)|\\)")
SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes|Example|Examples|Note|Notes):\s*$")
NAME = re.compile(r"course_pkg(\.\w+)*|[A-Za-z_]\w*")


def plain(line: str) -> str:
    """Escape markup outside of backticks; only a name in backticks stays open to linking."""
    parts = []
    for part in CODE.split(line):
        if part.startswith("`"):
            inner = part.strip("`")
            parts.append(f"`{inner}`" if NAME.fullmatch(inner) else f"``{inner}``")
        else:
            parts.append(MARKUP.sub(r"\\\1", part))
    return "".join(parts)


def is_verbatim(line: str, previous: str, section: bool) -> bool:
    """Whether an indented line under a blank one is a drawing or table, not part of a section."""
    return not section and line.startswith("    ") and not previous.strip()


def read_plainly(lines: list[str]) -> list[str]:
    """Return reStructuredText that renders as the docstring reads."""
    out: list[str] = []
    in_section = in_block = False
    for line in lines:
        if SECTION.match(line):
            in_section, in_block = True, False
        elif line.strip() and not line.startswith(" "):
            in_section = in_block = False
        elif not in_block and is_verbatim(line, out[-1] if out else "", in_section):
            in_block = True
            out += ["::", ""]
        verbatim = in_block or line.lstrip().startswith((">>>", "..."))
        out.append(line if verbatim else plain(line))
    return out


def process(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Rewrite one docstring in place, before napoleon turns its sections into fields."""
    lines[:] = read_plainly(lines)


def setup(app: Sphinx) -> None:
    """Run before napoleon, which has the default priority of 500."""
    app.connect("autodoc-process-docstring", process, priority=100)
