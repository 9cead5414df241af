"""What goes wrong with one student's submission stays with that student."""

import errno
from dataclasses import replace

from autograder.inside import probe
from autograder.records import Grade, State
from autograder.untrusted import as_line

# What one file or folder can be the cause of. With any other error of the disk, nobody's outputs
# can be written, and going on would only say so once for each student.
_OF_ONE_FILE = {
    *(errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTEMPTY),
    *(errno.EACCES, errno.EPERM, errno.EILSEQ, errno.EINVAL),
}
_MOST_CHARACTERS = 300


def is_everybodys(error: Exception) -> bool:
    """Whether an error that one submission has met will meet all others, too."""
    return isinstance(error, OSError) and error.errno not in _OF_ONE_FILE


def describe(error: Exception) -> str:
    """Say what went wrong, on one line."""
    return as_line(probe.describe(error))[:_MOST_CHARACTERS]


def with_fault(grade: Grade, what: str) -> Grade:
    """Return a grade that says what went wrong after it was made; its points stay."""
    state = grade.state if grade.state is State.TAMPERED else State.GRADER_FAULT
    return replace(grade, state=state, reasons=(*grade.reasons, what))
