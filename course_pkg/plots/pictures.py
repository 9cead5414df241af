"""The style of the book's figures, and how a figure becomes a picture in a page.

`show` writes a figure as SVG whose colours follow the page's light or dark theme and whose text
stays text, with a sentence for readers who cannot see it and a PNG where there is no page.
The colours differ in lightness as well as hue (Okabe & Ito 2008, darkened until each can carry
a label).
"""

import base64
import html
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

SERIES = ("#0067a3", "#b84c00", "#00745a", "#a3457f", "#7a6000", "#5b52a8")
"""Colours of the first, second, ... line on a light page; the book's style sheet has dark twins
under the names --lm-series-1, --lm-series-2, ..."""

MUTED = "#5c6470"
"""For what stays in the background: floors, baselines."""

INK = "#000000"
"""Becomes the colour of the surrounding text."""

WIDTH, HEIGHT = 5.4, 3.2
"""Inches at which type of 10 points is legible on a phone: 390 pixels across are just as wide."""

PHONE, LEAST_LABEL = 390, 9.95
"""Pixels: the width of a phone, and a label on it: ten, as far as one can tell, so that a figure of
the usual width need not scroll for the pixel that its outer lines take."""

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=SERIES),
    "grid.color": INK,
    "grid.alpha": 0.12,
    "grid.linewidth": 0.7,
    "lines.linewidth": 2.0,
    "lines.markersize": 5.0,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
}
Numbers = Sequence[Any] | np.ndarray | Tensor
"""A list (nested for a table), a range, an array, or a tensor on the CPU."""


@dataclass(frozen=True)
class Picture:
    """A finished figure: what a notebook or the book shows of it."""

    svg: str
    png: bytes
    alt: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {
            "text/html": _framed(self.svg),
            "image/png": base64.b64encode(self.png).decode(),
            "text/plain": self.alt,
        }


def show(figure: Figure, *, alt: str) -> Picture:
    """Finish a figure.

    Args:
        alt: what the figure shows, in a sentence or two, for readers who cannot see it; name the
            quantities and the finding, not the colours.

    Raises:
        ValueError: the alternative text is empty, or the figure none.
    """
    if not isinstance(figure, Figure):
        raise ValueError(f"figure is {type(figure).__name__}; it must be a matplotlib figure")
    if not alt.strip():
        raise ValueError(f"alt is {alt!r}; describe what the figure shows in a sentence")
    svg, png = io.StringIO(), io.BytesIO()
    # The salt makes ids the same at every build and different between figures of one page.
    # A figure that has no layout engine would be given one between the two files.
    style = {**STYLE, "figure.constrained_layout.use": False, "svg.hashsalt": alt}
    with mpl.rc_context(style):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        # A margin would make the drawing, and with it all type, smaller on a phone.
        figure.savefig(svg, format="svg", bbox_inches="tight", pad_inches=0.01, metadata=nothing)
        figure.savefig(png, format="png", bbox_inches="tight", dpi=144, facecolor="white")
    return Picture(_inline_svg(svg.getvalue(), alt), png.getvalue(), alt)


def _inline_svg(svg: str, alt: str) -> str:
    """Make matplotlib's file a part of a page: themed, scalable, described, self-contained."""
    svg = svg[svg.index("<svg") :]
    # A style element inside a page styles the whole page; ids of groups repeat between figures.
    svg = re.sub(r"<style.*?</style>|<metadata.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r"<defs>\s*</defs>\s*", "", svg)
    family = "font-family: var(--pst-font-family-base, sans-serif)"  # the theme's
    svg = re.sub(r"font-family: [^;\"]*", family, svg)
    svg = svg.replace(INK, "currentColor").replace(MUTED, f"var(--lm-muted, {MUTED})")
    for number, colour in enumerate(SERIES, 1):
        svg = svg.replace(colour, f"var(--lm-series-{number}, {colour})")
    # The file leaves black out, since it is the default; here the text's colour is the default.
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])  # type: ignore[index]
    least = math.ceil(width * LEAST_LABEL / _smallest_label(svg))
    root = (
        f'<svg role="img" fill="currentColor" aria-label="{html.escape(alt)}" '
        f'style="width: 100%; min-width: {least}px; max-width: {1.4 * width:.0f}px; height: auto" '
    )
    opening, rest = svg.split(">", 1)
    opening = re.sub(r' (width|height|version|xmlns:xlink)="[^"]*"', "", opening)
    return re.sub(r">\s+<", "><", root + opening.removeprefix("<svg ") + ">" + rest.strip())


def _smallest_label(svg: str) -> float:
    """Return the size of the smallest label, in the drawing's units; exponents and indices aside.

    A figure without labels may shrink to a third of its width.
    """
    labels = re.findall(r"<text.*?</text>", svg, flags=re.DOTALL)
    sizes = [max(map(float, re.findall(r"font-size: ([\d.]+)px", label))) for label in labels]
    return min(sizes, default=3 * LEAST_LABEL)


def _framed(svg: str) -> str:
    """Wrap a drawing in what scrolls; a drawing wider than a phone can be scrolled by keys, too."""
    (least,) = re.findall(r"min-width: (\d+)px", svg)
    focusable = ' tabindex="0"' if int(least) > PHONE else ""
    return f'<div class="lm-figure"{focusable}>{svg}</div>'


def new_figure(width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, Axes]:
    """Return an empty figure and its axes in the book's style, for what no function here draws."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        return figure, figure.subplots()
