"""The running table of the book, "The story so far": one row a model, saved where it was measured.

Rows are kept as JSON, one a line, so that a chapter appends its own and reads all earlier ones. A
row says whether its figures were computed by the chapter or recorded by a longer run.
"""

import html
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from course_pkg.files import write_atomically

COMPUTED, RECORDED = "computed here", "recorded"
"""What `Result.source` may say."""


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


class StorySoFar:
    """A table of results that notebooks show as HTML and text editors as Markdown."""

    HEADINGS = ("chapter", "model", "corpus", "perplexity", "bits per byte", "parameters", "source")

    def __init__(self, results: Iterable[Result]) -> None:
        self.results = tuple(results)

    def __len__(self) -> int:
        return len(self.results)

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows as text, in the order of `HEADINGS`."""
        return [
            (
                r.chapter,
                r.model,
                r.corpus,
                "∞" if math.isinf(r.perplexity) else f"{r.perplexity:,.2f}",
                "–" if r.bits_per_byte is None else f"{r.bits_per_byte:.3f}",
                "–" if r.n_parameters is None else f"{r.n_parameters:,}",
                r.source,
            )
            for r in self.results
        ]

    def to_markdown(self) -> str:
        """Return the table as Markdown; a bar inside a cell is escaped."""
        alignment = tuple("---:" if 3 <= i <= 5 else ":---" for i in range(len(self.HEADINGS)))
        rows = [self.HEADINGS, alignment, *self.cells()]
        return "\n".join(
            f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in rows
        )

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(h)}</th>' for h in self.HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.cells()
        )
        return (
            '<table class="story-so-far"><caption>The story so far</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def append_result(path: str | Path, result: Result) -> None:
    """Add a row to a file of results; a row of the same chapter, model and corpus is replaced."""
    results = [r for r in read_results(path) if r.key != result.key] if Path(path).exists() else []
    lines = (json.dumps(asdict(r), ensure_ascii=False) for r in [*results, result])
    write_atomically(path, "".join(f"{line}\n" for line in lines))


def read_results(path: str | Path) -> list[Result]:
    """Read a file of results.

    Raises:
        ValueError: a line that is not a result; the message names file and line.
    """
    known = {field.name for field in fields(Result)}
    results = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            if not row.keys() <= known:
                raise ValueError(f"has unknown fields {sorted(row.keys() - known)}")
            results.append(Result(**row))
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
    return results


def story_so_far(
    paths: Sequence[str | Path], *, corpus: str | None = None, until: str | None = None
) -> StorySoFar:
    """Gather the rows of saved results into the book's running table.

    Args:
        paths: files of results, in the order of the chapters; a missing one is skipped, because a
            reader may open any chapter first.
        corpus: only rows of this corpus.
        until: slug of the last chapter to show.
    """
    results = [r for path in paths if Path(path).exists() for r in read_results(path)]
    if until is not None:
        last = max((i for i, r in enumerate(results) if r.chapter == until), default=-1)
        results = results[: last + 1]
    return StorySoFar(r for r in results if corpus in (None, r.corpus))
