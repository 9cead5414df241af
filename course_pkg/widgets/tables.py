"""Tables of the page: rows under a header, escaped unless they are markup."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class Markup(str):
    """Text that is HTML already; a table shows it as it is."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Rows under a header, as a table of the page; see `table`."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.to_text()}

    def to_html(self) -> str:
        """Return the table in a region that scrolls where the page is too narrow for it."""
        return (
            '<div class="lm-table lm-whole" tabindex="0" role="region" '
            f'aria-label="{html.escape(", ".join(self.header))}">'
            f"{table_html(self.header, self.rows)}</div>"
        )

    def to_text(self) -> str:
        """Return one line per row, cells between bars."""
        return "\n".join(" | ".join(map(str, row)) for row in (self.header, *self.rows))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Show rows as a table of the page.

    Args:
        rows: cells are written as text, whatever they contain, unless they are `Markup`.

    Raises:
        ValueError: a row has more or fewer cells than the header.

    Example:
        >>> print(table(("n", "text"), [(1, "a < b")]).to_text())
        n | text
        1 | a < b
    """
    rows = [tuple(row) for row in rows]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"row {row} has {len(row)} cells; the header has {len(header)}")
    return Table(tuple(header), rows)


def table_html(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a header and rows as an HTML table."""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{_cells('th', header)}</tr></thead><tbody>{body}</tbody></table>"


def _cells(tag: str, cells: Iterable[object]) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    texts = (cell if isinstance(cell, Markup) else _escaped(str(cell)) for cell in cells)
    return "".join(f"<{tag}{scope}>{text}</{tag}>" for text in texts)


def _escaped(cell: str) -> str:
    """Return a cell's text as HTML; “5 ± 2” is one piece, which a wide page keeps on one line."""
    return re.sub(r"\S+ ± \S+", r'<span class="lm-pair">\g<0></span>', html.escape(cell))
