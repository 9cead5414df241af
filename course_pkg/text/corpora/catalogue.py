"""A catalogue: what each data set is, which sources can supply it, and how its text is verified.

A name means one text, so that a number computed on it means one thing: whichever source supplied
the text, its digest or its published counts must agree, and the caller is told which source it was.
Chapter: what is a language model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from course_pkg.text.corpora.sources import (
    SourceUnavailableError,
    Splits,
    digest,
    local_folder,
)

SOURCES = ("local", "package", "generated", "hub")
"""The order in which `source="auto"` tries them."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Dataset(Generic[Item]):
    """Records in three splits, and where they come from.

    Attributes:
        name: what the data set is called in this course.
        source: the source that supplied it here, as "kind: origin".
        licence: under which terms it may be used.
        description: what it is, and what one record is.
        train: records to learn from; may be empty where only a part is at hand.
        valid: records to choose settings by.
        test: records to report numbers on, once.
    """

    name: str
    source: str
    licence: str
    description: str
    train: list[Item] = field(repr=False)
    valid: list[Item] = field(repr=False)
    test: list[Item] = field(repr=False)

    def sha256(self) -> str:
        """Return the digest of all three splits: equal digests, equal text."""
        return digest((self.train, self.valid, self.test))


@dataclass(frozen=True)
class Entry:
    """One text and all ways to get it.

    Attributes:
        loaders: for each source, a function from the local folder (or None) to the three splits.
        check: raises ValueError unless the splits are the text that the name means.
        licence: under which terms the text may be used.
        size: how much text it is, for a reader.
        description: what it is, and what one record is.
        origin: who supplies it, by source.
    """

    loaders: Mapping[str, Callable[[Path | None], Splits]]
    licence: str
    size: str
    description: str
    origin: Mapping[str, str]
    check: Callable[[Splits], None] | None = None


AnyDataset = TypeVar("AnyDataset", bound=Dataset[Any])


@dataclass(frozen=True)
class DatasetInfo:
    """One row of a catalogue."""

    name: str
    sources: tuple[str, ...]
    size: str
    licence: str
    description: str


@dataclass(frozen=True)
class Catalogue(Generic[AnyDataset]):
    """Data sets of one kind by name.

    Attributes:
        kind: what they are called together, for messages.
        dataset: the class that a loaded one has.
        entries: what each is and how to get it.
    """

    kind: str
    dataset: type[AnyDataset]
    entries: dict[str, Entry]

    def rows(self) -> list[DatasetInfo]:
        """Return name, sources, size, licence and description of every data set."""
        return [
            DatasetInfo(name, tuple(entry.loaders), entry.size, entry.licence, entry.description)
            for name, entry in self.entries.items()
        ]

    def load(self, name: str, *, source: str, folder: str | Path | None) -> AnyDataset:
        """Do what `load_corpus` and `load_task` say."""
        if name not in self.entries:
            raise ValueError(f"name is {name!r}; the {self.kind} are {', '.join(self.entries)}")
        entry = self.entries[name]
        if source != "auto" and source not in SOURCES:
            raise ValueError(f"source is {source!r}; it must be 'auto' or one of {list(SOURCES)}")
        if source != "auto" and source not in entry.loaders:
            comes_from = sorted(entry.loaders)
            raise ValueError(f"source is {source!r}, but {name!r} comes from {comes_from}")
        local = local_folder(folder)
        reasons = []
        for candidate in SOURCES if source == "auto" else (source,):
            if candidate not in entry.loaders:
                continue
            try:
                splits = entry.loaders[candidate](local)
            except SourceUnavailableError as error:
                reasons.append(f"{candidate}: {error}")
                continue
            try:
                if entry.check is not None:
                    entry.check(splits)
            except ValueError as error:
                raise ValueError(f"{name!r} from source {candidate!r} {error}") from error
            supplied = f"{candidate}: {entry.origin[candidate]}"
            return self.dataset(name, supplied, entry.licence, entry.description, *splits)
        raise SourceUnavailableError(f"{name!r} is not available here. " + "; ".join(reasons))


def has_digest(expected: str) -> Callable[[Splits], None]:
    """Check the exact text."""

    def check(splits: Splits) -> None:
        found = digest(splits)
        if found != expected:
            raise ValueError(
                f"has sha256 {found}, but the course's text has {expected}: the files differ from "
                "the published ones, and numbers on them could not be compared"
            )

    return check


def has_counts(
    expected: tuple[int, ...], count: Callable[[list[Any]], int], unit: str
) -> Callable[[Splits], None]:
    """Check how much of something each split has, where only published counts are known."""

    def check(splits: Splits) -> None:
        found = tuple(count(split) for split in splits)
        if found != expected:
            raise ValueError(f"has {found} {unit} in its splits; {expected} are published")

    return check
