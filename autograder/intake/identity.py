"""Whether two names, or two identifiers, are one person's."""

import re
import unicodedata


def same_id(text: str) -> str:
    """Return an identifier as it is compared: spaces around it and capitals do not matter."""
    return unicodedata.normalize("NFC", text).strip().casefold()


def without_digest(student: str) -> str:
    """Drop the digest that keeps a name apart of which something was replaced."""
    return re.sub(r"~[0-9a-f]{8}\Z", "", student)


def name_and_number(student: str) -> tuple[str, str]:
    """Split a learning platform's `name_number`, whatever was replaced in it."""
    name, _, number = without_digest(student).rpartition("_")
    return name, number


def is_same_name(archived: str, name: str) -> bool:
    """Whether a name from an archive can be that of a roster; archives drop signs and spaces.

    A group's name may stand before it, and where marking is blind, both say "Participant".
    """
    short, full = _letters(archived), _letters(name)
    return bool(full) and short.endswith(full)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFC", text)).casefold()
