"""A learning rate schedule gives the rate of each update, from warm-up to the last.

Chapter: training transformers. Vaswani et al. 2017; Loshchilov & Hutter 2017; Hu et al. 2024
(MiniCPM); Hägele et al. 2024; Zaremba et al. 2014.
"""

import math
from collections.abc import Callable

from course_pkg.common.checks import not_negative, real_number, whole_numbers

Schedule = Callable[[int], float]
"""From the number of updates done so far (0 before the first) to the learning rate of the next."""


def constant_schedule(lr: float, *, n_warmup: int = 0) -> Schedule:
    """Linear warm-up over `n_warmup` updates, then constant."""
    _check(lr, n_warmup)
    return lambda step: lr * min(1.0, (step + 1) / max(n_warmup, 1))


def inverse_sqrt_schedule(d_model: int, *, n_warmup: int, factor: float = 1.0) -> Schedule:
    """The schedule of the first transformer: linear warm-up, then a fall with 1 / sqrt(step).

    factor d_model^-0.5 min(s^-0.5, s n_warmup^-1.5), s counting from 1: Vaswani et al. 2017, eq. 3.
    """
    whole_numbers(d_model=d_model, n_warmup=n_warmup)
    not_negative(factor=factor)

    def lr(step: int) -> float:
        s = step + 1
        return factor * d_model**-0.5 * min(s**-0.5, s * n_warmup**-1.5)

    return lr


def cosine_schedule(
    peak_lr: float, *, n_warmup: int, n_steps: int, final_fraction: float = 0.1
) -> Schedule:
    """Linear warm-up to `peak_lr`, then a fall along half a cosine to `final_fraction` of it.

    Loshchilov & Hutter 2017, eq. 5, with warm-up as in Radford et al. 2018. The last of `n_steps`
    updates has the lowest rate; later ones keep it.

    Raises:
        ValueError: if the warm-up is negative or leaves nothing of n_steps.
    """
    _check(peak_lr, n_warmup, n_steps=n_steps)
    not_negative(final_fraction=final_fraction)
    if n_warmup >= n_steps:
        raise ValueError(f"n_warmup is {n_warmup}; it must be below n_steps, {n_steps}")

    def lr(step: int) -> float:
        if step < n_warmup:
            return peak_lr * (step + 1) / n_warmup
        progress = min(1.0, (step - n_warmup) / max(1, n_steps - 1 - n_warmup))
        cosine = (1 + math.cos(math.pi * progress)) / 2  # 1 at the peak, 0 at the end
        return peak_lr * (final_fraction + (1 - final_fraction) * cosine)

    return lr


def warmup_stable_decay_schedule(
    peak_lr: float, *, n_warmup: int, n_steps: int, n_decay: int
) -> Schedule:
    """Linear warm-up to `peak_lr`, stay, and fall as 1 - sqrt(progress) in the last updates.

    Until the fall begins the rate does not depend on `n_steps`, so a run can go on without knowing
    its end, and be ended from any checkpoint: Hu et al. 2024, section 4; the form of the fall is
    that of Hägele et al. 2024, eq. 1. Nearly all of the loss that a cosine gains comes in the fall.

    Raises:
        ValueError: if the warm-up or the fall is negative, or both do not fit into n_steps.
    """
    _check(peak_lr, n_warmup, n_steps=n_steps)
    whole_numbers(at_least=0, n_decay=n_decay)
    if n_warmup + n_decay > n_steps:
        raise ValueError(
            f"n_warmup is {n_warmup} and n_decay is {n_decay}; together they must not be above "
            f"n_steps, {n_steps}"
        )

    def lr(step: int) -> float:
        if step < n_warmup:
            return peak_lr * (step + 1) / n_warmup
        n_left = max(0, n_steps - step)
        if n_decay == 0 or n_left >= n_decay:
            return peak_lr
        return float(peak_lr * (1 - (1 - n_left / n_decay) ** 0.5))

    return lr


def step_schedule(lr: float, *, every: int, n_constant: int, divisor: float) -> Schedule:
    """Stay for `n_constant` periods of `every` updates, then divide at the start of each period.

    Zaremba et al. 2014, section 4.1: a period is an epoch.

    Raises:
        ValueError: if `every` is below 1 or the divisor is not positive.
    """
    _check(lr, 0, every=every)
    whole_numbers(at_least=0, n_constant=n_constant)
    if not real_number("divisor", divisor) > 0:
        raise ValueError(f"divisor is {divisor}; it must be positive")
    return lambda step: lr / divisor ** max(0, step // every + 1 - n_constant)


def _check(lr: float, n_warmup: int, **numbers: int) -> None:
    not_negative(lr=lr)
    whole_numbers(at_least=0, n_warmup=n_warmup)
    whole_numbers(**numbers)


def rate_of(schedule: Schedule, n_done: int) -> float:
    """Ask a schedule; below 0 an update would climb, and nan would spoil every weight.

    Raises:
        ValueError: naming the rate.
    """
    rate = real_number(f"learning_rate({n_done})", schedule(n_done))
    if not 0 <= rate < math.inf:
        raise ValueError(f"learning_rate({n_done}) is {rate}; it must not be negative, and finite")
    return rate
