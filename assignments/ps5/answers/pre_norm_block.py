# %% right: One name for the residual path.
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    x = x + attention(norm_1(x), mask)
    x = x + feed_forward(norm_2(x))
    return x


# %% right: A loop over pairs of a norm and a sublayer, as the package has it.
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    for norm, sublayer in ((norm_1, lambda h: attention(h, mask)), (norm_2, feed_forward)):
        x = x + sublayer(norm(x))
    return x


# %% right: A fold over two steps.
from functools import reduce


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    steps = [
        lambda h: attention(norm_1(h), mask),
        lambda h: feed_forward(norm_2(h)),
    ]
    return reduce(lambda h, step: torch.add(h, step(h)), steps, x)


# %% right: Both updates are kept, and summed up at the end.
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    first = attention(norm_1(x), mask)
    second = feed_forward(norm_2(x + first))
    return torch.stack([x, first, second]).sum(dim=0)


# %% right: Adds in place, into a copy of its own.
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    path = x.clone()
    path += attention(norm_1(x), mask)
    update = feed_forward(norm_2(path))
    return path.add(update)


# %% right: A residual connection is a module that wraps a function.
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    class Residual(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, h):
            return h + self.inner(h)

    around_attention = Residual(lambda h: attention(norm_1(h), mask))
    return torch.nn.Sequential(around_attention, Residual(lambda h: feed_forward(norm_2(h))))(x)


# %% right: two lines
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    x = x + attention(norm_1(x), mask)
    return x + feed_forward(norm_2(x))


# %% right: residual helper
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    def residual(y, norm, sublayer):
        return y + sublayer(norm(y))

    return residual(residual(x, norm_1, lambda y: attention(y, mask)), norm_2, feed_forward)


# %% right: reduce
import torch
import functools


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    sublayers = [(norm_1, functools.partial(lambda m, y: attention(y, m), mask)), (norm_2, feed_forward)]
    return functools.reduce(lambda y, part: torch.add(y, part[1](part[0](y))), sublayers, x)


# %% right: walrus
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    return (h := x + attention(norm_1(x), mask)) + feed_forward(norm_2(h))


# %% right: sum of list
# the residual path as a list of what was added to it

import torch


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    parts = [x]
    parts.append(attention(norm_1(x), mask))
    parts.append(feed_forward(norm_2(torch.stack(parts).sum(dim=0))))
    return torch.stack(parts).sum(dim=0)


# %% right: module
from torch import nn


class _Block(nn.Module):
    def __init__(self, attention, feed_forward, norm_1, norm_2):
        super().__init__()
        self.steps = (norm_1, attention, norm_2, feed_forward)

    def forward(self, x, mask):
        norm_1, attention, norm_2, feed_forward = self.steps
        gathered = attention(norm_1(x), mask)
        middle = x.add(gathered)
        return middle.add(feed_forward(norm_2(middle)))


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    return _Block(attention, feed_forward, norm_1, norm_2)(x, mask)


# %% wrong: adds into what attention gave
# += into the tensor that attention returned: if attention and norm hand back their input, that is x itself.
# shows: norm_1 = attention = identity (x is changed), or an attention that keeps its result.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    after = attention(norm_1(x), mask)
    after += x
    return after + feed_forward(norm_2(after))


# %% wrong: breaks autograd
# y += ... overwrites the tensor that norm_2 has saved for its gradient: backward is an error.
# shows: backward through a real norm (or torch.square). Values are right.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    y = x + attention(norm_1(x), mask)
    y += feed_forward(norm_2(y))
    return y


# %% wrong: makes a mask
# None is replaced by a mask of True.
# shows: an attention that asks whether mask is None.

import torch


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    if mask is None:
        mask = torch.ones(x.shape[0], x.shape[1], x.shape[1], dtype=torch.bool)
    x = x + attention(norm_1(x), mask)
    return x + feed_forward(norm_2(x))


# %% wrong: mask for heads
# hands on mask[:, None], with an axis for heads, and not the mask as it is.
# shows: an attention that looks at the mask's shape.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    m = mask if mask is None else mask[:, None]
    h = x + attention(norm_1(x), m if m is None or m.shape[0] > 1 else mask)
    return h + feed_forward(norm_2(h))


# %% wrong: residual without gradient
# the residual path is detached in the first addition: the straight path for gradients is cut.
# shows: x.grad where both sublayers return zeros (1 expected, 0 found).

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    h = x.detach() + attention(norm_1(x), mask)
    return h + feed_forward(norm_2(h))


# %% wrong: parallel
# both sublayers read x (a parallel block).
# shows: where attention gives anything but 0.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    return x + attention(norm_1(x), mask) + feed_forward(norm_2(x))


# %% wrong: norms first
# wrong in the order of calls: norm_2 is called before attention where it can be (on x as a trial), so twice.
# shows: the noted calls.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    assert norm_2(x).shape == norm_1(x).shape == x.shape
    h = x + attention(norm_1(x), mask)
    return h + feed_forward(norm_2(h))


# %% wrong: float32 sum
# adds in float32.
# shows: float64 (dtype and digits).

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    h = x.float() + attention(norm_1(x), mask).float()
    h = h.to(x.dtype)
    return (h.float() + feed_forward(norm_2(h)).float()).to(x.dtype)


# %% wrong: text by text
# calls the functions once for each text of the batch, not once.
# shows: B > 1: count the calls; B = 0: torch.cat of nothing.

import torch


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    out = []
    for b in range(x.shape[0]):
        row = x[b : b + 1]
        h = row + attention(norm_1(row), None if mask is None else mask[b : b + 1])
        out.append(h + feed_forward(norm_2(h)))
    return torch.cat(out)


# %% wrong: writes through a view
# x.data is written at the end, "to save memory", and x returned.
# shows: x after the call.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    h = x + attention(norm_1(x), mask)
    result = h + feed_forward(norm_2(h))
    x.data.copy_(result)
    return result


# %% wrong: a mask that hides nothing is none
# hands on None in place of a mask that hides nothing.
# shows: a mask of all True: attention gets None

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    if mask is not None and bool(mask.all()):
        mask = None
    x = x + attention(norm_1(x), mask)
    return x + feed_forward(norm_2(x))


# %% wrong: computes again in backward
# saves memory with a checkpoint, which calls norm_2 and feed_forward a second time in the backward pass.
# shows: after backward() norm_2 and feed_forward have been called twice

from torch.utils.checkpoint import checkpoint


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    middle = x + attention(norm_1(x), mask)
    return middle + checkpoint(lambda h: feed_forward(norm_2(h)), middle, use_reentrant=False)


# %% wrong: mask by keyword
# the mask is handed to attention by keyword.
# shows: an attention whose second parameter has another name.
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    middle = x + attention(norm_1(x), mask=mask)
    return middle + feed_forward(norm_2(middle))


# %% wrong: writes into what feed_forward returned
# the sum is written into feed_forward's own result.
# shows: a feed_forward that keeps its result.
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    middle = x + attention(norm_1(x), mask)
    out = feed_forward(norm_2(middle))
    return out + middle if out.requires_grad else out.add_(middle)


# %% wrong: flattened for feed_forward
# feed_forward meets rows instead of (B, T, D).
# shows: a feed_forward that looks at the shape.
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    middle = x + attention(norm_1(x), mask)
    return middle + feed_forward(norm_2(middle).flatten(0, 1)).reshape(x.shape)


# %% wrong: flattened for the norms
# the norms meet rows instead of (B, T, D).
# shows: a norm that looks at the shape.
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    middle = x + attention(norm_1(x.flatten(0, 1)).reshape(x.shape), mask)
    return middle + feed_forward(norm_2(middle.flatten(0, 1)).reshape(x.shape))


# %% wrong: needs a contiguous x
# A transposed x has no such view.
# shows: x.permute(2, 1, 0)
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    """Add to each position what attention gathers, then what feed-forward makes of it."""
    x.view(-1)
    gathered = x + attention(norm_1(x), mask)
    return gathered + feed_forward(norm_2(gathered))
