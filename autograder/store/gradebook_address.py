"""What an address of SQLAlchemy says of a gradebook, before anybody opens it."""

from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError


def sqlite_file(url: str) -> Path | None:
    """Return the file that an address of SQLAlchemy names; None for a server, or no address.

    Example:
        >>> sqlite_file("sqlite:////srv/class.db?timeout=30").as_posix()
        '/srv/class.db'
    """
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):  # the second of a port that is no number
        return None
    if address.get_backend_name() != "sqlite" or address.host or not address.database:
        return None
    is_uri = "uri" in address.query
    return Path(address.database.removeprefix("file:") if is_uri else address.database)


def shown_address(url: str) -> str:
    """Return a gradebook's address for people: a file's path, and no password of a server."""
    file = sqlite_file(url)
    if file is not None:
        return str(file)
    return url if "@" not in url else f"{url.split(':')[0]}://…@{url.rsplit('@', 1)[1]}"
