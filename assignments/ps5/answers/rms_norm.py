# %% right: As LLaMA's code has it: float32 in between, and a reciprocal root.
def rms_norm(x, weight, eps):
    wide = x.float() if x.dtype == torch.float16 else x
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return weight * (wide * scale).type_as(x)


# %% right: The root mean square is the vector's length over sqrt(D).
def rms_norm(x, weight, eps):
    wide = x.double()
    squares = torch.einsum("...d,...d->...", wide, wide)
    width = x.shape[-1]
    return (wide * width**0.5 / torch.sqrt(squares + width * eps).unsqueeze(-1) * weight).to(
        x.dtype
    )


# %% right: All axes but the last become one, and a diagonal matrix of scales meets the rows.
def rms_norm(x, weight, eps):
    rows = x.reshape(-1, x.shape[-1]).double()
    scales = (rows.square().sum(1) / x.shape[-1] + eps) ** -0.5
    return (torch.diag(scales) @ rows).reshape(x.shape).to(x.dtype) * weight


# %% right: The scale is the exponential of minus half a logarithm.
def rms_norm(x, weight, eps):
    wide = x.double()
    scale = torch.exp(-0.5 * torch.log(torch.mean(wide * wide, dim=-1, keepdim=True) + eps))
    return torch.mul(wide * scale, weight.double()).to(x.dtype)


# %% right: The mean square is the variance plus the square of the mean.
def rms_norm(x, weight, eps):
    wide = x.to(torch.float64)
    mean = wide.mean(-1, keepdim=True)
    variance = (wide - mean).square().mean(-1, keepdim=True)
    return (wide / torch.sqrt(variance + mean**2 + eps)).to(x.dtype) * weight


# %% right: The entries come first; squares are added up one entry after the other.
def rms_norm(x, weight, eps):
    columns = x.movedim(-1, 0).double()
    total = sum(column * column for column in columns)
    normalised = columns / torch.sqrt(total / len(columns) + eps)
    return (normalised.movedim(0, -1) * weight).to(x.dtype)


# %% right: A matrix of ones over D averages the squares and spreads the mean at once.
def rms_norm(x, weight, eps):
    width = x.shape[-1]
    wide = x if x.dtype == torch.float64 else x.float()
    average = wide.new_full((width, width), 1 / width)
    return torch.div(wide, torch.sqrt(wide**2 @ average + eps)).to(x.dtype) * weight


# %% right: plain
import torch


def rms_norm(x, weight, eps):
    wide = x if x.dtype == torch.float64 else x.float()
    scale = torch.sqrt((wide**2).mean(dim=-1, keepdim=True) + eps)
    return (wide / scale * weight).to(x.dtype)


# %% right: promote types
import torch


def rms_norm(x, weight, eps):
    work = torch.promote_types(x.dtype, torch.float32)
    y = x.to(work)
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps) * weight.to(work)).to(x.dtype)


# %% right: always float64
import torch


def rms_norm(x, weight, eps):
    y = x.double()
    m = torch.einsum("...d,...d->...", y, y) / x.shape[-1]
    return (y / (m + eps).sqrt().unsqueeze(-1) * weight.double()).type_as(x)


# %% right: vector norm
# the norm as a length is no normalising layer

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    length = torch.linalg.vector_norm(y, dim=-1, keepdim=True)
    return (y / (length.square() / y.shape[-1] + eps).sqrt() * weight).to(x.dtype)


# %% right: table of dtypes
import torch


_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    work = _WIDER.get(x.dtype, x.dtype)
    y, w = x.to(work), weight.to(work)
    mean_square = y.mul(y).sum(dim=-1, keepdim=True).div(y.size(-1))
    return y.mul(w).div((mean_square + eps) ** 0.5).to(x.dtype)


# %% right: recursion for half
import torch


def rms_norm(x, weight, eps):
    if x.dtype == torch.float16:
        return rms_norm(x.float(), weight.float(), eps).half()
    return x * weight / (x.pow(2).mean(-1).add(eps).sqrt()[..., None])


# %% wrong: bfloat16 stays float32
# goes over to float32 for everything that is not float64, and goes back for float16 only: bfloat16 in, float32 out.
# shows: dtype for bfloat16 (weight in bfloat16 too).

import torch


def rms_norm(x, weight, eps):
    y = x if x.dtype == torch.float64 else x.float()
    y = y / torch.sqrt(y.pow(2).mean(-1, keepdim=True) + eps) * weight
    return y.half() if x.dtype == torch.float16 else y


# %% wrong: float64 through float32
# float64 is computed in float32 and cast back; the dtype is right, the digits are not.
# shows: float64 beyond the 7th digit, or entries of 1e30, whose squares overflow in float32 but not in float64.

import torch


def rms_norm(x, weight, eps):
    y = x.float()
    y = y * torch.rsqrt(y.square().mean(dim=-1, keepdim=True) + eps)
    return y.to(x.dtype) * weight


# %% wrong: largest of rms and eps
# divides by the larger of root mean square and eps.
# shows: vectors whose mean square is of the size of eps; zero stays zero, ordinary ones are nearly right.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    m = y.square().mean(dim=-1, keepdim=True)
    return (y / m.clamp(min=eps).sqrt() * weight).to(x.dtype)


# %% wrong: mean over everything
# the mean runs over ALL entries if there is more than one leading axis (x.mean() of a flattened view).
# shows: three axes with vectors of different size.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    if y.dim() <= 2:
        m = (y * y).mean(dim=-1, keepdim=True)
    else:
        m = (y * y).mean(dim=tuple(range(1, y.dim())), keepdim=True)
    return (y / (m + eps).sqrt() * weight).to(x.dtype)


# %% wrong: weight not learned
# weight.data gives no gradient to the weight.
# shows: weight.grad after backward.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    y = y * (y.pow(2).mean(-1, keepdim=True) + eps).pow(-0.5)
    return (y * weight.data).to(x.dtype)


# %% wrong: scales x in place
# float32 and float64 tensors are divided in place: the caller's x is changed.
# shows: x after the call.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    m = y.pow(2).mean(-1, keepdim=True)
    y.data.div_((m + eps).sqrt())
    return (y * weight).to(x.dtype)


# %% wrong: half squares
# squares in the dtype of x: 300 squared is beyond float16.
# shows: float16 above 255.

import torch


def rms_norm(x, weight, eps):
    m = (x * x).mean(dim=-1, keepdim=True)
    return (x.float() / torch.sqrt(m.float() + eps) * weight).to(x.dtype)


# %% wrong: eps lost in half
# the mean square is float32, but eps is added in float16 after going back, where 1e-8 is 0 (and m may overflow): the guard uses clamp.
# shows: float16 zeros with eps 1e-8: 0/0 = nan; float16 above 255.

import torch


def rms_norm(x, weight, eps):
    if x.dtype == torch.float16:
        root = x.float().square().mean(-1, keepdim=True).sqrt().half()
        return x / (root + eps) * weight
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight


# %% wrong: eps outside
# eps is added to the root.
# shows: eps that is not tiny.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    return (y / (y.pow(2).mean(-1, keepdim=True).sqrt() + eps) * weight).to(x.dtype)


# %% wrong: torch does it
# F.rms_norm is not allowed.
# shows: by reading.

from torch.nn import functional as F


def rms_norm(x, weight, eps):
    return F.rms_norm(x, (x.shape[-1],), weight, eps)


# %% wrong: fixed width
# the number of entries is read from the weight, which is right, but as an int8, which ends at 127.
# shows: D >= 128.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    D = torch.tensor(weight.shape[0]).to(torch.int8)
    return (y / (y.pow(2).sum(-1, keepdim=True) / D + eps).sqrt() * weight).to(x.dtype)


# %% wrong: rounds the factor
# takes the root in float32, but rounds the factor 1 / root to the dtype of x; in float16 it can be infinite.
# shows: float16, x = (0, 0), eps 1e-12: nan in place of 0

import torch


def rms_norm(x, weight, eps):
    wide = x if x.dtype == torch.float64 else x.float()
    factor = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return x * factor.to(x.dtype) * weight


# %% wrong: widens only large numbers
# goes over to float32 only where a square would overflow; small squares vanish in float16.
# shows: float16, x = (1e-4, 1e-4), eps 1e-9: 3.2 in place of 0.95

import torch


def rms_norm(x, weight, eps):
    wide = x
    if x.numel() and x.abs().max() > 200 and x.dtype != torch.float64:
        wide = x.float()
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return (wide / torch.sqrt(mean_square + eps)).to(x.dtype) * weight


# %% wrong: text by text
# the rows of the batch are normalised in a loop, all positions of one at once.
# shows: the number of calls for a batch of many texts.
import torch


def rms_norm(x, weight, eps):
    if x.dim() > 2:
        return torch.stack([rms_norm(text, weight, eps) for text in x]) if len(x) else x.clone()
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt()).to(x.dtype) * weight


# %% wrong: small float16 is squared in float16
# Squares below 6e-8 are lost.
# shows: x of float16 near 0.001, eps 1e-12
def rms_norm(x, weight, eps):
    """Bring each vector to root mean square 1, then to a learned one."""
    wide = x if x.dtype == torch.float64 else x.float()
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return (
        wide
        / torch.sqrt(
            (
                x.square().mean(-1, keepdim=True).float()
                if x.dtype == torch.float16 and x.abs().max() < 100
                else mean_square
            )
            + eps
        )
    ).to(x.dtype) * weight
