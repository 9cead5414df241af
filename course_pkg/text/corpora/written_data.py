"""Text to be written from a text: summaries, replies in a dialogue, descriptions of facts.

Where a class has one right answer, what is written has many: a record holds a source and what one
person or several wrote for it. Of DialogSum and E2E the names here mean the smaller files: what is
learned from is the development set, a tenth of it held out, so figures on it stand beside each
other and not beside published ones.
Chapters: sequence to sequence and attention; fine-tuning. Chen et al. 2021; Novikova et al. 2017.
"""

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_pkg.text.corpora.catalogue import Entry, has_digest
from course_pkg.text.corpora.sources import Splits, read_local, split_by_digest


@dataclass(frozen=True)
class Written:
    """A source, and what was written for it by one person or several."""

    source: str
    references: tuple[str, ...]


def read_dialogues(lines: Iterable[str]) -> list[Written]:
    """Read dialogues and their summaries from lines of JSON.

    Args:
        lines: each an object with "dialogue", turns on lines of their own, and either "summary" or
            "summary1", "summary2" and so on.
    """
    records = []
    for row in map(json.loads, filter(None, lines)):
        names = (
            ["summary"] if "summary" in row else sorted(n for n in row if n.startswith("summary"))
        )
        records.append(Written(row["dialogue"].strip(), tuple(row[n].strip() for n in names)))
    return records


def replies(dialogues: Iterable[Written]) -> list[Written]:
    """Make of each dialogue a record for every turn but the first: what was said before, and it."""
    records = []
    for dialogue in dialogues:
        turns = [turn.strip() for turn in dialogue.source.split("\n") if turn.strip()]
        records += [Written("\n".join(turns[:t]), (turns[t],)) for t in range(1, len(turns))]
    return records


def read_facts(lines: Iterable[str]) -> list[Written]:
    """Read facts and the sentences that say them from CSV with the columns "mr" and "ref".

    Rows of equal facts, which stand anywhere in the file, become one record.
    """
    said: dict[str, list[str]] = {}
    for row in csv.DictReader(lines):
        said.setdefault(row["mr"].strip(), []).append(row["ref"].strip())
    return [Written(facts, tuple(sentences)) for facts, sentences in said.items()]


def _lines(folder: Path | None, path: str) -> list[str]:
    return read_local(folder, path).split("\n")


def _held_out(records: list[Any], test: list[Any]) -> Splits:
    """Hold out a tenth of what is learned from; its record's digest decides."""
    train, valid, rest = split_by_digest(records)
    return train + rest, valid, test


def _dialogsum(folder: Path | None) -> Splits:
    dev, test = (
        read_dialogues(_lines(folder, f"dialogsum/dialogsum.{split}.jsonl"))
        for split in ("dev", "test")
    )
    return _held_out(dev, test)


def _replies(folder: Path | None) -> Splits:
    """Split by dialogue, so that no dialogue is partly learned and partly scored."""
    train, valid, test = map(replies, _dialogsum(folder))
    return train, valid, test


def _e2e(folder: Path | None) -> Splits:
    dev, test = (
        read_facts(_lines(folder, f"e2e_nlg/{name}.csv")) for name in ("devset", "testset_w_refs")
    )
    return _held_out(dev, test)


ENTRIES = {
    "dialogsum_small": Entry(
        loaders={"local": _dialogsum},
        licence="CC BY-NC-SA 4.0",
        size="446 + 54 + 500 dialogues",
        description="Summaries of everyday dialogues (DialogSum, Chen et al. 2021): the "
        "development set to learn from, and the test set with three summaries each",
        origin={"local": "dialogsum/*.jsonl"},
        check=has_digest("c2408fe0ca3a272c231ee8b51a79a3f8a631bd189f7989b71592868aed6c1673"),
    ),
    "dialogsum_replies": Entry(
        loaders={"local": _replies},
        licence="CC BY-NC-SA 4.0",
        size="3,709 + 481 + 4,353 turns",
        description="The next turn of the same dialogues, after all turns before it",
        origin={"local": "dialogsum/*.jsonl"},
        check=has_digest("dc810ef64f0133366a249b827b86b6f4dc22a059d4a98f98565774cc2a7678dc"),
    ),
    "e2e_small": Entry(
        loaders={"local": _e2e},
        licence="CC BY-SA 4.0",
        size="494 + 53 + 630 sets of facts",
        description="Facts about restaurants as sentences (E2E, Novikova et al. 2017): the "
        "development set to learn from, and the test set, each with several references",
        origin={"local": "e2e_nlg/*.csv"},
        check=has_digest("4cdd535ae639e7ff2681f8569f21e94e2497b2a04e8de01113a4afe943292878"),
    ),
}
"""What `load_task` knows of text that is to be written."""
