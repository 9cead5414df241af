# %% right: Two linear layers of torch, split into blocks.
def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    total = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    i, f, g, o = total.split(hidden.shape[-1], dim=1)
    c = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% right: Computes each gate with its own rows of the weights.
def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    d_hidden = hidden.shape[1]

    def gate(number, squash):
        rows = slice(number * d_hidden, (number + 1) * d_hidden)
        from_inputs = inputs @ weight_ih[rows].T + bias_ih[rows]
        return squash(from_inputs + hidden @ weight_hh[rows].T + bias_hh[rows])

    new = gate(0, torch.sigmoid) * gate(2, torch.tanh)
    memory = gate(1, torch.sigmoid) * memory + new
    return gate(3, torch.sigmoid) * torch.tanh(memory), memory


# %% right: One product of everything side by side, seen as four matrices.
def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    weight = torch.cat([weight_ih, weight_hh], dim=1)
    total = torch.cat([inputs, hidden], dim=1) @ weight.mT + (bias_ih + bias_hh)
    total = total.view(len(inputs), 4, -1)
    gates = torch.sigmoid(total[:, [0, 1, 3]])
    memory = torch.addcmul(gates[:, 1] * memory, gates[:, 0], torch.tanh(total[:, 2]))
    return gates[:, 2] * torch.tanh(memory), memory


# %% right: Works with columns, as the formulas do, and transposes at the end.
def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = (part.T for part in state)
    a = weight_ih @ inputs.T + weight_hh @ h + (bias_ih + bias_hh).unsqueeze(1)
    i, f, g, o = torch.tensor_split(a, 4, dim=0)
    c = torch.sigmoid(f).mul(c).add(torch.sigmoid(i).mul(torch.tanh(g)))
    return torch.sigmoid(o).mul(torch.tanh(c)).T, c.T


# %% right: Treats each row as a vector of its own; sigmoids are written as tanhs.
def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hiddens, memories = [], []
    for x, h, c in zip(inputs, *state, strict=True):
        a = (weight_ih @ x + bias_ih + weight_hh @ h + bias_hh).reshape(4, -1)
        i, f, o = (0.5 + 0.5 * torch.tanh(a[number] / 2) for number in (0, 1, 3))
        memories.append(f * c + i * torch.tanh(a[2]))
        hiddens.append(o * torch.tanh(memories[-1]))
    return torch.stack(hiddens), torch.stack(memories)


# %% right: chunk
import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


# %% right: slices
from torch.nn import functional as F


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    R = state[0].shape[1]
    total = F.linear(inputs, weight_ih, bias_ih) + F.linear(state[0], weight_hh, bias_hh)
    gate = lambda k: total[:, k * R : (k + 1) * R]
    after = gate(1).sigmoid() * state[1] + gate(0).sigmoid() * gate(2).tanh()
    return gate(3).sigmoid() * after.tanh(), after


# %% right: reshape and unbind
import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    (h, c), B = state, inputs.shape[0]
    a = torch.cat([inputs, h], 1) @ torch.cat([weight_ih, weight_hh], 1).T + (bias_ih + bias_hh)
    i, f, g, o = a.reshape(B, 4, -1).unbind(1)
    c = torch.addcmul(f.sigmoid() * c, i.sigmoid(), g.tanh())
    return o.sigmoid() * c.tanh(), c


# %% right: gate by gate
import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    blocks = zip(weight_ih.chunk(4), weight_hh.chunk(4), bias_ih.chunk(4), bias_hh.chunk(4))
    functions = (torch.sigmoid, torch.sigmoid, torch.tanh, torch.sigmoid)
    enter, keep, new, show = (
        function(inputs @ w.T + b + hidden @ u.T + d) for function, (w, u, b, d) in zip(functions, blocks)
    )
    memory = keep * memory + enter * new
    return show * torch.tanh(memory), memory


# %% right: tanh only and named tuple
# sigma(z) = (1 + tanh(z / 2)) / 2; a named tuple is a tuple

import torch


from collections import namedtuple

State = namedtuple("State", "hidden memory")


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    a = torch.einsum("be,re->br", inputs, weight_ih) + torch.einsum("bs,rs->br", state[0], weight_hh) + bias_ih + bias_hh
    i, f, g, o = torch.tensor_split(a, 4, dim=-1)
    half = lambda z: (1 + torch.tanh(z / 2)) / 2
    memory = half(f) * state[1] + half(i) * torch.tanh(g)
    return State(half(o) * torch.tanh(memory), memory)


# %% right: sigmoid is a tanh
# one tanh for all four blocks, since sigma(x) = (1 + tanh(x / 2)) / 2; the blocks by unflatten
import torch
from torch.nn import functional as F


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    a = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    a = a.unflatten(-1, (4, memory.shape[-1]))
    slope = a.new_tensor([0.5, 0.5, 1.0, 0.5]).unsqueeze(-1)
    squashed = torch.tanh(a * slope) * slope + (1 - slope)
    kept = torch.stack((squashed[:, 1], squashed[:, 0]))
    after = (kept * torch.stack((memory, squashed[:, 2]))).sum(dim=0)
    return squashed[:, 3] * after.tanh(), after


# %% wrong: own sigmoid
# sigma as 1 / (1 + e^-z): values right, but the gradient at z = -1000 is nan (0 * inf). (The text of this set never says that gradients must flow through this function; the workshop and task 7 need them.)
# shows: gradients with very negative gates (below -88 in float32).

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    a = inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=1)
    sigma = lambda z: 1 / (1 + torch.exp(-z))
    c = sigma(f) * c + sigma(i) * torch.tanh(g)
    return sigma(o) * torch.tanh(c), c


# %% wrong: memory detached
# the memory before is detached: the very gradient that an LSTM is made for is cut. (The text of this set never says that gradients must flow through this function; the workshop and task 7 need them.)
# shows: state[1].grad; training through several steps. Values are right.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    c = torch.sigmoid(f) * c.detach() + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %% wrong: memory in place if wide
# for R > 1 the memory is multiplied in place: the caller's state is changed.
# shows: state[1] after the call, R > 1.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    if c.shape[1] > 1:
        c.mul_(torch.sigmoid(f)).add_(torch.sigmoid(i) * torch.tanh(g))
    else:
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %% wrong: gates interleaved
# takes every fourth number for a gate, not a block of R: right for R = 1.
# shows: R > 1.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    a = inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh
    i, f, g, o = a.unflatten(1, (-1, 4)).unbind(-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %% wrong: clipped memory
# clips the memory to +-10 "for stability".
# shows: a memory beyond 10.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    c = (torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)).clamp(-10, 10)
    return torch.sigmoid(o) * torch.tanh(c), c


# %% wrong: candidate last
# the order input, forget, output, candidate (as in some other libraries).
# shows: everywhere.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, o, g = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %% wrong: coupled gates
# the input gate is 1 minus the forget gate: its own block is not used.
# shows: everywhere but where sigma(i) = 1 - sigma(f).

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    _, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    f = torch.sigmoid(f)
    c = f * c + (1 - f) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %% wrong: split of the batch
# chunk(4) without dim cuts the BATCH, not the 4R numbers.
# shows: everywhere (B < 4 raises an error).

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %% wrong: one bias
# bias_hh is left out where the state is 0 ("nothing comes from there").
# shows: a hidden state of zeros with a bias_hh that is not 0.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    a = inputs @ weight_ih.T + bias_ih
    if h.any():
        a = a + h @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %% wrong: list returned
# a list, not a tuple.
# shows: isinstance.

import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    h, c = state
    i, f, g, o = (inputs @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh).chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return [torch.sigmoid(o) * torch.tanh(c), c]


# %% wrong: last tanh overflows
# the tanh of the new memory by (e^c - e^-c) / (e^c + e^-c), which overflows for a large memory; breaks "The hidden state becomes h' = o * tanh(c')"
# shows: a forget gate of 1 and a memory of 100 in float32: the hidden state is nan
import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    up, down = memory.exp(), (-memory).exp()
    return torch.sigmoid(o) * (up - down) / (up + down), memory


# %% wrong: clamps the gates
# cuts the four blocks off at -10 and 10 "against overflow", so a gate that is wide open is not quite open; breaks "The three gates are sigma of their block"
# shows: a forget gate of 30 and a memory of 1000: 999.95 in place of 1000
import torch


def lstm_step(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    hidden, memory = state
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.clamp(-10, 10).chunk(4, dim=1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory
