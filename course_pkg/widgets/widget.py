"""What every interactive figure is: an element of the page with its data, table and sentence.

A widget writes a custom element of the book (book/_assets/lm-*.js) that holds its data as JSON,
with the same numbers as a table inside. Where the element's script is missing, as in JupyterLab,
the table is what shows; where there is no HTML, a sentence.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from course_pkg.widgets.tables import table_html


@dataclass(frozen=True)
class Widget:
    """An element of the page with its data, its table and its sentence.

    Args:
        element: name of the custom element, such as "lm-guess-letter".
        data: what its script reads; anything that JSON can hold.
        alt: what the figure shows, in a sentence.
        header, rows: the same as a table.
        models: shipped models that the script computes with; the book's build puts their weights
            beside its scripts, where the script fetches them when the reader asks for it.
    """

    element: str
    data: Mapping[str, object]
    alt: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    models: Sequence[str] = ()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.alt}

    def to_html(self) -> str:
        """Return the element; `</` is escaped, since it would end the script around the JSON.

        Raises:
            ValueError: if the data has a number that is not finite, which no page could read.
        """
        try:
            payload = json.dumps(
                self.data, ensure_ascii=False, separators=(",", ":"), allow_nan=False
            )
        except ValueError as error:
            raise ValueError(
                f"the data of {self.element} has nan or inf; is a weight of the model not finite?"
            ) from error
        models = f' data-models="{" ".join(self.models)}"' if self.models else ""
        return (
            f'<{self.element} role="group" aria-label="{html.escape(self.alt)}"{models}>'
            f'<script type="application/json">{payload.replace("</", "<" + chr(92) + "/")}</script>'
            f"<details><summary>The same as a table</summary><p>{html.escape(self.alt)}</p>"
            f'<div class="lm-table" tabindex="0" role="region" aria-label="Table">'
            f"{table_html(self.header, self.rows)}</div></details></{self.element}>"
        )


def show_whitespace(symbol: str) -> str:
    r"""Return a symbol that can be seen: a space as ␣, a line break as ⏎, other controls as \xNN.

    Example:
        >>> show_whitespace(" a\n\t")
        '␣a⏎\\x09'
    """
    shown = symbol.replace(" ", "␣").replace("\n", "⏎")
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda match: f"\\x{ord(match[0]):02x}", shown)
