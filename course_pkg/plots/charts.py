"""Lines, bars and points: curves that are labelled at their ends, so that no legend is needed."""

import math
from collections.abc import Iterable, Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    PercentFormatter,
)

from course_pkg.common.checks import real_number, whole_numbers
from course_pkg.plots.pictures import (
    HEIGHT,
    INK,
    MUTED,
    SERIES,
    STYLE,
    WIDTH,
    Numbers,
    new_figure,
)
from course_pkg.results import RECORDED, Result

MARKERS = "os^Dvp"
LABEL_GAP_POINTS = 13.0
MOST_MARKERS = 12

Curves = Mapping[str, tuple[Numbers, Numbers]]
"""Name of each line -> its x and y values."""


def spread(wanted: Numbers, gap: float) -> np.ndarray:
    """Move positions apart until neighbours are at least `gap` away, keeping order and centre.

    Example:
        >>> spread([0.0, 1.0, 10.0], gap=3.0).tolist()
        [-1.0, 2.0, 10.0]
    """
    wanted = np.asarray(wanted, dtype=float)
    if not np.isfinite(wanted).all() or not real_number("gap", gap) >= 0:
        raise ValueError(f"wanted is {wanted} and gap {gap}; all must be finite, gap at least 0")
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
    _check_curves(curves)
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


def _check_curves(curves: object) -> None:
    """Refuse what does not map names to pairs of x and y."""
    if not isinstance(curves, Mapping):
        raise ValueError(f"curves is {type(curves).__name__}; it must map names to x and y")
    if not curves:
        raise ValueError("curves is empty; give at least one line")
    for name, curve in curves.items():
        if not isinstance(curve, tuple | list) or len(curve) != 2 or np.ndim(curve[0]) != 1:
            raise ValueError(f"curve {name!r} is {curve!r:.40}; it must be a pair of x and y")


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
    if not isinstance(values, Mapping):
        raise ValueError(f"values is {type(values).__name__}; it must map names to numbers")
    for name, value in values.items():
        if not math.isfinite(real_number(f"values[{name!r}]", value)):
            raise ValueError(f"values[{name!r}] is {value}; it must be finite")
    figure, axes = new_figure(height=0.75 + 0.36 * len(values))
    heights = np.arange(len(values))
    amounts = np.array(list(values.values()), dtype=float)
    axes.barh(heights, amounts, color=SERIES[0], height=0.62)
    for y, amount in zip(heights, amounts, strict=True):
        axes.annotate(
            number.format(amount), (max(amount, 0), y), (5, 0), textcoords="offset points",
            va="center",
        )  # fmt: skip
    _mark_floor(axes, floor)
    axes.set_yticks(heights, list(values))
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(value_label)
    axes.margins(x=0.12)
    return figure


def _mark_floor(axes: Axes, floor: tuple[str, float] | None) -> None:
    """Draw a named, dashed line upwards."""
    if floor is not None:
        name, level = floor
        axes.axvline(level, color=INK, linestyle=(0, (4, 3)), linewidth=1.2)
        axes.annotate(
            name, (level, 1), (0, 3), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center",
        )  # fmt: skip


def ladder(rows: Iterable[Result]) -> Figure:
    """Show the story so far as a plot: each model's bits per byte, in the order of the book.

    Models computed by the build have filled points, recorded ones hollow points.

    Args:
        rows: of one corpus; rows without bits per byte are left out.

    Raises:
        ValueError: rows of several corpora, or none with bits per byte.
    """
    shown = _of_one_corpus(rows)
    figure, axes = new_figure(height=0.8 + RUNG * len(shown))
    _rungs(axes, shown, [row.bits_per_byte or 0 for row in shown], "{:.3f}")
    axes.set_xlabel("bits per byte")
    return figure


def above_floor(rows: Iterable[Result], floor: Result) -> Figure:
    """Show how far each model still is from the source of its text, on a logarithmic axis.

    A model's cross-entropy is the entropy of the source plus the Kullback-Leibler divergence of
    the two (Shannon 1948; chapter 1); only the divergence can be won, and it is what is drawn:
    nats for each token of the source. By bits per byte models over words, pieces and bytes
    compare, and the floor's own two figures tell how many bytes a token has. All calls share one
    axis, so that the figure is the same one, longer from chapter to chapter.

    Args:
        rows: of one corpus, in the order of the book; the floor itself and rows without bits per
            byte are left out.
        floor: the result of the source.

    Raises:
        ValueError: rows of several corpora, a floor of another corpus or without bits per byte,
            or a model that is not above the floor, which no logarithm can show.
    """
    shown = _of_one_corpus(row for row in rows if row != floor)
    if floor.corpus != shown[0].corpus or not floor.bits_per_byte:
        raise ValueError(f"floor is {floor}; it must have bits per byte on {shown[0].corpus}")
    per_byte = math.log(floor.perplexity) / floor.bits_per_byte  # nats a token for a bit a byte
    left = [per_byte * ((row.bits_per_byte or 0) - floor.bits_per_byte) for row in shown]
    if min(left) <= 0:
        below = shown[left.index(min(left))]
        raise ValueError(f"{below.model} has {below.bits_per_byte} bits per byte; it must be above "
                         f"the floor, {floor.bits_per_byte}")  # fmt: skip
    figure, axes = new_figure(height=0.8 + RUNG * len(shown))
    axes.set_xscale("log")
    _rungs(axes, shown, left, "{:.2g}")
    axes.set_xlim(min(0.003, min(left) / 2), max(40, 3 * max(left)))
    _plain_log_ticks(axes.xaxis)
    _stairs(axes, left)
    axes.set_xlabel("nats per token above the floor")
    return figure


def _of_one_corpus(rows: Iterable[Result]) -> list[Result]:
    shown = [row for row in rows if row.bits_per_byte is not None]
    corpora = sorted({row.corpus for row in shown})
    if len(corpora) != 1:
        raise ValueError(f"rows has the corpora {corpora}; it must have exactly one")
    return shown


def ladders(rows: Iterable[Result]) -> Figure:
    """Show the ladders of several corpora below each other, with the best model so far as stairs.

    A corpus whose rows have no bits per byte is shown by perplexity per token instead.

    Args:
        rows: in the order of the book.

    Raises:
        ValueError: no rows, or a corpus of which only some rows have bits per byte.
    """
    rows = list(rows)
    panels: dict[str, list[Result]] = {}
    for row in rows:
        panels.setdefault(row.corpus, []).append(row)
    if not panels:
        raise ValueError("rows is empty; give at least one result")
    mixed = [name for name, group in panels.items() if len({_in_bits(row) for row in group}) > 1]
    if mixed:
        raise ValueError(f"some rows of {mixed} have bits per byte, others none; leave some out")
    chapters = list(dict.fromkeys(row.chapter for row in rows))
    heights = [RUNG * (len(group) + 0.2) for group in panels.values()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, sum(heights) + 0.85 * len(panels)))
        stack = figure.subplots(len(panels), height_ratios=heights, squeeze=False)[:, 0]
    for axes, (name, group) in zip(stack, panels.items(), strict=True):
        heights = [_height(row) for row in group]
        in_bits = _in_bits(group[0])
        _rungs(axes, group, heights, "{:.3f}" if in_bits else "{:.1f}", chapters)
        _stairs(axes, heights)
        axes.set_xlabel("bits per byte" if in_bits else "perplexity")
        axes.set_title(name, loc="left", color=INK, pad=6)
    return figure


RUNG = 0.25
"""Inches from one model to the next."""


def _in_bits(row: Result) -> bool:
    return row.bits_per_byte is not None


def _height(row: Result) -> float:
    return row.perplexity if row.bits_per_byte is None else row.bits_per_byte


def _rungs(
    axes: Axes,
    rows: Sequence[Result],
    heights: Sequence[float],
    form: str,
    chapters: Sequence[str] = (),
) -> None:
    """Draw models of one corpus below each other, coloured by chapter."""
    chapters = chapters or list(dict.fromkeys(row.chapter for row in rows))
    for y, (row, x) in enumerate(zip(rows, heights, strict=True)):
        colour = SERIES[chapters.index(row.chapter) % len(SERIES)]
        inside = "none" if row.source == RECORDED else colour
        axes.plot(x, y, marker="o", markersize=6.5, color=colour, markerfacecolor=inside)
        axes.annotate(form.format(x), (x, y), (7, 0), textcoords="offset points", va="center")
    axes.margins(x=0.16)
    # Where the first steps are much the largest, a logarithmic axis leaves room for the last ones.
    if max(heights) > 4 * min(heights):
        axes.set_xscale("log")
        _plain_log_ticks(axes.xaxis)
    axes.set_yticks(range(len(rows)), [row.model for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)  # the same distance between models in all ladders
    axes.tick_params(axis="y", length=0)


def _stairs(axes: Axes, heights: Sequence[float]) -> None:
    """Draw the best so far as a thin line."""
    best = np.minimum.accumulate(heights)
    axes.step(best, np.arange(len(best)), where="post", color=MUTED, linewidth=1.0, zorder=1)


def moving_average(values: Numbers, window: int) -> np.ndarray:
    """Average each value with up to `window - 1` values before it.

    Example:
        >>> moving_average([4.0, 2.0, 0.0, 1.0], window=2).tolist()
        [4.0, 3.0, 1.0, 0.5]
    """
    whole_numbers(window=window)
    array = np.asarray(values, dtype=float)
    sums = np.concatenate([[0.0], np.cumsum(array)])
    ends = np.arange(1, len(array) + 1)
    starts = np.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def loss_curves(
    curves: Curves, *, floor: tuple[str, float] | None = None, window: int = 1, log_x: bool = False
) -> Figure:
    """Show training losses: faint as measured, strong as their moving average over `window`."""
    _check_curves(curves)
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
