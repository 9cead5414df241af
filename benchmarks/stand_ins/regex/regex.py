r"""In place of regex: Python's own `re`, with \p{L}, \p{N} and regex's \s spelled out.

Both follow the Unicode of their release, so that letters of the last few years may differ.
"""

import re
import sys
import unicodedata
from functools import cache
from re import error, escape

__all__ = ["compile", "error", "escape", "split"]

_SPACES = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


@cache
def _ranges(kind: str) -> str:
    """All characters of a Unicode category, as the inside of a character class."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(kind):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in ranges)


def _translated(pattern: str) -> str:
    """Spell out what `re` does not know, inside of [...] and outside."""
    parts, is_inside = [], False
    for part in re.findall(r"\\p\{\w+\}|\\.|.", pattern, re.DOTALL):
        if part.startswith(r"\p{"):
            inner = _ranges(part[3:-1])
        elif part in (r"\s", r"\S"):
            inner = _SPACES
        else:
            parts.append(part)
            is_inside = (is_inside or part == "[") and part != "]"
            continue
        negated = "^" if part == r"\S" else ""
        if negated and is_inside:
            raise error(r"\S inside of [...] is not known here")
        parts.append(inner if is_inside else f"[{negated}{inner}]")
    return "".join(parts)


@cache
def compile(pattern: str) -> re.Pattern[str]:
    """Return the pattern, compiled."""
    return re.compile(_translated(pattern))


def split(pattern: str, text: str) -> list[str]:
    """Cut a text at the matches of a pattern."""
    return compile(pattern).split(text)
