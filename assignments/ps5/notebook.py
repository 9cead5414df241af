# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 5: the transformer
#
# You will write everything that a transformer block is made of besides self-attention: two ways to say where a word is, two norms, the feed-forward layer, the wiring of the block, the attention with which a decoder reads an encoder, and the count of all parameters. In the end your parts replace those of the course's own models and learn beside them.
#
# - **You write** eight short functions, and a test that judges somebody else's. Each is graded on its own. One more question is answered in words.
# - **You need** the chapters on self-attention, positions and the transformer, and some PyTorch: `@`, broadcasting, `mean(dim=-1, keepdim=True)`.
# - **Time:** about four hours and twenty minutes. Each task names its own share.
# - **Points:** 100. They are given beside each task.
# - **Assistants:** {assistants}
#
# How a task works:
#
# 1. Read the contract. It says what the function receives and what it must return.
# 2. Follow the example by hand, on paper.
# 3. Write your code in place of the stub. Run the test cell below it. Its messages say what is wrong.
#
# The grader runs more tests than you see: other shapes, `float32` and `float64`, very large and very small numbers, and the gradient of everything that you compute.
#
# Rules for the whole set:
#
# - Use torch's tensors and their plain operations. Each contract names what is *not* allowed, because it is the task itself; it costs half of the points that your answer earns otherwise. Do not import `course_pkg`.
# - **No loop over positions, vectors or rows of a batch.** A tensor operation takes them all at once, and a loop would take minutes where it takes milliseconds. (A loop over heads or over pairs of entries is fine.) Such a loop is not allowed in any task.
# - Do not change your arguments. The caller still needs them.
# - A result has the dtype of the tensors that you were given, unless the contract says otherwise, and whatever torch's default dtype is. So write `torch.zeros_like(x)` or `x.new_zeros(3)`, and not `torch.zeros(3)`.
# - Floats are `float32` or `float64`, unless a contract names others. Results in `float32` must be right to about 4 digits, in `float64` to 9. In half precision, what is said there counts.
# - A tensor may be a view of another, with gaps in memory: `reshape` can deal with that, `view` cannot. Where there are three dots, or `B`, an axis may have length 0.
# - Gradients must flow from the result to every float tensor that you are given.
# - Keep the names of the functions and of their arguments.

# %% nbgrader={"grade": false, "grade_id": "ps5_install", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["workshop"]
# Installs the course's package where it is missing, as in a hosted notebook: from its file beside
# this notebook, else from your course's address. Only the workshop at the end needs it.
import importlib.util
import subprocess
import sys
from pathlib import Path

ADDRESS = ""
if importlib.util.find_spec("course_pkg") is None:
    files = sorted(map(str, Path().glob("language_models_by_hand-*.whl")))
    source = f"{files[-1]}[course]" if files else ADDRESS
    command = [sys.executable, "-m", "pip", "install", "--quiet", source]
    if not source or subprocess.run(command, check=False).returncode:
        print(
            "All tasks work without the course's package; for the workshop, "
            + (
                f'run  %pip install "{source}"  in a new cell, which says what is wrong.'
                if source
                else "put its file language_models_by_hand-...-any.whl, which your instructor has, "
                "beside this notebook and run this cell again."
            )
        )

# %% nbgrader={"grade": false, "grade_id": "ps5_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import torch
from torch import nn
from torch.nn import functional as F


def close(found, right):
    """Whether two tensors have one dtype, one shape and the same numbers, up to 4 digits.

    `right` may also be a number or a list, which say nothing of the dtype.
    """
    if not isinstance(right, torch.Tensor):
        right = torch.tensor(right, dtype=found.dtype)
    same_kind = (found.dtype, found.shape) == (right.dtype, right.shape)
    return same_kind and torch.allclose(found, right, rtol=0, atol=1e-4)


def random_tensor(*shape, seed=0, dtype=torch.float64):
    """Draw a tensor that is the same in every run."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# %% [markdown]
# **Shapes.** We write `B` for the rows of a batch, `T` for positions, `S` for positions of another sequence, `D` for the width of the model, `d_ff` for the width inside the feed-forward layer, `K` for the width of a head. Three dots, as in `(..., D)`, stand for any number of axes, or none. Masks are boolean, and True means: may look there.

# %% [markdown]
# ## {task}. Sinusoidal positions  (10 points, 25 minutes, difficulty 2 of 5)
#
# **Why.** Attention sees a set: shuffle the words, and every word still finds the same others. So each position needs a mark of its own. Vaswani and others (2017) add a fan of waves to the embeddings. The first are fast and tell neighbours apart; the last are slow and tell the beginning of a text from its end.
#
# **Contract.** `sinusoidal_positions(positions, d_model)`
#
# | argument | type | meaning |
# |---|---|---|
# | `positions` | `int64`, any shape `(...)` | the positions to be marked, from 0 to 10,000 inclusive, in any order |
# | `d_model` | `int`, even, at least 2 | the width, `D` |
# | **returns** | `float32`, `(..., D)` | one row for each position; `float32` whatever torch's default dtype is |
#
# - Column $2i$ holds $\sin(p / 10000^{2i/D})$, and column $2i + 1$ holds $\cos(p / 10000^{2i/D})$, with $p$ the position and $i = 0, 1, \ldots, D/2 - 1$.
# - Compute angles in `float32` or in `float64`: in half precision late positions could not be told apart. Late ones need be right to only two digits after the point.
#
# **By hand.** `D = 4`. The frequencies are $10000^0 = 1$ and $10000^{-1/2} = 0.01$.
#
# | position | sin(p) | cos(p) | sin(p/100) | cos(p/100) |
# |---|---|---|---|---|
# | 0 | 0 | 1 | 0 | 1 |
# | 1 | 0.8415 | 0.5403 | 0.0100 | 1.0000 |
# | 2 | 0.9093 | -0.4161 | 0.0200 | 0.9998 |
#
# <details><summary>Hint</summary>
#
# `positions.unsqueeze(-1)` has one more axis, of length 1. Times a row of `D / 2` frequencies it gives all angles. `torch.stack([sines, cosines], dim=-1)` puts each sine beside its cosine; `flatten(-2)` makes one row of the pairs.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps5_sinusoidal_positions_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sinusoidal_positions(positions, d_model):
    """Return a row of sines and cosines for each position."""
    ### BEGIN SOLUTION
    exponents = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model
    angles = positions.unsqueeze(-1).to(torch.float32) / 10_000**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps5_sinusoidal_positions", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
waves = sinusoidal_positions(torch.tensor([0, 1, 2]), 4)
assert isinstance(waves, torch.Tensor), f"return a tensor, not a {type(waves).__name__}"
assert waves.shape == (3, 4), f"3 positions of width 4: (3, 4), not {tuple(waves.shape)}"
assert waves.dtype == torch.float32, f"the result is float32, not {waves.dtype}"
assert not close(waves[0], [1.0, 0.0, 1.0, 0.0]), "the sine comes first, then the cosine"
assert not close(waves[0], [0.0, 0.0, 1.0, 1.0]), "sines and cosines take turns"
assert close(waves[0], [0.0, 1.0, 0.0, 1.0]), f"position 0 is 0, 1, 0, 1; you gave {waves[0]}"
assert not close(waves[1, 2:], [0.0998, 0.9950]), "the exponent is 2i / D, and not i / D"
assert not close(waves[1, 2:], [0.0001, 1.0]), "divide by the width D itself, not by D - 2"
assert close(waves[1], [0.8415, 0.5403, 0.0100, 1.0]), f"position 1: see the table, not {waves[1]}"
assert close(waves[2], [0.9093, -0.4161, 0.0200, 0.9998]), f"position 2: you gave {waves[2]}"
later = sinusoidal_positions(torch.tensor([2, 0, 2]), 4)
assert close(later, waves[[2, 0, 2]]), "use the positions that are given, not 0, 1, 2"
grid = sinusoidal_positions(torch.tensor([[2], [1]]), 4)
assert grid.shape == (2, 1, 4), f"a grid of (2, 1) positions gives (2, 1, 4), not {grid.shape}"
assert sinusoidal_positions(torch.arange(0), 6).shape == (0, 6), "no position gives no row"
late = sinusoidal_positions(torch.tensor([9999]), 2)
assert torch.allclose(late, torch.tensor([[0.6360, -0.7717]]), atol=1e-2), (
    f"position 9999 of width 2 is sin 9999, cos 9999; you gave {late}"
)
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Rotary positions  (11 points, 35 minutes, difficulty 3 of 5)
#
# **Why.** What matters about two words is rarely where they are, but how far apart. Su and others (2021) do not add positions to the embeddings at all: they *turn* queries and keys, by an angle that grows with the position. The dot product of two turned vectors depends on the difference of their angles alone. Almost all large models today do this.
#
# **Contract.** `rotate(x, positions, base)`
#
# | argument | type | meaning |
# |---|---|---|
# | `x` | floats, `(..., T, K)` | queries or keys; `K` is even |
# | `positions` | `int64`, `(T,)` | the position of each row, the same below all other axes |
# | `base` | `float` | 10000 in most models, more where texts are long |
# | **returns** | as `x` | `x`, turned; of the same shape and dtype |
#
# - **Entry $i$ is paired with entry $i + K/2$**: the first half of a vector with its second half. (The paper pairs neighbours. LLaMA's files, and our package, pair halves.)
# - The pair $(a, b)$ number $i$ at position $p$ is turned by $\theta = p \cdot \text{base}^{-2i/K}$: it becomes $(a \cos\theta - b \sin\theta,\; b \cos\theta + a \sin\theta)$.
# - `x` may be `float16` or `bfloat16`, in which late positions cannot be told apart. Compute angles, sines and cosines in `float32` or in `float64`, whatever the dtype of `x` and torch's default dtype. Then you may round them to the dtype of `x`, which the result has too. An angle of `float32` is off by some thousandths at position 10,000: so much is forgiven, in every dtype of `x`.
# - Positions are from 0 to 9,999. They may start anywhere, repeat, and come in any order.
#
# **By hand.** `K = 4`, base 100, so the frequencies are 1 and $100^{-1/2} = 0.1$. At position 1, $x = (1, 0, 0, 2)$:
#
# | pair | before | angle | after |
# |---|---|---|---|
# | entries 0 and 2 | (1, 0) | 1 | (cos 1, sin 1) = (0.5403, 0.8415) |
# | entries 1 and 3 | (0, 2) | 0.1 | (-2 sin 0.1, 2 cos 0.1) = (-0.1997, 1.9900) |
#
# The result is (0.5403, -0.1997, 0.8415, 1.9900).
#
# <details><summary>Hint</summary>
#
# A table of angles of shape `(T, K/2)` meets a half of `x`, of shape `(..., T, K/2)`, by broadcasting. `chunk` along the last axis gives both halves, and `torch.cat` joins the new ones.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps5_rotate_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rotate(x, positions, base):
    """Turn each pair of entries by an angle proportional to its position."""
    ### BEGIN SOLUTION
    half = x.shape[-1] // 2
    frequencies = base ** -(torch.arange(half, dtype=torch.float32) / half)
    angles = positions.to(torch.float32).unsqueeze(-1) * frequencies  # (T, K/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps5_rotate", "locked": true, "points": 11, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([[1.0, 0.0, 0.0, 2.0]])
turned = rotate(x, torch.tensor([1]), 100.0)
assert isinstance(turned, torch.Tensor), f"return a tensor, not a {type(turned).__name__}"
assert turned.shape == (1, 4), f"the shape stays (1, 4); you gave {tuple(turned.shape)}"
assert not close(turned, [[0.5403, 0.8415, -0.1997, 1.9900]]), (
    "entry 0 is paired with entry 2, and not with its neighbour"
)
assert not close(turned, [[0.5403, 0.1997, -0.8415, 1.9900]]), "you turn the other way"
assert not close(turned, [[0.5403, -0.0200, 0.8415, 1.9999]]), "use the base that is given"
assert not close(turned, [[0.5403, -0.6220, 0.8415, 1.9008]]), "the exponent is 2i / K, not i / K"
assert close(turned, [[0.5403, -0.1997, 0.8415, 1.9900]]), f"see the table; you gave {turned}"
assert close(rotate(x, torch.tensor([0]), 100.0), x), "at position 0 nothing is turned"
turned = rotate(x.clone().requires_grad_(), torch.tensor([1]), 100.0)
assert turned.requires_grad, "gradients flow back to x: do not detach"
x = random_tensor(2, 3, 5, 8)
start = torch.arange(5)
turned = rotate(x, start, 10_000.0)
assert turned.shape == (2, 3, 5, 8), f"the shape stays (2, 3, 5, 8); you gave {turned.shape}"
assert turned.dtype == torch.float64, "float64 in, float64 out"
assert close(turned.norm(dim=-1), x.norm(dim=-1)), "a turn changes no length"
scores = turned @ turned.mT
moved = rotate(x, start + 7, 10_000.0)
assert not close(moved, turned), "use the positions that are given, not 0, 1, 2"
assert close(moved @ moved.mT, scores), "where all move by 7, no score changes"
shuffled = rotate(x[..., [3, 0, 4], :], torch.tensor([3, 0, 4]), 10_000.0)
assert close(shuffled, turned[..., [3, 0, 4], :]), "each row is turned by its own position"
late = torch.tensor([257, 4001])
exact = rotate(x[0, 0, :2], late, 10_000.0)
rough = rotate(x[0, 0, :2].bfloat16(), late, 10_000.0)
assert rough.dtype == torch.bfloat16, f"bfloat16 in, bfloat16 out, not {rough.dtype}"
assert torch.allclose(rough.double(), exact, atol=0.1), (
    "compute the angles in float32: bfloat16 cannot tell 257 from 256"
)
print("All visible tests passed.")

# %% [markdown]
# ## {task}. LayerNorm  (12 points, 25 minutes, difficulty 2 of 5)
#
# **Why.** Every block adds something to the vectors that pass through it, so they grow, and each layer would have to cope with inputs whose size keeps changing. Ba and others (2016) bring each vector to mean 0 and variance 1, and then let the network learn which mean and which size of each entry suit it.
#
# **Contract.** `layer_norm(x, weight, bias, eps)`
#
# | argument | type | meaning |
# |---|---|---|
# | `x` | `float32` or `float64`, `(..., D)` | vectors |
# | `weight`, `bias` | as `x`, `(D,)` | learned; a new layer has ones and zeros |
# | `eps` | `float`, above 0 | keeps the root away from 0 |
# | **returns** | as `x` | the normalised vectors |
#
# - $\displaystyle y = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot w + b$, with $\mu$ and $\sigma^2$ the mean and the variance *of each vector by itself*, over the last axis. The variance is the mean of $(x - \mu)^2$: divide by `D`.
# - A vector whose entries are all alike gives `bias`, and finite gradients.
# - Entries may be as large as $10^{13}$, or far from 0 and close to each other, such as 100,003 and 99,998: subtract the mean before you square.
# - Not allowed: torch's own norms (`layer_norm`, `rms_norm`, `group_norm`, `batch_norm`, `instance_norm`, `normalize`), and classes that call them. `mean`, `var` and `std` are fine.
#
# **By hand.** $x = (1, 2, 6)$, `weight` (1, 2, 1), `bias` (0, 0, 1), and an `eps` too small to show.
#
# | step | result |
# |---|---|
# | mean | 3 |
# | x minus mean | (-2, -1, 3) |
# | variance | (4 + 1 + 9) / 3 = 4.6667, root 2.1602 |
# | normalised | (-0.9258, -0.4629, 1.3887) |
# | weight and bias | (-0.9258, -0.9258, 2.3887) |
#
# <details><summary>Hint</summary>
#
# `x.mean(dim=-1, keepdim=True)` keeps an axis of length 1, so that it can be subtracted from `x`. Beware of torch's `var` and `std`: by default they divide by `D - 1`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps5_layer_norm_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def layer_norm(x, weight, bias, eps):
    """Bring each vector to mean 0 and variance 1, then to learned ones."""
    ### BEGIN SOLUTION
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) * weight + bias
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps5_layer_norm", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
x, one, zero = torch.tensor([1.0, 2.0, 6.0]), torch.ones(3), torch.zeros(3)
normal = layer_norm(x, one, zero, 1e-5)
assert isinstance(normal, torch.Tensor), f"return a tensor, not a {type(normal).__name__}"
assert normal.shape == (3,), f"the shape stays (3,); you gave {tuple(normal.shape)}"
assert not close(normal, [-0.7559, -0.3780, 1.1339]), "divide the squares by D, and not by D - 1"
assert not close(normal, [-0.4286, -0.2143, 0.6429]), "divide by the root of the variance"
assert not close(normal, [0.4629, 0.9258, 2.7775]), "subtract the mean"
assert close(normal, [-0.9258, -0.4629, 1.3887]), f"see the table; you gave {normal}"
learned = layer_norm(x, torch.tensor([1.0, 2.0, 1.0]), torch.tensor([0.0, 0.0, 1.0]), 1e-5)
assert not close(learned, [-0.9258, -0.9258, 1.3887]), "add the bias"
assert not close(learned, [-0.9258, -0.4629, 2.3887]), "multiply by the weight"
assert close(learned, [-0.9258, -0.9258, 2.3887]), f"weight and bias: you gave {learned}"
assert not close(layer_norm(x, one, zero, 4.0)[0], -0.4804), "eps stands under the root"
assert close(layer_norm(x, one, zero, 4.0)[0], -0.6794), "use the eps that is given"
assert close(layer_norm(2 * one, one, 3 * one, 1e-5), [3.0, 3.0, 3.0]), (
    "a vector whose entries are all alike gives the bias"
)
far = torch.tensor([100_001.0, 100_002.0, 100_006.0])
assert close(layer_norm(far, one, zero, 1e-5), normal), "subtract the mean before you square"
two = layer_norm(torch.stack([x, x * 3]), one, zero, 1e-5)
assert close(two, torch.stack([normal, normal])), "each vector is normalised by itself"
x = random_tensor(4, 5, 6)
layer = nn.LayerNorm(6, dtype=torch.float64)
mine = layer_norm(x, layer.weight.detach(), layer.bias.detach(), layer.eps)
assert mine.dtype == torch.float64, "float64 in, float64 out"
assert close(mine, layer(x).detach()), "on random numbers your result differs from torch's"
leaf, other = (x.clone().requires_grad_() for _ in range(2))
layer_norm(leaf, layer.weight.detach(), layer.bias.detach(), layer.eps)[..., 0].sum().backward()
layer(other)[..., 0].sum().backward()
assert close(leaf.grad, other.grad), "gradients flow through the mean and the variance too"
assert close(x, random_tensor(4, 5, 6)), "your function changes x"
leaf = torch.full((2, 3), 5.0, requires_grad=True)
layer_norm(leaf, one, zero, 1e-5)[0, 0].backward()
assert leaf.grad is not None and leaf.grad.isfinite().all(), (
    "the gradient of a vector whose entries are all alike must be finite"
)
print("All visible tests passed.")

# %% [markdown]
# ## {task}. RMSNorm  (8 points, 15 minutes, difficulty 2 of 5)
#
# **Why.** What LayerNorm does for training, Zhang and Sennrich (2019) found, it does by its *size*: the mean can stay as it is. Leave out the mean and the bias, and half of the work is saved. LLaMA and most models after it do this.
#
# **Contract.** `rms_norm(x, weight, eps)`
#
# | argument | type | meaning |
# |---|---|---|
# | `x` | floats, `(..., D)` | vectors |
# | `weight` | dtype of `x`, `(D,)` | learned; a new layer has ones |
# | `eps` | `float`, above 0 | keeps the root away from 0 |
# | **returns** | as `x` | the normalised vectors |
#
# - $\displaystyle y = \frac{x}{\sqrt{m + \varepsilon}} \cdot w$, with $m$ the mean of $x^2$ over the last axis, for each vector by itself.
# - `x` may be `float16`, whose largest number is 65504: the square of 300 is more. So convert it to `float32` there, and back to `float16` at the end. `bfloat16` holds such squares: there you may do the same, or not. Either way, `bfloat16` in is `bfloat16` out, and in both dtypes two digits are asked for. `float64` stays `float64`.
# - Entries may be as large as $10^{13}$ where `x` is not `float16`.
# - Not allowed: torch's own norms, as in task {task:layer_norm}.
#
# **By hand.** $x = (3, 4)$, `weight` (2, 1), and an `eps` too small to show. The mean square is (9 + 16) / 2 = 12.5, its root 3.5355. So $x$ becomes (0.8485, 1.1314), and with the weight (1.6971, 1.1314).
#
# <details><summary>Hint</summary>
#
# `x.float()` goes over to `float32`. When must it not?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps5_rms_norm_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rms_norm(x, weight, eps):
    """Bring each vector to root mean square 1, then to a learned one."""
    ### BEGIN SOLUTION
    wide = x if x.dtype == torch.float64 else x.float()
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return (wide / torch.sqrt(mean_square + eps)).to(x.dtype) * weight
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps5_rms_norm", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
x, one = torch.tensor([3.0, 4.0]), torch.ones(2)
normal = rms_norm(x, one, 1e-6)
assert isinstance(normal, torch.Tensor), f"return a tensor, not a {type(normal).__name__}"
assert normal.shape == (2,), f"the shape stays (2,); you gave {tuple(normal.shape)}"
assert not close(normal, [-1.0, 1.0]), "the mean is not subtracted"
assert not close(normal, [0.6, 0.8]), "take the mean of the squares, and not their sum"
assert not close(normal, [0.24, 0.32]), "divide by the root of the mean square"
assert close(normal, [0.8485, 1.1314]), f"3 and 4 over 3.5355; you gave {normal}"
learned = rms_norm(x, torch.tensor([2.0, 1.0]), 1e-6)
assert close(learned, [1.6971, 1.1314]), f"multiply by the weight; you gave {learned}"
assert close(rms_norm(x, one, 12.5), [0.6, 0.8]), "use the eps that is given, under the root"
assert close(rms_norm(torch.zeros(2), one, 1e-6), [0.0, 0.0]), "zeros stay zeros: eps"
both = rms_norm(torch.stack([x, x * 3]), one, 1e-6)
assert close(both, torch.stack([normal, normal])), "each vector is normalised by itself"
bfloat = rms_norm(x.bfloat16(), one.bfloat16(), 1e-6)
assert bfloat.dtype == torch.bfloat16, f"bfloat16 in, bfloat16 out, not {bfloat.dtype}"
half = rms_norm((100 * x).half(), one.half(), 1e-6)
assert half.dtype == torch.float16, f"float16 in, float16 out, not {half.dtype}"
assert torch.allclose(half.float(), normal, atol=1e-2), (
    f"compute the squares in float32: 300 squared is beyond float16; you gave {half}"
)
x = random_tensor(4, 5, 6)
layer = nn.RMSNorm(6, eps=1e-5, dtype=torch.float64)
mine = rms_norm(x, layer.weight.detach(), 1e-5)
assert mine.dtype == torch.float64, "float64 in, float64 out"
assert close(mine, layer(x).detach()), "on random numbers your result differs from torch's"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. The feed-forward layer  (10 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** Attention only averages: what a position takes from others is linear in their values. The layer after it is where something new is computed, at each position by itself. It holds two thirds of a block's parameters. Shazeer (2020) tried many forms of it; the one that LLaMA took up is SwiGLU: one projection, activated, multiplied by a second one, which says how much of each unit is let through.
#
# **Contract.** `feed_forward(x, weights)`
#
# | argument | type | meaning |
# |---|---|---|
# | `x` | floats, `(..., D)` | vectors |
# | `weights` | `dict` of tensors | `"expand"` and `"gate"`, `(d_ff, D)` each, and `"contract"`, `(D, d_ff)`; in any order |
# | **returns** | as `x` | what the layer adds, at each position by itself |
#
# - $y = W_{\text{contract}} \left( \operatorname{silu}(W_{\text{expand}}\, x) \cdot (W_{\text{gate}}\, x) \right)$, where the dot multiplies entry by entry, and $\operatorname{silu}(z) = z\, \sigma(z)$. There are no biases.
# - The units $W_{\text{expand}}\, x$ may be as far from 0 as 1000 and -1000: results *and gradients* stay finite. (Torch's `sigmoid` and `silu` see to it.)
# - The residual connection is not part of this layer.
#
# **By hand.** `D = 1`, `d_ff = 2`, $x = 2$. `expand` is (1, -1), `gate` (0.5, 1), `contract` (1, 1).
#
# | unit | expand | silu | gate | product |
# |---|---|---|---|---|
# | 0 | 2 | 2 · σ(2) = 1.7616 | 1 | 1.7616 |
# | 1 | -2 | -2 · σ(-2) = -0.2384 | 2 | -0.4768 |
#
# The result is 1.7616 - 0.4768 = 1.2848.
#
# <details><summary>Hint</summary>
#
# A weight of shape `(d_ff, D)` reads *one* vector as `weight @ x`. Here the vectors are rows, below any number of axes: `x @ weight.T`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps5_feed_forward_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def feed_forward(x, weights):
    """Transform each position by itself: SwiGLU."""
    ### BEGIN SOLUTION
    units = F.silu(x @ weights["expand"].T) * (x @ weights["gate"].T)
    return units @ weights["contract"].T
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps5_feed_forward", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
weights = {
    "expand": torch.tensor([[1.0], [-1.0]]),
    "gate": torch.tensor([[0.5], [1.0]]),
    "contract": torch.tensor([[1.0, 1.0]]),
}
added = feed_forward(torch.tensor([2.0]), weights)
assert isinstance(added, torch.Tensor), f"return a tensor, not a {type(added).__name__}"
assert added.shape == (1,), f"the shape stays (1,); you gave {tuple(added.shape)}"
assert not close(added, [3.2848]), "the residual connection is not part of this layer"
assert not close(added, [1.5232]), "multiply by the gate"
assert not close(added, [1.8635]), "silu(z) is z times sigmoid(z): that was GELU"
assert not close(added, [1.1192]), "silu(z) is z times sigmoid(z), and not sigmoid(z) alone"
assert not close(added, [-2.0611]), "silu is on `expand`; the gate stays linear"
assert close(added, [1.2848]), f"1.7616 - 0.4768 is 1.2848; you gave {added}"
far = feed_forward(torch.tensor([1000.0], requires_grad=True), weights)
assert close(far / 1000, [500.0]), f"silu(1000) is 1000, and silu(-1000) is 0; you gave {far}"
leaf = torch.tensor([1000.0], requires_grad=True)
feed_forward(leaf, weights).sum().backward()
assert close(leaf.grad / 1000, [1.0]), f"for x = 1000 the gradient is 1000; you gave {leaf.grad}"
wide = {
    "expand": random_tensor(7, 4),
    "gate": random_tensor(7, 4, seed=1),
    "contract": random_tensor(4, 7, seed=2),
}
x = random_tensor(2, 3, 4, seed=3)
added = feed_forward(x, wide)
assert added.shape == (2, 3, 4), f"the shape stays (2, 3, 4); you gave {tuple(added.shape)}"
assert added.dtype == torch.float64, "float64 in, float64 out"
assert close(feed_forward(x[:, 1], wide), added[:, 1]), "each position is transformed by itself"
assert sorted(wide) == ["contract", "expand", "gate"], "your function changes the dict"
assert close(feed_forward(x, dict(reversed(wide.items()))), added), (
    "take the weights by their names: a dict may have any order"
)
print("All visible tests passed.")

# %% [markdown]
# ## {task}. The pre-norm block  (12 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** A block is two sublayers, attention and feed-forward, and their wiring decides whether a stack of them can be trained. In the first transformer the *sum* was normalised, and deep stacks learned only with a careful warm-up. Put the norm *before* each sublayer instead (as GPT-2 did; Xiong and others, 2020, say why), and a straight path runs through the whole stack, along which nothing but additions happen.
#
# **Contract.** `pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2)`
#
# | argument | type | meaning |
# |---|---|---|
# | `x` | floats, `(B, T, D)` | the vectors on the residual path |
# | `mask` | `bool`, `(B, T, T)`, or `None` | True where a position may look |
# | `attention` | function | `attention(x, mask)`, both by position, returns what each position gathers, `(B, T, D)` |
# | `feed_forward` | function | `feed_forward(x)` returns `(B, T, D)` |
# | `norm_1`, `norm_2` | functions | the norms before attention and before feed-forward, `(B, T, D)` to `(B, T, D)` |
# | **returns** | as `x` | the vectors after the block |
#
# - $x' = x + \text{attention}(\text{norm}_1(x), \text{mask})$, and the result is $x' + \text{feed\_forward}(\text{norm}_2(x'))$.
# - Call each of the four functions once, in the order of the formula. Hand on the mask as it is, `None` as well.
# - Do not write into `x`: neither `x += ...` nor `x[...] = ...`. Nor into what a function returns: it may be `x` itself.
#
# **By hand.** One position, one entry, $x = 4$. `norm_1` halves, `attention` doubles, `norm_2` divides by 10, `feed_forward` adds 1.
#
# | step | value |
# |---|---|
# | norm_1(4) | 2 |
# | attention | 4 |
# | x' = 4 + 4 | 8 |
# | norm_2(8) | 0.8 |
# | feed_forward | 1.8 |
# | 8 + 1.8 | 9.8 |
#
# <details><summary>Hint</summary>
#
# Two lines. Where does each of the two plus signs take its left-hand side from?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps5_pre_norm_block_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    """Add to each position what attention gathers, then what feed-forward makes of it."""
    ### BEGIN SOLUTION
    gathered = x + attention(norm_1(x), mask)
    return gathered + feed_forward(norm_2(gathered))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps5_pre_norm_block", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
calls = []


def noted(name, function):
    # Return the function, which now also notes that it is called.
    def call(*arguments, **named):
        calls.append(name)
        return function(*arguments, **named)

    return call


functions = (
    noted("attention", lambda x, mask: 2 * x),
    noted("feed_forward", lambda x: x + 1),
    noted("norm_1", lambda x: x / 2),
    noted("norm_2", lambda x: x / 10),
)
x = torch.tensor([[[4.0]]])
after = pre_norm_block(x, None, *functions)
assert isinstance(after, torch.Tensor), f"return a tensor, not a {type(after).__name__}"
assert after.shape == (1, 1, 1), f"the shape stays (1, 1, 1); you gave {tuple(after.shape)}"
assert not close(after, [[[1.3]]]), "that was post-norm: the norms stand before the sublayers"
assert not close(after, [[[1.8]]]), "add the sublayer's result to what came in, both times"
assert not close(after, [[[2.2]]]), "add to x itself, and not to the normalised x"
assert not close(after, [[[8.9]]]), "the norm comes before the sublayer, not behind it"
assert not close(after, [[[9.4]]]), "the feed-forward layer reads the sum, and not x"
assert not close(after, [[[13.0]]]), "the second norm is norm_2"
assert close(after, [[[9.8]]]), f"8 + 1.8 is 9.8; you gave {after.item():.4f}"
assert calls == ["norm_1", "attention", "norm_2", "feed_forward"], (
    f"each function is called once, in the order of the formula; you called {calls}"
)
assert x.item() == 4, "your function writes into x"
silent = (lambda x, mask: 0 * x, lambda x: 0 * x, lambda x: x / 2, lambda x: x / 10)
assert close(pre_norm_block(x, None, *silent), x), "where sublayers return zeros, x stays as it is"


def same(x, mask=None):
    assert mask is None, "hand on the mask as it is, None as well"
    return x


after = pre_norm_block(x, None, same, same, same, same)
assert close(after, [[[16.0]]]), f"where all four return what they get, 4 becomes 16, not {after}"
assert x.item() == 4, "do not write into what a function returns: here it is x itself"


def average(x, mask):
    # The simplest attention: the mean of what the mask shows, or of everything.
    mask = torch.ones_like(x @ x.mT, dtype=torch.bool) if mask is None else mask
    return mask.double() @ x / mask.sum(dim=-1, keepdim=True)


texts = random_tensor(2, 3, 4)
causal = torch.ones(2, 3, 3, dtype=torch.bool).tril()
after = pre_norm_block(texts, causal, average, torch.tanh, F.silu, F.silu)
other = torch.cat([texts[:, :2], random_tensor(2, 1, 4, seed=1)], dim=1)
after_other = pre_norm_block(other, causal, average, torch.tanh, F.silu, F.silu)
assert close(after[:, :2], after_other[:, :2]), "hand on the mask: no position sees a later one"
assert not close(after[:, 2], after_other[:, 2]), "the last position has changed, its result not"
leaf = texts.clone().requires_grad_()
pre_norm_block(leaf, causal, average, torch.tanh, torch.exp, F.silu).sum().backward()
assert leaf.grad is not None and leaf.grad.isfinite().all(), "gradients flow back to x"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Cross-attention  (13 points, 50 minutes, difficulty 4 of 5)
#
# **Why.** A decoder that translates must look at the source. Its positions ask; the encoder's output, the *memory*, answers. This is the attention of the sequence-to-sequence chapter again, now with several heads side by side. Sources in one batch differ in length, so the memory is padded, and padding must play no part, whatever numbers stand in it.
#
# **Contract.** `cross_attention(x, memory, memory_mask, weights, n_heads)`
#
# | argument | type | meaning |
# |---|---|---|
# | `x` | floats, `(B, T, D)` | the positions that ask |
# | `memory` | floats, `(B, S, M)` | the positions that answer; `S` is at least 1, and `M` may differ from `D` |
# | `memory_mask` | `bool`, `(B, S)` | True where the memory is real, False where it is padding |
# | `weights` | `dict` of tensors | `"query"` `(D, D)`, `"key"` and `"value"` `(D, M)`, `"output"` `(D, D)`; in any order |
# | `n_heads` | `int`, divides `D` | the number of heads, each `K = D / n_heads` wide |
# | **returns** | as `x` | what each position of `x` takes from the memory |
#
# - Queries are $x W_{\text{query}}^T$; keys and values come from the memory in the same way.
# - Head $h$ has the entries $hK$ to $(h + 1)K - 1$ of each of them: one stretch.
# - In each head: $\operatorname{softmax}(q\, k^T / \sqrt{K})\, v$. Padding gets the weight 0, and the weights of what is real sum to 1.
# - The heads, put side by side in their order, are multiplied by $W_{\text{output}}^T$. No biases, no residual connection.
# - If *nothing* of a row's memory is real, that row's result is zeros, and no gradient is nan.
# - Scores may be thousands apart, and those of padding the largest of all. What stands in padding is finite, and so small that no product with the weights overflows: keys, values and scores are finite there, too.
# - Not allowed: torch's own attention (`scaled_dot_product_attention`, `nn.MultiheadAttention`). `softmax` is fine.
#
# **By hand.** One head, `D = M = 1`, $x = 2$. The memory is (0, 0.5493, 7), of which the last is padding. The weights of query, key and output are 1, that of value is 4. (0.5493 is half of ln 3.)
#
# | place | score | weight | value |
# |---|---|---|---|
# | 0 | 2 · 0 = 0 | 1/4 | 0 |
# | 1 | 2 · 0.5493 = ln 3 | 3/4 | 2.1972 |
# | 2 | padding | 0 | 28 |
#
# The result is 3/4 · 2.1972 = 1.6479.
#
# <details><summary>Hint</summary>
#
# From `(B, T, D)` to heads: `.unflatten(-1, (n_heads, -1))` gives `(B, T, n_heads, K)`, and `.transpose(1, 2)` brings the heads forward. The way back is the same in reverse. `memory_mask[:, None, None, :]` fits the scores, `(B, n_heads, T, S)`. Fill hidden scores with the lowest *finite* number, `torch.finfo(scores.dtype).min`, and hidden weights with 0 after the softmax.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps5_cross_attention_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def cross_attention(x, memory, memory_mask, weights, n_heads):
    """Gather from the memory, in several heads, what each position of x looks for."""

    ### BEGIN SOLUTION
    def split(rows):
        return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # (B, n_heads, T or S, K)

    query = split(x @ weights["query"].T)
    key, value = split(memory @ weights["key"].T), split(memory @ weights["value"].T)
    hidden = ~memory_mask[:, None, None, :]
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    attention = scores.softmax(dim=-1).masked_fill(hidden, 0)
    heads = (attention @ value).transpose(1, 2).flatten(2)
    return heads @ weights["output"].T
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps5_cross_attention", "locked": true, "points": 13, "schema_version": 3, "solution": false, "task": false}
one = torch.tensor([[1.0]])
weights = {"query": one, "key": one, "value": 4 * one, "output": one}
x, memory = torch.tensor([[[2.0]]]), torch.tensor([[[0.0], [math.log(3) / 2], [7.0]]])
real = torch.tensor([[True, True, False]])
found = cross_attention(x, memory, real, weights, 1)
assert isinstance(found, torch.Tensor), f"return a tensor, not a {type(found).__name__}"
assert found.shape == (1, 1, 1), f"the shape is that of x, (1, 1, 1), not {tuple(found.shape)}"
assert not close(found, [[[28.0]]]), "padding must get no weight: True means real"
assert not close(found, [[[0.0]]]), "mask the scores before the softmax, or nothing is left"
assert close(found, [[[1.6479]]]), f"3/4 of 2.1972 is 1.6479; you gave {found.item():.4f}"
double = cross_attention(x, memory, real, {**weights, "output": 2 * one}, 1)
assert close(double, [[[3.2958]]]), "the output weights come last"
blind = cross_attention(x, memory, torch.tensor([[False] * 3]), weights, 1)
assert close(blind, [[[0.0]]]), f"where nothing is real the result is 0; you gave {blind.item()}"
far = cross_attention(1000 * x, memory, real, weights, 1)
assert close(far, [[[2.1972]]]), f"scores may be thousands apart; you gave {far.item()}"

layer = nn.MultiheadAttention(
    6, 3, bias=False, kdim=4, vdim=4, batch_first=True, dtype=torch.float64
)  # torch's own, for comparison: its mask is True where the memory is padding
weights = {
    "query": layer.q_proj_weight.detach(),
    "key": layer.k_proj_weight.detach(),
    "value": layer.v_proj_weight.detach(),
    "output": layer.out_proj.weight.detach(),
}
x, memory = random_tensor(2, 3, 6), random_tensor(2, 5, 4, seed=1)
everything = torch.ones(2, 5, dtype=torch.bool)
whole = cross_attention(x, memory, everything, weights, 3)
assert whole.shape == (2, 3, 6), f"the shape is that of x, (2, 3, 6), not {tuple(whole.shape)}"
assert whole.dtype == torch.float64, "float64 in, float64 out"
right = layer(x, memory, memory)[0].detach()
assert close(whole, right), "with 3 heads your result differs from torch's: scale, split, join?"
real = torch.tensor([[True] * 5, [True, True, True, False, False]])
padded = cross_attention(x, memory, real, weights, 3)
right = layer(x, memory, memory, key_padding_mask=~real)[0].detach()
assert close(padded, right), "with padding your result differs from torch's"
short = cross_attention(x[1:], memory[1:, :3], real[1:, :3], weights, 3)
assert close(short, padded[1:]), "without its padding a row's result is the same"
five = random_tensor(2, 5, 6, seed=2)
right = layer(five, memory, memory, key_padding_mask=~real)[0].detach()
found = cross_attention(five, memory, real, dict(reversed(weights.items())), 3)
assert close(found, right), (
    "where T equals S it differs from torch's: the mask hides places of the memory, not of x; and "
    "the weights go by their names"
)
some = torch.tensor([[False] * 5, [True] * 5])
found = cross_attention(x, memory, some, weights, 3)
assert close(found[0], torch.zeros_like(found[0])), "where nothing of a row is real, its result is 0"
assert close(found[1], whole[1]), "a row of which nothing is real must not change another row"
assert not some[0].any(), "your function changes the mask"
order = [3, 0, 4, 1, 2]
mixed = cross_attention(x, memory[:, order], real[:, order], weights, 3)
assert close(mixed, padded), "the order of the memory plays no part"
assert real.sum() == 8, "your function changes the mask"
leaf = memory.clone().requires_grad_()
cross_attention(x, leaf, torch.zeros_like(real), weights, 3).sum().backward()
assert leaf.grad is not None and not leaf.grad.isnan().any(), "no gradient may be nan"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Count the parameters  (10 points, 30 minutes, difficulty 3 of 5)
#
# **Why.** How many numbers does a model have? Its name says it ("7B"), its price depends on it, and who can count it without building it understands what the model is made of.
#
# **Contract.** `count_parameters(config)`
#
# The config is a `dict`. It describes a pre-norm decoder, as GPT-2 and LLaMA are:
#
# | key | type | meaning |
# |---|---|---|
# | `"vocab_size"`, `"context_length"` | `int` | number of tokens, `V`, and of positions |
# | `"d_model"`, `"n_layers"` | `int` | width, `D`, and number of blocks, at least 1 |
# | `"n_heads"`, `"n_kv_heads"` | `int` | heads of the queries; heads of the keys and of the values. Each is `D / n_heads` wide, a whole number; `n_heads` is a multiple of `n_kv_heads` |
# | `"d_ff"` | `int` | width inside the feed-forward layer |
# | `"positions"` | `str` | `"learned"` is a table of a vector for each position; `"sinusoidal"`, `"rotary"` and `"none"` have no parameters |
# | `"norm"` | `str` | `"layer"`: a weight and a bias; `"rms"`: a weight |
# | `"activation"` | `str` | `"swiglu"` has the three matrices of task {task:feed_forward}; all others (`"gelu"`, `"relu"`) have two, and no gate |
# | `"has_bias"` | `bool` | whether all linear layers and LayerNorms have biases; if False, nothing has any |
# | `"is_tied"` | `bool` | whether the output uses the table of the embeddings; else it has a `(V, D)` matrix of its own, without bias |
#
# | | | |
# |---|---|---|
# | **returns** | `int` | how many numbers training may change |
#
# - A block has two norms, attention with four linear layers (query, key, value, output), and the feed-forward layer. After the last block comes one more norm.
# - A linear layer from `n` entries to `m` has a matrix of `n · m` numbers, and perhaps `m` biases.
# - The number is exact: configs may be far larger than a float can count. So use whole numbers only, and do not build the model.
#
# **By hand.** GPT-2 small: `V` = 50257, 1024 positions, `D` = 768, 12 blocks, 12 heads of each kind, `d_ff` = 3072, everything learned, biased and tied.
#
# | part | numbers |
# |---|---|
# | tokens | 50257 · 768 = 38,597,376 |
# | positions | 1024 · 768 = 786,432 |
# | attention of a block | 4 · (768² + 768) = 2,362,368 |
# | feed-forward of a block | (768 · 3072 + 3072) + (3072 · 768 + 768) = 4,722,432 |
# | two norms of a block | 2 · 2 · 768 = 3,072 |
# | 12 blocks | 12 · 7,087,872 = 85,054,464 |
# | last norm | 2 · 768 = 1,536 |
# | **together** | **124,439,808** |
#
# <details><summary>Hint</summary>
#
# A small function that counts one linear layer, biases included, saves most slips. Keys and values go from `D` entries to `n_kv_heads` times the width of a head.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps5_count_parameters_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_parameters(config):
    """Return how many parameters a decoder of this structure has."""

    ### BEGIN SOLUTION
    def linear(n_in, n_out):
        return n_in * n_out + (n_out if config["has_bias"] else 0)

    d_model, d_ff = config["d_model"], config["d_ff"]
    d_memory = d_model // config["n_heads"] * config["n_kv_heads"]
    n_expanding = 2 if config["activation"] == "swiglu" else 1
    has_shift = config["norm"] == "layer" and config["has_bias"]
    norm = 2 * d_model if has_shift else d_model
    attention = 2 * linear(d_model, d_model) + 2 * linear(d_model, d_memory)
    feed_forward = n_expanding * linear(d_model, d_ff) + linear(d_ff, d_model)
    n_rows = config["vocab_size"] * (1 if config["is_tied"] else 2)
    if config["positions"] == "learned":
        n_rows += config["context_length"]
    return n_rows * d_model + config["n_layers"] * (attention + feed_forward + 2 * norm) + norm
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps5_count_parameters", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
gpt2_small = {
    "vocab_size": 50_257,
    "context_length": 1024,
    "d_model": 768,
    "n_layers": 12,
    "n_heads": 12,
    "n_kv_heads": 12,
    "d_ff": 3072,
    "positions": "learned",
    "norm": "layer",
    "activation": "gelu",
    "has_bias": True,
    "is_tied": True,
}
n = count_parameters(gpt2_small)
assert isinstance(n, int), f"return an int, not a {type(n).__name__}: divide by `//`"
slips = {
    1_536: "the norm after the last block",
    786_432: "the table of positions",
    38_400: "the norms, whose weights and biases are learned",
    19_200: "the biases of the norms",
    1_536 * 12: "one of the two norms of each block",
    (4 * 768 + 3072 + 768) * 12: "the biases of the linear layers",
    590_592 * 12: "one of the four linear layers of attention",
}
assert 124_439_808 - n not in slips, f"you leave out {slips[124_439_808 - n]}"
assert n - 124_439_808 != 38_597_376, "a tied table counts once"
assert n == 124_439_808, f"GPT-2 small has 124,439,808 parameters; you gave {n:,}"
deeper = {**gpt2_small, "d_model": 1600, "n_layers": 48, "n_heads": 25, "n_kv_heads": 25}
n = count_parameters({**deeper, "d_ff": 6400})
assert n == 1_557_611_200, f"GPT-2 XL has 1,557,611,200 parameters; you gave {n:,}"
llama = {
    "vocab_size": 32_000,
    "context_length": 2048,
    "d_model": 4096,
    "n_layers": 32,
    "n_heads": 32,
    "n_kv_heads": 32,
    "d_ff": 11_008,
    "positions": "rotary",
    "norm": "rms",
    "activation": "swiglu",
    "has_bias": False,
    "is_tied": False,
}
n = count_parameters(llama)
assert 6_738_415_616 - n != 131_072_000, "the output has a matrix of its own: it is not tied"
assert n - 6_738_415_616 != 8_388_608, "rotary positions have no parameters"
assert 6_738_415_616 - n != 4096 * 11_008 * 32, "SwiGLU has three matrices"
assert n == 6_738_415_616, f"LLaMA 7B has 6,738,415,616 parameters; you gave {n:,}"
mistral = {**llama, "d_ff": 14_336, "n_kv_heads": 8}
n = count_parameters(mistral)
assert n == 7_241_732_096, (
    f"Mistral 7B has 8 heads for keys and values: 7,241,732,096; you gave {n:,}"
)
tiny = {
    "vocab_size": 10,
    "context_length": 7,
    "d_model": 4,
    "n_layers": 1,
    "n_heads": 2,
    "n_kv_heads": 1,
    "d_ff": 3,
    "positions": "none",
    "norm": "layer",
    "activation": "swiglu",
    "has_bias": True,
    "is_tied": False,
}  # tokens 40 + 40, attention 20 + 10 + 10 + 20, feed-forward 15 + 15 + 16, norms 3 · 8
for changes, right in (
    ({}, 210),
    ({"has_bias": False}, 176),
    ({"norm": "rms"}, 198),
    ({"positions": "sinusoidal", "activation": "relu"}, 195),
):
    n = count_parameters({**tiny, **changes})
    assert n == right, f"{tiny} with {changes} has {right} parameters; you gave {n}"
assert len(mistral) == 12 and mistral["n_kv_heads"] == 8, "your function changes the config"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Judge the assistant  (6 points, 20 minutes, difficulty 3 of 5)
#
# **Why.** An assistant writes `rms_norm` in ten seconds, and it looks right. Is it? A wrong one trains all the same, a little worse. Finding out is left to you. This time you write the *test*.
#
# **Contract.** `judge_rms_norm(implementation)`
#
# | argument | type | meaning |
# |---|---|---|
# | `implementation` | function | somebody's `rms_norm`, to be called as in task {task:rms_norm} |
# | **returns** | `bool` | True if it does what task {task:rms_norm} asks for, False if it does not |
#
# - The grader runs your test on seventeen implementations that you do not see: five right ones, in styles of their own, and twelve that each make one mistake. Your points are the share of the wrong ones that your test refuses, less the share of the right ones that it refuses: saying the same every time earns nothing.
# - Each run may call the implementation 200 times. Arguments and results travel as copies (numbers, texts, lists, tuples, dicts, tensors; no functions): neither side sees what the other writes into them. If the implementation raises an exception, so does your call, with the same type and no message. An implementation that raises where the contract names no error is wrong: say False, or let the exception through, which counts as False. A test that raises an exception of its own has not judged.
# - Judge what is returned, to about one part in a hundred; speed, gradients, and what becomes of the caller's tensor, are not judged here. You may compare the results with those of your own `rms_norm`; then a mistake in it costs points here too.
#
# **By hand.** Which call tells what? Say what each would return before you look at code. $x = (1, -1)$, `eps` is 3.
#
# | an implementation that … | `weight` (1, 1) | `weight` (2, 1) |
# |---|---|---|
# | is right | (0.5, -0.5) | (1, -0.5) |
# | leaves the weight out | (0.5, -0.5) | (0.5, -0.5) |
# | subtracts the mean first | (0.5, -0.5) | (1, -0.5) |
#
# A weight of ones tells nothing of the second, and numbers whose mean is 0 tell nothing of the third.
#
# <details><summary>Hint</summary>
#
# Random numbers are a good beginning, for `x` *and* for `weight`. Choose an `eps` so large that leaving it out can be seen. And what does the contract say of `float16`? `x.half() * 300` has squares that it does not hold.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps5_judge_rms_norm_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def judge_rms_norm(implementation):
    """Say whether an implementation of rms_norm is right."""
    ### BEGIN SOLUTION
    x, weight = random_tensor(3, 4), random_tensor(4)
    calls = [(x, weight, 0.5), (x.half() * 300, weight.half(), 0.5)]
    try:
        for call in calls:
            found, right = implementation(*call), rms_norm(*call)
            if found.dtype != right.dtype or not torch.allclose(found, right, rtol=0.01):
                return False
    except Exception:
        return False
    return True
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps5_judge_rms_norm", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
from copy import deepcopy


def unchanged(x, weight, eps):
    """Wrong: it normalises nothing."""
    return x.clone()


def with_the_sum(x, weight, eps):
    """Your own, made wrong: it sums the squares up and does not average them."""
    return rms_norm(x, weight, eps) / x.shape[-1] ** 0.5


def without_the_weight(x, weight, eps):
    """Your own, made wrong: nothing is learned."""
    return rms_norm(x, torch.ones_like(weight), eps)


def says(implementation):
    """What your test says: the implementation gets copies, and an exception is a refusal."""
    try:
        return judge_rms_norm(
            lambda *call, **more: implementation(*deepcopy(call), **deepcopy(more))
        )
    except Exception:
        return False


verdict = judge_rms_norm(unchanged)
assert type(verdict) is bool, f"return True or False, not {type(verdict).__name__}"
assert not verdict, "an implementation that returns x is wrong; your test accepts it"
try:
    x, weight = torch.tensor([3.0, 4.0]), torch.tensor([2.0, 1.0])
    is_right = close(rms_norm(x, weight, 1e-6), [1.6971, 1.1314])
except Exception:
    is_right = False
if not is_right:
    print("Your rms_norm does not do yet what its task asks for, so your test has met only one")
    print("implementation, a wrong one. The grader has right and wrong ones of its own.")
else:
    assert not says(with_the_sum), "with_the_sum does not average the squares; your test accepts it"
    assert not says(without_the_weight), (
        "without_the_weight leaves the weight out; your test accepts it"
    )
    if says(rms_norm):
        print("All visible tests passed.")
    else:
        print("Your test refuses your own rms_norm: one of the two is wrong. For which call?")

# %% [markdown]
# ## {task}. In your own words  (8 points, 20 minutes, difficulty 3 of 5)
#
# 1. In a pre-norm stack of $L$ blocks, write the result as $x_0$ plus a sum. What is the gradient of the result with respect to $x_0$ made of, and what changes if the sums themselves are normalised (post-norm)? Why does a deep post-norm stack need a warm-up more?
# 2. A vector $x$ is replaced by $10x + 3$ (3 is added to each entry). What becomes of $\text{LayerNorm}(x)$, what of $\text{RMSNorm}(x)$? Leave eps aside.
# 3. A friend takes all feed-forward layers out of GPT-2 small: "attention does the work". For *given* attention weights, what kind of function of the values is left in each block? Which share of a block's parameters is gone? What does the count of task {task:count_parameters} say?
#
# Write at most 200 words.
#
# *How it is graded: 3 points for the sum, its gradient, and what post-norm changes; 2 for both norms; 3 for the kind of function, with a reason, and the share.*

# %% [markdown] nbgrader={"grade": true, "grade_id": "ps5_explain_residuals", "locked": false, "points": 8, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. $x_L = x_0 + \sum_l f_l(\text{norm}(x_l))$, over all $2L$ sublayers. So the gradient is the identity plus terms that go through sublayers: however many blocks there are, one part arrives unchanged. With post-norm each sum is normalised, so each of the $2L$ steps multiplies the whole gradient by the derivative of a norm, which shrinks it wherever the sum is larger than 1. At the start of training the gradients of early and late layers then differ greatly in size; with a large step the late ones are thrown far off. A warm-up keeps steps small until the sizes have settled.
# 2. LayerNorm does not change: mean and scale are taken out. RMSNorm forgets the factor 10, but not the shift: its result is that of $x + 0.3$.
# 3. A linear one: attention only averages values and multiplies by matrices; for given weights nothing is nonlinear but the norms. Gone are 4,722,432 of 7,087,872 parameters, two thirds.
#
# *Rubric.* 1: the sum, or the same in words (1); identity plus more terms (1); post-norm multiplies the straight path too, hence uneven or vanishing gradients and the warm-up (1). 2: one point for each norm; "RMSNorm changes", without what is kept of it, is half a point. 3: linear in the values (1), because averages and matrices are (1), two thirds or the two numbers (1).
# ### END SOLUTION

# %% [markdown]
# ## Workshop: your transformer learns (not graded)
#
# Now your functions go to work. The next cells need `course_pkg` and some fifteen seconds.
#
# Each model is built twice, with the same random weights. In one copy your functions take the place of the package's layers: your norm, your positions, your feed-forward layer, your block. The other copy stays as it is. Both read the same stories in the same order, and so their losses must agree, step by step. (We compute in `float64`. The package makes its angles in `float32`, so a small difference is no mistake, even where training lets it grow to the third digit.)

# %% tags=["workshop"]
import copy

from course_pkg.layers.blocks import FeedForward, LayerNorm, RMSNorm
from course_pkg.layers.positions import AttentionPositions, RotaryPositions, SinusoidalPositions
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer import EncoderDecoder
from course_pkg.models.transformer import count_parameters as count_built
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.corpora import load_corpus
from course_pkg.text.tokenizers import WordTokenizer


def like(x, name, result):
    # Let pass what has the shape and the dtype of x; else say in one line what came instead.
    if not isinstance(result, torch.Tensor):
        raise TypeError(f"your {name} returned {type(result).__name__}; it must return a tensor")
    if (result.shape, result.dtype) != (x.shape, x.dtype):
        raise ValueError(
            f"your {name} returned {tuple(result.shape)}, {result.dtype}; "
            f"it must return {tuple(x.shape)}, {x.dtype}"
        )
    return result


class MyNorm(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        weight, eps = self.norm.weight, self.norm.eps
        if isinstance(self.norm, RMSNorm):
            return like(x, "rms_norm", rms_norm(x, weight, eps))
        bias = torch.zeros_like(weight) if self.norm.bias is None else self.norm.bias
        return like(x, "layer_norm", layer_norm(x, weight, bias, eps))


class MyWaves(nn.Module):
    def forward(self, x, offset=0):
        T, D = x.shape[1:]
        waves = sinusoidal_positions(torch.arange(T) + offset, D)
        waves = like(x.new_empty(T, D, dtype=torch.float32), "sinusoidal_positions", waves)
        return x * math.sqrt(D) + waves.to(x.dtype)


class MyRotary(AttentionPositions):
    def rotation(self, T, offset=0, device=None):
        return torch.arange(T) + offset

    def rotate(self, x, rotation):
        return like(x, "rotate", rotate(x, rotation, 10_000.0))


class MyFeedForward(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        weights = {
            name: getattr(self.layer, name).weight for name in ("expand", "gate", "contract")
        }
        return like(x, "feed_forward", feed_forward(x, weights))


class MyCrossAttention(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, memory, mask=None, **rest):
        names = ("query", "key", "value", "output")
        weights = {name: getattr(self.layer, name).weight for name in names}
        if mask is None:
            mask = torch.ones(memory.shape[:2], dtype=torch.bool)[:, None]
        found = cross_attention(x, memory, mask[:, 0], weights, self.layer.n_heads)
        return like(x, "cross_attention", found)


class MyBlock(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.attention, self.feed_forward, self.norms = (
            block.attention,
            block.feed_forward,
            block.norms,
        )

    def forward(self, x, memory=None, *, rotation=None, **rest):
        B, T, _ = x.shape
        causal = torch.ones(B, T, T, dtype=torch.bool).tril()

        def attention(x, mask):
            return self.attention(x, mask=mask, rotation=rotation)

        after = pre_norm_block(x, causal, attention, self.feed_forward, *self.norms)
        return like(x, "pre_norm_block", after)


def plug_in(module):
    # Replace every layer that you have written, wherever it stands, by yours.
    for name, part in module.named_children():
        plug_in(part)
        if isinstance(part, LayerNorm | RMSNorm):
            setattr(module, name, MyNorm(part))
        elif isinstance(part, SinusoidalPositions):
            setattr(module, name, MyWaves())
        elif isinstance(part, RotaryPositions):
            setattr(module, name, MyRotary())
        elif isinstance(part, FeedForward):
            setattr(module, name, MyFeedForward(part))
        elif name == "cross_attention":
            setattr(module, name, MyCrossAttention(part))
    return module


def plug_in_blocks(model):
    model.stack.blocks = nn.ModuleList(map(MyBlock, model.stack.blocks))
    return model


# %% [markdown]
# **Two models that read stories.** One has the positions and the norm of 2017, the other those of LLaMA; both have SwiGLU. `count_parameters` first: yours beside what the package counts in the model that it has built.

# %% tags=["workshop"]
BATCH_SIZE, LENGTH, N_STEPS, LEARNING_RATE = 16, 32, 150, 0.01

stories = load_corpus("stories").train[:4000]
tokenizer = WordTokenizer.train(stories)
eos_id = tokenizer.eos_id
stream = torch.tensor([eos_id, *(i for s in stories for i in [*tokenizer.encode(s), eos_id])])
dice = torch.Generator().manual_seed(1)
starts = torch.randint(len(stream) - LENGTH, (N_STEPS, BATCH_SIZE), generator=dice)
windows = stream[starts[:, :, None] + torch.arange(LENGTH + 1)]

choices = {
    "vocab_size": tokenizer.vocab_size,
    "context_length": 128,
    "d_model": 32,
    "n_layers": 2,
    "n_heads": 4,
    "n_kv_heads": 4,
    "d_ff": 64,
    "activation": "swiglu",
    "has_bias": False,
    "is_tied": True,
}
configs = {
    "2017": {**choices, "positions": "sinusoidal", "norm": "layer"},
    "LLaMA": {**choices, "positions": "rotary", "norm": "rms"},
}


def train(model):
    # The same for both copies, so that only your functions differ.
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    losses = []
    for window in windows:
        _, loss = model(window[:, :-1], window[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


story_losses = {}
for name, config in configs.items():
    theirs = GPT(TransformerConfig(**config), generator=torch.Generator().manual_seed(2)).double()
    n_mine, n_theirs = count_parameters(config), count_built(theirs)
    print(f"{name}: you count {n_mine:,} parameters, the package has {n_theirs:,}")
    mine = plug_in_blocks(plug_in(copy.deepcopy(theirs)))
    story_losses[name] = {f"yours, {name}": train(mine), f"the package's, {name}": train(theirs)}


# %% [markdown]
# **A model that reads and writes.** In the encoder–decoder your cross-attention is all that connects the two halves. The task is small: write a row of letters backwards. Rows differ in length, so there is padding.

# %% tags=["workshop"]
N_LETTERS, LONGEST, N_BATCHES = 8, 8, 120
IGNORE = -100  # the target where nothing is to be predicted

dice = torch.Generator().manual_seed(3)
rows = []
for _ in range(N_BATCHES):
    lengths = torch.randint(3, LONGEST + 1, (32,), generator=dice)
    letters = torch.randint(1, N_LETTERS, (32, LONGEST), generator=dice)
    letters[torch.arange(LONGEST) >= lengths[:, None]] = 0  # 0 is padding, and the end
    places = (lengths[:, None] - 1 - torch.arange(LONGEST)).clamp(min=0)
    backwards = torch.where(letters == 0, IGNORE, letters.gather(1, places))
    start = torch.zeros(32, 1, dtype=torch.int64)
    seen = torch.cat([start, backwards[:, :-1].clamp(min=0)], dim=1)
    rows.append((letters, seen, backwards, lengths))


def train_to_reverse(model):
    # The same for both copies; also the share of letters that are right in the last ten batches.
    optimizer, losses, right = torch.optim.Adam(model.parameters(), lr=0.01), [], []
    for source, seen, targets, lengths in rows:
        logits, loss = model(source, seen, targets, source_lengths=lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        counts = targets != IGNORE
        right.append((logits.argmax(dim=-1) == targets)[counts].double().mean().item())
    return losses, sum(right[-10:]) / 10


config = TransformerConfig(
    vocab_size=N_LETTERS,
    context_length=LONGEST,
    d_model=32,
    n_heads=2,
    n_layers=1,
    d_ff=64,
    positions="sinusoidal",
    activation="swiglu",
    has_bias=False,
)
theirs = EncoderDecoder(config, generator=torch.Generator().manual_seed(4)).double()
mine = plug_in(copy.deepcopy(theirs))
my_reversing, my_share = train_to_reverse(mine)
their_reversing, their_share = train_to_reverse(theirs)
print(f"right letters at the end: yours {my_share:.0%}, the package's {their_share:.0%}")
story_losses["reversing"] = {
    "yours, reversing": my_reversing,
    "the package's, reversing": their_reversing,
}


# %% tags=["workshop"]
from IPython.display import display

from course_pkg.plots import lines, show

for name, curves in story_losses.items():
    yours, packages = curves.values()
    gap = max(abs(a - b) for a, b in zip(yours, packages, strict=True))
    agree = "agree" if gap < 0.01 else f"differ by up to {gap:.3g}"
    at_last = sum(yours[-20:]) / 20
    print(f"{name:9} {yours[0]:.2f} nats at first, {at_last:.2f} at last; both copies {agree}")
    picture = show(
        lines(
            {label: (range(1, len(curve) + 1), curve) for label, curve in curves.items()},
            x_label="step",
            y_label="loss (nats per token)",
            y_range=(0.0, 5.0),
        ),
        alt=f"Training loss against the number of steps, for {name} and its twin of the package: "
        "both lie on one curve, which falls.",
    )
    display(picture)


# %% [markdown]
# What you should see: two curves in each figure that look like one, because your copy and the package's agree. At the end (the mean of the last 20 steps) the model of 2017 is at 0.85 nats and the one with LLaMA's parts at 0.81; the encoder–decoder has 0.77 nats left on its letters, and writes three of four right, where a guess would be one of seven.
#
# Now break something on purpose. Return `x[..., :1]` from your `rms_norm`, or `x.float()`, run its cell and the workshop again: the message names what your function returned and what it must return. Then try what costs nothing but understanding: the residual connections of `pre_norm_block` left out, positions that are all 0, a `rotate` that turns the other way. Which of them does the loss notice, and which not? Why does it not notice the last one?
#
# ## Challenge: the smallest storyteller (not graded)
#
# **With how few parameters can a transformer say how stories go on?** Two functions of yours share the work. `train_small` reads 2,000 stories and returns all that it has learned, as a list of tensors. `predict_small` is given these numbers, as NumPy arrays of 16 bits, and how 2,000 *other* stories begin: one place of each. It says how probable each id is as the next one. The perplexity must be at most 2.10; the fewer numbers, the better.
#
# The model to beat is made of your functions, and has **7,248 numbers**; its perplexity on the held-out stories that come with the course is about 1.83. On other stories, cut at other places, it comes out up to a tenth higher or lower: leave room. Other widths, another schedule, more stories read in the same time, blocks that share their weights, a table of less than full rank, no blocks of the usual kind: everything is allowed but one thing. `predict_small` must not learn from the beginnings that it is given: what is learned is learned in `train_small`, and counted.
#
# Your course may have a leaderboard. Everyone who changes the first cell takes part: the grader calls `train_small` on new stories, whose words are numbered anew, and counts the numbers itself; `predict_small` meets them in a fresh process, which knows nothing else of the training. `train_small` must return in 30 seconds of CPU time and `predict_small` in 5, and more than one process or thread wins nothing. So put into that cell, or into a cell of your own, all that the functions need, and nothing that takes long; `course_pkg` is not there. `PSEUDONYM` is your name on the page: Latin letters, at most 24 of them. Without one, you are given a name.

# %% tags=["workshop"]
PSEUDONYM = ""
WIDTH, N_HEADS, D_FF, N_BLOCKS = 16, 2, 32, 2
BATCH_SIZE, N_UPDATES, BEST_RATE = 16, 300, 0.02


def in_rows(stories, eos_id):
    """Return a row for each story: eos before it, and after it until the row is full."""
    lengths = torch.tensor([len(story) for story in stories])
    rows = torch.full((len(stories), int(lengths.max()) + 2), eos_id)
    for row, story in zip(rows, stories, strict=True):
        row[1 : len(story) + 1] = torch.tensor(story, dtype=torch.int64)
    return rows, lengths


def self_attention(x, mask, matrices):
    """Look at what stands before, with queries and keys turned by their positions."""
    query, key, value, output = matrices
    positions = torch.arange(x.shape[1])
    q, k, v = (
        (x @ matrix.T).unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for matrix in (query, key, value)
    )
    q, k = rotate(q, positions, 10_000.0), rotate(k, positions, 10_000.0)
    found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.unsqueeze(1))
    return found.transpose(1, 2).flatten(-2) @ output.T


def scores_of_next(numbers, ids):
    """Blocks of your functions: at each position the scores of the next id."""
    table, last_gain, *learned = numbers
    B, T = ids.shape
    mask = torch.ones(T, T, dtype=torch.bool).tril().expand(B, T, T)
    x = table[ids]
    for start in range(0, len(learned), 9):
        gain_1, *matrices, gain_2, expand, gate, contract = learned[start : start + 9]
        weights = {"expand": expand, "gate": gate, "contract": contract}
        x = pre_norm_block(
            x,
            mask,
            lambda y, mask, matrices=matrices: self_attention(y, mask, matrices),
            lambda y, weights=weights: feed_forward(y, weights),
            lambda y, gain=gain_1: rms_norm(y, gain, 1e-5),
            lambda y, gain=gain_2: rms_norm(y, gain, 1e-5),
        )
    return rms_norm(x, last_gain, 1e-5) @ table.T


def train_decoder(stories, vocab_size, eos_id):
    """The model to beat: two blocks, trained by Adam at a rate that falls to 0."""
    dice = torch.Generator().manual_seed(1)
    gain, square, wide = (WIDTH,), (WIDTH, WIDTH), (D_FF, WIDTH)
    block = [gain, square, square, square, square, gain, wide, wide, wide[::-1]]
    numbers = [
        torch.ones(size) if size == gain else torch.randn(size, generator=dice) / WIDTH**0.5
        for size in [(vocab_size, WIDTH), gain, *block * N_BLOCKS]
    ]
    optimizer = torch.optim.Adam([x.requires_grad_() for x in numbers], lr=BEST_RATE)
    rows, lengths = in_rows(stories, eos_id)
    for step in range(N_UPDATES):
        optimizer.param_groups[0]["lr"] = BEST_RATE * min(1, (step + 1) / 20) * (1 - step / N_UPDATES)
        some = torch.randint(len(rows), (BATCH_SIZE,), generator=dice)
        ends = lengths[some]
        ids = rows[some, : int(ends.max()) + 2]
        hidden = torch.arange(ids.shape[1] - 1) > ends.unsqueeze(1)  # after the eos that ends it
        targets = ids[:, 1:].masked_fill(hidden, -100)
        loss = F.cross_entropy(scores_of_next(numbers, ids[:, :-1]).mT, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return numbers


def predict_by_decoder(numbers, contexts, vocab_size, eos_id):
    """Return a row for each context: the logarithm of the probability of each id."""
    numbers = [torch.as_tensor(x).detach().float() for x in numbers]
    ids, lengths = in_rows(contexts, eos_id)
    last = scores_of_next(numbers, ids)[torch.arange(len(ids)), lengths]
    return torch.log_softmax(last, dim=-1)


def train_small(stories, vocab_size, eos_id):
    """Yours: replace the line below."""
    return train_decoder(stories, vocab_size, eos_id)


def predict_small(numbers, contexts, vocab_size, eos_id):
    """Yours: replace the line below."""
    return predict_by_decoder(numbers, contexts, vocab_size, eos_id)


# %% tags=["workshop"]
import time

TAKE_PART = False  # True: measure yours, which as it stands is the one to beat
CPU_SECONDS, GOAL = 30, 2.10


def measure(train, predict):
    # Held-out stories are cut at one place each, as the leaderboard does it with others.
    corpus = load_corpus("stories")
    dice, contexts, following = torch.Generator().manual_seed(1), [], []
    for story in corpus.valid:
        ids = [*tokenizer.encode(story), eos_id]
        end = int(torch.randint(len(ids), (), generator=dice))
        contexts.append(ids[:end])
        following.append(ids[end])
    to_read = [tokenizer.encode(story) for story in corpus.train[:2000]]
    start = time.process_time()
    numbers = [x.detach().half().numpy() for x in train(to_read, tokenizer.vocab_size, eos_id)]
    used, start = time.process_time() - start, time.process_time()
    rows = predict(numbers, contexts, tokenizer.vocab_size, eos_id)
    slow = used > CPU_SECONDS or time.process_time() - start > CPU_SECONDS / 6
    assert close(rows.exp().sum(dim=1), torch.ones(len(rows))), "a row does not sum to 1"
    nats = -rows[range(len(rows)), following].mean()
    n_numbers = sum(x.size for x in numbers)
    text = f"{n_numbers:,} numbers, a perplexity of {nats.exp():.2f}"
    return text + ": too high" * bool(nats.exp() > GOAL) + ", too slow" * slow


if TAKE_PART:
    print(measure(train_small, predict_small))
