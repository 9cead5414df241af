"""Tables that papers published, as data, and ours beside them.

`published.json` holds them, with a source for each row. What was measured here
on less text with smaller models may stand below, if it says how it was measured.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).with_name("published.json")


@dataclass(frozen=True)
class PublishedTable:
    """A table of figures, to be shown with `widgets.table(it.header, it.rows)`.

    Attributes:
        title: what was measured.
        unit: of the figures.
        header: of the columns: the model, the figures, the source.
        rows: text; "–" where no figure was published.
        values: the figures as numbers, by model and column.
        remarks: what a reader should know before comparing.
    """

    title: str
    unit: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: Mapping[str, Mapping[str, float]]
    remarks: tuple[str, ...]


def published_table(
    name: str,
    ours: Mapping[str, Mapping[str, float | int]] | None = None,
    *,
    protocol: str | None = None,
) -> PublishedTable:
    """Return a published table, with ours in rows of their own below it.

    Args:
        name: "one_billion_word", "penn_treebank", "gpt_inference", "glue", "wmt14", "llama" or
            "in_context".
        ours: for each of our models its figures by column; columns may be missing.
        protocol: on what and how ours were measured; it stands where others have their source.

    Raises:
        ValueError: an unknown table or column, figures without a protocol or the reverse, or a
            model that the table has.

    Example:
        >>> published_table("glue").values["BERT-base"]["SST-2"]
        93.5
    """
    tables = json.loads(_FILE.read_text(encoding="utf-8"))
    if name not in tables:
        raise ValueError(f"name is {name!r}; the published tables are {', '.join(tables)}")
    if bool(ours) != bool(protocol):
        raise ValueError(
            f"ours has {len(ours or {})} models and protocol is {protocol!r}; figures of our own "
            "need a protocol, which says on what and how they were measured"
        )
    table = tables[name]
    columns: list[str] = table["columns"]
    values = {
        row["model"]: {c: v for c, v in zip(columns, row["values"], strict=True) if v is not None}
        for row in table["rows"]
    }
    sources = {row["model"]: row["source"] for row in table["rows"]}
    for model, figures in (ours or {}).items():
        if model in values:
            raise ValueError(f"ours has {model!r}, which the table has; give it a name of its own")
        unknown = figures.keys() - columns
        if unknown:
            raise ValueError(f"ours has the column {min(unknown)!r}; the table has {columns}")
        values[model], sources[model] = dict(figures), f"ours: {protocol}"
    rows = tuple(
        (model, *(f"{figures[c]}" if c in figures else "–" for c in columns), sources[model])
        for model, figures in values.items()
    )
    header = ("model", *columns, "source")
    remarks = tuple(table["remarks"])
    return PublishedTable(table["title"], table["unit"], header, rows, values, remarks)
