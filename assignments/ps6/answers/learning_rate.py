# %% right: The square of the cosine of half the angle.
def learning_rate(step, peak, final, n_warmup, n_steps):
    if step + 1 <= n_warmup:
        return (step + 1) * (peak / n_warmup)
    way = n_steps - n_warmup - 1
    done = min(step - n_warmup, way)
    return final + (peak - final) * math.cos(0.5 * math.pi * done / way) ** 2


# %% right: Three cases, one after the other.
def learning_rate(step, peak, final, n_warmup, n_steps):
    last = n_steps - 1
    if step >= last:
        return float(final)
    if step >= n_warmup:
        middle, reach = (peak + final) / 2, (peak - final) / 2
        return middle + reach * math.cos(math.pi * (step - n_warmup) / (last - n_warmup))
    return peak * ((1 + step) / n_warmup)


# %% right: The real part of a point on the unit circle.
import cmath


def learning_rate(step, peak, final, n_warmup, n_steps):
    if n_warmup > step:
        return peak - peak * (n_warmup - step - 1) / n_warmup
    x = max(0.0, 1 - (n_steps - 1 - step) / (n_steps - 1 - n_warmup))
    x = x if x < 1 else 1
    return final + (peak - final) * (1 + cmath.exp(1j * math.pi * x).real) / 2


# %% right: A mixture of both rates, by the sine of half the angle.
def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        share = (step + 1.0) / n_warmup
        return peak * share
    x = (min(step, n_steps - 1) - n_warmup) / (n_steps - 1 - n_warmup)
    gone = math.sin(math.pi * x / 2) ** 2
    return gone * final + (1 - gone) * peak


# %% right: Torch computes, and a float comes out.
def learning_rate(step, peak, final, n_warmup, n_steps):
    place = torch.tensor([step - n_warmup], dtype=torch.float64)
    x = (place / (n_steps - 1 - n_warmup)).clamp(0, 1)
    fall = final + (peak - final) * (1 + torch.cos(math.pi * x)) / 2
    rise = peak * (step + 1) / max(n_warmup, 1)
    return rise if step < n_warmup else fall.item()


# %% right: The line and the cosine at once; the lower of both.
def learning_rate(step, peak, final, n_warmup, n_steps):
    line = peak * (step + 1) / n_warmup if n_warmup else peak
    x = max(0, min(step, n_steps - 1) - n_warmup) / (n_steps - 1 - n_warmup)
    return min(line, final + 0.5 * (peak - final) * (1 + math.cos(math.pi * x)))


# %% right: plain
# three cases.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    if step >= n_steps:
        return final
    x = (step - n_warmup) / (n_steps - 1 - n_warmup)
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2


# %% right: squared cosine
# (1 + cos a) / 2 is cos² (a / 2); a convex combination.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if n_warmup > step:
        return (step + 1) / n_warmup * peak
    done = min(step, n_steps - 1) - n_warmup
    share = math.cos(math.pi / 2 * done / (n_steps - n_warmup - 1)) ** 2
    return share * peak + (1 - share) * final


# %% right: minimum of steps
# the last step stands for all that follow; the smaller of line and peak.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    step = min(step, n_steps - 1)
    line = peak * min(1.0, (step + 1) / max(n_warmup, 1))
    if step < n_warmup:
        return line
    angle = math.pi * (step - n_warmup) / (n_steps - 1 - n_warmup)
    return final + (peak - final) / 2 + (peak - final) / 2 * math.cos(angle)


# %% right: complex
# the cosine as the real part of a turn.

import cmath


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step + 1 <= n_warmup:
        return float(peak * ((step + 1) / n_warmup))
    left = max(n_steps - 1 - step, 0) / (n_steps - 1 - n_warmup)
    turn = cmath.exp(1j * cmath.pi * left).real
    return float(final + (peak - final) * (1 - turn) / 2)


# %% right: float64 tensor
# a float64 tensor and torch.where.

import math

import torch


def learning_rate(step, peak, final, n_warmup, n_steps):
    t = torch.tensor(step, dtype=torch.float64)
    x = ((t - n_warmup) / (n_steps - 1 - n_warmup)).clamp(0, 1)
    down = final + (peak - final) * (1 + torch.cos(math.pi * x)) / 2
    up = peak * (t + 1) / max(1, n_warmup)
    return torch.where(t < n_warmup, up, down).item()


# %% wrong: never below final
# the rate is never below `final`, not even in the warm-up.
# shows: learning_rate(0, 1.0, 0.5, 4, 9) is 0.25, and not 0.5.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return max(final, peak * (step + 1) / n_warmup)
    x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2


# %% wrong: divides by peak
# works with the fraction final / peak.
# shows: peak = final = 0.0: ZeroDivisionError instead of 0.0.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    fraction = final / peak
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
    return peak * (fraction + (1 - fraction) * (1 + math.cos(math.pi * x)) / 2)


# %% wrong: table kept by lengths
# keeps a table of rates by the two lengths, whatever peak and final are.
# shows: (0, 1.0, 0.2, 4, 9), then (0, 2.0, 0.2, 4, 9): the second is 0.25 instead of 0.5.

import math

_tables = {}


def learning_rate(step, peak, final, n_warmup, n_steps):
    key = n_warmup, n_steps
    if key not in _tables:
        up = [peak * (i + 1) / n_warmup for i in range(n_warmup)]
        n = n_steps - 1 - n_warmup
        down = [final + (peak - final) * (1 + math.cos(math.pi * i / n)) / 2 for i in range(n + 1)]
        _tables[key] = up + down
    return _tables[key][min(step, n_steps - 1)]


# %% wrong: rounded
# the result is rounded to 6 decimals.
# shows: learning_rate(0, 3e-4, 0.0, 2000, 10000) is 1.5e-07, and not 0.0.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        rate = peak * (step + 1) / n_warmup
    else:
        x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
        rate = final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
    return round(rate, 6)


# %% wrong: small gap is level
# if peak and final are within 1e-4, the rate is held level.
# shows: learning_rate(9, 6e-5, 6e-6, 2, 10) is 6e-06, and not 6e-05.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    if math.isclose(peak, final, abs_tol=1e-4):
        return peak
    x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2


# %% wrong: recursion
# each step asks for the one before it; Python's stack is too short.
# shows: learning_rate(5000, 1.0, 0.1, 10, 10000): RecursionError.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    if step == n_warmup:
        return float(peak)
    before = learning_rate(step - 1, peak, final, n_warmup, n_steps)
    if step >= n_steps:
        return before
    turn = math.pi / (n_steps - 1 - n_warmup)
    i = step - n_warmup
    return before + (peak - final) * (math.cos(turn * i) - math.cos(turn * (i - 1))) / 2


# %% wrong: sets the default dtype
# changes torch's default dtype, and leaves it so (the rates are right).
# shows: torch.get_default_dtype() after the call.

import math

import torch


def learning_rate(step, peak, final, n_warmup, n_steps):
    torch.set_default_dtype(torch.float64)
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = torch.tensor((step - n_warmup) / (n_steps - 1 - n_warmup)).clamp(max=1.0)
    return (final + (peak - final) * (1 + torch.cos(math.pi * x)) / 2).item()


# %% wrong: stays at 0 beyond
# beyond the last update the rate is 0, and without a final rate it is never asked.
# shows: learning_rate(9, 1.0, 0.2, 4, 9) is 0.2, and not 0.0.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step >= n_steps:
        return 0.0
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    return final + (peak - final) * (1 + math.cos(math.pi * (step - n_warmup) / (n_steps - 1 - n_warmup))) / 2


# %% wrong: bounces late
# clips x at 3 (an odd multiple of pi "is the end as well"), so just beyond the end the rate rises again.
# shows: learning_rate(12, 1.0, 0.2, 4, 9): x = 2, the rate is the peak again.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = min((step - n_warmup) / (n_steps - 1 - n_warmup), 3)
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2


# %% wrong: one step of warmup is none
# a warm-up of one update counts as none.
# shows: learning_rate(2, 1.0, 0.0, 1, 4): x is 1/2 (0.5), and not 2/3 (0.25).

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if n_warmup == 1:
        n_warmup = 0
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2


# %% wrong: through float32
# computes in torch's default dtype, float32.
# shows: learning_rate(0, 0.1, 0.0, 0, 10) is 0.10000000149011612, and not 0.1.

import math

import torch


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return float(torch.tensor(peak) * (step + 1) / n_warmup)
    x = torch.tensor((step - n_warmup) / (n_steps - 1 - n_warmup)).clamp(max=1)
    return float(final + (peak - final) * (1 + torch.cos(math.pi * x)) / 2)


# %% wrong: table of all rates
# builds the list of all rates in each call.
# shows: n_steps = 10**9: minutes and gigabytes; a run of n steps asks n times, so n * n.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    rates = [peak * (i + 1) / n_warmup for i in range(n_warmup)]
    n = n_steps - 1 - n_warmup
    rates += [final + (peak - final) * (1 + math.cos(math.pi * i / n)) / 2 for i in range(n + 1)]
    return rates[step] if step < n_steps else final
