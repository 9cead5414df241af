"""Whether two names, or two identifiers, are one person's."""

import re
import unicodedata


def same_id(text: str) -> str:
    """Return an identifier as it is compared: spaces around it and capitals do not matter."""
    return unicodedata.normalize("NFC", text).strip().casefold()


def is_same_name(archived: str, name: str) -> bool:
    """Whether a name from an archive can be that of a roster; archives drop signs and spaces.

    A group's name may stand before it, and where marking is blind, both say "Participant".
    """
    short, full = _letters(archived), _letters(name)
    return bool(full) and short.endswith(full)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFC", text)).casefold()
