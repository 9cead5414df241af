# %% right: Unflattens the last axis.
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, x.shape[-1] // n_heads)).swapaxes(-2, -3)


# %% right: Cuts the last axis into chunks, and stacks them.
def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=-3)


# %% right: Takes one slice for each head.
def split_heads(x, n_heads):
    width = x.shape[-1] // n_heads
    slices = [x[..., h * width : (h + 1) * width] for h in range(n_heads)]
    return torch.cat([part.unsqueeze(-3) for part in slices], dim=-3)


# %% right: Moves the axis of the heads to its place.
def split_heads(x, n_heads):
    heads = torch.reshape(x, (*x.shape[:-1], n_heads, -1))
    return torch.movedim(heads, -2, -3)


# %% right: Looks at the numbers through windows that do not overlap.
def split_heads(x, n_heads):
    width = x.size(-1) // n_heads
    windows = x.unfold(-1, width, width)  # (..., T, H, K)
    return windows.transpose(windows.dim() - 3, windows.dim() - 2)


# %% right: Looks up the numbers of all heads.
def split_heads(x, n_heads):
    places = torch.arange(x.shape[-1]).view(n_heads, -1)
    axes = list(range(x.dim() + 1))
    axes[-2], axes[-3] = axes[-3], axes[-2]
    return x[..., places].permute(axes).contiguous()


# %% right: Writes head by head into a new tensor.
def split_heads(x, n_heads):
    *axes, n_places, width = x.shape
    heads = x.new_empty(*axes, n_heads, n_places, width // n_heads)
    for number, part in enumerate(x.split(width // n_heads, dim=-1)):
        heads[..., number, :, :] = part
    return heads


# %% right: unflatten
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


# %% right: stack of chunks
import torch


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=-3)


# %% right: index tensor
import torch


def split_heads(x, n_heads):
    columns = torch.arange(x.shape[-1]).reshape(n_heads, -1)
    return x[..., columns].movedim(-2, -3)


# %% right: transposed first
import torch


def split_heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    K = x.size(-1) // n_heads
    return x.mT.unflatten(-2, (n_heads, K)).mT


# %% right: einsum with ones
# a selection matrix for each head: zeros and ones, exact

import torch


def split_heads(x, n_heads):
    D = x.shape[-1]
    pick = torch.eye(D, dtype=x.dtype).reshape(D, n_heads, D // n_heads)
    return torch.einsum("...td,dhk->...htk", x, pick)


# %% right: unfold
def split_heads(x, n_heads):
    K = x.shape[-1] // n_heads
    return x.unfold(-1, K, K).swapaxes(-2, -3).contiguous()


# %% right: windows by unfold
# windows of K numbers, K apart, by Tensor.unfold, and movedim to bring the heads to the front
def split_heads(x, n_heads):
    width = x.size(-1) // n_heads
    return x.unfold(-1, width, width).movedim(-2, -3)


# %% wrong: stride from the start
# as_strided with the storage offset 0: for a slice of a larger tensor the numbers come from the wrong place.
# shows: split_heads(x[1], n), any tensor that does not begin at the start of its memory.

def split_heads(x, n_heads):
    *lead, T, D = x.shape
    *outer, row, column = x.stride()
    K = D // n_heads
    return x.as_strided((*lead, n_heads, T, K), (*outer, K * column, row, column), 0)


# %% wrong: one extra axis only
# with four axes it takes for granted that the first has the length 1.
# shows: x of shape (2, 3, T, D): the result is (1, 6, H, T, K).

def split_heads(x, n_heads):
    T, D = x.shape[-2:]
    K = D // n_heads
    if x.dim() == 2:
        return x.reshape(T, n_heads, K).transpose(0, 1)
    heads = x.reshape(-1, T, n_heads, K).transpose(1, 2)
    return heads if x.dim() == 3 else heads[None]


# %% wrong: squeezes width one
# loses the last axis where every head has one number (D = H).
# shows: K = 1.

def split_heads(x, n_heads):
    T, D = x.shape[-2:]
    heads = x.reshape(*x.shape[:-1], n_heads, D // n_heads).transpose(-3, -2)
    return heads.squeeze(-1)


# %% wrong: detached
# stacks x.data: no gradient flows from the result to x.
# shows: requires_grad.

import torch


def split_heads(x, n_heads):
    return torch.stack(x.data.chunk(n_heads, dim=-1), dim=-3)


# %% wrong: float32 copy
# the result is float32 whatever x is.
# shows: float64 (dtype, and digits).

import torch


def split_heads(x, n_heads):
    *lead, T, D = x.shape
    out = torch.zeros(*lead, n_heads, T, D // n_heads)
    for h, part in enumerate(x.split(D // n_heads, dim=-1)):
        out[..., h, :, :] = part
    return out


# %% wrong: view only
# view fails where the last two axes do not stand in memory as a block.
# shows: x after a transpose. (x[..., :4], a slice of a wider tensor, is fine.)

def split_heads(x, n_heads):
    return x.view(-1, n_heads, x.shape[-1] // n_heads).view(*x.shape[:-1], n_heads, -1).transpose(-2, -3)


# %% wrong: straight reshape
# reshaped straight to (..., H, T, K): the right shape, the wrong numbers.
# shows: T > 1 and H > 1.

def split_heads(x, n_heads):
    *lead, T, D = x.shape
    return x.reshape(*lead, n_heads, T, D // n_heads)


# %% wrong: every hth
# head h gets every H-th number.
# shows: H > 1 and K > 1.

import torch


def split_heads(x, n_heads):
    return torch.stack([x[..., h::n_heads] for h in range(n_heads)], dim=-3)


# %% wrong: places and features swapped
# (..., H, K, T) reshaped to (..., H, T, K): right for T = 1 or K = 1 only.
# shows: T > 1 and K > 1.

def split_heads(x, n_heads):
    *lead, T, D = x.shape
    K = D // n_heads
    return x.mT.reshape(*lead, n_heads, K, T).reshape(*lead, n_heads, T, K)


# %% wrong: heads before everything
# the heads become the FIRST axis (torch.stack without dim).
# shows: one leading axis or more; without one it is right.

import torch


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1))


# %% wrong: a permutation for each case
# writes the order of axes down for none, one and two leading axes, and takes the last one for more; breaks "There may be no leading axis, one, or several."
# shows: x of shape (2, 2, 2, 3, 4), two heads: an error, or other numbers
import torch


def split_heads(x, n_heads):
    cut = x.unflatten(-1, (n_heads, x.shape[-1] // n_heads))
    if x.dim() == 2:
        return cut.permute(1, 0, 2)
    if x.dim() == 3:
        return cut.permute(0, 2, 1, 3)
    return cut.permute(0, 1, 3, 2, 4)


# %% wrong: always from the first number
# lays the heads over the memory of x from its first number on, though x may be a part of a larger tensor; breaks "Head h has the numbers hK to (h + 1)K - 1 of every place" with "tensors whose numbers stand in memory in another order"
# shows: x = torch.arange(16.0).view(2, 2, 4)[1]: the heads hold 0 to 7 in place of 8 to 15
import torch


def split_heads(x, n_heads):
    width = x.shape[-1] // n_heads
    *lead, step, one = x.stride()
    size = (*x.shape[:-2], n_heads, x.shape[-2], width)
    return torch.as_strided(x, size, (*lead, width * one, step, one), 0)


# %% wrong: one head at place 1
# One head is a special case with the new axis at place 1, which is the wrong place unless there is exactly one leading axis.
# shows: x of shape (3, 5), or (2, 3, 4, 5), and one head
def split_heads(x, n_heads):
    if n_heads == 1:
        return x.unsqueeze(1)
    *lead, T, D = x.shape
    return x.reshape(*lead, T, n_heads, D // n_heads).transpose(-3, -2)


# %% wrong: no gradient for many heads
# The result is copied through NumPy for more than four heads, so no gradient flows.
# shows: eight heads
def split_heads(x, n_heads):
    if n_heads > 4:
        x = torch.from_numpy(x.detach().numpy().copy())
    return x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).transpose(-3, -2)
