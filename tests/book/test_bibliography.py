"""The bibliography is read whole: a brace that is missing would swallow the entry behind it."""

import re
from pathlib import Path

from pybtex.database import parse_file

BOOK = Path(__file__).parents[2] / "book"
ENTRIES = re.findall(r"^@\w+\{([^,]+),", (BOOK / "references.bib").read_text("utf-8"), flags=re.M)


def test_every_entry_is_read():
    assert list(parse_file(str(BOOK / "references.bib")).entries) == ENTRIES


def test_what_is_cited_is_there():
    pages = [path.read_text("utf-8") for path in BOOK.rglob("*.md")]
    cited = {
        key.strip()
        for page in pages
        for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", page)
        for key in keys.split(",")
    }
    assert cited - set(ENTRIES) == set()
