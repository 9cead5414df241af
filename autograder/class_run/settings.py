"""How a class is graded, whatever its submissions are."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from autograder.grading.grader import Confinement
from autograder.intake.layouts import Layout
from autograder.store.gradebook_address import sqlite_file


@dataclass(frozen=True)
class Settings:
    """How a class is graded.

    Attributes:
        out: folder below which everything is written.
        database: address of nbgrader's gradebook; empty for a SQLite file in `out`.
        jobs: processes that grade at the same time.
        resume: take over records that were made from the same things.
        layout: how the submissions are named; recognised by their names if None.
        replace: write over points that nbgrader itself has given; what people gave always stays.
        times: file that says when students handed in, where the delivery does not.
        scheduler: address of a Dask scheduler whose workers grade; empty for `jobs` processes here.
    """

    out: Path
    database: str = ""
    jobs: int = 1
    resume: bool = True
    confinement: Confinement = field(default_factory=Confinement)
    layout: Layout | None = None
    scheduler: str = ""
    replace: bool = False
    times: Path | None = None

    @property
    def url(self) -> str:
        """Address of the gradebook."""
        return self.database or f"sqlite:///{(self.out / 'gradebook.db').resolve()}"

    @property
    def has_no_gradebook(self) -> bool:
        """Whether the gradebook is a file that is still to be made."""
        path = sqlite_file(self.url)
        return path is not None and not path.exists()

    def hiding(self, submissions: Path) -> Self:
        """Hide what this run reads and writes from student code, wherever it lies."""
        private = [self.out, submissions]
        gradebook = sqlite_file(self.url)
        if gradebook is not None:
            # SQLite writes beside it.
            private += [Path(f"{gradebook}{end}") for end in ("", "-journal", "-wal", "-shm")]
        hidden = (*self.confinement.private, *(path.resolve() for path in private))
        return replace(self, confinement=replace(self.confinement, private=hidden))
