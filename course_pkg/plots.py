"""Every figure of the book: one style, arrays in, a picture with words out.

`show` writes a figure as SVG whose colours follow the page's light or dark theme and whose text
stays text, with a sentence for readers who cannot see it and a PNG where there is no page.
The colours differ in lightness as well as hue (Okabe & Ito 2008, darkened until each can carry
a label), and lines are labelled at their ends, so no legend has to be matched by colour.

Used by every chapter. This is the only module that imports matplotlib.
"""

import base64
import html
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    PercentFormatter,
)
from torch import Tensor

SERIES = ("#0067a3", "#b84c00", "#00745a", "#a3457f", "#7a6000", "#5b52a8")
"""Colours of the first, second, ... line on a light page; the book's style sheet has dark twins
under the names --lm-series-1, --lm-series-2, ..."""

MUTED = "#5c6470"
"""For what stays in the background: floors, baselines."""

INK = "#000000"
"""Becomes the colour of the surrounding text."""

WIDTH, HEIGHT = 5.4, 3.2
"""Inches at which type of 10.5 points is legible on a phone."""

STYLE: dict[Any, Any] = {
    "font.size": 10.5,
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
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
}
MARKERS = "os^Dvp"
LABEL_GAP_POINTS = 13.0
MOST_MARKERS = 12

Numbers = Sequence[Any] | np.ndarray | Tensor
"""A list (nested for a table), a range, an array, or a tensor on the CPU."""

Curves = Mapping[str, tuple[Numbers, Numbers]]
"""Name of each line -> its x and y values."""


@dataclass(frozen=True)
class Picture:
    """A finished figure: what a notebook or the book shows of it."""

    svg: str
    png: bytes
    alt: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {
            "text/html": f'<div class="lm-figure">{self.svg}</div>',
            "image/png": base64.b64encode(self.png).decode(),
            "text/plain": self.alt,
        }


def show(figure: Figure, *, alt: str) -> Picture:
    """Finish a figure.

    Args:
        alt: what the figure shows, in a sentence or two, for readers who cannot see it; name the
            quantities and the finding, not the colours.

    Raises:
        ValueError: the alternative text is empty.
    """
    if not alt.strip():
        raise ValueError(f"alt is {alt!r}; describe what the figure shows in a sentence")
    svg, png = io.StringIO(), io.BytesIO()
    # The salt makes ids the same at every build and different between figures of one page.
    with mpl.rc_context({**STYLE, "svg.hashsalt": alt}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(svg, format="svg", bbox_inches="tight", metadata=nothing)
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
    root = (
        f'<svg role="img" fill="currentColor" aria-label="{html.escape(alt)}" '
        f'style="width: 100%; max-width: {1.4 * width:.0f}px; height: auto" '
    )
    opening, rest = svg.split(">", 1)
    opening = re.sub(r' (width|height|version|xmlns:xlink)="[^"]*"', "", opening)
    return re.sub(r">\s+<", "><", root + opening.removeprefix("<svg ") + ">" + rest.strip())


def new_figure(width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, Axes]:
    """Return an empty figure and its axes in the book's style, for what no function here draws."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        return figure, figure.subplots()


def spread(wanted: Numbers, gap: float) -> np.ndarray:
    """Move positions apart until neighbours are at least `gap` away, keeping order and centre.

    Example:
        >>> spread([0.0, 1.0, 10.0], gap=3.0).tolist()
        [-1.0, 2.0, 10.0]
    """
    wanted = np.asarray(wanted, dtype=float)
    order = np.argsort(wanted, kind="stable")
    clusters: list[list[float]] = []  # (sum of wanted positions, number of labels)
    for position in wanted[order]:
        clusters.append([position, 1])
        while len(clusters) > 1:
            (low, n_low), (high, n_high) = clusters[-2:]
            if high / n_high - low / n_low >= gap * (n_low + n_high) / 2:
                break
            clusters[-2:] = [[low + high, n_low + n_high]]
    placed = [total / n + gap * (k - (n - 1) / 2) for total, n in clusters for k in range(int(n))]
    result = np.empty_like(wanted)
    result[order] = placed
    return result


def _label_ends(axes: Axes, ends: Sequence[tuple[str, float, str]]) -> None:
    """Write each line's name at the height of its last point, moved apart where they collide."""
    height = HEIGHT * 72 * 0.78  # points that the axes of `new_figure()` are high
    axes.autoscale_view()
    to_axes = axes.transData + axes.transAxes.inverted()
    x = axes.get_xlim()[0]
    wanted = [to_axes.transform((x, y))[1] for _, y, _ in ends]
    for (name, _, colour), y in zip(ends, spread(wanted, LABEL_GAP_POINTS / height), strict=True):
        axes.annotate(
            name, (1, y), (6, 0), xycoords="axes fraction", textcoords="offset points",
            color=colour, va="center", annotation_clip=False,
        )  # fmt: skip


def lines(
    curves: Curves,
    *,
    x_label: str,
    y_label: str,
    floor: tuple[str, float] | None = None,
    faint: Curves | None = None,
    log_x: bool = False,
    log_y: bool = False,
    y_range: tuple[float, float] | None = None,
) -> Figure:
    """Compare lines, each labelled at its end.

    Args:
        floor: name and height of a level that no line can pass, drawn dashed.
        faint: what to show thinly behind the curve of the same name, as before smoothing.

    Raises:
        ValueError: there is no curve, or one whose x and y differ in length or that is empty.
    """
    if not curves:
        raise ValueError("curves is empty; give at least one line")
    figure, axes = new_figure()
    ends = []
    for number, (name, (x, y)) in enumerate(curves.items()):
        xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if xs.shape != ys.shape or xs.ndim != 1 or not xs.size:
            raise ValueError(f"curve {name!r} has x {xs.shape} and y {ys.shape}; they must match")
        colour = SERIES[number % len(SERIES)]
        marker = MARKERS[number % len(MARKERS)] if xs.size <= MOST_MARKERS else None
        axes.plot(xs, ys, color=colour, marker=marker)
        if faint and name in faint:
            axes.plot(
                *map(np.asarray, faint[name]), color=colour, alpha=0.25, linewidth=0.8, zorder=1
            )
        finite = ys[np.isfinite(ys)]
        if not finite.size:
            raise ValueError(f"curve {name!r} has no finite value; leave it out")
        ends.append((name, float(finite[-1]), colour))
    if floor is not None:
        name, level = floor
        axes.axhline(level, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.5)
        ends.append((name, float(level), MUTED))
    axes.set_xlabel(x_label)
    # The y axis is named above itself, where it is read without turning the head.
    axes.set_title(y_label, loc="left", color=INK)
    for axis, is_log, set_scale in (
        (axes.xaxis, log_x, axes.set_xscale),
        (axes.yaxis, log_y, axes.set_yscale),
    ):
        if is_log:
            set_scale("log")
            _plain_log_ticks(axis)
    if not log_x and all(np.all(np.asarray(x) % 1 == 0) for x, _ in curves.values()):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    if y_range is not None:
        axes.set_ylim(*y_range)
    _label_ends(axes, ends)
    return figure


def _plain_log_ticks(axis: Axis) -> None:
    """Write 100, not 10 to the power of 2; on less than two decades also what lies between."""
    low, high = axis.get_view_interval()
    if high / low < 100:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def bars(
    values: Mapping[str, float],
    *,
    value_label: str,
    floor: tuple[str, float] | None = None,
    number: str = "{:.2f}",
) -> Figure:
    """Compare named values as horizontal bars, the first on top, each with its number.

    Args:
        number: format of the numbers, as for `str.format`.
    """
    if not values:
        raise ValueError("values is empty; give at least one bar")
    figure, axes = new_figure(height=0.75 + 0.36 * len(values))
    heights = np.arange(len(values))
    amounts = np.array(list(values.values()), dtype=float)
    axes.barh(heights, amounts, color=SERIES[0], height=0.62)
    for y, amount in zip(heights, amounts, strict=True):
        axes.annotate(
            number.format(amount), (max(amount, 0), y), (5, 0), textcoords="offset points",
            va="center", fontsize=9.5,
        )  # fmt: skip
    if floor is not None:
        name, level = floor
        axes.axvline(level, color=INK, linestyle=(0, (4, 3)), linewidth=1.2)
        axes.annotate(
            name, (level, 1), (0, 3), xycoords=("data", "axes fraction"),
            textcoords="offset points", fontsize=9.5, ha="center",
        )  # fmt: skip
    axes.set_yticks(heights, list(values))
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(value_label)
    axes.margins(x=0.12)
    return figure


def heatmap(
    weights: Numbers,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    row_label: str = "",
    column_label: str = "",
    numbers: bool | None = None,
    framed: Collection[tuple[int, int]] = (),
) -> Figure:
    """Show a table of weights (attention, alignment, transition probabilities) as shaded cells.

    Args:
        framed: cells (row, column) to put a frame around, such as those that should be dark.
        numbers: write each weight into its cell; by default where there are at most 80 cells.

    Raises:
        ValueError: the names do not fit the shape of the table, or a framed cell is outside it.
    """
    table = np.asarray(weights, dtype=float)
    if table.shape != (len(rows), len(columns)):
        raise ValueError(
            f"weights has shape {table.shape}; rows and columns name {len(rows)} x {len(columns)}"
        )
    outside = [(i, j) for i, j in framed if not (0 <= i < len(rows) and 0 <= j < len(columns))]
    if outside:
        raise ValueError(f"framed has {outside[0]}; the table has shape {table.shape}")
    cell = min(0.55, 4.6 / max(len(columns), 1))
    figure, axes = new_figure(0.9 + cell * len(columns), 0.8 + min(cell, 0.42) * len(rows))
    _shade(axes, table, max(float(table.max(initial=0)), 1e-12))
    if numbers is None:
        numbers = table.size <= 80
    for i, j in np.ndindex(table.shape if numbers else (0, 0)):
        text = f"{table[i, j]:.2f}".lstrip("0") if table[i, j] < 1 else f"{table[i, j]:.2g}"
        axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=8.5)
    for row, column in framed:
        axes.add_patch(
            Rectangle((column, row), 1, 1, fill=False, edgecolor=SERIES[1], linewidth=1.6)
        )
    long = max((len(name) for name in columns), default=0) * 0.09 > cell
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=60 if long else 0,
                    ha="left" if long else "center", rotation_mode="anchor")  # fmt: skip
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set(xlabel=column_label, ylabel=row_label)
    return figure


def _shade(axes: Axes, table: np.ndarray, darkest: float) -> None:
    """Fill the cells of a table, its first row on top."""
    # Shading is opacity, so that zero is the page itself in either theme.
    hue = mpl.colors.to_rgb(SERIES[0])
    shades = LinearSegmentedColormap.from_list("shades", [(*hue, 0.0), (*hue, 0.75)])
    axes.pcolormesh(table, cmap=shades, vmin=0, vmax=darkest)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.invert_yaxis()


def attention_heads(weights: Numbers, tokens: Sequence[str], *, layer: int) -> Figure:
    """Show where each head of a layer looks: a row for each token, a column for each it reads.

    Args:
        weights: H x T x T, each row summing to one.
        layer: its number, for the titles.

    Raises:
        ValueError: weights that do not fit the tokens.
    """
    heads = np.asarray(weights, dtype=float)
    if heads.ndim != 3 or heads.shape[1:] != (len(tokens), len(tokens)):
        raise ValueError(f"weights has shape {heads.shape}; {len(tokens)} tokens need H x T x T")
    n_columns = min(2, len(heads))
    n_rows = -(-len(heads) // n_columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, (0.5 + 0.15 * len(tokens)) * n_rows), layout="constrained")
        panels = figure.subplots(n_rows, n_columns, squeeze=False)
    for number, axes in enumerate(panels.flat):
        if number >= len(heads):
            axes.set_axis_off()
            continue
        _shade(axes, heads[number], 1.0)
        axes.set_title(f"layer {layer}, head {number + 1}", loc="left", color=INK)
        axes.set_xticks([])
        places = np.arange(len(tokens)) + 0.5
        named = number % n_columns == 0
        axes.set_yticks(places[: len(places) * named], tokens[: len(tokens) * named], fontsize=9)
    return figure


def positions(vectors: Numbers) -> Figure:
    """Show how alike the vectors of positions are: the cosine of each pair, from 0 to 1.

    Args:
        vectors: T x D; pairs that point apart are left white.
    """
    table = np.asarray(vectors, dtype=float)
    table = table / np.linalg.norm(table, axis=1, keepdims=True)
    figure, axes = new_figure(3.6, 3.4)
    _shade(axes, np.clip(table @ table.T, 0, None), 1.0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set(xlabel="position", ylabel="position")
    return figure


def moving_average(values: Numbers, window: int) -> np.ndarray:
    """Average each value with up to `window - 1` values before it.

    Example:
        >>> moving_average([4.0, 2.0, 0.0, 1.0], window=2).tolist()
        [4.0, 3.0, 1.0, 0.5]
    """
    if window < 1:
        raise ValueError(f"window is {window}; it must be at least 1")
    array = np.asarray(values, dtype=float)
    sums = np.concatenate([[0.0], np.cumsum(array)])
    ends = np.arange(1, len(array) + 1)
    starts = np.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def loss_curves(
    curves: Curves, *, floor: tuple[str, float] | None = None, window: int = 1, log_x: bool = False
) -> Figure:
    """Show training losses: faint as measured, strong as their moving average over `window`."""
    smooth = {name: (x, moving_average(losses, window)) for name, (x, losses) in curves.items()}
    return lines(
        smooth,
        x_label="step",
        y_label="loss (nats per token)",
        floor=floor,
        faint=curves if window > 1 else None,
        log_x=log_x,
    )


def gradient_norms(curves: Curves, *, x_label: str = "distance back in time (tokens)") -> Figure:
    """Show how the size of a gradient changes with distance or depth, on a logarithmic axis."""
    return lines(curves, x_label=x_label, y_label="norm of the gradient", log_y=True)


def sparsity(
    orders: Numbers, share_unseen: Mapping[str, Numbers], *, x_label: str = "order n"
) -> Figure:
    """Show which share of the n-grams of new text was never seen in training, for each order."""
    curves = {name: (orders, shares) for name, shares in share_unseen.items()}
    y_label = "n-grams of the test text never seen in training"
    figure = lines(curves, x_label=x_label, y_label=y_label, y_range=(0.0, 1.02))
    figure.axes[0].yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    return figure
