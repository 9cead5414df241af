# %% right: Fills every other column; the powers are exponentials.
def sinusoidal_positions(positions, d_model):
    table = torch.zeros(*positions.shape, d_model, dtype=torch.float32)
    steps = torch.arange(0, d_model, 2, dtype=torch.float32)
    angles = positions[..., None].float() * torch.exp(steps * (-math.log(10_000) / d_model))
    table[..., 0::2] = torch.sin(angles)
    table[..., 1::2] = torch.cos(angles)
    return table


# %% right: Points on the unit circle; their parts are cosine and sine.
def sinusoidal_positions(positions, d_model):
    half = d_model // 2
    angles = positions[..., None].double() / 10_000 ** (torch.arange(half).double() / half)
    points = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))
    return points.flip(-1).reshape(*positions.shape, d_model).float()


# %% right: A cosine is a sine that is a quarter of a turn ahead.
def sinusoidal_positions(positions, d_model):
    columns = torch.arange(d_model)
    even = columns - columns % 2
    angles = positions.double().unsqueeze(-1) / torch.pow(10_000.0, even.double() / d_model)
    return torch.sin(angles + (columns % 2).double() * (math.pi / 2)).to(torch.float32)


# %% right: A loop over the pairs of columns, which is allowed.
def sinusoidal_positions(positions, d_model):
    columns = []
    for i in range(d_model // 2):
        angle = positions.double() / 10_000 ** (2 * i / d_model)
        columns += [angle.sin(), angle.cos()]
    return torch.stack(columns, dim=-1).float()


# %% right: NumPy computes in float64.
import numpy as np


def sinusoidal_positions(positions, d_model):
    even = 2 * (np.arange(d_model) // 2)
    angles = positions.numpy()[..., None] / np.power(10_000, even / d_model)
    waves = np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))
    return torch.from_numpy(waves.astype(np.float32))


# %% right: Makes the table of all positions up to the last, and looks rows up in it.
def sinusoidal_positions(positions, d_model):
    end = int(positions.max()) + 1 if positions.numel() else 1
    table = torch.empty(end, d_model, dtype=torch.float32)
    frequencies = 1 / 10_000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.outer(torch.arange(end, dtype=torch.float64), frequencies)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table[positions]


# %% right: Each pair starts at (0, 1) and is turned by a matrix for its angle.
def sinusoidal_positions(positions, d_model):
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = torch.einsum("...,f->...f", positions.double(), 10_000.0**-exponents)
    cos, sin = angles.cos(), angles.sin()
    turn = torch.stack([torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], -2)
    start = torch.tensor([0.0, 1.0], dtype=torch.float64)
    return (turn @ start).flatten(-2).float()


# %% right: stack flatten
import torch


def sinusoidal_positions(positions, d_model):
    exponents = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model
    angles = positions.unsqueeze(-1).float() / 10_000.0**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


# %% right: empty and fill
import math
import torch


def sinusoidal_positions(positions, d_model):
    waves = torch.empty(*positions.shape, d_model, dtype=torch.float32)
    frequency = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(10_000) / d_model))
    angle = positions[..., None].double() * frequency
    waves[..., 0::2] = torch.sin(angle)
    waves[..., 1::2] = torch.cos(angle)
    return waves


# %% right: polar
# e^{i angle}: the imaginary part is the sine, the real part the cosine

import torch


def sinusoidal_positions(positions, d_model):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    angle = positions.to(torch.float64).unsqueeze(-1) * torch.pow(torch.tensor(10_000.0, dtype=torch.float64), -2 * i / d_model)
    circle = torch.view_as_real(torch.polar(torch.ones_like(angle), angle))
    return circle.flip(-1).reshape(*positions.shape, d_model).to(torch.float32)


# %% right: columns one by one
import torch


def sinusoidal_positions(positions: torch.Tensor, d_model: int) -> torch.Tensor:
    p = positions.to(torch.float64)
    columns = []
    for j in range(d_model):
        angle = p / 10_000 ** ((j - j % 2) / d_model)
        columns.append(torch.cos(angle) if j % 2 else torch.sin(angle))
    return torch.stack(columns, dim=-1).float()


# %% right: quarter turn
# cos(a) = sin(a + pi/2), in float64, so the quarter turn costs nothing

import math
import torch


def sinusoidal_positions(positions, d_model):
    j = torch.arange(d_model, dtype=torch.int64)
    f = 10_000.0 ** (-(j - j % 2).double() / d_model)
    return torch.sin(positions.unsqueeze(-1).double() * f + (j % 2).double() * (math.pi / 2)).float()


# %% right: numpy
import torch
import numpy as np


def sinusoidal_positions(positions, d_model):
    p = positions.numpy()[..., None].astype(np.float64)
    a = p / np.power(10_000.0, np.arange(0, d_model, 2) / d_model)
    waves = np.stack([np.sin(a), np.cos(a)], axis=-1).reshape(*positions.shape, d_model)
    return torch.from_numpy(waves.astype(np.float32))


# %% wrong: table of 10000 rows
# looks up a table of 10000 rows; the positions go from 0 to 10,000, so 10,000 itself is an IndexError.
# shows: position 10000.

import torch


def sinusoidal_positions(positions, d_model):
    p = torch.arange(10_000, dtype=torch.float64)[:, None]
    f = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    table = torch.stack([torch.sin(p * f), torch.cos(p * f)], dim=-1).flatten(-2).float()
    return table[positions]


# %% wrong: default dtype frequencies
# leaves the dtype to torch's default: float64 results under a default of float64, coarse angles under bfloat16.
# shows: torch.set_default_dtype(torch.float64) or torch.bfloat16 around the call.

import torch


def sinusoidal_positions(positions, d_model):
    i = torch.arange(0, d_model, 2) / d_model
    angles = positions.unsqueeze(-1) * 10_000.0**-i
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


# %% wrong: cast at the end only
# as above, with .float() at the end: the dtype is right, but under a default of float16/bfloat16 the angles are coarse.
# shows: default dtype bfloat16 (or float16), position 257 or 4001.

import torch


def sinusoidal_positions(positions, d_model):
    frequencies = torch.tensor([10_000.0 ** (-2 * i / d_model) for i in range(d_model // 2)])
    angles = positions.unsqueeze(-1) * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


# %% wrong: outer needs one axis
# torch.outer takes one axis only, and so the positions are flattened and never brought back for three axes.
# shows: positions of shape () or of three axes.

import math
import torch


def sinusoidal_positions(positions, d_model):
    f = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float32) * (-math.log(10_000.0) / d_model))
    angles = torch.outer(positions.flatten().float(), f)
    waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
    if positions.dim() == 2:
        return waves.reshape(*positions.shape, d_model)
    return waves


# %% wrong: loop over positions
# a Python loop over the positions (forbidden by the rules of the set); the numbers are right.
# shows: time for 100,000 positions.

import math
import torch


def sinusoidal_positions(positions, d_model):
    rows = []
    for p in positions.flatten().tolist():
        row = []
        for i in range(d_model // 2):
            angle = p / 10_000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float32).reshape(*positions.shape, d_model)


# %% wrong: halves not turns
# all sines first, then all cosines.
# shows: d_model >= 4.

import torch


def sinusoidal_positions(positions, d_model):
    f = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
    a = positions[..., None].float() * f
    return torch.cat([a.sin(), a.cos()], dim=-1)


# %% wrong: integer exponent
# 2 * i // d_model is 0 for every i: all waves have the frequency 1.
# shows: d_model >= 4.

import torch


def sinusoidal_positions(positions, d_model):
    i = torch.arange(d_model // 2)
    a = positions.unsqueeze(-1).float() / 10_000.0 ** (2 * i // d_model).float()
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(-2)


# %% wrong: widths above 512
# a fixed table of frequencies for 512 columns, cut: for other widths the exponent is 2i / 512.
# shows: every d_model but 512.

import torch


_F = 10_000.0 ** (-torch.arange(0, 512, 2, dtype=torch.float64) / 512)


def sinusoidal_positions(positions, d_model):
    a = positions.unsqueeze(-1) * _F[: d_model // 2]
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(-2).float()


# %% wrong: unsqueezed in place
# unsqueeze_ gives the caller's positions another shape.
# shows: positions.shape after the call.

import torch


def sinusoidal_positions(positions, d_model):
    f = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    a = positions.unsqueeze_(-1) * f
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(-2).float()


# %% wrong: frequencies from cache of first call
# the frequencies are kept from the FIRST call if the number of columns fits, cut otherwise: a stale cache.
# shows: a call with d_model = 8, then one with d_model = 4.

import torch


_kept = {}


def sinusoidal_positions(positions, d_model):
    f = _kept.get("f")
    if f is None or len(f) < d_model // 2:
        f = _kept["f"] = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
    a = positions.unsqueeze(-1).float() * f[: d_model // 2]
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(-2)


# %% wrong: rough pi
# takes whole turns off the angle first, with a pi of six digits, so late positions are off by up to 0.008.
# shows: position 9990, d_model 2: the sine is off by more than 0.008 times its slope

import torch

TURN = 2 * 3.14159


def sinusoidal_positions(positions, d_model):
    exponents = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model
    angles = positions.unsqueeze(-1).to(torch.float32) / 10_000**exponents
    angles = angles.remainder(TURN)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


# %% wrong: needs contiguous positions
# Transposed positions have no such view.
# shows: positions.T of shape (3, 2)
def sinusoidal_positions(positions, d_model):
    """Return a row of sines and cosines for each position."""
    exponents = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model
    positions.view(-1)
    angles = positions.unsqueeze(-1).to(torch.float32) / 10000**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
