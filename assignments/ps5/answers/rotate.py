# %% right: Adds x and a copy with its halves swapped and one negated, as LLaMA's code does.
def rotate(x, positions, base):
    width = x.shape[-1]
    exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
    angles = torch.outer(positions.float(), 1.0 / base**exponents)
    angles = torch.cat([angles, angles], dim=-1)
    first, second = x.chunk(2, dim=-1)
    swapped = torch.cat((-second, first), dim=-1)
    return x * angles.cos().to(x) + swapped * angles.sin().to(x)


# %% right: A pair is a complex number, and a turn a product.
def rotate(x, positions, base):
    half = x.shape[-1] // 2
    wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
    numbers = torch.complex(*(part.contiguous() for part in wide.split(half, dim=-1)))
    angles = positions[:, None].double() * base ** -(torch.arange(half).double() / half)
    turned = numbers * torch.polar(torch.ones_like(angles), angles).to(numbers.dtype)
    return torch.cat([turned.real, turned.imag], dim=-1).to(x.dtype)


# %% right: One matrix for each position turns all pairs at once.
def rotate(x, positions, base):
    width = x.shape[-1]
    half = width // 2
    i = torch.arange(half)
    angles = positions.double()[:, None] / base ** (2 * i.double() / width)
    turns = torch.zeros(len(positions), width, width, dtype=torch.float64)
    turns[:, i, i] = turns[:, i + half, i + half] = angles.cos()
    turns[:, i, i + half] = -angles.sin()
    turns[:, i + half, i] = angles.sin()
    return torch.einsum("tij,...tj->...ti", turns, x.double()).to(x.dtype)


# %% right: A loop over the pairs, which is allowed; columns are put side by side.
def rotate(x, positions, base):
    width = x.shape[-1]
    half = width // 2
    firsts, seconds = [], []
    for i in range(half):
        angle = positions.double() / base ** (2 * i / width)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x[..., i], x[..., half + i]
        firsts.append(a * cos - b * sin)
        seconds.append(a * sin + b * cos)
    return torch.stack(firsts + seconds, dim=-1)


# %% right: The halves are an axis of two, turned by small matrices.
def rotate(x, positions, base):
    half = x.shape[-1] // 2
    pairs = x.unflatten(-1, (2, half))
    exponents = torch.linspace(0, 1, half + 1, dtype=torch.float64)[:half]
    angles = positions.double().reshape(-1, 1) * torch.pow(base, -exponents)
    cos, sin = angles.cos(), angles.sin()
    turn = torch.stack([torch.stack([cos, -sin]), torch.stack([sin, cos])]).to(x.dtype)
    return torch.einsum("oitp,...tip->...top", turn, pairs).flatten(-2)


# %% right: Three shears make a turn: two along one axis, and one along the other between them.
def rotate(x, positions, base):
    half = x.shape[-1] // 2
    frequencies = base ** -(torch.arange(half, dtype=torch.float64) / half)
    angles = positions.double()[:, None] * frequencies
    a, b = x[..., :half].double(), x[..., half:].double()
    angles = torch.remainder(angles + torch.pi, 2 * torch.pi) - torch.pi
    shear = torch.tan(angles / 2)
    a = a - shear * b
    b = b + angles.sin() * a
    a = a - shear * b
    return torch.cat([a, b], dim=-1).to(x.dtype)


# %% right: chunk
import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    frequencies = base ** (-torch.arange(0, K, 2, dtype=torch.float32) / K)
    angles = positions.unsqueeze(-1).float() * frequencies
    cos, sin = angles.cos(), angles.sin()
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)


# %% right: complex numbers
import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    work = torch.float64
    theta = positions.to(work)[:, None] * torch.tensor(base, dtype=work) ** (-torch.arange(0, K, 2, dtype=work) / K)
    turn = torch.polar(torch.ones_like(theta), theta)
    first, second = x.to(work).split(K // 2, dim=-1)
    z = torch.complex(first.contiguous(), second.contiguous()) * turn
    return torch.cat((z.real, z.imag), dim=-1).to(x.dtype)


# %% right: rotate half
# as in LLaMA's files: x cos + (-b, a) sin, with the tables doubled

import torch


def rotate(x, positions, base):
    half = x.shape[-1] // 2
    inverse = 1.0 / base ** (torch.arange(half, dtype=torch.float32) / half)
    angle = torch.einsum("t,k->tk", positions.float(), inverse).repeat(1, 2)
    y = x if x.dtype == torch.float64 else x.float()
    turned = torch.cat([-y[..., half:], y[..., :half]], dim=-1)
    return (y * angle.cos() + turned * angle.sin()).to(x.dtype)


# %% right: two by two matrices
import torch


def rotate(x, positions, base):
    *lead, T, K = x.shape
    f = torch.tensor([base ** (-2 * i / K) for i in range(K // 2)], dtype=torch.float64)
    a = positions.double()[:, None] * f
    turn = torch.stack([torch.stack([a.cos(), -a.sin()]), torch.stack([a.sin(), a.cos()])])
    pairs = x.double().unflatten(-1, (2, K // 2))
    return torch.einsum("oitk,...tik->...tok", turn, pairs).flatten(-2).to(x.dtype)


# %% right: roll with sign
import torch


def rotate(x: torch.Tensor, positions: torch.Tensor, base: float) -> torch.Tensor:
    K = x.size(-1)
    j = torch.arange(K) % max(K // 2, 1)
    angle = positions.double().unsqueeze(1) * base ** (-2.0 * j.double() / max(K, 1))
    sign = torch.where(torch.arange(K) < K // 2, -1.0, 1.0).double()
    y = x.double()
    return (y * angle.cos() + y.roll(K // 2, dims=-1) * (sign * angle.sin())).to(x.dtype)


# %% right: loop over pairs
# the rules allow a loop over the pairs of entries

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
    columns = [None] * K
    for i in range(K // 2):
        theta = positions.to(wide.dtype) * base ** (-2 * i / K)
        a, b = wide[..., i], wide[..., i + K // 2]
        columns[i] = a * theta.cos() - b * theta.sin()
        columns[i + K // 2] = b * theta.cos() + a * theta.sin()
    return torch.stack(columns, dim=-1).to(x.dtype)


# %% wrong: cache by first and length
# sines and cosines are kept under (first position, number of positions, K, base): stale for other positions in between.
# shows: positions 0, 1, 2 and then 0, 5, 9 with the same x.

import torch


_tables = {}


def rotate(x, positions, base):
    K = x.shape[-1]
    key = (int(positions[0]) if len(positions) else 0, len(positions), K, base)
    if key not in _tables:
        f = base ** (-torch.arange(0, K, 2, dtype=torch.float32) / K)
        a = positions[:, None] * f
        _tables[key] = a.cos(), a.sin()
    cos, sin = (part.to(x.dtype) for part in _tables[key])
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


# %% wrong: writes into x
# writes the new halves into x itself (the second one even from the overwritten first would be worse: here a copy saves that).
# shows: x after the call; a leaf that requires grad.

import torch


def rotate(x, positions, base):
    h = x.shape[-1] // 2
    f = base ** (-torch.arange(h, dtype=torch.float64) / h)
    angle = positions[:, None].double() * f
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :h].clone(), x[..., h:].clone()
    x[..., :h] = a * c - b * s
    x[..., h:] = b * c + a * s
    return x


# %% wrong: angles in dtype of x if half
# angles in the dtype of x for float16; bfloat16 is taken care of, float16 not.
# shows: float16 with positions above 2048 (odd ones).

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    work = torch.float32 if x.dtype == torch.bfloat16 else x.dtype
    f = base ** (-torch.arange(0, K, 2, dtype=work) / K)
    angle = positions.to(work)[:, None] * f
    a, b = x.to(work).chunk(2, -1)
    c, s = angle.cos(), angle.sin()
    return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)


# %% wrong: float32 comes out of half
# float16 in, float32 out (cos and sin are float32 and nothing is cast back); bfloat16 is cast.
# shows: dtype for float16.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    angle = positions[:, None].float() * base ** (-torch.arange(0, K, 2).float() / K)
    c, s = angle.cos(), angle.sin()
    a, b = x.chunk(2, -1)
    out = torch.cat([a * c - b * s, b * c + a * s], -1)
    return out.to(x.dtype) if x.dtype in (torch.bfloat16, torch.float64) else out


# %% wrong: loop over positions
# a Python loop over the rows, forbidden by the rules of the set.
# shows: time for T = 9000.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    f = base ** (-torch.arange(0, K, 2, dtype=torch.float64) / K)
    rows = []
    for t, p in enumerate(positions.tolist()):
        c, s = (p * f).cos().to(x.dtype), (p * f).sin().to(x.dtype)
        a, b = x[..., t, :].chunk(2, -1)
        rows.append(torch.cat([a * c - b * s, b * c + a * s], -1))
    return torch.stack(rows, dim=-2) if rows else x.clone()


# %% wrong: table of 4096
# a fixed table of 4096 positions, later ones are clamped to the last.
# shows: positions of 4096 and more (they may go up to 9999).

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    table = torch.arange(4096, dtype=torch.float64)[:, None] * base ** (-torch.arange(0, K, 2, dtype=torch.float64) / K)
    angle = table[positions.clamp(max=4095)]
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)


# %% wrong: heads and places mixed
# with four axes the angles lie along the SECOND axis where its length fits (x[B, H, T, K] with H == T).
# shows: four axes with as many heads as positions.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    angle = positions[:, None].double() * base ** (-torch.arange(0, K, 2).double() / K)
    if x.dim() == 4 and x.shape[1] == len(positions):
        angle = angle[:, None]
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)


# %% wrong: neighbours
# pairs neighbours, as the paper does.
# shows: K >= 4.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    angle = positions[:, None].double() * base ** (-torch.arange(0, K, 2).double() / K)
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2)


# %% wrong: no gradient
# built with torch.tensor(x.tolist()): no gradient flows back to x.
# shows: requires_grad.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    angle = positions[:, None].double() * base ** (-torch.arange(0, K, 2).double() / K)
    z = torch.complex(*x.detach().double().chunk(2, -1)) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag], -1).to(x.dtype)


# %% wrong: default dtype
# float literals and arange / K take torch's default dtype: under a default of bfloat16 or float16 the angles are coarse.
# shows: default dtype bfloat16, late positions. (ambiguous: task 1 names the default dtype, this one only says "whatever the dtype of x".)

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    f = torch.tensor([base ** (-2 * i / K) for i in range(K // 2)])
    angle = positions[:, None] * f
    a, b = x.chunk(2, -1)
    c, s = angle.cos(), angle.sin()
    return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)


# %% wrong: remembers angles without base
# keeps the angles of positions that it has seen, under positions and width alone: another base gets the old angles.
# shows: two calls with the same positions and K, and the bases 10000 and 500000: the second turns by the angles of the first

import torch

ANGLES = {}


def rotate(x, positions, base):
    half = x.shape[-1] // 2
    key = (tuple(positions.tolist()), half)
    if key not in ANGLES:
        frequencies = base ** -(torch.arange(half, dtype=torch.float32) / half)
        ANGLES[key] = positions.to(torch.float32).unsqueeze(-1) * frequencies
    cos, sin = ANGLES[key].cos().to(x.dtype), ANGLES[key].sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


# %% wrong: squeezes one pair
# squeezes the table of angles; with K = 2 its axis of pairs goes with it, and positions are taken for pairs.
# shows: x of shape (3, 2), positions (0, 1, 2): a result of shape (3, 6)

import torch


def rotate(x, positions, base):
    half = x.shape[-1] // 2
    frequencies = base ** -(torch.arange(half, dtype=torch.float32) / half)
    angles = torch.outer(positions.to(torch.float32), frequencies).squeeze()
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


# %% wrong: text by text
# a loop goes over the texts of the batch.
# shows: the number of calls for a batch of many texts.
import torch


def rotate(x, positions, base):
    if x.dim() > 3:
        return torch.stack([rotate(text, positions, base) for text in x])
    half = x.shape[-1] // 2
    angles = positions.float().unsqueeze(-1) * base ** -(torch.arange(half, dtype=torch.float32) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


# %% wrong: whole base
# the base is made a whole number.
# shows: a base of 2.5.
import torch


def rotate(x, positions, base):
    half = x.shape[-1] // 2
    angles = positions.float().unsqueeze(-1) * float(int(base)) ** -(torch.arange(half, dtype=torch.float32) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


# %% wrong: looks for the largest entry
# An empty batch has none.
# shows: x of shape (0, 3, 4)
def rotate(x, positions, base):
    """Turn each pair of entries by an angle proportional to its position."""
    x.max()
    half = x.shape[-1] // 2
    frequencies = base ** (-(torch.arange(half, dtype=torch.float32) / half))
    angles = positions.to(torch.float32).unsqueeze(-1) * frequencies
    cos, sin = (angles.cos().to(x.dtype), angles.sin().to(x.dtype))
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


# %% wrong: bfloat16 by way of float16
# Numbers above 65504 become infinite.
# shows: x of bfloat16 near 1e10
def rotate(x, positions, base):
    """Turn each pair of entries by an angle proportional to its position."""
    if x.dtype == torch.bfloat16:
        return rotate(x.half(), positions, base).to(x.dtype)
    half = x.shape[-1] // 2
    frequencies = base ** (-(torch.arange(half, dtype=torch.float32) / half))
    angles = positions.to(torch.float32).unsqueeze(-1) * frequencies
    cos, sin = (angles.cos().to(x.dtype), angles.sin().to(x.dtype))
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
