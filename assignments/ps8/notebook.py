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
# # Problem set 8: Fine-tuning
#
# A pretrained model knows its language, but not your task. In this set you give it one. You will write what turns a pair of texts into one sequence, what reads an answer off the model's vectors, what decides which weights may move, and the thin layers (LoRA) that let a few numbers do the work of millions. Then you will write the two losses that turn a language model into an assistant: one that scores replies only, and one that learns from pairs of replies of which somebody preferred one. In between you will run a study of your own: how many labels does it take?
#
# - **You write** eight short functions, and a test that judges somebody else's. Each is graded on its own. A ninth task asks for a short report.
# - **You need** the chapters on GPT, BERT and fine-tuning, and from PyTorch: indexing with tensors, boolean masks, `requires_grad`, `detach`. Task {task:freeze} works on an `nn.Module`.
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
# The grader runs more tests than you see: other sizes, other ids for the special tokens, `float32` and `float64`, tensors that are views of others, with gaps in memory (`reshape` can deal with that, `view` cannot).
#
# Rules for the whole set:
#
# - Use Python and torch's tensors and modules. Do not import `course_pkg`.
# - **No loop over positions or rows of a tensor**: a tensor operation takes them all at once. Such a loop costs half of the points that your answer earns otherwise. (Loops over the pairs and their tokens in task {task:frame_pairs}, over names and parameters in task {task:freeze}, and over adapters in task {task:merge_lora} are fine.)
# - Do not change your arguments, except for the model of task {task:freeze}, which is there to be changed. A tensor that you return is a new one, so that the caller may write into it.
# - Floats are `float32` or `float64`, unless a contract names others. Results in `float32` must be right to about 4 digits, in `float64` to 9.
# - Results have the dtype of the float arguments, which all have the same one unless the task says otherwise. Nothing may depend on torch's default dtype.
# - **Gradients** flow from a result to every float argument, unless the task says that something is frozen. No gradient reaches what is frozen, even if the caller's tensor asks for one (`requires_grad`).
# - Ids and lengths are whole numbers from 0 on: `int64` in tensors, `int` in lists. Only targets may also be `IGNORE`. Any id, also 0, may be that of a special token or of padding, and padding may have the same id as a token. So what is padding is said by lengths, never by ids.
# - Keep the names of the functions and of their arguments. Arguments may be given by position or by name.

# %% nbgrader={"grade": false, "grade_id": "ps8_install", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["workshop"]
# Installs the course's package where it is missing, as in a hosted notebook: from its file beside
# this notebook, else from your course's address. The study and the workshop need it.
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
            "All tasks but the study work without the course's package; for it and for the workshop, "
            + (
                f'run  %pip install "{source}"  in a new cell, which says what is wrong.'
                if source
                else "put its file language_models_by_hand-...-any.whl, which your instructor has, "
                "beside this notebook and run this cell again."
            )
        )

# %% nbgrader={"grade": false, "grade_id": "ps8_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import torch
from torch import nn
from torch.nn import functional as F

IGNORE = -100  # the target where nothing is to be predicted


def close(found, right, atol=5e-5):
    """Whether two tensors have one dtype, one shape and the same numbers, up to 4 digits."""
    same_kind = found.dtype == right.dtype and found.shape == right.shape
    return same_kind and torch.allclose(found, right, rtol=0, atol=atol)


def random_tensor(*shape, seed=0, dtype=torch.float64):
    """Draw a tensor that is the same in every run."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# %% [markdown]
# **Shapes.** We write `B` for the rows of a batch, `T` for positions, `D` for the width of the model, `C` for the number of classes, `V` for the size of the vocabulary; and for a linear layer `I` for its inputs, `O` for its outputs, `R` for the rank of what LoRA puts beside it.

# %% [markdown]
# ## {task}. Two texts, one sequence  (11 points, 25 minutes, difficulty 2 of 5)
#
# **Why.** Does the hypothesis follow from the premise? A GPT reads one sequence, so a pair is written as one: `[START] premise [DELIM] hypothesis [EXTRACT]` (Radford and others, 2018). A decoder only looks back; so the head reads the vector at [EXTRACT], the only one that has seen both texts. Cut off the end of a long sequence, and you have cut off just that token.
#
# **Contract.** `frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest)`
#
# | argument | type | meaning |
# |---|---|---|
# | `pairs` | list of tuples `(premise, hypothesis)` | at least one; each text is a list or tuple of `int`; it may be empty, or have thousands of tokens |
# | `start_id`, `delim_id`, `extract_id` | `int` | the ids of the three special tokens |
# | `pad_id` | `int` | the id that fills up short rows; it may be equal to any other id |
# | `longest` | `int`, at least 3 | the most ids that a row may have before it is filled up, special ones included |
# | **returns** | tuple of two `int64` tensors, `(B, T)` and `(B,)` | the rows, filled up to the same length; the length of each before that |
#
# - A row is [START], the premise, [DELIM], the hypothesis, [EXTRACT]. All three special tokens are always there, whatever the texts.
# - Where that is more than `longest` ids, the texts are shortened one token at a time, until it fits exactly: the longer of the two texts loses its last token; if both are equally long at that moment, the hypothesis does.
# - `T` is the length of the longest row *of this batch* after shortening, which may be less than `longest`. Shorter rows are filled up at their end with `pad_id`.
# - Rows are in the order of the pairs.
#
# **By hand.** The ids are 90, 91, 92, padding is 0, `longest` is 8. That leaves 5 ids for the texts.
#
# | premise | hypothesis | shortened | row | length |
# |---|---|---|---|---|
# | 1 2 3 4 | 5 6 | 1 2 3 and 5 6 | 90 1 2 3 91 5 6 92 | 8 |
# | 7 | 8 9 | nothing | 90 7 91 8 9 92 0 0 | 6 |
# | 1 2 3 | 4 5 6 | 1 2 3 and 4 5 | 90 1 2 3 91 4 5 92 | 8 |
#
# <details><summary>Hint</summary>
#
# Copy both texts with `list(...)` before you shorten them: they are the caller's. Make all rows as lists first; only then you know `T`, and each row gets `[pad_id] * (T - len(row))`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps8_frame_pairs_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    """Write each pair as one row; return the rows, filled up, and their lengths."""
    ### BEGIN SOLUTION
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) + 3 > longest:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = [len(row) for row in rows]
    filled = [row + [pad_id] * (max(lengths) - len(row)) for row in rows]
    return torch.tensor(filled), torch.tensor(lengths)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps8_frame_pairs", "locked": true, "points": 11, "schema_version": 3, "solution": false, "task": false}
pairs = [([1, 2, 3, 4], [5, 6]), ([7], [8, 9]), ((1, 2, 3), (4, 5, 6))]
result = frame_pairs(pairs, 90, 91, 92, 0, 8)
assert isinstance(result, tuple) and len(result) == 2, "return a tuple: the rows, their lengths"
rows, lengths = result
assert isinstance(rows, torch.Tensor) and isinstance(lengths, torch.Tensor), "return tensors"
assert rows.dtype == lengths.dtype == torch.int64, f"not {rows.dtype} and {lengths.dtype}"
assert rows.shape == (3, 8), f"three rows of 8 ids, and not {tuple(rows.shape)}"
assert lengths.tolist() == [8, 6, 8], f"the lengths are 8, 6, 8, and not {lengths.tolist()}"
first, second, third = rows.tolist()
assert first[-1] == 92, "cut the texts, and not the row: [EXTRACT] must stay"
assert first != [90, 1, 2, 3, 4, 91, 5, 92], "the longer text loses a token; that is the premise"
assert first == [90, 1, 2, 3, 91, 5, 6, 92], f"the first row is not {first}"
assert second == [90, 7, 91, 8, 9, 92, 0, 0], f"the second row is not {second}"
assert third != [90, 1, 2, 91, 4, 5, 6, 92], "if both are equally long, the hypothesis loses one"
assert third == [90, 1, 2, 3, 91, 4, 5, 92], f"the third row is not {third}"
assert pairs == [([1, 2, 3, 4], [5, 6]), ([7], [8, 9]), ((1, 2, 3), (4, 5, 6))], (
    "your function shortens the caller's texts"
)
rows, lengths = frame_pairs([([5], [6]), ([5], [])], 7, 0, 5, 6, 20)
assert rows.shape == (2, 5), f"T is the longest row, which has 5 ids; you gave {rows.shape[1]}"
assert rows.tolist() == [[7, 5, 0, 6, 5], [7, 5, 0, 5, 6]], f"you gave {rows.tolist()}"
assert lengths.tolist() == [5, 4], "an empty text still has its special tokens around it"
rows, lengths = frame_pairs([([1] * 9, [2] * 2)], 7, 8, 9, 0, 7)
assert rows.tolist() == [[7, 1, 1, 8, 2, 2, 9]], (
    f"room for 4: the premise alone is shortened, to 2; you gave {rows.tolist()}"
)
rows, lengths = frame_pairs([([1, 2], [3])], 7, 8, 9, 0, 3)
assert rows.tolist() == [[7, 8, 9]], "longest is 3: there is room for the special tokens alone"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. A vector for the text, and a head  (11 points, 25 minutes, difficulty 2 of 5)
#
# **Why.** The model gives a vector for each token, the task asks for one answer per text. BERT keeps the first vector for that ([CLS]); in a GPT the last token is the only one that has seen all the others; the mean of all needs no special token and is often the better choice if [CLS] was not trained for it. What is *last* differs from row to row, and padding must not be taken for text: that is the most frequent bug in this place, and it raises no error.
#
# **Contract.** `class_scores(vectors, lengths, pooling, weight, bias)`
#
# | argument | type | meaning |
# |---|---|---|
# | `vectors` | floats, `(B, T, D)` | the model's vectors; padding comes last in each row |
# | `lengths` | `int64`, `(B,)` | how many positions of each row are text: 1 to `T` |
# | `pooling` | `str` | `"first"`, `"last"` or `"mean"` |
# | `weight` | floats, `(C, D)` | the weight of the head, as in `nn.Linear` |
# | `bias` | floats, `(C,)` | its bias |
# | **returns** | floats, `(B, C)` | a score for each class |
#
# - `"first"` takes the vector at position 0, `"last"` that of the last position of the text, `"mean"` the mean of all vectors of the text. The scores are the linear layer of that vector: `weight` times it, plus `bias`. No softmax.
#
# > **Small print.**
# >
# > - Any other string for `pooling` raises a `ValueError`, with whatever message.
# > - The vectors of the text are finite, and so small that no sum overflows.
# > - What stands at padding plays no part, whatever it is, also nan and inf: neither in the scores nor in any gradient. The gradient of the vectors is 0 there.
# > - All sizes are at least 1. `float32` or `float64`.
#
# **By hand.** `D = 1`, one class, `weight` 2, `bias` 1, a row with length 3:
#
# | position | 0 | 1 | 2 | 3: padding |
# |---|---|---|---|---|
# | vector | 1 | 2 | 6 | 9 |
#
# `"first"`: 2 · 1 + 1 = 3. `"last"`: 2 · 6 + 1 = 13. `"mean"`: (1 + 2 + 6) / 3 = 3, and 2 · 3 + 1 = 7.
#
# <details><summary>Hint</summary>
#
# `vectors[rows, places]` with two index tensors of shape `(B,)` takes one vector per row. For the mean, `torch.arange(T) < lengths[:, None]` is True at text. Multiplying by 0 does not remove nan; `masked_fill` or `torch.where` does.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps8_class_scores_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def class_scores(vectors, lengths, pooling, weight, bias):
    """Make one vector of each text, and score the classes with it."""
    ### BEGIN SOLUTION
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    elif pooling == "mean":
        is_padding = torch.arange(vectors.shape[1]) >= lengths[:, None]
        total = vectors.masked_fill(is_padding[:, :, None], 0).sum(dim=1)
        pooled = total / lengths[:, None]
    else:
        raise ValueError(f"pooling is {pooling!r}; it must be 'first', 'last' or 'mean'")
    return pooled @ weight.T + bias
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps8_class_scores", "locked": true, "points": 11, "schema_version": 3, "solution": false, "task": false}
vectors = torch.tensor([[[1.0], [2.0], [6.0], [9.0]]])
lengths, weight, bias = torch.tensor([3]), torch.tensor([[2.0]]), torch.tensor([1.0])
for pooling, right in {"first": 3.0, "last": 13.0, "mean": 7.0}.items():
    scores = class_scores(vectors, lengths, pooling, weight, bias)
    assert isinstance(scores, torch.Tensor), f"return a tensor, not a {type(scores).__name__}"
    assert scores.shape == (1, 1), f"one score for each text and class; you gave {scores.shape}"
    assert scores.item() != 19.0, "that is the vector at padding, and not the last of the text"
    assert scores.item() != 10.0, "padding has come into your mean"
    assert close(scores, torch.tensor([[right]])), f"{pooling}: {right}, and not {scores.item()}"
vectors, weight, bias = random_tensor(3, 5, 4), random_tensor(2, 4, seed=1), random_tensor(2, seed=2)
lengths = torch.tensor([5, 1, 3])
kept = [part.clone() for part in (vectors, lengths, weight, bias)]
texts = [vectors[0], vectors[1, :1], vectors[2, :3]]  # without padding
hostile = vectors.clone()
hostile[1, 1:], hostile[2, 3:] = math.nan, math.inf
for pooling, pool in {
    "first": lambda text: text[0],
    "last": lambda text: text[-1],
    "mean": lambda text: text.mean(dim=0),
}.items():
    right = F.linear(torch.stack([pool(text) for text in texts]), weight, bias)
    scores = class_scores(vectors, lengths, pooling, weight, bias)
    assert scores.dtype == torch.float64, "float64 in, float64 out"
    assert close(scores, right), f"three texts of different lengths, pooling {pooling}"
    leaf = hostile.clone().requires_grad_()
    scores = class_scores(leaf, lengths, pooling, weight, bias)
    assert close(scores.detach(), right), f"pooling {pooling}: nan or inf at padding comes through"
    scores.sum().backward()
    is_padding = torch.tensor([[0, 0, 0, 0, 0], [0, 1, 1, 1, 1], [0, 0, 0, 1, 1]]).bool()
    assert (leaf.grad[is_padding] == 0).all(), "the gradient at padding is 0"
    assert leaf.grad[:, 0].any() or leaf.grad[0, -1].any(), "no gradient reaches the vectors"
assert all(map(torch.equal, (vectors, lengths, weight, bias), kept)), "an argument has changed"
try:
    class_scores(vectors, lengths, "max", weight, bias)
except ValueError:
    pass
else:
    raise AssertionError("another pooling raises a ValueError")
print("All visible tests passed.")

# %% [markdown]
# ## {task}. What may move  (10 points, 30 minutes, difficulty 3 of 5)
#
# **Why.** With few labels it can be better to train only the new head, or the head and the last block: fewer numbers that can fit noise, less memory, and the rest of the model stays as it is for other tasks. In PyTorch a parameter is frozen by `requires_grad = False`. Two things go wrong there without an error: a tied weight has two names, and an old gradient that lies about lets the optimizer move a parameter that you believe frozen.
#
# **Contract.** `freeze(model, kept)`
#
# | argument | type | meaning |
# |---|---|---|
# | `model` | `nn.Module` | any model; it is changed |
# | `kept` | list, tuple or set of `str` | names of parameters or modules that are to train; may be empty |
# | **returns** | list of `nn.Parameter` | the parameters that train now: what an optimizer is given |
#
# - A parameter's *names* are all those by which it can be reached, with dots in between as in `named_parameters`: `"blocks.1.norm.weight"`. A tied parameter, which is at two places of the model, has two, and so has each parameter of a module that stands at two places.
# - A parameter *fits* an entry of `kept` if one of its names equals the entry, or begins with the entry and a dot. So `"blocks.1"` fits `"blocks.1.norm.weight"`, and neither `"blocks.10.norm.weight"` nor `"old.blocks.1.norm.weight"`. Entries are not empty and do not end with a dot; one may be there twice, or contain another.
# - A parameter that fits an entry trains: its `requires_grad` becomes True, whatever it was. All others are frozen: `requires_grad` becomes False, and `grad` None.
# - The list has each parameter that trains once, in the order of `model.parameters()`. These are the model's own parameters, not copies.
#
# > **Small print.**
# >
# > - If an entry fits no parameter (not even if there is a module of that name, such as a dropout), raise a `ValueError`, with whatever message, before you have changed anything: it is most likely a typing error, and would freeze what should train.
# > - Nothing else changes: not the numbers, not the gradients of parameters that train, not whether the model is in training mode, and not `kept`.
#
# **By hand.** The model has the parameters `body.weight`, `body.bias`, `head.weight`, `head.bias`, and `head.weight` is the same object as `body.weight`.
#
# | kept | trains | frozen |
# |---|---|---|
# | `["body"]` | `body.weight` (which is `head.weight`), `body.bias` | `head.bias` |
# | `["head"]` | `body.weight` (because it is `head.weight`), `head.bias` | `body.bias` |
# | `[]` | nothing | everything |
# | `["bod"]` | ValueError | |
#
# <details><summary>Hint</summary>
#
# `model.named_parameters()` gives each parameter once, under the first of its names. `model.named_parameters(remove_duplicate=False)` gives all names. First find out what fits, then change the model.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps8_freeze_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def freeze(model, kept):
    """Let the parameters that fit train, and no others; return those that train."""
    ### BEGIN SOLUTION
    chosen, fitted = set(), set()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        for entry in kept:
            if f"{name}.".startswith(f"{entry}."):
                chosen.add(parameter)
                fitted.add(entry)
    if fitted != set(kept):
        raise ValueError(f"no parameter of the model fits {set(kept) - fitted}")
    for parameter in model.parameters():
        parameter.requires_grad = parameter in chosen
        if parameter not in chosen:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter in chosen]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps8_freeze", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
def small_model(is_tied):
    """Make a body of two linear layers and a head; a tied head shares the first layer's weight."""
    model = nn.ModuleDict({"body": nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))})
    model["head"], model["body2"] = nn.Linear(3, 3), nn.Linear(3, 1, bias=False)
    if is_tied:
        model["head"].weight = model["body"][0].weight
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    return model


def training(model):
    """Name the parameters that train, by all their names."""
    names = model.named_parameters(remove_duplicate=False)
    return {name for name, parameter in names if parameter.requires_grad}


model = small_model(is_tied=False)
before = {name: parameter.clone() for name, parameter in model.named_parameters()}
names = ["head"]
trained = freeze(model, names)
assert names == ["head"], "your function changes kept"
assert isinstance(trained, list), f"return a list, not a {type(trained).__name__}"
assert training(model) == {"head.weight", "head.bias"}, f"these train: {training(model)}"
right = [model["head"].weight, model["head"].bias]
assert len(trained) == 2 and all(map(lambda a, b: a is b, trained, right)), (
    "return the two parameters of the head themselves, in their order"
)
assert model["body"][0].weight.grad is None, "the gradient of what is frozen becomes None"
assert model["head"].weight.grad is not None, "the gradient of what trains stays"
assert all(torch.equal(p, before[name]) for name, p in model.named_parameters()), (
    "your function changes numbers"
)
freeze(model, {"body.1", "body.0.bias"})
assert training(model) == {"body.0.bias", "body.1.weight", "body.1.bias"}, (
    f"what was frozen before must train again if it is kept; these train: {training(model)}"
)
freeze(model, ("body",))
assert "body2.weight" not in training(model), "'body' is not the beginning of a name: 'body.' is"
assert freeze(model, []) == [] and not training(model), "nothing is kept, so everything is frozen"
model = small_model(is_tied=True)
trained = freeze(model, ["head"])
assert training(model) == {"body.0.weight", "head.weight", "head.bias"}, (
    f"the tied weight is head.weight, too; these train: {training(model)}"
)
assert len(trained) == 2, "a tied parameter is returned once: an optimizer refuses it twice"
model = small_model(is_tied=False)
freeze(model, ["body"])
state = training(model)
for names in (["hed"], ["head", "body.2"], ["hea"], ["ead"]):
    try:
        freeze(model, names)
    except ValueError:
        assert training(model) == state, "a ValueError is raised before anything is changed"
    else:
        raise AssertionError(f"one of {names} fits no parameter; that is a ValueError")
print("All visible tests passed.")

# %% [markdown]
# ## {task}. A thin layer beside a frozen one  (12 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** Fine-tuning changes a matrix $W$ by some $\Delta W$, as large as $W$. Hu and others (2022, LoRA) let that change have a low rank: $\Delta W = \frac{\alpha}{R} B A$, with $A$ of $R$ rows and $B$ of $R$ columns. $W$ stays frozen; only $A$ and $B$ learn: $R (I + O)$ numbers instead of $I \cdot O$, and as few states of the optimizer. For that to save anything in a forward pass, the product $B A$ must never be made.
#
# **Contract.** `lora_layer(x, weight, bias, down, up, alpha)`
#
# | argument | type | meaning |
# |---|---|---|
# | `x` | floats, `(..., I)` | vectors, with any number of axes before the last, or none; these may have length 0 |
# | `weight` | floats, `(O, I)` | $W$, frozen |
# | `bias` | floats, `(O,)`, or `None` | the layer's bias, frozen; None: it has none |
# | `down` | floats, `(R, I)` | $A$, trained |
# | `up` | floats, `(O, R)` | $B$, trained |
# | `alpha` | `float` | any number |
# | **returns** | floats, `(..., O)` | $W x + b + \frac{\alpha}{R} B (A x)$ for each vector $x$ |
#
# - Gradients flow to `x`, `down` and `up`, also where `alpha` or `up` is 0, and the numbers of some gradients are 0, too. `weight` and `bias` are frozen: no gradient reaches them, also if they ask for one.
# - Go through the thin path one matrix after the other. Neither `up @ down` nor any other new matrix of the size of `weight` is made. (A view, such as `weight.T`, is no new matrix.)
#
# > **Small print.**
# >
# > - `I`, `O` and `R` are at least 1. `R` is not given: it is what the matrices say.
#
# **By hand.** `I = 2`, `O = 1`, `R = 2`, `alpha` is 6, so the scale is 6/2 = 3. $x$ = (1, 2), $W$ = (1, 1), $b$ = 10; $A$ has the rows (1, 0) and (1, 1), and $B$ = (2, 1).
#
# - The frozen path: 1 + 2 + 10 = 13.
# - $A x$ = (1, 3). $B (A x)$ = 2 · 1 + 1 · 3 = 5. Times 3: 15.
# - Together 28.
#
# <details><summary>Hint</summary>
#
# `F.linear(x, weight, bias)` works with any number of axes, and with `bias=None`. `detach()` gives the same numbers without a gradient.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps8_lora_layer_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lora_layer(x, weight, bias, down, up, alpha):
    """Apply a frozen linear layer and a thin one beside it."""
    ### BEGIN SOLUTION
    frozen = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    thin = F.linear(F.linear(x, down), up)
    return frozen + alpha / len(down) * thin
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps8_lora_layer", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
x, weight, bias = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 1.0]]), torch.tensor([10.0])
down, up = torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[2.0, 1.0]])
y = lora_layer(x, weight, bias, down, up, 6.0)
assert isinstance(y, torch.Tensor), f"return a tensor, not a {type(y).__name__}"
assert y.shape == (1,), f"x has no axis before the last one: the shape is (1,), not {y.shape}"
assert y.item() != 43.0, "the scale is alpha divided by the rank, and not alpha"
assert y.item() != 18.0, "multiply the thin path by alpha / R"
assert y.item() != 15.0, "the frozen path is missing"
assert close(y, torch.tensor([28.0])), f"by hand it is 28, and not {y.item()}"
x, weight, bias = random_tensor(2, 3, 5), random_tensor(4, 5, seed=1), random_tensor(4, seed=2)
down, up = random_tensor(2, 5, seed=3), random_tensor(4, 2, seed=4)
kept = [part.clone() for part in (x, weight, bias, down, up)]
merged = weight + 0.25 * up @ down  # what the layer is equal to, at alpha = 0.5
y = lora_layer(x, weight, bias, down, up, 0.5)
assert y.dtype == torch.float64, "float64 in, float64 out"
assert close(y, F.linear(x, merged, bias)), "on random matrices with R = 2 and alpha = 0.5"
y = lora_layer(x, weight, None, down, up, 0.5)
assert close(y, F.linear(x, merged)), "bias may be None"
assert lora_layer(x[:0], weight, bias, down, up, 0.5).shape == (0, 3, 4), "x may be empty"
y = lora_layer(x, weight, bias, down, torch.zeros_like(up), 16.0)
assert close(y, F.linear(x, weight, bias)), "as long as B is 0, nothing has changed"
leaves = [part.clone().requires_grad_() for part in (x, weight, bias, down, up)]
lora_layer(*leaves, 0.5).square().sum().backward()
assert leaves[1].grad is None and leaves[2].grad is None, "weight and bias are frozen"
others = [part.clone().requires_grad_() for part in (x, down, up)]
F.linear(others[0], weight + 0.25 * others[2] @ others[1], bias).square().sum().backward()
for name, mine, right in zip(("x", "down", "up"), (leaves[0], *leaves[3:]), others, strict=True):
    assert mine.grad is not None, f"no gradient reaches {name}"
    assert close(mine.grad, right.grad), f"the gradient of {name} is wrong"
assert all(map(torch.equal, (x, weight, bias, down, up), kept)), "an argument has changed"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Merge the thin layers  (10 points, 20 minutes, difficulty 3 of 5)
#
# **Why.** After training, the thin path can be added into the matrix, and the model costs nothing more than before. Several adapters, for style and for task, can be merged into one matrix. But models are often stored in half precision, where a number has two or three digits: a small change that is rounded off is lost, and many small ones that are rounded one after the other are *all* lost, although together they would count.
#
# **Contract.** `merge_lora(weight, adapters)`
#
# | argument | type | meaning |
# |---|---|---|
# | `weight` | `(O, I)`: `bfloat16`, `float16`, `float32` or `float64` | the frozen matrix $W$ |
# | `adapters` | list of `(down, up, alpha)` | tensors `(R, I)` and `(O, R)` and a `float`, as in task {task:lora_layer}; each with its own `R`; may be empty |
# | **returns** | `(O, I)`, in the dtype of `weight` | $W + \sum \frac{\alpha}{R} B A$ over the adapters |
#
# - The matrices of the adapters are `float64` if `weight` is, and else `float32`, whatever the dtype of `weight`.
# - Everything is computed in the adapters' dtype (or a finer one), and rounded to the dtype of `weight` *once*, at the very end.
#
# > **Small print.**
# >
# > - The result is a matrix for use: it carries no graph (`requires_grad` is False), also if the arguments ask for gradients.
# > - It is a new matrix, also if there are no adapters: the caller may write into it.
# > - `weight` and the sums are far from the largest number of their dtype.
#
# **By hand.** `weight` is 1 in `bfloat16`. The next number above 1 that it can store is 1.0078125, and what is nearer to 1 is rounded to 1. Two adapters have `down` = 1, `up` = 0.003, `alpha` = 1, `R` = 1:
#
# | | after the first | after the second |
# |---|---|---|
# | rounded each time | 1.003 → 1 | 1.003 → **1** |
# | rounded at the end | 1.003 | 1.006 → **1.0078125** |
#
# <details><summary>Hint</summary>
#
# `weight.to(torch.float32)` of a `float32` matrix is that matrix itself: `+=` would write into the caller's. Ask yourself for which dtype you have to go where, and when `with torch.no_grad():` or `detach()` is due.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps8_merge_lora_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge_lora(weight, adapters):
    """Add the products of all adapters to the weight, and round once."""
    ### BEGIN SOLUTION
    fine = torch.promote_types(weight.dtype, torch.float32)
    total = weight.detach().to(fine, copy=True)
    for down, up, alpha in adapters:
        total += alpha / len(down) * up.detach() @ down.detach()
    return total.to(weight.dtype)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps8_merge_lora", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
one = torch.ones(1, 1, dtype=torch.bfloat16)
adapter = torch.ones(1, 1), torch.full((1, 1), 0.003), 1.0
merged = merge_lora(one, [adapter, adapter])
assert isinstance(merged, torch.Tensor), f"return a tensor, not a {type(merged).__name__}"
assert merged.dtype == torch.bfloat16, f"the result has weight's dtype, and not {merged.dtype}"
assert merged.item() != 1.0, "you have rounded after each adapter: see the table"
assert merged.item() == 1.0078125, f"see the table; you gave {merged.item()}"
weight = random_tensor(4, 5)
first = random_tensor(2, 5, seed=1), random_tensor(4, 2, seed=2), 6.0
second = random_tensor(1, 5, seed=3), random_tensor(4, 1, seed=4), -0.5
kept = weight.clone()
merged = merge_lora(weight, [first])
assert torch.equal(weight, kept), "your function writes into the caller's weight"
assert not close(merged, weight + 6 * first[1] @ first[0]), "the scale is alpha / R, here 3"
assert close(merged, weight + 3 * first[1] @ first[0]), "one adapter of rank 2, alpha 6"
right = weight + 3 * first[1] @ first[0] - 0.5 * second[1] @ second[0]
adapters = [second, first]
merged = merge_lora(weight, adapters)
assert close(merged, right), "two adapters of ranks 1 and 2: each has its own scale"
assert len(adapters) == 2, "your function changes the list of adapters"
x, bias = random_tensor(3, 5, seed=5), random_tensor(4, seed=6)
y = F.linear(x, weight, bias) + 3 * (x @ first[0].T) @ first[1].T
assert close(F.linear(x, merge_lora(weight, [first]), bias), y), "merged and thin give the same"
small = weight.float()
merged = merge_lora(small, [])
assert torch.equal(merged, small), "without adapters the matrix stays as it is"
merged.zero_()
assert small.any(), "the result is a new matrix, also if there are no adapters"
leaf = small.clone().requires_grad_()
merged = merge_lora(leaf, [(first[0].float().requires_grad_(), first[1].float(), 6.0)])
assert not merged.requires_grad, "the merged matrix carries no graph"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Which tokens an assistant learns  (10 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** An assistant is trained on dialogues: prompt, then reply. It should learn to write replies, and not to write prompts, so only the tokens of the reply are targets. The token that ends the reply is one of them, or the model would never learn to stop; and since padding often has the very same id, padding has to be told by its place.
#
# **Contract.** `reply_targets(ids, prompt_lengths, lengths)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | `int64`, `(B, T)` | in each row a prompt, the reply, and padding |
# | `prompt_lengths` | `int64`, `(B,)` | how many ids are the prompt's: at least 1 |
# | `lengths` | `int64`, `(B,)` | how many ids are prompt and reply together: from `prompt_lengths` to `T` |
# | **returns** | `int64`, `(B, T)` | the target of each position, or `IGNORE` |
#
# - The model predicts at each position the *next* id. So the target of position `t` is `ids[:, t + 1]` if that one is in the reply, and `IGNORE` if not. At the last position nothing follows: `IGNORE`.
# - So the first target of a row is at the last position of its prompt.
#
# > **Small print.**
# >
# > - The reply is what is at the positions from `prompt_lengths` to before `lengths`. It may be empty: then the row has no target. Any id may occur in it, also that of padding.
# > - `B` and `T` are at least 1.
#
# **By hand.** 9 ends a reply, and fills up short rows. The prompt has 2 ids, prompt and reply have 5.
#
# | position | 0 | 1 | 2 | 3 | 4 | 5 | 6 |
# |---|---|---|---|---|---|---|---|
# | id | 4 | 5 | 6 | 7 | 9 | 9 | 9 |
# | belongs to | prompt | prompt | reply | reply | reply | padding | padding |
# | **target** | -100 | 6 | 7 | 9 | -100 | -100 | -100 |
#
# <details><summary>Hint</summary>
#
# `torch.arange(1, T + 1)` are the places of what is predicted. Compared with `prompt_lengths[:, None]`, each row of the batch gets its own mask.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps8_reply_targets_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reply_targets(ids, prompt_lengths, lengths):
    """Make next-token targets of the replies alone."""
    ### BEGIN SOLUTION
    place = torch.arange(1, ids.shape[1] + 1)
    is_reply = (place >= prompt_lengths[:, None]) & (place < lengths[:, None])
    return ids.roll(-1, dims=1).masked_fill(~is_reply, IGNORE)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps8_reply_targets", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
ids = torch.tensor([[4, 5, 6, 7, 9, 9, 9]])
targets = reply_targets(ids, torch.tensor([2]), torch.tensor([5]))
assert isinstance(targets, torch.Tensor), f"return a tensor, not a {type(targets).__name__}"
assert targets.dtype == torch.int64 and targets.shape == (1, 7), "int64, one target per position"
targets = targets.tolist()[0]
assert targets != [-100, -100, 6, 7, 9, -100, -100], "the target is the *next* id"
assert targets[0] == IGNORE, "position 0 predicts an id of the prompt, which is no target"
assert targets[1] == 6, "the last position of the prompt predicts the first id of the reply"
assert targets[3] == 9, "the id that ends the reply is a target"
assert targets[4] == IGNORE, "after the end comes padding, though it has the same id"
assert targets == [-100, 6, 7, 9, -100, -100, -100], f"you gave {targets}"
ids = torch.tensor([[3, 0, 0, 5], [1, 2, 3, 4], [8, 6, 2, 0], [0, 7, 7, 7]])
kept = ids.clone()
targets = reply_targets(ids, torch.tensor([1, 3, 2, 3]), torch.tensor([4, 4, 2, 4]))
assert targets.tolist() == [
    [0, 0, 5, -100],
    [-100, -100, 4, -100],
    [-100, -100, -100, -100],
    [-100, -100, 7, -100],
], f"each row has its own lengths, and an empty reply has no target; you gave {targets.tolist()}"
assert torch.equal(ids, kept), "your function changes the caller's ids"
single = reply_targets(ids[:, :1], torch.ones(4).long(), torch.ones(4).long())
assert single.tolist() == [[-100]] * 4, "a prompt of one id and no reply: T is 1"
targets[:] = 1
assert torch.equal(ids, kept), "the targets are a new tensor"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. How likely is a reply?  (12 points, 25 minutes, difficulty 3 of 5)
#
# **Why.** Two numbers for two uses. Training on replies minimises the mean surprise per token. Comparing two replies, as the next task does, needs the probability of each *as a whole*: the product over its tokens, so a sum of logarithms, and no mean, or long and short replies could not be compared.
#
# **Contract.** `score_replies(logits, targets)`
#
# | argument | type | meaning |
# |---|---|---|
# | `logits` | floats, `(B, T, V)` | the model's scores for the next id at each position |
# | `targets` | `int64`, `(B, T)` | targets, as in task {task:reply_targets}: ids below `V`, or `IGNORE` |
# | **returns** | tuple of floats, `(B,)` and `()` | the log probability of each row's targets, in nats; the loss |
#
# - The log probability of a row is the sum of $\ln p(\text{target})$ over its positions that have a target, where $p$ is the softmax of the logits there. A row without targets has 0.
# - The loss is the mean of $-\ln p(\text{target})$ over all positions *of the batch* that have a target: each counts the same, in whatever row. If there is none at all, the loss is 0.
#
# > **Small print.**
# >
# > - What stands at positions without a target plays no part, whatever it is, also nan and inf: neither in the results nor in any gradient. The gradient is 0 there, and `backward` works through both results, also if no position has a target.
# > - Where there is a target, logits are finite; they may be thousands and far apart. Log probabilities and gradients must be finite then.
# > - All sizes are at least 1. `float32` or `float64`.
#
# **By hand.** `V = 2`. For the logits 0 and ln 3, the softmax is 1/4 and 3/4; for 0 and 0, 1/2 and 1/2.
#
# | row | position | logits | target | ln p |
# |---|---|---|---|---|
# | 0 | 0 | 0, ln 3 | 1 | ln 3/4 |
# | 0 | 1 | 0, 0 | 0 | ln 1/2 |
# | 1 | 0 | 5, 1 | -100 | |
# | 1 | 1 | 0, ln 3 | 0 | ln 1/4 |
#
# The log probabilities are ln 3/8 = -0.9808 and ln 1/4 = -1.3863. The loss is -(ln 3/8 + ln 1/4) / 3 = 0.7890.
#
# <details><summary>Hint</summary>
#
# nan times 0 is nan, also in `backward`. So choose the positions first, `logits[targets != IGNORE]`, and compute with these. `torch.zeros(...).index_add(0, rows, values)` adds each value to the sum of its row. Or replace the logits where there is no target before you use them.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps8_score_replies_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def score_replies(logits, targets):
    """Return the log probability of each reply, and the mean loss of all their tokens."""
    ### BEGIN SOLUTION
    has_target = targets != IGNORE
    safe = logits.masked_fill(~has_target[:, :, None], 0)
    places = targets.masked_fill(~has_target, 0)[:, :, None]
    log_probs = torch.log_softmax(safe, dim=-1).gather(-1, places).squeeze(-1)
    per_row = log_probs.masked_fill(~has_target, 0).sum(dim=1)
    return per_row, -per_row.sum() / has_target.sum().clamp(min=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps8_score_replies", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
ln = math.log
logits = torch.tensor([[[0.0, ln(3)], [0.0, 0.0]], [[5.0, 1.0], [0.0, ln(3)]]])
targets = torch.tensor([[1, 0], [IGNORE, 0]])
result = score_replies(logits, targets)
assert isinstance(result, tuple) and len(result) == 2, "return a tuple: log probabilities, loss"
log_probs, loss = result
assert isinstance(log_probs, torch.Tensor) and isinstance(loss, torch.Tensor), "return tensors"
assert log_probs.shape == (2,), f"one log probability per row; you gave {tuple(log_probs.shape)}"
assert loss.shape == (), f"the loss is one number, without an axis; you gave {tuple(loss.shape)}"
assert not close(log_probs, torch.tensor([ln(3 / 8) / 2, ln(1 / 4)])), "a sum, and no mean"
assert close(log_probs, torch.tensor([ln(3 / 8), ln(1 / 4)])), f"you gave {log_probs.tolist()}"
assert not close(loss, torch.tensor(-(ln(3 / 8) / 2 + ln(1 / 4)) / 2)), (
    "that is the mean of the rows' means: each token counts the same"
)
assert not close(loss, torch.tensor(-ln(3 / 32) / 4)), "divide by the 3 targets, not by 4"
assert close(loss, torch.tensor(-ln(3 / 32) / 3)), f"see the table; you gave {loss.item():.4f}"
logits, targets = random_tensor(3, 4, 5), torch.full((3, 4), IGNORE)
targets[0, 1], targets[0, 2], targets[0, 3], targets[2, 0] = 4, 0, 2, 3
kept = logits.clone(), targets.clone()
hostile = logits.clone()
hostile[targets == IGNORE] = torch.tensor([math.nan, math.inf, -math.inf, 1e300, 0.0]).double()
right = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE)
for number, values in enumerate((logits, hostile)):
    leaf = values.clone().requires_grad_()
    log_probs, loss = score_replies(leaf, targets)
    assert loss.dtype == log_probs.dtype == torch.float64, "float64 in, float64 out"
    where = ", with nan and inf where there is no target" if number else ""
    assert close(loss.detach(), right), f"the loss on random logits{where}"
    assert close(log_probs.sum().detach(), -4 * right), f"the log probabilities{where}"
    assert log_probs[1] == 0, "a row without targets has the log probability 0"
    (log_probs @ torch.tensor([1.0, 2.0, 3.0]).double() + loss).backward()
    assert (leaf.grad[targets == IGNORE] == 0).all(), f"the gradient is 0 at other places{where}"
    assert leaf.grad[targets != IGNORE].ne(0).all(), "no gradient reaches the logits"
log_probs, loss = score_replies(logits * 1000, targets)
assert loss.isfinite() and log_probs.isfinite().all(), "logits of thousands: use log_softmax"
leaf = hostile.clone().requires_grad_()
log_probs, loss = score_replies(leaf, torch.full_like(targets, IGNORE))
assert loss == 0 and (log_probs == 0).all(), "without any target all results are 0"
(log_probs.sum() + loss).backward()
assert leaf.grad is not None and (leaf.grad == 0).all(), "and so are the gradients"
assert torch.equal(logits, kept[0]) and torch.equal(targets, kept[1]), "an argument has changed"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Learn from preferences  (8 points, 20 minutes, difficulty 3 of 5)
#
# **Why.** People find it hard to write the best reply, and easy to say which of two is better. Rafailov and others (2023, DPO) learn from such pairs without a reward model. The policy, which learns, is compared with the frozen model from which it started, the reference; how much more likely it makes a reply than the reference does, is that reply's reward. The reward of the chosen reply should be above that of the rejected one.
#
# **Contract.** `dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta)`
#
# | argument | type | meaning |
# |---|---|---|
# | `policy_chosen`, `policy_rejected` | floats, `(B,)` | log probabilities of whole replies under the policy, in nats, as from task {task:score_replies} |
# | `reference_chosen`, `reference_rejected` | floats, `(B,)` | the same under the reference, which is frozen |
# | `beta` | `float` | how dear it is to leave the reference: above 0 |
# | **returns** | tuple of a float tensor, `()`, and a `bool` tensor, `(B,)` | the loss; for each pair, whether the policy has won it |
#
# - The reward of a reply is $\beta\,(\ln p_{\text{policy}} - \ln p_{\text{reference}})$, and the *margin* of a pair the reward of the chosen reply minus that of the rejected one.
# - The loss is the mean over the pairs of $-\ln \sigma(\text{margin})$, where $\sigma(m) = 1 / (1 + e^{-m})$.
# - The policy has won a pair if the margin is above 0. A margin of exactly 0, as before the first step, is not won.
#
# > **Small print.**
# >
# > - Margins may be thousands, of either sign: loss and gradients are finite then, and right.
# > - A margin is either far from 0, or exactly 0; then the numbers are such that no rounding hides it.
# > - No gradient reaches the reference's numbers, also if they ask for one.
# > - If `beta` is 0 or below, raise a `ValueError`, with whatever message.
# > - `B` is at least 1. `float32` or `float64`.
#
# **By hand.** `beta` is 0.5. $-\ln \sigma(1)$ = 0.3133, and $-\ln \sigma(0)$ = ln 2 = 0.6931.
#
# | pair | policy: chosen, rejected | reference: chosen, rejected | margin | won |
# |---|---|---|---|---|
# | 0 | -4, -6 | -5, -5 | 0.5 · (1 - (-1)) = 1 | yes |
# | 1 | -3, -9 | -2, -8 | 0.5 · (-1 - (-1)) = 0 | no |
#
# The loss is (0.3133 + 0.6931) / 2 = 0.5032. In pair 1 the policy finds the chosen reply far more likely; but so did the reference, and nothing has been learned.
#
# <details><summary>Hint</summary>
#
# `torch.sigmoid(m)` rounds to 0 where `m` is far below 0, and the logarithm of that is -inf. `F.logsigmoid` takes both steps at once.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps8_dpo_loss_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    """Return the loss of preferences, and which pairs the policy has won."""
    ### BEGIN SOLUTION
    if beta <= 0:
        raise ValueError(f"beta is {beta}; it must be above 0")
    chosen = policy_chosen - reference_chosen.detach()
    rejected = policy_rejected - reference_rejected.detach()
    margins = beta * (chosen - rejected)
    return -F.logsigmoid(margins).mean(), margins > 0
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps8_dpo_loss", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
numbers = [torch.tensor(n) for n in ([-4.0, -3.0], [-6.0, -9.0], [-5.0, -2.0], [-5.0, -8.0])]
kept = [part.clone() for part in numbers]
result = dpo_loss(*numbers, 0.5)
assert isinstance(result, tuple) and len(result) == 2, "return a tuple: the loss, what is won"
loss, won = result
assert isinstance(loss, torch.Tensor) and isinstance(won, torch.Tensor), "return tensors"
assert loss.shape == () and won.shape == (2,), f"you gave {tuple(loss.shape)}, {tuple(won.shape)}"
assert won.dtype == torch.bool, f"what is won is bool, not {won.dtype}"
assert won.tolist() == [True, False], f"a margin of 0 is not won; you gave {won.tolist()}"
right = (math.log1p(math.exp(-1)) + math.log(2)) / 2
assert loss > 0, "the loss is -ln of a probability: not negative"
assert not close(loss, torch.tensor(2 * right)), "the mean over the pairs, and not the sum"
assert close(loss, torch.tensor(right)), f"see the table: 0.5032, and not {loss.item():.4f}"
assert all(map(torch.equal, numbers, kept)), "an argument has changed"
leaves = [part.double().requires_grad_() for part in numbers]
loss, _ = dpo_loss(*leaves, 0.5)
assert loss.dtype == torch.float64, "float64 in, float64 out"
loss.backward()
assert leaves[2].grad is None and leaves[3].grad is None, "the reference is frozen"
slope = 0.5 / (1 + math.exp(1)) / 2  # of the first pair, for one of its log probabilities
right = torch.tensor([-slope, -0.125], dtype=torch.float64)
assert close(leaves[0].grad, right), f"the gradient is not {leaves[0].grad.tolist()}"
assert close(leaves[1].grad, -right), "for the rejected reply it has the other sign"
leaf = torch.tensor([-3000.0, -10.0]).requires_grad_()
zeros = torch.zeros(2)
loss, won = dpo_loss(leaf, zeros, zeros, torch.tensor([0.0, -5000.0]), 2.0)
assert close(loss.detach(), torch.tensor((6000.0 + 10020.0) / 2)), (
    f"margins of -6000 and -10020: the loss is their mean, 8010, and not {loss.item()}"
)
loss.backward()
assert close(leaf.grad, torch.tensor([-1.0, -1.0])), "and its gradient is -beta / B"
for beta in (0, 0.0, -0.1):
    try:
        dpo_loss(*numbers, beta)
    except ValueError:
        continue
    raise AssertionError(f"beta is {beta}; that is a ValueError")
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Judge the assistant  (6 points, 20 minutes, difficulty 3 of 5)
#
# **Why.** An assistant writes `reply_targets` in ten seconds, and it looks right. Is it? One that trains on the prompts, too, gives no error: only a worse assistant, weeks later. Finding out is left to you. This time you write the *test*.
#
# **Contract.** `judge_reply_targets(implementation)`
#
# | argument | type | meaning |
# |---|---|---|
# | `implementation` | function | somebody's `reply_targets`, to be called as in task {task:reply_targets} |
# | **returns** | `bool` | True if it does what task {task:reply_targets} asks for, False if it does not |
#
# - The grader runs your test on sixteen implementations that you do not see: five right ones, in styles of their own, and eleven that each make one mistake. Your points are the share of the wrong ones that your test refuses, less the share of the right ones that it refuses: saying the same every time earns nothing.
# - Each run may call the implementation 200 times. Arguments and results travel as copies (numbers, texts, lists, tuples, dicts, tensors; no functions): neither side sees what the other writes into them. If the implementation raises an exception, so does your call, with the same type and no message. An implementation that raises where the contract names no error is wrong: say False, or let the exception through, which counts as False. A test that raises an exception of its own has not judged.
# - Judge what is returned; speed, and what becomes of the caller's tensors, are not judged here. You may compare the results with those of your own `reply_targets`; then a mistake in it costs points here too.
#
# **By hand.** Which call tells what? Say what each would return before you look at code. The ids are 4, 5, 6, 7, the prompt has two of them, and nothing is ignored but -100.
#
# | an implementation that … | `lengths` 4 | `lengths` 3 |
# |---|---|---|
# | is right | -100, 6, 7, -100 | -100, 6, -100, -100 |
# | whose padding is a target, too | -100, 6, 7, -100 | -100, 6, 7, -100 |
# | whose first id of the reply is no target | -100, -100, 7, -100 | -100, -100, -100, -100 |
#
# The first call is a warning: without padding it does not show who trains on it.
#
# <details><summary>Hint</summary>
#
# One batch can hold a row for every pair of lengths: `[(p, n) for n in range(1, 6) for p in range(1, n + 1)]`. Let ids occur more than once, also where the padding stands.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps8_judge_reply_targets_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def judge_reply_targets(implementation):
    """Say whether an implementation of reply_targets is right."""
    ### BEGIN SOLUTION
    pairs = torch.tensor([(p, n) for n in range(1, 6) for p in range(1, n + 1)])
    ids = (random_tensor(len(pairs), 5) * 3).long().abs()
    try:
        return torch.equal(implementation(ids, *pairs.T), reply_targets(ids, *pairs.T))
    except Exception:
        return False
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps8_judge_reply_targets", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
from copy import deepcopy


def themselves(ids, prompt_lengths, lengths):
    """Wrong: it takes the ids for the targets."""
    return ids.clone()


def with_the_prompt(ids, prompt_lengths, lengths):
    """Your own, made wrong: it trains on the prompts, too."""
    return reply_targets(ids, torch.ones_like(prompt_lengths), lengths)


def not_moved(ids, prompt_lengths, lengths):
    """Your own, made wrong: the target of a position is its own id."""
    return reply_targets(ids, prompt_lengths, lengths).roll(1, dims=1)


def says(implementation):
    """What your test says: the implementation gets copies, and an exception is a refusal."""
    try:
        return judge_reply_targets(
            lambda *call, **more: implementation(*deepcopy(call), **deepcopy(more))
        )
    except Exception:
        return False


verdict = judge_reply_targets(themselves)
assert type(verdict) is bool, f"return True or False, not {type(verdict).__name__}"
assert not verdict, "an implementation that returns the ids is wrong; your test accepts it"
try:
    ids, right = torch.tensor([[4, 5, 6, 7]]), torch.tensor([[-100, 6, -100, -100]])
    is_right = torch.equal(reply_targets(ids, torch.tensor([2]), torch.tensor([3])), right)
except Exception:
    is_right = False
if not is_right:
    print(
        "Your reply_targets does not do yet what its task asks for, so your test has met only one"
    )
    print("implementation, a wrong one. The grader has right and wrong ones of its own.")
else:
    assert not says(with_the_prompt), "with_the_prompt trains on the prompts; your test accepts it"
    assert not says(not_moved), "not_moved gives each place its own id; your test accepts it"
    if says(reply_targets):
        print("All visible tests passed.")
    else:
        print("Your test refuses your own reply_targets: one of the two is wrong. For which call?")

# %% [markdown]
# ## {task}. How many labels does it take? A study  (10 points, 45 minutes, difficulty 3 of 5)
#
# Labels cost money. So the question that every project asks first is: which way of fine-tuning gets how far with how many of them? Here you find out, with your own functions, on a model of five million parameters that was pretrained on English text. (The cells of this task need `course_pkg`. They are not graded themselves; your report is.)
#
# **The task.** The model reads the review of a story and a hypothesis, `I liked it.`: does it follow from the review? Half of the reviews turn round in the middle ("but"), and some say a word by its opposite ("not boring"), so that order matters.
#
# **The methods.** `"head"` trains a head on the frozen model's vectors; `"LoRA"` trains thin layers beside the queries and values, too; `"full"` trains everything; `"scratch"` does the same from random weights, as if there had been no pretraining.

# %% tags=["workshop"]
from course_pkg.models.adaptation import add_tokens
from course_pkg.plots import lines, loss_curves, show
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.text.stories.tasks import Reviews, bag_of_words

N_STEPS, BATCH_SIZE, LONGEST, N_EXAM = 60, 16, 24, 300
RATES = {"head": 0.01, "LoRA": 0.005, "full": 0.0005, "scratch": 0.0005}
POOLING = "last"

reviews = Reviews(noise=0)
tokenizer = load_pretrained("gpt-small").tokenizer


def draw_examples(n, seed):
    # Pairs of texts as ids, and labels: 1 if the hypothesis follows.
    drawn = reviews.sample(n, seed=seed)
    hypothesis = tokenizer.encode("I liked it.")
    pairs = [(tokenizer.encode(review.text), hypothesis) for review in drawn]
    return pairs, torch.tensor([review.label for review in drawn])


class ThinLayer(nn.Module):
    # A linear layer of the model, with your LoRA beside it.
    def __init__(self, linear, rank, alpha, generator):
        super().__init__()
        n_outputs, n_inputs = linear.weight.shape
        spread = (3 * n_inputs) ** -0.5
        self.linear, self.alpha = linear, alpha
        self.down = nn.Parameter(torch.randn(rank, n_inputs, generator=generator) * spread)
        self.up = nn.Parameter(torch.zeros(n_outputs, rank))

    def forward(self, x):
        linear = self.linear
        return lora_layer(x, linear.weight, linear.bias, self.down, self.up, self.alpha)


def add_thin_layers(model, rank, alpha, generator):
    for block in model.stack.blocks:
        for name in ("query", "value"):
            linear = getattr(block.attention, name)
            setattr(block.attention, name, ThinLayer(linear, rank, alpha, generator))


def merge_thin_layers(model):
    for block in model.stack.blocks:
        for name in ("query", "value"):
            thin = getattr(block.attention, name)
            merged = merge_lora(thin.linear.weight, [(thin.down, thin.up, thin.alpha)])
            thin.linear.weight = nn.Parameter(merged)
            setattr(block.attention, name, thin.linear)


for text, label in ((review.text, review.label) for review in reviews.sample(4, seed=5)):
    print("follows       " if label else "does not      ", text)
best = reviews.bayes_accuracy(bag_of_words)
print(f"Guessing is right in half of the cases; the best rule on words without order, {best:.1%}.")

# %% tags=["workshop"]
frames, N_FRAMES = {}, 3


def scores_of(parts, pairs):
    # Your rows, the model's vectors, your head.
    rows, lengths = frame_pairs(pairs, *frames["ids"], pad_id=0, longest=LONGEST)
    if rows.dtype != torch.int64 or rows.shape[0] != len(pairs):
        raise ValueError(f"your frame_pairs returned {tuple(rows.shape)}, {rows.dtype}")
    vectors = parts["backbone"].encode(rows)
    head = parts["head"]
    return class_scores(vectors, lengths, POOLING, head.weight, head.bias)


def fine_tune(method, n_labels, seed):
    # Return the model and its head, trained on n_labels examples.
    dice = torch.Generator().manual_seed(seed)
    model = load_pretrained("gpt-small").model
    if method == "scratch":
        model.initialise(dice)
    frames["ids"] = add_tokens(model, N_FRAMES, dice)  # [START], [DELIM], [EXTRACT]
    if method == "LoRA":
        add_thin_layers(model, rank=8, alpha=16.0, generator=dice)
    head = nn.Linear(model.config.d_model, 2)
    nn.init.normal_(head.weight, std=0.02, generator=dice)
    nn.init.zeros_(head.bias)
    parts = nn.ModuleDict({"backbone": model, "head": head})
    thin = [name for name, _ in parts.named_parameters() if name.endswith((".down", ".up"))]
    kept = {"head": ["head"], "LoRA": ["head", *thin]}.get(method, ["backbone", "head"])
    optimizer = torch.optim.AdamW(freeze(parts, kept), weight_decay=0.01)
    pairs, labels = draw_examples(n_labels, seed)
    for step in range(N_STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATES[method] * min(1, (step + 1) / 5) * (1 - step / N_STEPS)
        batch = torch.randint(n_labels, (BATCH_SIZE,), generator=dice).tolist()
        loss = F.cross_entropy(scores_of(parts, [pairs[i] for i in batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return parts


def accuracy(parts, seed=99):
    # The share of right answers on reviews that no training has seen.
    pairs, labels = draw_examples(N_EXAM, seed)
    with torch.no_grad():
        chunks = [scores_of(parts, pairs[at : at + 50]) for at in range(0, N_EXAM, 50)]
    return (torch.cat(chunks).argmax(dim=-1) == labels).double().mean().item()


parts = fine_tune("LoRA", 32, seed=1)
n_all = sum(p.numel() for p in parts.parameters())
n_moving = sum(p.numel() for p in parts.parameters() if p.requires_grad)
print(f"LoRA: {n_moving:,} of {n_all:,} numbers train")
probes, _ = draw_examples(20, seed=3)
with torch.no_grad():
    thin_scores = scores_of(parts, probes)
    merge_thin_layers(parts["backbone"])
    gap = (scores_of(parts, probes) - thin_scores).abs().max()
print(f"scores after merging differ by {gap:.0e} at most: {'yes' if gap < 1e-3 else 'NO'}")

# %% [markdown]
# **Your plan.** The plan below is a beginning: it is too small to say much. Change it into one that answers the question that you ask. Think first, since every run takes time: numbers of labels at equal *ratios*; at least three seeds, because the labels are drawn, too; more steps or other rates, if you suspect that a method has not been treated fairly; `"mean"` for the pooling.

# %% tags=["workshop"]
METHODS, LABELS, SEEDS = ("head", "LoRA", "full"), (16, 128), (1, 2)

results = {
    (method, n): [accuracy(fine_tune(method, n, seed)) for seed in SEEDS]
    for method in METHODS
    for n in LABELS
}
for (method, n), found in results.items():
    print(f"{method:8} {n:4} labels:", ", ".join(f"{share:.0%}" for share in found))


def mean_of(numbers):
    return sum(numbers) / len(numbers)


def single_runs(method):
    # One line for each seed, in one curve with gaps.
    runs = [[results[method, n][at] for n in LABELS] for at in range(len(SEEDS))]
    return [*LABELS, math.nan] * len(SEEDS), [y for run in runs for y in (*run, math.nan)]


show(
    lines(
        {m: (LABELS, [mean_of(results[m, n]) for n in LABELS]) for m in METHODS},
        x_label="number of labels",
        y_label="accuracy on unseen reviews",
        floor=("guessing", 0.5),
        faint={m: single_runs(m) for m in METHODS},
        log_x=True,
    ),
    alt="Accuracy on unseen reviews against the number of labels, on a logarithmic axis, one line "
    "per method for the mean over the seeds, with the single runs behind it.",
)

# %% [markdown]
# **Your report.** Write at most 300 words below, with the numbers of your own runs.
#
# 1. *Question and plan.* What did you ask, and what did you run: methods, numbers of labels, seeds, what you changed?
# 2. *Result.* A small table: the mean accuracy and the spread over the seeds, for each method and number of labels. Which differences are larger than the spread, and which are not? Which method would you choose with the fewest labels, and which with the most?
# 3. *What it does not show.* Name one thing that could turn the result round (such as a rate that was chosen for one method and not for the other) and the run that would tell. Where do your methods stand against guessing and against the best rule on words without order, and what must a model that is better than that rule have learned?
#
# *How it is graded: 2 points for question and plan, 4 for the result, 4 for what it does not show.*

# %% [markdown] nbgrader={"grade": true, "grade_id": "ps8_report", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. *Question and plan.* Which method should one choose with few labels, and does pretraining help at all? I ran all four methods with 16, 64 and 256 labels and three seeds each; the rates and 60 steps are those of the cell. For LoRA with 256 labels I also tried two other rates.
# 2. *Result.* Accuracy on 300 unseen reviews, mean of three seeds, least and largest in brackets:
#
# | labels | head | LoRA | full | scratch |
# |---|---|---|---|---|
# | 16 | 56 % (53–59) | 58 % (52–64) | 54 % (50–56) | 59 % (55–63) |
# | 64 | 55 % (52–58) | 65 % (56–69) | 71 % (64–74) | 57 % (52–60) |
# | 256 | 56 % (54–58) | 63 % (59–66) | 75 % (72–77) | 59 % (58–60) |
#
# With 16 labels no difference is larger than the spread: I cannot choose by these runs, and nothing is clearly better than guessing. From 64 on full fine-tuning is ahead of the head and of random weights by more than the spread; ahead of LoRA, at these rates, with 256 labels only. So: full fine-tuning with the most labels; with the fewest, whatever is cheapest, until there are more labels or seeds.
# 3. *What it does not show.* LoRA's rate was not tuned. With 256 labels it reaches 59 % (51–63) at 0.002, and 71 % (60–76) at 0.01: so its distance from full fine-tuning with 256 labels was one of rates, and does not stand. The run that would tell is a search for each method until a rate is worse on either side, with more steps for LoRA, and more seeds, since one of three failed. Scored on 300 reviews, a share is also uncertain by about three points. The best rule on words without order reaches 64.5 %: at its first rate LoRA is level with it at best, and full fine-tuning beats it from 64 labels on. Whoever does must use order: that "not" turns a word round, and that the last clause decides behind "but".
#
# *Rubric.* 1: a question that the runs can answer (1); methods, labels, seeds and changes all named, at least three seeds and three numbers of labels (1). 2: table of means with a spread (1); differences larger than the spread are told from others, correctly for the numbers shown (2); a choice for few and for many labels that follows from the table, "cannot tell" included (1). 3: a named threat that touches *this* comparison (1) and the run that would tell (1); guessing and the rule without order both compared with own numbers (1); order, negation or "but" as what must have been learned (1). No point is lost for an unexpected result.
# ### END SOLUTION

# %% [markdown]
# ## Workshop: your assistant (not graded)
#
# Now the same small model becomes an assistant that answers questions on two sentences. First it is trained on dialogues, with your `reply_targets` and your `score_replies`. Some of their replies are short ("A ball."), others whole sentences ("Tom has a ball."), three to one. Then your `dpo_loss` teaches it which of the two people like better. The cells need `course_pkg` and about half a minute.

# %% tags=["workshop"]
import copy
import random

from course_pkg.decoding.generation import generate
from course_pkg.training import objectives

HEROES = ("Tom", "Zoe", "Ann", "Ben", "Max", "Lily", "Sam", "Mia")
THINGS = ("ball", "kite", "doll", "train", "drum", "flute", "book", "cake")


def draw_dialogues(n, seed):
    # Make prompts, their short and their long right reply, all as text.
    chance, dialogues = random.Random(seed), []
    for _ in range(n):
        (one, other), (thing, decoy) = chance.sample(HEROES, 2), chance.sample(THINGS, 2)
        facts = [f"{one} has a {thing}.", f"{other} has a {decoy}."]
        chance.shuffle(facts)
        prompt = f"{' '.join(facts)} What does {one} have?"
        dialogues.append((prompt, f"A {thing}.", f"{one} has a {thing}."))
    return dialogues


assistant = load_pretrained("gpt-small").model
start_id, delim_id, end_id = add_tokens(assistant, 3, torch.Generator().manual_seed(1))


def frame_dialogues(texts):
    # Rows of prompts and replies, by your frame_pairs; [EXTRACT] says here that the reply ends.
    pairs = [(tokenizer.encode(prompt), tokenizer.encode(reply)) for prompt, reply in texts]
    rows, lengths = frame_pairs(pairs, start_id, delim_id, end_id, pad_id=end_id, longest=64)
    return rows, torch.tensor([len(prompt) + 2 for prompt, _ in pairs]), lengths


def score(model, texts):
    # Log probabilities of the replies, and the loss, by your functions.
    rows, prompt_lengths, lengths = frame_dialogues(texts)
    logits, _ = model(rows)
    return score_replies(logits, reply_targets(rows, prompt_lengths, lengths))


dialogues = draw_dialogues(400, seed=2)
lessons = [(p, long if n % 4 == 0 else short) for n, (p, short, long) in enumerate(dialogues)]
with torch.no_grad():
    framed = frame_dialogues(lessons[:16])
    mine, (_, my_loss) = reply_targets(*framed), score(assistant, lessons[:16])
    theirs = objectives.reply_targets(*framed)
    their_loss = objectives.cross_entropy(assistant(framed[0])[0], theirs)
print(f"the targets are the package's: {torch.equal(mine, theirs)}")
print(f"one batch before training: your loss {my_loss:.5f}, the package's {their_loss:.5f}")

# %% tags=["workshop"]


def train(model, loss_of, n_steps, rate):
    optimizer, losses = torch.optim.AdamW(freeze(model, ["stack", "embedding"])), []
    for step in range(n_steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, (step + 1) / 10) * (1 - step / n_steps)
        loss = loss_of(step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def reply_to(model, prompt, generator):
    row = [start_id, *tokenizer.encode(prompt), delim_id]
    made = generate(model, torch.tensor([row]), 12, generator=generator, stop_id=end_id)
    return tokenizer.decode([i for i in made[0, len(row) :].tolist() if i < end_id - 2])


def examine(model, n_questions=60):
    # Draw replies to unseen questions: how many are whole sentences, how many are true?
    dice, n_long, n_true = torch.Generator().manual_seed(3), 0, 0
    for prompt, short, long in draw_dialogues(n_questions, seed=4):
        reply = reply_to(model, prompt, dice)
        n_long += " has " in reply
        n_true += reply in (short, long)
    return n_long / n_questions, n_true / n_questions


def lesson_loss(step):
    begin = 16 * step % len(lessons)
    return score(assistant, lessons[begin : begin + 16])[1]


losses = train(assistant, lesson_loss, n_steps=100, rate=0.001)
before = examine(assistant)
print(f"after the lessons: {before[0]:.0%} of the replies are whole sentences, {before[1]:.0%} true")
show(
    loss_curves({"nats per token of the replies": (range(1, 101), losses)}, window=10),
    alt="The loss on replies against the number of steps: it falls steeply and then slowly.",
)

# %% [markdown]
# **Preferences.** A hundred pairs of true replies; the whole sentence is preferred. The reference is the model as it is now.

# %% tags=["workshop"]
BETA, N_PAIRS = 0.1, 8

reference, policy = assistant, copy.deepcopy(assistant)
preferences = draw_dialogues(100, seed=6)
chosen = [(prompt, long) for prompt, _, long in preferences]
rejected = [(prompt, short) for prompt, short, _ in preferences]
with torch.no_grad():
    fixed = score(reference, chosen)[0], score(reference, rejected)[0]


def preference_loss(step):
    begin = N_PAIRS * step % 96
    some = slice(begin, begin + N_PAIRS)
    scored = score(policy, chosen[some] + rejected[some])[0]
    loss, _ = dpo_loss(
        scored[:N_PAIRS], scored[N_PAIRS:], fixed[0][some], fixed[1][some], BETA
    )
    return loss


first = preference_loss(0)
print(f"before the first step the loss is {first:.4f}; ln 2 is {math.log(2):.4f}")
losses = train(policy, preference_loss, n_steps=30, rate=0.00002)
after = examine(policy)
with torch.no_grad():
    moved = score(policy, chosen)[0] - fixed[0], score(policy, rejected)[0] - fixed[1]
print(f"loss {losses[0]:.3f} at first, {losses[-1]:.3f} at the end")
print(f"whole sentences: {before[0]:.0%} before, {after[0]:.0%} after")
print(f"true replies:    {before[1]:.0%} before, {after[1]:.0%} after")
print(
    f"log probabilities have moved: chosen {moved[0].mean():+.1f}, rejected {moved[1].mean():+.1f}"
)
dice = torch.Generator().manual_seed(7)
for prompt, *_ in draw_dialogues(3, seed=8):
    print(f"{prompt}\n    before: {reply_to(reference, prompt, dice)}")
    print(f"    after:  {reply_to(policy, prompt, dice)}")

# %% [markdown]
# What you should see: before training, your targets and your loss are the package's; after the lessons the model answers in both ways, about as often as it was taught; and before the first step of the second training the loss is ln 2, because the policy *is* the reference. Afterwards it answers in whole sentences almost always. Now look at the share of true replies, which nobody asked to grow: a model of five million parameters often confuses who has what, and what people preferred was the form. And look at the log probabilities: the loss only asks for a *difference*, and it does not forbid that both kinds of reply become less likely. Train again with five times the rate and 40 steps, and see it happen: the loss falls further, the chosen replies become less likely, though less so than the rejected ones, and what gains is neither.
#
# Now break something on purpose. Leave the end of the reply out of your `reply_targets`, and see what the assistant writes; let prompts be targets, too; return a mean instead of a sum from your `score_replies`; exchange chosen and rejected in your `dpo_loss`; set `BETA` to 0.01 and to 1. Which of these does the loss show, and which only the replies?
#
# ## Challenge: sixty-four labels (not graded)
#
# **Sixty-four labelled reviews and a frozen model: how many of 1,000 others do you judge correctly?** Your `judge_reviews` is given vectors instead of texts: for each review the mean over its tokens, as the course's GPT has them before its first block and after each of the four. `vectors` of shape (64, 5, 256) come with their `labels`, 1 for "I liked it" and 0 for the contrary; for `unseen`, of shape (1000, 5, 256), it returns the labels.
#
# The number to beat is that of a linear head on the last block's vectors: 55 to 65 %, by which reviews are labelled. Everything is allowed: another layer or several, a penalty chosen by cross-validation, directions in which the vectors vary most, a mean of many heads, the unlabelled reviews as text without labels. Fine-tuning the model itself, in your study above, gets further with as many labels; how much of that can be had without touching it?
#
# Your course may have a leaderboard. Everyone who changes the first cell takes part: the grader calls your `judge_reviews` on reviews that nobody has seen, and only afterwards looks up their labels, in a place that your code does not reach. Before that, the vectors of each layer go through a linear map that is the same for your class and for nobody else, as below: so bring ideas, and no weights from home. It must return in 30 seconds of CPU time, and more than one process or thread wins nothing. So put into that cell, or into a cell of your own, all that the function needs, and nothing that takes long; `course_pkg` is not there. `PSEUDONYM` is your name on the page: Latin letters, at most 24 of them. Without one, you are given a name.

# %% tags=["workshop"]
PSEUDONYM = ""


def by_linear_head(vectors, labels, unseen):
    """The answer to beat: a head on the vectors after the last block, as good as it gets."""
    known, asked = (torch.as_tensor(x)[:, -1] for x in (vectors, unseen))
    centre, spread = known.mean(dim=0), known.std()
    labels = torch.as_tensor(labels)
    head = nn.Linear(known.shape[1], 2)
    for parameter in head.parameters():
        nn.init.zeros_(parameter)
    optimizer = torch.optim.AdamW(head.parameters(), lr=0.01)
    for _ in range(200):
        loss = F.cross_entropy(head((known - centre) / spread), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return head((asked - centre) / spread).argmax(dim=-1)


def judge_reviews(vectors, labels, unseen):
    """Yours: replace the line below."""
    return by_linear_head(vectors, labels, unseen)


# %% tags=["workshop"]
import time

from course_pkg.layers.blocks import Trace

TAKE_PART = False  # True: measure yours, which as it stands is the one to beat
CPU_SECONDS = 30


def means_by_layer(texts):
    # A review's mean over its tokens, before the first block and after each.
    gpt, found = load_pretrained("gpt-small"), []
    for text in texts:
        trace = Trace()
        with torch.no_grad():
            gpt.model.encode(torch.tensor([[tokenizer.eos_id, *tokenizer.encode(text)]]), trace=trace)
        found.append(torch.stack([states[0].mean(dim=0) for states in trace.hidden_states]))
    return torch.stack(found)


def mapped(means, dice):
    # Each layer is turned, stretched along every axis by another factor, and turned again.
    D, layers = means.shape[-1], []
    for layer in means.unbind(dim=1):
        first, last = (torch.linalg.qr(torch.randn(D, D, generator=dice))[0] for _ in range(2))
        layers.append(layer @ (first * (0.5 * torch.randn(D, generator=dice)).exp()) @ last)
    return torch.stack(layers, dim=1).numpy()


if TAKE_PART:
    shares = []
    for seed in (1, 2, 3):  # which 64 are labelled matters much
        drawn = reviews.sample(564, seed=seed)
        right = torch.tensor([review.label for review in drawn])
        means = means_by_layer([review.text for review in drawn])
        means = mapped(means, torch.Generator().manual_seed(seed))
        start = time.process_time()
        mine = torch.as_tensor(judge_reviews(means[:64], right[:64].numpy(), means[64:]))
        slow = time.process_time() - start > CPU_SECONDS
        shares.append((mine == right[64:]).double().mean().item())
        print(f"{shares[-1]:.1%} of 500 unseen reviews are judged correctly" + ", too slow" * slow)
    print(f"in the mean {sum(shares) / 3:.1%}")
