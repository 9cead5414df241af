"""Every figure of the book in one style: arrays in, a picture with words out.

Only this folder imports matplotlib. `pictures` has the style and `show`, `charts` lines and bars,
`tables` shaded cells, `diagrams` boxes and arrows.
"""

from course_pkg.plots.charts import (
    MARKERS,
    Curves,
    above_floor,
    bars,
    gradient_norms,
    ladder,
    ladders,
    lines,
    loss_curves,
    moving_average,
    sparsity,
    spread,
)
from course_pkg.plots.diagrams import Diagram
from course_pkg.plots.pictures import (
    HEIGHT,
    INK,
    MUTED,
    SERIES,
    STYLE,
    WIDTH,
    Numbers,
    Picture,
    new_figure,
    show,
)
from course_pkg.plots.tables import attention_heads, heatmap, positions
