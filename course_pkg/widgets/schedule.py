"""A learning rate that rises and falls, and what Adam makes of it.

Chapter: training transformers.
"""

from course_pkg.training.schedules import (
    Schedule,
    constant_schedule,
    cosine_schedule,
    inverse_sqrt_schedule,
)
from course_pkg.widgets.widget import Widget

BETA1 = 0.9
FINAL_FRACTION = 0.1


def rate_schedule(*, peak: float, n_warmup: int, n_steps: int, alt: str) -> Widget:
    """Let the reader set a schedule's peak, warm-up and length, and read its formula.

    Beside the rate, which is Adam's step for a weight whose gradients agree, stands the step for
    one whose gradients are noise: smaller by the root mean square of Adam's quotient.

    Args:
        n_warmup: updates in which the rate rises, at most half of n_steps.

    Raises:
        ValueError: a peak that is not between 0.00001 and 0.1, too long a warm-up, or a length that
            is not between 100 and 100,000 updates: what the sliders reach.
    """
    if not 1e-5 <= peak <= 0.1:
        raise ValueError(f"peak is {peak}; it must be from 0.00001 to 0.1")
    if not 100 <= n_steps <= 100_000:
        raise ValueError(f"n_steps is {n_steps}; it must be from 100 to 100,000")
    if not 0 <= n_warmup <= n_steps // 2:
        raise ValueError(f"n_warmup is {n_warmup}; it must be from 0 to half of {n_steps} updates")
    schedules: dict[str, Schedule] = {
        "cosine": cosine_schedule(
            peak, n_warmup=n_warmup, n_steps=n_steps, final_fraction=FINAL_FRACTION
        ),
        "inverse root": inverse_sqrt_schedule(
            1, n_warmup=max(n_warmup, 1), factor=peak * max(n_warmup, 1) ** 0.5
        ),
        "constant": constant_schedule(peak, n_warmup=n_warmup),
    }
    updates = sorted({1, max(n_warmup, 1), n_steps // 2, n_steps})
    rows = [
        (name, str(s), f"{rate(s - 1):.2g}", f"{rate(s - 1) * noise_step(s):.2g}")
        for name, rate in schedules.items()
        for s in updates
    ]
    return Widget(
        "lm-schedule",
        {
            "peak": peak,
            "n_warmup": n_warmup,
            "n_steps": n_steps,
            "kinds": list(schedules),
            "final": FINAL_FRACTION,
            "beta1": BETA1,
        },
        alt,
        ("after the warm-up", "update", "rate", "Adam's step on noise"),
        rows,
    )


def noise_step(s: int) -> float:
    """Root mean square of Adam's quotient at update s where gradients are independent noise.

    The quotient is a mean of s gradients with weights (1 - b) b^(s-i) / (1 - b^s), over their
    deviation; its variance is the sum of the squared weights. Exact for normal gradients and a
    second moment that is their plain mean square (beta2 near 1).

    Example:
        >>> [round(noise_step(s), 2) for s in (1, 10, 1000)]
        [1.0, 0.33, 0.23]
    """
    return float(((1 - BETA1) / (1 + BETA1) * (1 + BETA1**s) / (1 - BETA1**s)) ** 0.5)
