"""Tables of weights as shaded cells: attention, alignment, likeness of positions."""

from collections.abc import Collection, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_pkg.common.checks import whole_numbers
from course_pkg.plots.pictures import INK, SERIES, STYLE, WIDTH, Numbers, new_figure


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
        axes.text(j + 0.5, i + 0.5, text, ha="center", va="center")
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
    whole_numbers(layer=layer)
    if heads.ndim != 3 or heads.shape[1:] != (len(tokens), len(tokens)):
        raise ValueError(f"weights has shape {heads.shape}; {len(tokens)} tokens need H x T x T")
    n_columns = min(2, len(heads))
    n_rows = -(-len(heads) // n_columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, (0.5 + 0.17 * len(tokens)) * n_rows), layout="constrained")
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
        axes.set_yticks(places[: len(places) * named], tokens[: len(tokens) * named])
    return figure


def positions(vectors: Numbers) -> Figure:
    """Show how alike the vectors of positions are: the cosine of each pair, from 0 to 1.

    Args:
        vectors: T x D; pairs that point apart are left white.
    """
    table = np.asarray(vectors, dtype=float)
    if table.ndim != 2:
        raise ValueError(f"vectors has shape {table.shape}; it must be T x D")
    table = table / np.linalg.norm(table, axis=1, keepdims=True)
    figure, axes = new_figure(3.6, 3.4)
    _shade(axes, np.clip(table @ table.T, 0, None), 1.0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set(xlabel="position", ylabel="position")
    return figure
