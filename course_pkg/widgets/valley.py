"""Optimizers on their way down a long valley.

Chapter: training transformers.
"""

import math
from collections.abc import Sequence

import numpy as np

from course_pkg.widgets.widget import Widget

RATES = {"SGD": 0.03, "momentum": 0.03, "Adam": 0.3}
"""Optimizers, each with the rate that the figure begins with."""

MOMENTUM, BETAS, EPS = 0.9, (0.9, 0.999), 1e-8


def optimizer_valley(
    *,
    ratio: float | int,
    angle: float | int,
    start: Sequence[float],
    n_steps: int,
    alt: str,
) -> Widget:
    """Let the reader choose an optimizer, its rate and a valley, and watch it go down.

    The valley is (a^2 + ratio b^2) / 2 with its bottom at the origin, where a runs along it and b
    across; `angle` turns it against the coordinates, on which Adam depends.

    Args:
        ratio: how much steeper the valley is across than along, at least 1.
        angle: in degrees.
        start: where each run begins, two coordinates.

    Raises:
        ValueError: a ratio below 1, no step, or a start that is no point.
    """
    if not ratio >= 1:
        raise ValueError(f"ratio is {ratio}; it must be at least 1")
    if n_steps < 1:
        raise ValueError(f"n_steps is {n_steps}; it must be at least 1")
    if len(start) != 2:
        raise ValueError(f"start has {len(start)} coordinates; it must have 2")
    turn = math.radians(angle)
    axes = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    curvature = axes.T @ np.diag([1.0, ratio]) @ axes
    marks = sorted({n_steps // 4, n_steps // 2, n_steps})
    rows = []
    for name, rate in RATES.items():
        losses = [x @ curvature @ x / 2 for x in _walk(name, rate, curvature, start, n_steps)]
        rows.append((name, f"{rate:g}", *(f"{losses[step]:.2g}" for step in marks)))
    return Widget(
        "lm-valley",
        {
            "rates": RATES,
            "ratio": ratio,
            "angle": angle,
            "start": list(start),
            "steps": n_steps,
            "momentum": MOMENTUM,
            "betas": BETAS,
            "eps": EPS,
        },
        alt,
        ("optimizer", "rate", *(f"loss after {step} steps" for step in marks)),
        rows,
    )


def _walk(
    name: str, rate: float, curvature: np.ndarray, start: Sequence[float], n_steps: int
) -> list[np.ndarray]:
    """Return the start and the point after each step."""
    beta1, beta2 = BETAS
    points = [np.array(start, dtype=float)]
    mean, square = np.zeros(2), np.zeros(2)
    for step in range(1, n_steps + 1):
        gradient = curvature @ points[-1]
        if name == "Adam":
            mean = beta1 * mean + (1 - beta1) * gradient
            square = beta2 * square + (1 - beta2) * gradient**2
            usual = np.sqrt(square / (1 - beta2**step)) + EPS
            direction = mean / (1 - beta1**step) / usual
        else:
            mean = (MOMENTUM if name == "momentum" else 0.0) * mean + gradient
            direction = mean
        points.append(points[-1] - rate * direction)
    return points
