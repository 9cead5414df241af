"""The running table of the book, "The story so far", and the results that stand in it.

Each chapter has a file of rows here, one JSON object per line. It computes its rows anew whenever
it is built, and the build fails if they no longer agree; with the environment variable
COURSE_RECORD set, the new figures are written instead. What takes longer than a page may was
measured by a script of `benchmarks/` and is kept in the folder of that name here.
"""

import html
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from course_pkg.common.files import NOT_FINITE, as_json, write_atomically

COMPUTED, RECORDED = "computed here", "recorded"
"""What `Result.source` may say."""

RECORD = "COURSE_RECORD"
"""Environment variable: set it to replace the kept results by those computed now."""

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Result:
    """One row of the table.

    Attributes:
        chapter: slug of the chapter that adds it.
        model: what the model is called there.
        corpus: what it was tested on; only rows of one corpus may be compared.
        perplexity: per token, `<eos>` counted; inf where a token had no probability.
        bits_per_byte: of the test text; None where bytes were not counted.
        n_parameters: numbers that were learned (entries of a table, weights of a network).
        source: `COMPUTED` while the chapter is built, or `RECORDED` by a longer run.

    Raises:
        ValueError: a perplexity below 1, or an unknown source.
    """

    chapter: str
    model: str
    corpus: str
    perplexity: float | int
    bits_per_byte: float | int | None = None
    n_parameters: int | None = None
    source: str = COMPUTED

    def __post_init__(self) -> None:
        if not self.perplexity >= 1:
            raise ValueError(f"perplexity is {self.perplexity}; it must be at least 1")
        if self.source not in (COMPUTED, RECORDED):
            raise ValueError(f"source is {self.source!r}; it must be {COMPUTED!r} or {RECORDED!r}")

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a row the same row when a chapter is built again."""
        return self.chapter, self.model, self.corpus


_WORDS = {"ngrams": "n-grams", "gpt": "GPT", "bert": "BERT"}
"""What a chapter is called in the table where its slug is not simply its words."""


class StorySoFar:
    """A table of results that notebooks show as HTML and text editors as Markdown."""

    HEADINGS = ("chapter", "model", "corpus", "perplexity", "bits per byte", "parameters", "source")

    def __init__(self, results: Iterable[Result]) -> None:
        self.results = tuple(results)

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows as text, in the order of `HEADINGS`."""
        return [
            (
                _WORDS.get(r.chapter, r.chapter.replace("_", " ")),
                r.model,
                r.corpus,
                "∞" if math.isinf(r.perplexity) else f"{r.perplexity:,.2f}",
                "–" if r.bits_per_byte is None else f"{r.bits_per_byte:.3f}",
                "–" if r.n_parameters is None else f"{r.n_parameters:,}",
                r.source,
            )
            for r in self.results
        ]

    def _repr_markdown_(self) -> str:
        alignment = tuple("---:" if 3 <= i <= 5 else ":---" for i in range(len(self.HEADINGS)))
        rows = [self.HEADINGS, alignment, *self.cells()]
        return "\n".join(
            f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in rows
        )

    def _repr_html_(self) -> str:
        # A corpus that all rows share stands above the table, which is wide enough without it.
        corpora = {r.corpus for r in self.results}
        places = [i for i, h in enumerate(self.HEADINGS) if h != "corpus" or len(corpora) > 1]
        title = "The story so far" + (f": {corpora.pop()}" if len(corpora) == 1 else "")
        head = "".join(f'<th scope="col">{html.escape(self.HEADINGS[i])}</th>' for i in places)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(row[i])}</td>" for i in places) + "</tr>"
            for row in self.cells()
        )
        return (
            f'<table class="story-so-far"><caption>{html.escape(title)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def story_so_far(
    chapters: Iterable[str], *, corpus: str | None = None, folder: Path = _FOLDER
) -> StorySoFar:
    """Gather the rows of some chapters into the book's running table.

    Args:
        chapters: slugs, in the order of the book.
        corpus: only rows of this corpus.
        folder: where the files are.
    """
    rows = (row for slug in chapters for row in chapter_results(slug, folder))
    return StorySoFar(row for row in rows if corpus in (None, row.corpus))


def chapter_results(slug: str, folder: Path = _FOLDER) -> list[Result]:
    """Read the rows of a chapter; a chapter that has not been built yet has none.

    Raises:
        ValueError: a line that is not a result; the message names file and line.
    """
    path = folder / f"{slug}.jsonl"
    if not path.exists():
        return []
    known = {field.name for field in fields(Result)}
    results = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            if not row.keys() <= known:
                raise ValueError(f"has unknown fields {sorted(row.keys() - known)}")
            measured = {"perplexity", "bits_per_byte"} & row.keys()
            row |= {name: NOT_FINITE.get(row[name], row[name]) for name in measured}
            results.append(Result(**row))
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
    return results


def check_results(
    results: Sequence[Result],
    *,
    tolerance: float = 0.01,
    negligible: float = 0.0,
    folder: Path = _FOLDER,
) -> None:
    """Compare all rows of a chapter, computed now, with those kept; or keep them, if asked to.

    Args:
        results: all rows of one chapter.
        tolerance: largest relative difference of a perplexity or of bits per byte.
        negligible: absolute difference that is allowed as well: bits per byte may be near 0.
        folder: where the files are.

    Raises:
        ValueError: rows of several chapters, rows that differ from those kept, or a row that is
            only on one side.
    """
    slugs = {result.chapter for result in results}
    if len(slugs) != 1:
        raise ValueError(f"results are of the chapters {sorted(slugs)}; give those of one chapter")
    slug = slugs.pop()
    if os.environ.get(RECORD):
        lines = (as_json(asdict(row), ensure_ascii=False) for row in results)
        write_atomically(folder / f"{slug}.jsonl", "".join(f"{line}\n" for line in lines))
        return
    then = {row.key: row for row in chapter_results(slug, folder)}
    now = {row.key: row for row in results}
    if then.keys() != now.keys():
        keys = sorted(then.keys() ^ now.keys())
        raise ValueError(f"{slug}.jsonl and results differ in the rows {keys}; set {RECORD}=1")
    for key, row in now.items():
        for name in ("perplexity", "bits_per_byte"):
            new, old = getattr(row, name), getattr(then[key], name)
            if new != old and (
                None in (new, old)
                or not math.isclose(new, old, rel_tol=tolerance, abs_tol=negligible)
            ):
                raise ValueError(f"{name} of {key} is {new}; recorded is {old}; set {RECORD}=1")


def benchmark(name: str, folder: Path = _FOLDER) -> dict[str, Any]:
    """Return what the benchmark of this name has measured, with machine, date and command.

    Raises:
        FileNotFoundError: no such record; the message lists those there are.
    """
    path = folder / "benchmarks" / f"{name}.json"
    if not path.exists():
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.json")))
        raise FileNotFoundError(f"no benchmark {name!r} is recorded; there are: {there}")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
