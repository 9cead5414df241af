"""Structural drawings: boxes, arrows, vectors and grids in the style of the book's figures.

A drawing shows which quantity goes where, before an equation names it. Coordinates are inches from
the lower left corner, so that what is legible here is legible on a phone; `plots.show` finishes it:

    drawing = Diagram(4.0, 1.2)
    state = drawing.box(0.8, 0.6, "state")
    word = drawing.box(2.8, 0.6, "next word", series=2)
    drawing.arrow(state, word, label="softmax")
    plots.show(drawing.figure, alt="An arrow, softmax, leads from the state to the next word.")
"""

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from course_pkg.plots.pictures import INK, MUTED, SERIES, STYLE, WIDTH, Numbers

Point = tuple[float, float]

FONT = 10
"""Points; smaller type cannot be read where a phone shrinks the drawing."""


@dataclass(frozen=True)
class Box:
    """Where something was drawn: what arrows start from and lead to.

    Attributes:
        x, y: its centre.
        width, height: in inches, like all lengths here.
    """

    x: float
    y: float
    width: float
    height: float

    @property
    def top(self) -> Point:
        """Middle of the upper edge."""
        return self.x, self.y + self.height / 2

    @property
    def bottom(self) -> Point:
        """Middle of the lower edge."""
        return self.x, self.y - self.height / 2

    @property
    def left(self) -> Point:
        """Middle of the left edge."""
        return self.x - self.width / 2, self.y

    @property
    def right(self) -> Point:
        """Middle of the right edge."""
        return self.x + self.width / 2, self.y

    def towards(self, point: Point) -> Point:
        """Return where a line from the centre to a point leaves the box."""
        dx, dy = point[0] - self.x, point[1] - self.y
        if dx == dy == 0:
            return self.x, self.y
        # The edge that the line meets first is the one it needs the smaller factor to reach.
        factors = [half / abs(d) for half, d in ((self.width / 2, dx), (self.height / 2, dy)) if d]
        return self.x + dx * min(factors), self.y + dy * min(factors)


class Diagram:
    """A drawing that grows call by call.

    Args:
        width: in inches; up to `plots.WIDTH` it stays legible on a phone.
        height: in inches.

    Attributes:
        figure: what `plots.show` finishes.

    Raises:
        ValueError: a width or height that is not positive, or a width beyond `plots.WIDTH`.
    """

    def __init__(self, width: float = WIDTH, height: float = 2.4) -> None:
        if not (0 < width <= WIDTH and height > 0):
            raise ValueError(
                f"the drawing is {width} x {height} inches; both must be positive, "
                f"and a phone shows at most {WIDTH} inches across"
            )
        with mpl.rc_context({**STYLE, "figure.constrained_layout.use": False}):
            self.figure = Figure(figsize=(width, height))
            self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set(xlim=(0, width), ylim=(0, height))
        self._axes.set_axis_off()

    def box(
        self,
        x: float,
        y: float,
        text: str = "",
        *,
        width: float = 1.0,
        height: float = 0.34,
        series: int | None = None,
        dashed: bool = False,
    ) -> Box:
        """Draw a rounded box around a centre.

        Args:
            series: colour, as the number of a line in a plot (1, 2, ...); none for what stays in
                the background.
            dashed: for what is optional, missing or repeated.
        """
        colour = _colour(series)
        self._axes.add_patch(
            FancyBboxPatch(
                (x - width / 2, y - height / 2), width, height,
                boxstyle="round,pad=0,rounding_size=0.06", edgecolor=colour, linewidth=1.3,
                facecolor=to_rgba(colour, 0.0 if dashed else 0.13),
                linestyle=(0, (3, 2)) if dashed else "solid",
            )
        )  # fmt: skip
        self.text(x, y, text)
        return Box(x, y, width, height)

    def circle(self, x: float, y: float, text: str = "+", *, series: int | None = None) -> Box:
        """Draw a small circle with a sign in it: an addition, a product, a state."""
        radius = 0.13
        colour = _colour(series)
        self._axes.add_patch(
            Circle((x, y), radius, edgecolor=colour, linewidth=1.3, facecolor=to_rgba(colour, 0.13))
        )
        self.text(x, y, text)
        return Box(x, y, 2 * radius, 2 * radius)

    def vector(
        self, x: float, y: float, n: int = 4, *, series: int | None = 1, cell: float = 0.13
    ) -> Box:
        """Draw a column of `n` cells around a centre: one vector."""
        colour = _colour(series)
        for row in range(n):
            corner = (x - cell / 2, y + (row - n / 2) * cell)
            self._axes.add_patch(
                Rectangle(
                    corner, cell, cell, edgecolor=colour, facecolor=to_rgba(colour, 0.25),
                    linewidth=0.9,
                )
            )  # fmt: skip
        return Box(x, y, cell, n * cell)

    def grid(
        self,
        x: float,
        y: float,
        values: Numbers,
        *,
        rows: Sequence[str] = (),
        columns: Sequence[str] = (),
        title: str = "",
        cell: float = 0.26,
        series: int = 1,
        numbers: bool = False,
    ) -> Box:
        """Draw a table of weights or a mask: the more of 1, the darker the cell; 0 is empty.

        Args:
            x, y: centre of the cells.
            values: R x C, from 0 to 1, or True and False.
            rows, columns: names beside and above the cells.
            numbers: write each value into its cell.

        Raises:
            ValueError: values that are no table or leave 0 to 1, or names that do not fit it.
        """
        table = np.asarray(values, dtype=float)
        if table.ndim != 2 or not table.size or table.min() < 0 or table.max() > 1:
            raise ValueError(
                f"values has shape {table.shape}; it must be a table with entries from 0 to 1"
            )
        for names, size, what in (
            (rows, table.shape[0], "rows"),
            (columns, table.shape[1], "columns"),
        ):
            if names and len(names) != size:
                raise ValueError(f"{what} names {len(names)}; values has {size}")
        n_rows, n_columns = table.shape
        left, top = x - n_columns * cell / 2, y + n_rows * cell / 2
        for i, j in np.ndindex(table.shape):
            shade = to_rgba(_colour(series), 0.7 * float(table[i, j]))
            self._axes.add_patch(
                Rectangle(
                    (left + j * cell, top - (i + 1) * cell), cell, cell, linewidth=0.8,
                    edgecolor=to_rgba(INK, 0.35), facecolor=shade,
                )
            )  # fmt: skip
            if numbers:
                text = f"{table[i, j]:.2g}".replace("0.", ".")
                self.text(left + (j + 0.5) * cell, top - (i + 0.5) * cell, text)
        for i, name in enumerate(rows):
            self.text(left - 0.06, top - (i + 0.5) * cell, name, align="right")
        upright = max((len(name) for name in columns), default=0) * 0.075 > cell
        for j, name in enumerate(columns):
            self._axes.text(
                left + (j + 0.5) * cell, top + 0.05, name, fontsize=FONT, va="bottom",
                ha="center", rotation=90 if upright else 0,
            )  # fmt: skip
        if title:
            self.text(x, y - n_rows * cell / 2 - 0.14, title)
        return Box(x, y, n_columns * cell, n_rows * cell)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        align: str = "center",
        series: int | None = None,
        muted: bool = False,
        size: float = FONT,
    ) -> None:
        """Write a label; `$...$` is set as mathematics.

        Args:
            align: which part of the text stands at x: "left", "center" or "right".
        """
        colour = MUTED if muted else INK if series is None else _colour(series)
        # Words side by side share a baseline; matplotlib would centre the ink of each by itself,
        # and so lift "as" above "the" and make an apostrophe of a comma.
        is_word = (
            "$" not in text and "\n" not in text and any(c.isalnum() or c in ",.?" for c in text)
        )
        below = 0.34 * size / 72 if is_word else 0.0  # half the height of a capital, in inches
        self._axes.text(
            x, y - below, text, color=colour, fontsize=size, ha=align,
            va="baseline" if is_word else "center", linespacing=1.25,
        )  # fmt: skip

    def arrow(
        self,
        start: Box | Point,
        end: Box | Point,
        *,
        label: str = "",
        series: int | None = None,
        weight: float = 1.3,
        bend: float = 0.0,
        dashed: bool = False,
        head: bool = True,
    ) -> None:
        """Draw an arrow from one thing to another, from edge to edge.

        Args:
            label: written beside the middle.
            weight: thickness in points; an attention weight can be shown by it.
            bend: how far a curved arrow bulges, as a share of its length; to the left if positive.
            dashed: for what is not always there.
            head: False draws a line only.
        """
        a, b = (_centre(thing) for thing in (start, end))
        begin = start.towards(b) if isinstance(start, Box) else start
        finish = end.towards(a) if isinstance(end, Box) else end
        colour = INK if series is None else _colour(series)
        self._axes.add_patch(
            FancyArrowPatch(
                begin, finish, arrowstyle="-|>" if head else "-", mutation_scale=9, color=colour,
                linewidth=weight, shrinkA=0, shrinkB=0, capstyle="butt", joinstyle="miter",
                connectionstyle=f"arc3,rad={-bend}", linestyle=(0, (3, 2)) if dashed else "solid",
            )
        )  # fmt: skip
        if label:
            dx, dy = finish[0] - begin[0], finish[1] - begin[1]
            length = max(float(np.hypot(dx, dy)), 1e-9)
            side = bend * length / 2 + 0.13
            at = ((begin[0] + finish[0]) / 2, (begin[1] + finish[1]) / 2)
            self.text(at[0] - dy / length * side, at[1] + dx / length * side, label)

    def path(
        self, points: Sequence[Point], *, series: int | None = None, dashed: bool = False
    ) -> None:
        """Draw a line through points with an arrow head at the last: a residual connection, say.

        Raises:
            ValueError: fewer than two points.
        """
        if len(points) < 2:
            raise ValueError(f"points has {len(points)}; a path needs at least two")
        colour = INK if series is None else _colour(series)
        xs, ys = zip(*points[:-1], strict=True)
        self._axes.plot(
            xs, ys, color=colour, linewidth=1.3, solid_joinstyle="round",
            linestyle=(0, (3, 2)) if dashed else "solid",
        )  # fmt: skip
        self.arrow(points[-2], points[-1], series=series, dashed=dashed)


def _colour(series: int | None) -> str:
    """Return the colour of a series (1, 2, ...), or that of what stays in the background."""
    if series is None:
        return MUTED
    if not 1 <= series <= len(SERIES):
        raise ValueError(f"series is {series}; it must be from 1 to {len(SERIES)}")
    return SERIES[series - 1]


def _centre(thing: Box | Point) -> Point:
    return (thing.x, thing.y) if isinstance(thing, Box) else thing
