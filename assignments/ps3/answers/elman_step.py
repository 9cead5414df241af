# %% right: Two linear layers of torch.
def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return (F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)).tanh()


# %% right: One product of everything side by side.
def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    both = torch.cat([inputs, hidden], dim=1)
    weight = torch.cat([weight_ih, weight_hh], dim=1)
    return torch.tanh(torch.addmm(bias_ih + bias_hh, both, weight.t()))


# %% right: Sums over named axes.
def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    from_inputs = torch.einsum("be,re->br", inputs, weight_ih)
    from_state = torch.einsum("bs,rs->br", hidden, weight_hh)
    return torch.tanh(from_inputs + from_state + (bias_ih + bias_hh)[None, :])


# %% right: Treats each row as a vector of its own.
def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    rows = []
    for x, h in zip(inputs, hidden, strict=True):
        rows.append(torch.tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh))
    return torch.stack(rows)


# %% right: The tanh is written as a sigmoid of twice the sum.
def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    total = (weight_ih @ inputs.T + weight_hh @ hidden.T).T + bias_ih + bias_hh
    return 2 * torch.sigmoid(2 * total) - 1


# %% right: formula
import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh)


# %% right: linear
from torch.nn import functional as F


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return F.linear(inputs, weight_ih, bias_ih).add(F.linear(hidden, weight_hh, bias_hh)).tanh()


# %% right: one matrix
import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    both = torch.cat([inputs, hidden], dim=1)
    weight = torch.cat([weight_ih, weight_hh], dim=1)
    return torch.tanh(torch.addmm(bias_ih + bias_hh, both, weight.t()))


# %% right: sigmoid form
# tanh z = 2 sigma(2 z) - 1

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    z = torch.einsum("be,re->br", inputs, weight_ih) + torch.einsum("bs,rs->br", hidden, weight_hh)
    return 2 * torch.sigmoid(2 * (z + bias_ih + bias_hh)) - 1


# %% right: columns
import torch


def elman_step(inputs: torch.Tensor, hidden: torch.Tensor, weight_ih, weight_hh, bias_ih, bias_hh) -> torch.Tensor:
    columns = weight_ih @ inputs.T + weight_hh @ hidden.T + (bias_ih + bias_hh).unsqueeze(1)
    return torch.tanh(columns).T


# %% right: row by row
import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    after = [torch.tanh(weight_ih.mv(x) + bias_ih + weight_hh.mv(h) + bias_hh) for x, h in zip(inputs, hidden)]
    return torch.stack(after)


# %% right: one wide product
# inputs and state side by side, both weights side by side, and one product in Einstein's notation
import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    both = torch.cat((inputs, hidden), dim=-1)
    wide = torch.cat((weight_ih, weight_hh), dim=-1)
    return (torch.einsum("bk,rk->br", both, wide) + bias_ih.add(bias_hh)).tanh()


# %% wrong: state detached
# the state before is detached: no gradient flows back through time (values are right). (The text of this set never says that gradients must flow through this function; the workshop and task 7 need them.)
# shows: hidden.grad is None after backward; training through several steps.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden.detach() @ weight_hh.T + bias_hh)


# %% wrong: tanh by exponentials
# tanh as a quotient of exponentials: inf / inf = nan for sums beyond 88 (float32).
# shows: large inputs or weights.

def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    z = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    return (z.exp() - (-z).exp()) / (z.exp() + (-z).exp())


# %% wrong: writes into hidden
# the new state is written into the old one (copy_).
# shows: hidden after the call (and an error for a leaf that requires grad).

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    with torch.no_grad():
        hidden.copy_(torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh))
    return hidden


# %% wrong: square not transposed
# where E = R it takes weight_ih as it is ("the shapes fit").
# shows: E = R with a matrix that is not symmetric.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    W = weight_ih if weight_ih.shape[0] == weight_ih.shape[1] else weight_ih.T
    return torch.tanh(inputs @ W + hidden @ weight_hh.T + bias_ih + bias_hh)


# %% wrong: bias down the batch
# where B = R the biases are added along the batch.
# shows: B = R > 1.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    b = bias_ih + bias_hh
    if inputs.shape[0] == len(b):
        b = b.unsqueeze(1)
    return torch.tanh(inputs @ weight_ih.T + hidden @ weight_hh.T + b)


# %% wrong: in float32
# float32 inside.
# shows: float64 beyond 7 digits.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    x, h, a, b, c, d = (t.float() for t in (inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh))
    return torch.tanh(x @ a.T + c + h @ b.T + d).to(inputs.dtype)


# %% wrong: single row squeezed
# B = 1 gives (R,).
# shows: one row with R > 1.

import torch
from torch.nn import functional as F


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    after = torch.tanh(F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh))
    return after if after.shape[-1] == 1 else after.squeeze(0)


# %% wrong: hidden not transposed
# weight_hh is square, so a forgotten transpose raises no error.
# shows: R > 1.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh + bias_hh)


# %% wrong: bias after tanh
# bias_hh is added after the tanh.
# shows: any bias_hh.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T) + bias_hh


# %% wrong: bias ih twice
# bias_ih twice, bias_hh never.
# shows: biases that differ.

import torch
from torch.nn import functional as F


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.tanh(F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_ih))


# %% wrong: torch cell
# torch.rnn_tanh_cell is torch's own cell, not allowed.
# shows: by reading.

import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    return torch.rnn_tanh_cell(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh)


# %% wrong: tanh by hand
# tanh as (1 - e^-2a) / (1 + e^-2a), which is infinity over infinity where a is very negative; breaks "h' = tanh(...)"
# shows: bias_ih of -100 in float32: nan in place of -1
import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    e = torch.exp(-2 * a)
    return (1 - e) / (1 + e)


# %% wrong: biases without gradient
# adds the two biases up through .data, so neither learns; breaks "Gradients must flow through everything that you compute from floats"
# shows: backward leaves bias_ih.grad and bias_hh.grad None, though the state is right
import torch


def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    bias = bias_ih.data + bias_hh.data
    return torch.tanh(torch.addmm(bias, inputs, weight_ih.T) + hidden @ weight_hh.T)
