"""How long a gradient stays as it goes back through time.

Chapter: recurrent networks.
"""

from collections.abc import Sequence

import numpy as np

from course_pkg.plots import Numbers
from course_pkg.widgets.widget import Widget


def gradient_through_time(
    weight: Numbers,
    projected: Numbers,
    gradient: Numbers,
    *,
    radii: Sequence[float] = (0.8, 1.0, 1.2),
    alt: str,
) -> Widget:
    """Let the reader turn a recurrent matrix's spectral radius and see how long gradients stay.

    The page runs the cell forwards and its gradient backwards, h_t = f(a_t + r U h_{t-1}), with r
    from a slider and f the identity or tanh; or multiplies by an LSTM's forget gate at each step.

    Args:
        weight: U, R x R, of spectral radius 1.
        projected: a_t, T x R: the inputs after their own weights.
        gradient: of the loss with respect to the last state, R numbers.
        radii: what the table shows.

    Raises:
        ValueError: shapes that do not fit, or a spectral radius other than 1.
    """
    matrix, inputs, last = (np.asarray(x, dtype=float) for x in (weight, projected, gradient))
    width = len(last)
    if matrix.shape != (width, width) or inputs.shape[1:] != (width,):
        raise ValueError(
            f"weight has shape {matrix.shape} and projected {inputs.shape}; "
            f"a gradient of {width} numbers needs {(width, width)} and (T, {width})"
        )
    radius = float(np.abs(np.linalg.eigvals(matrix)).max())
    if abs(radius - 1) > 1e-6:
        raise ValueError(f"weight has the spectral radius {radius}; it must be 1")
    columns = [
        (name, r, _gradient_norms(r * matrix, inputs, last, squash))
        for name, squash in (("linear", False), ("tanh", True))
        for r in radii
    ]
    return Widget(
        "lm-gradient",
        {"weight": matrix.tolist(), "projected": inputs.tolist(), "gradient": last.tolist()},
        alt,
        ("steps back", *(f"{name}, radius {r:g}" for name, r, _ in columns)),
        [(str(k), *(f"{norms[k]:.2g}" for *_, norms in columns)) for k in range(0, len(inputs), 5)],
    )


def _gradient_norms(
    weight: np.ndarray, projected: np.ndarray, gradient: np.ndarray, squash: bool
) -> list[float]:
    """Return the gradient's length at the last state, one step before it, and so on."""
    hidden, slopes = np.zeros(len(gradient)), []
    for inputs in projected:
        hidden = weight @ hidden + inputs
        if squash:
            hidden = np.tanh(hidden)
        slopes.append(1 - hidden**2 if squash else np.ones_like(hidden))
    norms = [float(np.linalg.norm(gradient))]
    for slope in slopes[:0:-1]:
        gradient = (gradient * slope) @ weight
        norms.append(float(np.linalg.norm(gradient)))
    return norms
