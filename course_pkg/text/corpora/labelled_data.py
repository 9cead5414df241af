"""Text with answers: sentences and pairs with labels, translations, tagged words.

The standard data sets of the field, from a local folder or a public hub, read into three small
kinds of record. As with corpora, a name means one text, and the source is always stated. Where no
file and no network is at hand, `course_pkg.text.stories.tasks` draws data of the same shape.
Chapters: sequence to sequence and attention; fine-tuning.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from course_pkg.text.corpora.catalogue import (
    Catalogue,
    Dataset,
    DatasetInfo,
    Entry,
    has_counts,
    has_digest,
)
from course_pkg.text.corpora.sources import Splits, read_hub, read_local, split_by_digest
from course_pkg.text.corpora.written_data import ENTRIES, Written


@dataclass(frozen=True)
class Labelled:
    """A text, or a pair of texts, with its label; None where the answer is not published."""

    text: str
    label: str | None
    second: str | None = None


@dataclass(frozen=True)
class Parallel:
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True)
class Tagged:
    """The words of a sentence and one tag for each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


Record = Labelled | Parallel | Tagged | Written


@dataclass(frozen=True)
class Task(Dataset[Any]):
    """Records in three splits, and where they come from."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels or tags of the training (else validation) split, in alphabetical order."""
        records = self.train or self.valid
        return tuple(sorted({label for record in records for label in _labels(record)}))


def load_task(name: str, *, source: str = "auto", folder: str | Path | None = None) -> Task:
    """Load a labelled, parallel or tagged data set in three splits.

    Args:
        name: one of those in `list_tasks`.
        source: "local", "package", "generated" or "hub"; "auto" takes the first that works.
        folder: local folder of standard files (plain or .gz); default: COURSE_DATA.

    Raises:
        ValueError: an unknown name or source, a source that this text does not have, or a text
            that differs from the published one.
        SourceUnavailableError: no source can supply it here; the message lists each reason.
    """
    return TASKS.load(name, source=source, folder=folder)


def list_tasks() -> list[DatasetInfo]:
    """Return name, sources, size, licence and description of every data set."""
    return TASKS.rows()


def _labels(record: Record) -> Iterable[str]:
    if isinstance(record, Labelled):
        return () if record.label is None else (record.label,)
    return record.tags if isinstance(record, Tagged) else ()


def _rows(folder: Path | None, path: str, *, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the lines of a file; `split` on newlines alone, since text may hold other breaks."""
    text = read_local(folder, path, encoding=encoding).removesuffix("\n")
    return (line.removesuffix("\r") for line in text.split("\n"))


def _table(folder: Path | None, path: str) -> Iterator[dict[str, str]]:
    rows = _rows(folder, path)
    header = next(rows).split("\t")
    return (dict(zip(header, row.split("\t"), strict=True)) for row in rows)


def _pairs_from_table(
    folder: Path | None, paths: Sequence[str | None], first: str, second: str | None
) -> Splits:
    """Read tables with a header; GLUE's copies call the text of a single sentence by two names."""

    def read(path: str | None) -> list[Labelled]:
        if path is None:
            return []
        return [
            Labelled(
                row.get(first, row.get("content", "")).strip(),
                None if row["label"] in ("-", "-1") else _NAMES.get(row["label"], row["label"]),
                None if second is None else row[second].strip(),
            )
            for row in _table(folder, path)
        ]

    train, valid, test = map(read, paths)
    return train, valid, test


_NAMES = {"0": "negative", "1": "positive"}  # how the files of SST-2 write sentiment


def _sst2_sentences(folder: Path | None) -> Splits:
    """Read the classic sentence-level split: a digit, a space, the sentence."""

    def read(split: str) -> list[Labelled]:
        rows = _rows(folder, f"sst2/stsa.binary.{split}")
        return [Labelled(row[2:].strip(), _NAMES[row[0]]) for row in rows]

    return read("train"), read("dev"), read("test")


def _movie_reviews(folder: Path | None) -> Splits:
    """No split is published, so each sentence's digest decides."""
    halves = {"negative": "mr/rt-polarity.neg", "positive": "mr/rt-polarity.pos"}
    return split_by_digest(
        Labelled(row.strip(), label)
        for label, path in halves.items()
        for row in _rows(folder, path)
    )


def _our_films(_folder: Path | None) -> Splits:
    """Read our own sentences: twenty to learn from, eighty to be asked about, half of each good."""
    text = files("course_pkg.text.corpora").joinpath("our_films.tsv").read_text(encoding="utf-8")
    rows = (row.split("\t") for row in text.splitlines())
    records = [Labelled(sentence, label) for label, sentence in rows]
    return records[:20], [], records[20:]


def _questions(folder: Path | None) -> Splits:
    """Only training and test files exist; a tenth of the training questions is held out."""

    def read(path: str, encoding: str) -> list[Labelled]:
        rows = (row.partition(" ") for row in _rows(folder, path, encoding=encoding))
        return [Labelled(question.strip(), tag.split(":")[0]) for tag, _, question in rows]

    train, valid, rest = split_by_digest(read("trec/TREC.train", "latin-1"))
    return train + rest, valid, read("trec/TREC.test", "ascii")


def _multi30k(folder: Path | None, *, target: str) -> Splits:
    def read(split: str) -> list[Parallel]:
        sides = (list(_rows(folder, f"multi30k/{split}.{language}")) for language in ("en", target))
        return [Parallel(s.strip(), t.strip()) for s, t in zip(*sides, strict=True)]

    return read("train"), read("val"), read("test_2016_flickr")


def read_conllu(lines: Iterable[str]) -> list[Tagged]:
    """Read words and universal part-of-speech tags from CoNLL-U.

    Rows of joined words ("3-4") and of words that are only understood ("5.1") are left out: they
    carry no tag of their own.

    Args:
        lines: a file's lines; sentences are separated by empty ones.
    """
    sentences: list[Tagged] = []
    words: list[str] = []
    tags: list[str] = []
    for line in (*lines, ""):
        if line and line[0] != "#":
            columns = line.split("\t")
            if columns[0].isdigit():
                words.append(columns[1])
                tags.append(columns[3])
        elif not line and words:
            sentences.append(Tagged(tuple(words), tuple(tags)))
            words, tags = [], []
    return sentences


def capital_letters(articles: Iterable[str]) -> list[Tagged]:
    """Make a task whose labels cost nothing: which words of a text were written with a capital?

    Sentences of 8 to 24 words that end in a full stop lose their punctuation and capital letters;
    the tags are "capital" and "small", and "first" for the first word, whose capital says nothing.

    Example:
        >>> capital_letters(["In the year 1821 he saw Paris and died."])[0].words[-3:]
        ('paris', 'and', 'died')
    """
    found = []
    for article in articles:
        for sentence in re.split(r"(?<=[.!?])\s+", article):
            written = [word.strip('.,;:()"') for word in sentence.split()]
            if 8 <= len(written) <= 24 and sentence.endswith(".") and all(written):
                tags = ["capital" if word[0].isupper() else "small" for word in written]
                words = tuple(word.lower() for word in written)
                found.append(Tagged(words, ("first", *tags[1:])))
    return found


def _web_treebank(folder: Path | None) -> Splits:
    train, valid, test = (
        read_conllu(_rows(folder, f"ud_en_ewt/en_ewt-ud-{split}.conllu"))
        for split in ("train", "dev", "test")
    )
    return train, valid, test


def _from_hub(
    _folder: Path | None,
    *,
    path: str,
    config: str | None,
    splits: Sequence[str],
    record: Callable[[Mapping[str, Any]], Record | None],
) -> Splits:
    """Read three splits; rows for which `record` gives None are left out."""
    train, valid, test = (
        [r for row in read_hub(path, config, split) if (r := record(row)) is not None]
        for split in splits
    )
    return train, valid, test


def _hub_labelled(
    row: Mapping[str, Any], *, first: str, second: str | None, labels: Sequence[str]
) -> Labelled:
    """Turn a numbered label into its name; -1 marks an answer that is not published."""
    number = row["label"]
    label = labels[number] if number >= 0 else None
    return Labelled(row[first].strip(), label, None if second is None else row[second].strip())


def _hub_agreed(row: Mapping[str, Any], *, labels: Sequence[str]) -> Labelled | None:
    """SNLI marks by -1 the pairs on which its judges did not agree; nobody scores those."""
    if row["label"] < 0:
        return None
    return _hub_labelled(row, first="premise", second="hypothesis", labels=labels)


_GLUE_SPLITS = ("train", "validation", "test")
_TWO_WAY = ("entailment", "not_entailment")
_THREE_WAY = ("entailment", "neutral", "contradiction")


def _glue(
    config: str,
    *,
    first: str,
    second: str | None,
    labels: Sequence[str],
    splits: Sequence[str] = _GLUE_SPLITS,
) -> Callable[[Path | None], Splits]:
    record = partial(_hub_labelled, first=first, second=second, labels=labels)
    return partial(_from_hub, path="nyu-mll/glue", config=config, splits=splits, record=record)


def _multi30k_entry(target: str) -> Entry:
    local: Callable[[Path | None], Splits] = partial(_multi30k, target=target)
    hub: Callable[[Path | None], Splits] = partial(
        _from_hub,
        path="bentrevett/multi30k",
        config=None,
        splits=_GLUE_SPLITS,
        record=lambda row: Parallel(row["en"].strip(), row[target].strip()),
    )
    return Entry(
        loaders={"local": local, "hub": hub} if target == "de" else {"local": local},
        licence="non-commercial research and education",
        size="29,000 + 1,014 + 1,000 pairs",
        description=f"Multi30k: captions in English and {target} (Elliott et al. 2016), test 2016",
        origin={"local": "multi30k/*", "hub": "bentrevett/multi30k"},
        check=has_counts((29_000, 1_014, 1_000), len, "records"),
    )


_ENTRIES: dict[str, Entry] = {
    "sst2": Entry(
        loaders={
            "local": partial(
                _pairs_from_table,
                paths=[f"sst2/glue_{split}.tsv" for split in ("train", "dev", "test")],
                first="sentence",
                second=None,
            ),
            "hub": _glue("sst2", first="sentence", second=None, labels=("negative", "positive")),
        },
        licence="none stated; research use",
        size="67,349 + 872 + 1,821 phrases",
        description="Sentiment of film reviews, as GLUE has it: training phrases and sentences "
        "(Socher et al. 2013); the hub's test labels are hidden",
        origin={"local": "sst2/glue_*.tsv", "hub": "nyu-mll/glue"},
        check=has_counts((67_349, 872, 1_821), len, "records"),
    ),
    "sst2_sentences": Entry(
        loaders={"local": _sst2_sentences},
        licence="none stated; research use",
        size="6,920 + 872 + 1,821 sentences",
        description="Sentiment of film reviews, whole sentences only (Kim 2014)",
        origin={"local": "sst2/stsa.binary.*"},
        check=has_digest("4de9c805babc73f8e613c6232fbcdb367cf9a0f0faa8c2868d212bcf202e962b"),
    ),
    "our_films": Entry(
        loaders={"package": _our_films},
        licence="the course's own",
        size="20 + 80 sentences",
        description="Sentiment of films that do not exist: written for this course in 2026, so "
        "that no model published before can have read them",
        origin={"package": "course_pkg/text/corpora/our_films.tsv"},
        check=has_digest("0115bbec6dc8f39310c838e143b46e7b5576050789e41bb4600d3bd4e3d0acf9"),
    ),
    "mr": Entry(
        loaders={"local": _movie_reviews},
        licence="none stated; research use",
        size="10,662 sentences",
        description="Sentence polarity 1.0 of film reviews (Pang and Lee 2005)",
        origin={"local": "mr/rt-polarity.*"},
        check=has_digest("da796932a71426470f120351ea3cfcc51f7dd367159d8dc8d0b8cf63bea6fd0b"),
    ),
    "trec": Entry(
        loaders={"local": _questions},
        licence="none stated; research use",
        size="5,452 + 500 questions",
        description="Questions by kind of answer, six classes (Li and Roth 2002)",
        origin={"local": "trec/TREC.*"},
        check=has_digest("333c05ee78c4b74046e55b281ac48b11d4028f74483e800b856e380fb556a093"),
    ),
    "rte": Entry(
        loaders={
            "local": partial(
                _pairs_from_table,
                paths=[f"rte/{split}.tsv" for split in ("train", "dev", "test")],
                first="sentence1",
                second="sentence2",
            ),
            "hub": _glue("rte", first="sentence1", second="sentence2", labels=_TWO_WAY),
        },
        licence="none stated; research use",
        size="2,490 + 277 + 3,000 pairs",
        description="Does the first text entail the second (GLUE, Wang et al. 2019); test answers "
        "are hidden",
        origin={"local": "rte/*.tsv", "hub": "nyu-mll/glue"},
        check=has_counts((2_490, 277, 3_000), len, "records"),
    ),
    "mnli": Entry(
        loaders={
            "hub": _glue(
                "mnli",
                first="premise",
                second="hypothesis",
                labels=_THREE_WAY,
                splits=("train", "validation_matched", "validation_mismatched"),
            )
        },
        licence="OANC and others",
        size="392,702 + 9,815 + 9,832 pairs",
        description="Entailment, neutral, contradiction over many kinds of text (Williams et al. "
        "2018); matched development set for validation, mismatched for test",
        origin={"hub": "nyu-mll/glue"},
        check=has_counts((392_702, 9_815, 9_832), len, "records"),
    ),
    "snli_small": Entry(
        loaders={
            "local": partial(
                _pairs_from_table,
                paths=["snli/snli_dev.tsv", None, "snli/snli_test.tsv"],
                first="premise",
                second="hypothesis",
            )
        },
        licence="CC BY-SA 4.0",
        size="9,842 + 0 + 9,824 pairs",
        description="SNLI's development set (Bowman et al. 2015) to train on, and its test set",
        origin={"local": "snli/*.tsv"},
        check=has_digest("c5da20c7bf4e73c7f399f4b4a44ee75496b649fa0debc37303de334f7e8e5a09"),
    ),
    "snli": Entry(
        loaders={
            "hub": partial(
                _from_hub,
                path="stanfordnlp/snli",
                config=None,
                splits=_GLUE_SPLITS,
                record=partial(_hub_agreed, labels=_THREE_WAY),
            )
        },
        licence="CC BY-SA 4.0",
        size="549,367 + 9,842 + 9,824 pairs",
        description="Entailment, neutral, contradiction over captions (Bowman et al. 2015)",
        origin={"hub": "stanfordnlp/snli"},
        check=has_counts((549_367, 9_842, 9_824), len, "records"),
    ),
    "multi30k_de": _multi30k_entry("de"),
    "multi30k_fr": _multi30k_entry("fr"),
    "ud_en_ewt": Entry(
        loaders={"local": _web_treebank},
        licence="CC BY-SA 4.0",
        size="12,544 + 2,001 + 2,077 sentences",
        description="English web text with universal parts of speech (Silveira et al. 2014)",
        origin={"local": "ud_en_ewt/*.conllu"},
        check=has_digest("fd09a56a3fe115881a4d3be7b5465850f9ad964b1e2adddd8fa312600be2145e"),
    ),
}

TASKS = Catalogue("data sets", Task, _ENTRIES | ENTRIES)
