"""What a gradebook's database raises, in words that say what to do."""

import contextlib
import re
import shlex
from collections.abc import Iterator

from nbgrader import api
from sqlalchemy.exc import SQLAlchemyError

from autograder.records import GraderError
from autograder.store.gradebook_address import shown_address, sqlite_file


@contextlib.contextmanager
def report_errors(url: str) -> Iterator[None]:
    """Turn what a database raises into something that an instructor can fix.

    Raises:
        GraderError: then; its cause is what was raised.
    """
    try:
        yield
    except (SQLAlchemyError, api.InvalidEntry, OSError, ValueError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        advice = next((then for sign, then in _ADVICE.items() if re.search(sign, reason, re.I)), "")
        file = sqlite_file(url)
        address = f"sqlite:///{file.absolute()}" if file is not None else shown_address(url)
        raise GraderError(
            f"the gradebook {shown_address(url)} cannot be used: {reason}"
            f"{advice.format(address=shlex.quote(address))}"
        ) from error


# What to do, by what SQLite, PostgreSQL and the network say.
_ADVICE = {
    r"database is locked": ". Another program writes to it: end that, formgrader perhaps, and run "
    "this again",
    r"readonly|read-only|unable to open|permission denied": ". Make the file and its folder "
    "writable for you, or name another gradebook with --db",
    r"no such (table|column)|has no column|column .* does not exist": ". It is of an older "
    "nbgrader: run `nbgrader db upgrade --db {address}`, then this again. It makes a copy beside "
    "the file first; should it ever break off, put that back before you try once more",
    r"upgrade .* broke off": ". Put the copy that `nbgrader db upgrade` made beside it in its "
    "place, run `nbgrader db upgrade --db {address}`, then this again",
    r"malformed|not a database|is empty": ". It is damaged: put the one of your backup in its "
    "place. Without one, move it away and grade again: the machine's points come back from the "
    "records, points given by hand do not",
    r"disk is full|no space left|quota": ". Make room on that disk and run this again",
    r"connection|could not translate|timeout|resolve host": ". Is the server running, and can this "
    "machine reach it? Check the address given with --db",
}
