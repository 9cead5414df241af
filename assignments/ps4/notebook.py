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
# # Problem set 4: attention
#
# A recurrent network reads a sentence into one vector and must find everything in it again. Attention looks back instead: at every step it scores all that was read, and takes a weighted average of it. You will write this reading, look at what it aligns, and search for good texts with a beam. Then you will write the attention that transformers are made of: scaled, masked, with several heads. In the end it trains inside a model of the course package, beside the package's own.
#
# - **You write** nine short functions, and a test that judges somebody else's. Each is graded on its own. One more question is answered in words.
# - **You need** the chapters on sequence to sequence and on self-attention, and from PyTorch: `@` with leading axes, broadcasting, `transpose`, `reshape`.
# - **Time:** about four hours and a half. Each task names its own share.
# - **Points:** 100. They are given beside each task.
# - **Assistants:** {assistants}
#
# How a task works:
#
# 1. Read the contract. It says what the function receives and what it must return.
# 2. Follow the example by hand, on paper.
# 3. Write your code in place of the stub. Run the test cell below it. Its messages say what is wrong.
#
# The grader runs more tests than you see: other sizes, `float32` and `float64`, tensors whose numbers are stored in memory in another order, as they do after a transpose.
#
# Rules for the whole set:
#
# - Use torch's tensors and their plain operations. A contract names what is *not* allowed, because it is the task itself; it costs half of the points that your answer earns otherwise. Do not import `course_pkg`.
# - Do not change your arguments. The caller still needs them.
# - Floats are `float32` or `float64`. Results in `float32` must be right to about 4 digits, Python's floats and `float64` to 9.
# - A result has the dtype of the tensors that you were given, and gradients flow from it to each of them. So write `x.new_zeros(3)` and not `torch.zeros(3)`, and do not detach.
# - Leave torch's settings alone: its random generator, its default dtype.
# - **In every mask of this course True means: may look.**
# - Keep the names of the functions and of their arguments.

# %% nbgrader={"grade": false, "grade_id": "ps4_install", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["workshop"]
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

# %% nbgrader={"grade": false, "grade_id": "ps4_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
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
    return same_kind and torch.allclose(found, right, rtol=0, atol=5e-5)


def random_tensor(*shape, seed=0, dtype=torch.float64):
    """Draw a tensor that is the same in every run."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# %% [markdown]
# **Shapes.** We write `B` for the texts of a batch, `T` for places that look (queries), `S` for places that are looked at (keys and values), `H` for heads, `D` for the width of the model, `K` for the width of a query and of a key, `M` for that of a value. `(..., T, K)` means: any number of axes may stand in front, or none.

# %% [markdown]
# ## {task}. Dot-product attention  (12 points, 25 minutes, difficulty 2 of 5)
#
# **Why.** A decoder that is about to write a word asks: which of the words that I have read matter now? It holds a *query*. Every word that was read has a *key*, which says what it can be found by, and a *value*, which is what it hands over. The better a key fits the query, the more of its value is read (Luong and others, 2015).
#
# **Contract.** `dot_attention(query, keys, values)`
#
# | argument | shape | meaning |
# |---|---|---|
# | `query` | `(B, K)` | what each text's decoder is looking for |
# | `keys` | `(B, S, K)` | what each place can be found by |
# | `values` | `(B, S, M)` | what each place hands over |
# | **returns** | tuple of three tensors | scores `(B, S)`, weights `(B, S)`, context `(B, M)` |
#
# - The score of a place is the dot product of the query and its key. Nothing is divided here.
# - The weights are the softmax of a text's scores over its places. `torch.softmax` is allowed.
# - The context is the sum of the values, each times its weight.
# - Scores may be very large, very small, and far apart, up to a tenth of the largest number of their dtype.
# - `B`, `S`, `K` and `M` may be 1.
#
# **By hand.** One text, query $(1, 2)$, three places:
#
# | place | key | score | $e^{score}$ | weight | value |
# |---|---|---|---|---|---|
# | 0 | (0, 0) | 0 | 1 | 1/8 | 8 |
# | 1 | ($\ln 3$, 0) | $\ln 3$ | 3 | 3/8 | 0 |
# | 2 | (0, $\ln 2$) | $2 \ln 2$ | 4 | 4/8 | 2 |
#
# The context is 8/8 + 0 + 8/8 = 2.
#
# <details><summary>Hint</summary>
#
# `keys * query.unsqueeze(1)` multiplies every key by the query of its text. Which axis do you sum over? For the context, give the weights an axis of length 1 in the same way.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_dot_attention_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dot_attention(query, keys, values):
    """Return the scores of all places, their weights, and the weighted sum of the values."""
    ### BEGIN SOLUTION
    scores = (keys * query.unsqueeze(1)).sum(dim=-1)
    weights = torch.softmax(scores, dim=-1)
    context = (weights.unsqueeze(-1) * values).sum(dim=1)
    return scores, weights, context
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_dot_attention", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
ln2, ln3 = math.log(2), math.log(3)
query = torch.tensor([[1.0, 2.0]])
keys = torch.tensor([[[0.0, 0.0], [ln3, 0.0], [0.0, ln2]]])
values = torch.tensor([[[8.0], [0.0], [2.0]]])
result = dot_attention(query, keys, values)
assert isinstance(result, tuple) and len(result) == 3, "return a tuple: scores, weights, context"
scores, weights, context = result
assert scores.shape == (1, 3), f"scores have the shape (B, S) = (1, 3), not {tuple(scores.shape)}"
assert not close(scores, [[0.0, ln3 / 2**0.5, ln2 * 2**0.5]]), "nothing is divided in this task"
assert close(scores, [[0.0, ln3, 2 * ln2]]), f"the scores are 0, ln 3, 2 ln 2, not {scores}"
assert not close(weights, [[1.0, 1.0, 1.0]]), "the softmax runs over the places, not the texts"
assert not close(weights, [[0.0, 0.0, 1.0]]), "every place has its share, not only the best one"
assert not close(weights.sum(), 0.0), "return the weights, not their logarithms"
assert close(weights, [[0.125, 0.375, 0.5]]), f"the weights are 1/8, 3/8, 4/8, not {weights}"
assert context.shape == (1, 1), f"the context has the shape (B, M) = (1, 1), not {context.shape}"
assert not close(context, [[2 / 3]]), "the context is the weighted sum: do not divide by 3 again"
assert close(context, [[2.0]]), f"8 · 1/8 + 0 + 2 · 4/8 = 2, not {context}"
scores, weights, context = dot_attention(query * 1000, keys, values)
assert close(weights, [[0.0, 0.0, 1.0]]), (
    f"scores of a thousand are no harm if the largest is subtracted first; you gave {weights}"
)
query, keys, values = random_tensor(4, 3), random_tensor(4, 5, 3), random_tensor(4, 5, 2, seed=1)
scores, weights, context = dot_attention(query, keys, values)
assert context.shape == (4, 2), f"values may be as wide as they like: (4, 2), not {context.shape}"
assert close(weights.sum(dim=1), [1.0] * 4), "the weights of each text sum to 1 over its places"
assert close(scores[2], keys[2] @ query[2]), "each text is scored by its own query"
grown = dot_attention(query.requires_grad_(), keys, values)
assert all(part.requires_grad for part in grown), "gradients flow to the query: do not detach"
query = query.detach()
assert context.dtype == torch.float64, "float64 in, float64 out"
one = dot_attention(query[:1], keys[:1, :1], values[:1, :1])
assert [part.shape for part in one] == [(1, 1), (1, 1), (1, 2)], (
    f"one text and one place: no axis is lost; the shapes are {[tuple(p.shape) for p in one]}"
)
assert close(one[2], values[:1, 0]), "the only place has the weight 1"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Alignment  (8 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** The weights of a translation model are a table: for each word that is written, how much was read from each word of the source. Nobody has told the model which word translates which; it has found out. To see it, take from every row the place with the largest weight, unless the row is so spread out that it says nothing (Bahdanau and others, 2015, figure 3).
#
# **Contract.** `align(weights, threshold)`
#
# | argument | type | meaning |
# |---|---|---|
# | `weights` | `(T, S)` | a row for each word that was written; it may still carry a graph |
# | `threshold` | `float`, above 0 | the least weight that says something; exact in binary, like 0.5 or 0.375, so that no dtype rounds it |
# | **returns** | list of `(t, s)` | tuples of two `int`: row `t` looks at place `s`, in the order of the rows |
#
# - `s` is the place of the largest weight in row `t`. If several are equally large: the leftmost.
# - A row whose largest weight is *below* the threshold has no pair. If it equals the threshold, it has one.
# - A place may be looked at by several rows, or by none.
# - `T` may be 0; then the list is empty. `S` is at least 1.
#
# **By hand.** The threshold is 0.5:
#
# | row | weights | pair |
# |---|---|---|
# | 0 | 0.25, 0.5, 0.25 | (0, 1): equal is enough |
# | 1 | 0.25, 0.375, 0.375 | none |
# | 2 | 0.5, 0.5, 0 | (2, 0): the leftmost |
#
# <details><summary>Hint</summary>
#
# `weights.tolist()` gives a list of rows, and you can do without torch: `max(row)` and `row.index(...)`, which finds the first. With torch: `argmax(dim=1)`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_align_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def align(weights, threshold):
    """Pair each row that is sure enough with the place that it looks at most."""
    ### BEGIN SOLUTION
    pairs = []
    for t, row in enumerate(weights.tolist()):
        best = max(row)
        if best >= threshold:
            pairs.append((t, row.index(best)))
    return pairs
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_align", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
weights = torch.tensor([[0.125, 0.75, 0.125], [0.0, 0.25, 0.75], [0.125, 0.75, 0.125]])
pairs = align(weights, 0.5)
assert isinstance(pairs, list), f"return a list, not a {type(pairs).__name__}"
assert pairs != [(1, 0), (2, 1), (1, 2)], "the row comes first in a pair, then the place"
assert pairs != [(0, 1), (1, 2)], "a place may be looked at by several rows"
assert pairs == [(0, 1), (1, 2), (2, 1)], f"three clear rows, three pairs; you gave {pairs}"
assert all(type(number) is int for pair in pairs for number in pair), "the numbers are int"
weights = torch.tensor([[0.25, 0.5, 0.25], [0.25, 0.375, 0.375], [0.5, 0.5, 0.0]])
pairs = align(weights, 0.5)
assert (1, 1) not in pairs, "a row whose largest weight is below the threshold has no pair"
assert (0, 1) in pairs, "a largest weight that equals the threshold is enough"
assert (1, 0) not in pairs, "each row keeps its own number, also after one that is left out"
assert (2, 1) not in pairs, "of equal weights the leftmost counts, and only that one"
assert pairs == [(0, 1), (2, 0)], f"see the table; you gave {pairs}"
assert align(weights, 0.75) == [], "with a high threshold there may be no pair at all"
assert align(torch.zeros(0, 3), 0.5) == [], "a table without rows has no pairs"
assert align(weights.requires_grad_(), 0.5) == [(0, 1), (2, 0)], "the weights may carry a graph"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Beam search  (13 points, 45 minutes, difficulty 4 of 5)
#
# **Why.** A model gives probabilities of the next id. Which *text* is most probable? Taking the best id at each step (greedy search) need not find it: a good start may lead nowhere. Beam search keeps the few best beginnings, and lets all their extensions compete. And since each id makes the product of probabilities smaller, long texts would always lose; so complete texts are compared by a score that makes up for their length (Wu and others, 2016).
#
# **Contract.** `beam_search(next_log_probs, n_beams, eos_id, max_length, alpha)`
#
# | argument | type | meaning |
# |---|---|---|
# | `next_log_probs` | function | takes the ids so far, a tuple of `int`, at first `()`; returns a `float64` tensor `(V,)` of log probabilities of the next id |
# | `n_beams` | `int`, at least 1 | how many beginnings are kept |
# | `eos_id` | `int` | the id that ends a text |
# | `max_length` | `int`, at least 1 | the most ids that a text may have, `eos_id` among them; small |
# | `alpha` | `float`, at least 0 | strength of the length penalty |
# | **returns** | list of `(score, ids)` | at most `n_beams` complete texts, the best score first: a `float` and a tuple of `int` |
#
# At first there is one *live* beginning, `()`, with the sum 0. Then, step by step, until no beginning is live:
#
# 1. Extend each live beginning by every id. The sum of an extension is the sum of its beginning plus the log probability of the new id. What is impossible (`-inf`) is no extension.
# 2. Of all extensions of all live beginnings keep the `n_beams` with the largest sums.
# 3. Those of them that end with `eos_id`, and all that have `max_length` ids, are *complete*: put them aside. The others are the live beginnings of the next step.
#
# - The score of a complete text of $n$ ids is its sum divided by $((5 + n) / 6)^{\alpha}$. The `eos_id` at its end counts, and stays in the ids.
# - All complete texts compare by score, whenever they were found. Complete texts take no places in the beam. So do not stop when the first is complete: a better one may still come.
# - If two sums, or two scores, are equal, the one whose ids come first in Python's order of tuples is better.
# - Ask `next_log_probs` once for each live beginning, and never for a text that is complete. Do not write into what it returns.
#
# **By hand.** Three ids; 0 is `eos_id`. Two beams, `max_length = 3`, `alpha = 0`. The probabilities of the next id, by the last one:
#
# | after | 0 (end) | 1 | 2 |
# |---|---|---|---|
# | nothing | 1/8 | 1/2 | 3/8 |
# | 1 | 1/4 | 1/4 | 1/2 |
# | 2 | 3/4 | 1/8 | 1/8 |
#
# | step | the two best extensions | complete | live |
# |---|---|---|---|
# | 1 | `1`: 1/2, `2`: 3/8 | | `1`, `2` |
# | 2 | `2 0`: 9/32, `1 2`: 8/32 | `2 0` | `1 2` |
# | 3 | `1 2 0`: 6/32, `1 2 1`: 1/32 | `1 2 0`, `1 2 1` | |
#
# The two best of the three complete texts are `2 0` with $\ln(9/32) = -1.2685$ and `1 2 0` with $\ln(6/32) = -1.6740$. Greedy search begins with 1 and finds the second only. With `alpha = 2` the scores are $-1.2685 / (7/6)^2 = -0.9320$ and $-1.6740 / (8/6)^2 = -0.9416$: the longer text has almost caught up.
#
# <details><summary>Hint</summary>
#
# Keep live beginnings as pairs `(sum, ids)`. `next_log_probs(ids).tolist()` gives plain floats, and `(*ids, i)` is a longer tuple. `sorted(pairs, key=lambda pair: (-pair[0], pair[1]))` sorts by the largest sum, and by the ids where sums are equal.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_beam_search_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    """Search for texts with a good score along several beginnings at once."""

    ### BEGIN SOLUTION
    def best(texts):
        return sorted(texts, key=lambda text: (-text[0], text[1]))[:n_beams]

    live, complete = [(0.0, ())], []
    for length in range(1, max_length + 1):
        penalty = ((5 + length) / 6) ** alpha
        extensions = []
        for total, ids in live:
            for i, step in enumerate(next_log_probs(ids).tolist()):
                if step > -math.inf:
                    extensions.append((total + step, (*ids, i)))
        live = []
        for total, ids in best(extensions):
            if ids[-1] == eos_id or length == max_length:
                complete.append((total / penalty, ids))
            else:
                live.append((total, ids))
    return best(complete)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_beam_search", "locked": true, "points": 13, "schema_version": 3, "solution": false, "task": false}
asked = []


def by_the_last_id(ids):
    # The table of the example.
    assert isinstance(ids, tuple), f"next_log_probs takes a tuple of ids, not {ids!r}"
    assert 0 not in ids, f"{ids} has ended with eos: never extend a complete text"
    asked.append(ids)
    rows = {0: [1 / 8, 1 / 2, 3 / 8], 1: [1 / 4, 1 / 4, 1 / 2], 2: [3 / 4, 1 / 8, 1 / 8]}
    return torch.tensor(rows[ids[-1] if ids else 0], dtype=torch.float64).log()


def almost(found, right):
    # Whether texts are the same and scores agree to four digits.
    return [ids for _, ids in found] == [ids for _, ids in right] and all(
        math.isclose(a, b, abs_tol=5e-5) for (a, _), (b, _) in zip(found, right, strict=True)
    )


found = beam_search(by_the_last_id, 1, 0, 3, 0.0)
assert isinstance(found, list), f"return a list, not a {type(found).__name__}"
assert len(found) == 1, f"with one beam there is one text, not {len(found)}"
assert found[0][1] == (1, 2, 0), f"one beam: 1, then 2, then the end; you gave {found[0][1]}"
assert math.isclose(found[0][0], math.log(6 / 32)), f"its score is ln(6/32), not {found[0][0]}"
asked.clear()
found = beam_search(by_the_last_id, 2, 0, 3, 0.0)
assert len(found) == 2, f"return the best n_beams = 2 of the complete texts, not {len(found)}"
assert found[0][1] != (2,), "the eos at the end of a text stays in its ids"
assert found[0][1] == (2, 0), f"the best text is (2, 0), not {found[0][1]}"
assert found[1][1] != (1, 2), "the eos at the end of a text stays in its ids"
assert found[1][1] != (1, 0), "of step 2 only `2 0` and `1 2` are kept: two beams in all"
assert almost(found, [(-1.2685, (2, 0)), (-1.6740, (1, 2, 0))]), f"see the table; you gave {found}"
assert len(asked) == 4, f"the model is asked for (), 1, 2 and `1 2`: not {asked}"
found = beam_search(by_the_last_id, 2, 0, 3, 2.0)
assert almost(found, [(-0.9320, (2, 0)), (-0.9416, (1, 2, 0))]), (
    f"with alpha = 2, divide by (7/6)² and (8/6)²; you gave {found}"
)
found = beam_search(by_the_last_id, 2, 0, 3, 3.0)
assert found[0][1] == (1, 2, 0), f"with alpha = 3 the longer text is better; you gave {found}"
found = beam_search(by_the_last_id, 3, 0, 1, 0.0)
assert [ids for _, ids in found] == [(1,), (2,), (0,)], (
    f"with max_length = 1 the texts are cut after one id, and complete; you gave {found}"
)
some = torch.tensor([0.0, -math.inf], dtype=torch.float64)
assert beam_search(lambda ids: some, 3, 0, 4, 1.0) == [(0.0, (0,))], (
    "what has the log probability -inf is no extension"
)
even = torch.tensor([-1.0, -1.0, -2.0], dtype=torch.float64)
found = beam_search(lambda ids: even, 1, 2, 2, 0.0)
assert found == [(-2.0, (0, 0))], f"of equal sums, the ids that sort first win; you gave {found}"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Scaled attention with a mask  (15 points, 45 minutes, difficulty 4 of 5)
#
# **Why.** Now every place of a text asks, and all at once: the queries are a matrix. Two things are new. A dot product of `K` independent numbers of variance 1 has the variance `K`; so wide keys give large scores, the softmax puts nearly all weight on a single place, and its gradient vanishes. Dividing by $\sqrt{K}$ undoes it (Vaswani and others, 2017, equation 1). And a *mask* says who may see whom.
#
# **Contract.** `attend(query, key, value, mask=None)`
#
# | argument | shape | meaning |
# |---|---|---|
# | `query` | `(..., T, K)` | what each place looks for |
# | `key` | `(..., S, K)` | what each place can be found by |
# | `value` | `(..., S, M)` | what each place hands over |
# | `mask` | bool, broadcasts to `(..., T, S)`, or `None` | True where a query may look; `None`: everywhere |
# | **returns** | `(..., T, M)` | for each query the weighted sum of the values |
#
# - $\mathrm{softmax}(Q K^T / \sqrt{K})\, V$, with the softmax over the keys. `torch.softmax` is allowed.
# - The three tensors have the same leading axes; there may be none, or three and more. The mask may have fewer, or some of length 1.
# - A key that may not be seen has the weight 0, exactly, **however large its score is**. The weights of the others sum to 1. All numbers that you are given are finite.
# - A query that **may look nowhere** gets a row of zeros, and its gradients are 0: not `nan`.
# - Scores may be very large and very small: a mask of -1000000000 is not low enough. But all are finite, before they are divided, too, and none is the least finite number of its dtype, so that this one may stand for "hidden".
# - Hold no tensor with a number for each query, key *and* feature at once (`T·S·K`): a matrix product does without.
# - Not allowed: torch's own `scaled_dot_product_attention` and its multi-head functions.
#
# **By hand.** `T = 2`, `S = 3`, `K = 4`, so $\sqrt{K} = 2$; `M = 1`. Both queries are $(2, 0, 0, 0)$, the keys are zeros but for their first number: 0, $\ln 3$, $\ln 4$. The values are 8, 0, 2. The scores are the same as in task {task:dot_attention}, but for $\ln 4$ written in one piece.
#
# | query | mask | weights | result |
# |---|---|---|---|
# | 0 | T T T | 1/8, 3/8, 4/8 | 2 |
# | 1 | T T F | 1/4, 3/4, 0 | 2 |
# | one that sees nothing | F F F | 0, 0, 0 | 0 |
#
# <details><summary>Hint</summary>
#
# Count axes from the right: `key.transpose(-2, -1)`. Fill hidden scores with `torch.finfo(scores.dtype).min` (with `-inf`, a row that may look nowhere becomes 0/0, which is `nan`, and so may be its gradient), take the softmax, and set hidden weights to 0 afterwards. Why are both steps needed?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_attend_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attend(query, key, value, mask=None):
    """Average the values, weighting each by how well its key fits the query."""
    ### BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_attend", "locked": true, "points": 15, "schema_version": 3, "solution": false, "task": false}
query = torch.zeros(2, 4)
query[:, 0] = 2.0
key = torch.zeros(3, 4)
key[:, 0] = torch.tensor([1.0, 3.0, 4.0]).log()
value = torch.tensor([[8.0], [0.0], [2.0]])
out = attend(query, key, value)
assert isinstance(out, torch.Tensor), f"return a tensor, not a {type(out).__name__}"
assert out.shape == (2, 1), f"the shape is (T, M) = (2, 1), not {tuple(out.shape)}"
assert not close(out[0], [40 / 26]), "divide the scores by the square root of K"
assert not close(out[0], [(8 + 2 * 2) / (1 + 3**0.5 + 2)]), "divide by the root of K, not by K"
assert close(out, [[2.0], [2.0]]), f"without a mask both results are 2, not {out}"
out = attend(query, key, value, torch.tensor([False, True, False]))
assert not close(out, [[3.2], [3.2]]), "True means: may look. Your mask is inverted"
assert close(out, [[0.0], [0.0]]), f"who sees only place 1 gets its value, 0; you gave {out}"
mask = torch.tensor([[True, True, True], [True, True, False]])
out = attend(query, key, value, mask)
assert not close(out[1], [1.0]), "mask the scores, not the weights: the weights must sum to 1"
assert close(out, [[2.0], [2.0]]), f"with the mask of the table both results are 2, not {out}"
out = attend(query, key, value, torch.tensor([[True, True, True], [False, False, False]]))
assert not out.isnan().any(), "a row that may look nowhere is zeros, not nan"
assert close(out, [[2.0], [0.0]]), f"a row that may look nowhere is zeros; you gave {out[1]}"
leaf = query.clone().requires_grad_()
blind = torch.tensor([[True, True, True], [False, False, False]])
attend(leaf, key, value, blind).sum().backward()
assert not blind[1].any(), "your function changes the mask"
assert not leaf.grad.isnan().any(), "a row that may look nowhere has a gradient of nan"
assert mask.tolist() == [[True] * 3, [True, True, False]], "your function changes the mask"
out = attend(query * 1000, key, value, mask)
assert close(out, [[2.0], [0.0]]), f"large scores: row 0 sees place 2, row 1 place 1; not {out}"
out = attend(-query * 1e10, key, value + 1, torch.tensor([False, True, True]))
assert close(out, [[1.0], [1.0]]), f"hidden places have no influence, however large; not {out}"
query, key = random_tensor(2, 3, 4, 5), random_tensor(2, 3, 6, 5, seed=1)
value = random_tensor(2, 3, 6, 2, seed=2)
mask = random_tensor(2, 1, 4, 6, seed=3) < 0.5
mask[..., 0] = True
out = attend(query, key, value, mask)
assert out.shape == (2, 3, 4, 2), f"texts, heads, queries: (2, 3, 4, 2), not {tuple(out.shape)}"
assert out.dtype == torch.float64, "float64 in, float64 out"
assert close(out, F.scaled_dot_product_attention(query, key, value, attn_mask=mask)), (
    "on random tensors of four axes the result differs from torch's own function"
)
assert close(attend(query[0, 0], key[0, 0], value[0, 0], mask[0, 0]), out[0, 0]), (
    "each text and each head is computed on its own, with its own mask"
)
mask = random_tensor(3, 4, 6, seed=4) < 0.5  # three axes: one for each head, the same in each text
mask[..., 0] = True
assert close(
    attend(query, key, value, mask), F.scaled_dot_product_attention(query, key, value, mask)
), "a mask broadcasts as it is: its axes are counted from the right"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. The causal mask  (6 points, 10 minutes, difficulty 1 of 5)
#
# **Why.** A language model is trained on all places of a text at once. That is only fair if no place sees what comes after it, for that is what it is to predict. One triangle of True makes a whole text into `T` exercises.
#
# **Contract.** `causal_mask(n_queries, n_keys)`
#
# | argument | type | meaning |
# |---|---|---|
# | `n_queries` | `int`, at least 1 | places that look, `T` |
# | `n_keys` | `int`, at least `n_queries`, at most a few thousand | places that may be seen, `S` |
# | **returns** | bool, `(T, S)` | True where a query may look |
#
# - Each place sees itself and everything before it.
# - If there are more keys than queries, those in front are from earlier steps, already read: **the last query is level with the last key.**
# - The result is a new tensor in every call: the caller may write into it.
#
# **By hand.**
#
# | | `causal_mask(3, 3)` | `causal_mask(2, 4)` |
# |---|---|---|
# | query 0 | T F F | T T T F |
# | query 1 | T T F | T T T T |
# | query 2 | T T T | |
#
# <details><summary>Hint</summary>
#
# Compare the places of the queries, as a column, with those of the keys, as a row. At which place of the text is the first query? Or look up `torch.tril` and its argument `diagonal`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_causal_mask_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def causal_mask(n_queries, n_keys):
    """Let each of the last places see itself and everything before it."""
    ### BEGIN SOLUTION
    queries = torch.arange(n_keys - n_queries, n_keys)
    return torch.arange(n_keys) <= queries.unsqueeze(1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_causal_mask", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
mask = causal_mask(3, 3)
assert isinstance(mask, torch.Tensor), f"return a tensor, not a {type(mask).__name__}"
assert mask.shape == (3, 3), f"the shape is (T, S) = (3, 3), not {tuple(mask.shape)}"
assert mask.dtype == torch.bool, f"the mask is bool, not {mask.dtype}"
assert mask.diagonal().all(), "each place sees itself"
assert not mask[0, 1], "a place must not see the next one"
assert mask[2, 0], "a place sees everything before it"
assert mask.tolist() == [[True, False, False], [True, True, False], [True, True, True]], (
    f"see the table; you gave {mask.tolist()}"
)
mask = causal_mask(2, 4)
assert mask.shape == (2, 4), f"a row for each query: (2, 4), not {tuple(mask.shape)}"
assert mask.tolist() != [[True, False, False, False], [True, True, False, False]], (
    "the last query is level with the last key, not the first with the first"
)
assert mask.tolist() == [[True, True, True, False], [True] * 4], f"you gave {mask.tolist()}"
assert causal_mask(1, 3).all(), "a single query, the newest, sees everything"
mask = causal_mask(2, 2)
mask[0, 1] = True
assert not causal_mask(2, 2)[0, 1], "each call makes a new mask"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Padding and order in one mask  (8 points, 15 minutes, difficulty 2 of 5)
#
# **Why.** Texts of a batch differ in length, so the short ones are filled up with an id that means nothing. No place may look at it: else the same text would read differently in another batch. In a decoder both rules hold at once.
#
# **Contract.** `decoder_mask(ids, pad_id)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | `int64`, `(B, T)` | texts, filled up with `pad_id`; all other ids are 0 or above |
# | `pad_id` | `int` | the id that marks a place without a token; may be 0 or negative |
# | **returns** | bool, `(B, 1, T, T)` | True where a query (third axis) may look at a key (last axis) |
#
# - A query may look at a key if the key is at its own place or before it, **and** is no padding.
# - That is all. Padding may be on the right, on the left, or in between. A query that *is* padding may look where all others may: nobody reads what it finds. So some rows may be all False, and your `attend` gives zeros there.
# - The second axis, of length 1, is for the heads: the mask is the same for all of them.
#
# **By hand.** `pad_id` is 9. One text, `[5, 9, 7]`:
#
# | query | 5 | 9 | 7 |
# |---|---|---|---|
# | 0 | T | F | F |
# | 1 | T | F | F |
# | 2 | T | F | T |
#
# <details><summary>Hint</summary>
#
# `ids != pad_id` has the shape (B, T). Give it two axes of length 1 so that it lies along the keys, and join it to the causal triangle with `&`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_decoder_mask_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def decoder_mask(ids, pad_id):
    """Let each place see itself and what stands before it, but no padding."""
    ### BEGIN SOLUTION
    places = torch.arange(ids.shape[1])
    is_past = places <= places.unsqueeze(1)
    return is_past & (ids != pad_id)[:, None, None, :]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_decoder_mask", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
mask = decoder_mask(torch.tensor([[5, 9, 7]]), 9)
assert isinstance(mask, torch.Tensor), f"return a tensor, not a {type(mask).__name__}"
assert mask.shape == (1, 1, 3, 3), f"the shape is (B, 1, T, T), not {tuple(mask.shape)}"
assert mask.dtype == torch.bool, f"the mask is bool, not {mask.dtype}"
rows = mask[0, 0].tolist()
assert not rows[0][2], "no query sees what comes after it"
assert not rows[2][1], "no query sees padding: hide the column of the key"
assert not rows[1][1], "not even padding itself sees padding"
assert rows[1][0], "a query that is padding looks where all others may"
assert rows == [[True, False, False], [True, False, False], [True, False, True]], (
    f"see the table; you gave {rows}"
)
mask = decoder_mask(torch.tensor([[0, 3], [3, 9], [9, 0]]), 9)
assert mask.shape == (3, 1, 2, 2), f"three texts: (3, 1, 2, 2), not {tuple(mask.shape)}"
assert mask[0, 0].tolist() == [[True, False], [True, True]], "0 is an ordinary id here"
assert mask[1, 0].tolist() == [[True, False], [True, False]], "each text has its own padding"
assert mask[2, 0].tolist() == [[False, False], [False, True]], "padding may stand on the left"
mask = decoder_mask(torch.tensor([[4, 0]]), 0)
assert mask[0, 0].tolist() == [[True, False], [True, False]], "padding may have the id 0"
mask = decoder_mask(torch.tensor([[4, 4], [9, 9]]), 9)
assert not mask[1].any(), "in a text of padding alone nobody sees anything"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Split into heads  (5 points, 10 minutes, difficulty 2 of 5)
#
# **Why.** One softmax gives one average: a place that wants the subject *and* the verb gets a blend. So queries, keys and values are cut into `H` stretches, and each of these *heads* attends on its own. The cut costs nothing. It is a matter of axes, and of axes only, and that is where it goes wrong most often.
#
# **Contract.** `split_heads(x, n_heads)`
#
# | argument | type | meaning |
# |---|---|---|
# | `x` | `(..., T, D)` | `D` numbers for each place |
# | `n_heads` | `int`, at least 1 | number of heads, `H`; divides `D` |
# | **returns** | `(..., H, T, K)` | with `K = D / H` |
#
# - Head $h$ has the numbers $hK$ to $(h + 1)K - 1$ of every place: a stretch of neighbours.
# - There may be no leading axis, one, or several.
# - The result may share its memory with `x`.
#
# **By hand.** `T = 2`, `D = 4`, `H = 2`:
#
# | `x` | head 0 | head 1 |
# |---|---|---|
# | `[[0, 1, 2, 3], [4, 5, 6, 7]]` | `[[0, 1], [4, 5]]` | `[[2, 3], [6, 7]]` |
#
# Reshaping straight to (2, 2, 2) would give `[[0, 1], [2, 3]]` for head 0: the right shape, the wrong numbers.
#
# <details><summary>Hint</summary>
#
# Two steps. First cut the last axis in two: `reshape` or `unflatten`, to `(..., T, H, K)`. Then exchange the two axes that are in the wrong order, counted from the right.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_split_heads_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def split_heads(x, n_heads):
    """Give each head its own stretch of the numbers of every place."""
    ### BEGIN SOLUTION
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_split_heads", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
x = torch.arange(8.0).view(1, 2, 4)
heads = split_heads(x, 2)
assert isinstance(heads, torch.Tensor), f"return a tensor, not a {type(heads).__name__}"
assert heads.shape == (1, 2, 2, 2), f"the shape is (B, H, T, K), not {tuple(heads.shape)}"
assert not close(heads[0, 0], [[0.0, 1.0], [2.0, 3.0]]), (
    "head 0 has numbers of place 0 only: split the last axis first, then transpose"
)
assert not close(heads[0, 0], [[0.0, 2.0], [4.0, 6.0]]), "a head has neighbours, not every 2nd"
assert not close(heads[0, 0], [[0.0, 4.0], [1.0, 5.0]]), "inside a head: places, then features"
assert close(heads[0, 0], [[0.0, 1.0], [4.0, 5.0]]), f"see the table; head 0 is {heads[0, 0]}"
assert close(heads[0, 1], [[2.0, 3.0], [6.0, 7.0]]), f"see the table; head 1 is {heads[0, 1]}"
x = random_tensor(2, 5, 6)
heads = split_heads(x, 3)
assert heads.shape == (2, 3, 5, 2), f"3 heads of 2: (2, 3, 5, 2), not {tuple(heads.shape)}"
assert close(heads[1, 2], x[1, :, 4:]), "the last head has the last 2 numbers of each place"
assert close(split_heads(x[0], 3), heads[0]), "a single text has no leading axis"
assert close(split_heads(x[None], 3), heads[None]), "there may be several leading axes"
assert close(split_heads(x.mT.contiguous().mT, 3), heads), "x may stand in memory as it likes"
assert close(split_heads(x, 1), x[:, None]), "one head has everything"
assert split_heads(x.requires_grad_(), 3).requires_grad, "gradients flow through: do not detach"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Join the heads  (5 points, 10 minutes, difficulty 2 of 5)
#
# **Why.** What the heads have found is put side by side again, so that the layers above see one vector for each place.
#
# **Contract.** `merge_heads(heads)`
#
# | argument | type | meaning |
# |---|---|---|
# | `heads` | `(..., H, T, K)` | what each head has found for each place |
# | **returns** | `(..., T, H·K)` | the heads of each place side by side, head 0 first |
#
# - It undoes task {task:split_heads}: `merge_heads(split_heads(x, n_heads))` is `x`.
# - There may be no leading axis, one, or several.
#
# **By hand.** From two heads, `[[0, 1], [4, 5]]` and `[[2, 3], [6, 7]]`, come the places `[0, 1, 2, 3]` and `[4, 5, 6, 7]`.
#
# <details><summary>Hint</summary>
#
# Undo task {task:split_heads} step by step: first exchange the axes, then make one of the last two. After `transpose` the numbers are not in one block, so `view` fails: `reshape` and `flatten` do not.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_merge_heads_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge_heads(heads):
    """Put the numbers of all heads side by side."""
    ### BEGIN SOLUTION
    return heads.transpose(-3, -2).flatten(-2)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_merge_heads", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
heads = torch.tensor([[[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]])
x = merge_heads(heads)
assert isinstance(x, torch.Tensor), f"return a tensor, not a {type(x).__name__}"
assert x.shape == (1, 2, 4), f"the shape is (B, T, H·K) = (1, 2, 4), not {tuple(x.shape)}"
assert not close(x[0, 0], [0.0, 1.0, 4.0, 5.0]), (
    "place 0 has numbers of place 1: exchange the axes before you join them"
)
assert not close(x[0, 0], [0.0, 2.0, 1.0, 3.0]), "the numbers of a head stay together"
assert not close(x[0, 0], [2.0, 3.0, 0.0, 1.0]), "head 0 comes first"
assert close(x[0], [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]), f"see the example; not {x[0]}"
heads = random_tensor(2, 3, 5, 4)
x = merge_heads(heads)
assert x.shape == (2, 5, 12), f"3 heads of 4: (2, 5, 12), not {tuple(x.shape)}"
assert close(x[1, :, 8:], heads[1, 2]), "the last head's numbers come last"
assert close(merge_heads(heads[0]), x[0]), "a single text has no leading axis"
assert close(merge_heads(heads[None]), x[None]), "there may be several leading axes"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Multi-head attention  (14 points, 35 minutes, difficulty 3 of 5)
#
# **Why.** Now everything comes together: queries, keys and values are made from the same text by three matrices, the heads attend, are joined, and a fourth matrix mixes what they have found (Vaswani and others, 2017, section 3.2.2). This layer is the half of a transformer that lets places talk to each other.
#
# **Contract.** `multi_head_attention(x, weights, n_heads, mask=None)`
#
# | argument | type | meaning |
# |---|---|---|
# | `x` | `(B, T, D)` | a vector for each place |
# | `weights` | `dict` | `"query"`, `"key"`, `"value"`, `"output"`, each `(D, D)` |
# | `n_heads` | `int`, at least 1 | number of heads, `H`; divides `D` |
# | `mask` | bool, of two axes or more, broadcasts to `(B, H, T, T)`, or `None` | True where a place may look |
# | **returns** | `(B, T, D)` | for each place, what its heads have found, mixed |
#
# 1. Queries, keys and values are `x` times the *transposed* matrix of their name, as in `nn.Linear`: a matrix has one row for each number of its result. There are no biases.
# 2. Split all three into heads, as in task {task:split_heads}. Attend in each head, as in task {task:attend}: the scale is $\sqrt{K}$ with $K = D / H$.
# 3. Join the heads, as in task {task:merge_heads}, and multiply by the transposed `"output"` matrix.
#
# - Here every place may look somewhere: no row of the mask is all False.
# - Where the mask hides something, it has no influence: what comes later, under a causal mask, changes nothing before it; how much padding there is, and what stands in it, changes nothing either.
# - You may use your own functions of the tasks above. But the grader then judges this task with them: a mistake there costs points here too. Not allowed: `nn.MultiheadAttention` and torch's functions behind it. `F.scaled_dot_product_attention` is allowed *in this task*.
#
# **By hand.** `T = 2`, `D = 2`, two heads of one number, $x = ((\ln 2, 0), (0, \ln 3))$. The query matrix is $((1, 1), (1, 1))$, so each head's query at place 0 is $\ln 2$, at place 1 $\ln 3$. The key matrix is $((0, 0), (0, 0))$: all scores are 0. The value matrix swaps: $((0, 1), (1, 0))$. So the values of head 0 are $0, \ln 3$, those of head 1 are $\ln 2, 0$.
#
# Equal scores are equal weights: head 0 finds $\ln 3 / 2 = 0.5493$, head 1 $\ln 2 / 2 = 0.3466$, at both places. The output matrix $((1, 1), (0, 1))$ makes of it $(0.8959, 0.3466)$. Under a causal mask place 0 sees only itself: it finds $(0, \ln 2)$, and returns $(0.6931, 0.6931)$.
#
# <details><summary>Hint</summary>
#
# With your functions it is four lines: three projections, each split; one `attend`; one `merge_heads`; one last product. Write down the shape after each.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_multi_head_attention_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def multi_head_attention(x, weights, n_heads, mask=None):
    """Project, split into heads, attend in each, join the heads, mix them."""
    ### BEGIN SOLUTION
    query, key, value = (
        split_heads(x @ weights[name].T, n_heads) for name in ("query", "key", "value")
    )
    heads = attend(query, key, value, mask)
    return merge_heads(heads) @ weights["output"].T
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_multi_head_attention", "locked": true, "points": 14, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([[[math.log(2), 0.0], [0.0, math.log(3)]]])
weights = {
    "query": torch.ones(2, 2),
    "key": torch.zeros(2, 2),
    "value": torch.tensor([[0.0, 1.0], [1.0, 0.0]]),
    "output": torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
}
out = multi_head_attention(x, weights, 2)
assert isinstance(out, torch.Tensor), f"return a tensor, not a {type(out).__name__}"
assert out.shape == (1, 2, 2), f"the shape is (B, T, D) = (1, 2, 2), not {tuple(out.shape)}"
assert not close(out[0, 0], [0.5493, 0.3466]), "multiply by the output matrix at the end"
assert not close(out[0, 0], [0.5493, 0.8959]), "the output matrix must be transposed"
assert close(out[0], [[0.8959, 0.3466]] * 2), f"see the example; you gave {out[0]}"
causal = torch.tensor([[True, False], [True, True]])
out = multi_head_attention(x, weights, 2, causal)
assert not close(out[0, 1], [0.6931, 0.6931]), "place 1 sees both places, place 0 only itself"
assert close(out[0], [[0.6931, 0.6931], [0.8959, 0.3466]]), f"with a causal mask: not {out[0]}"
torch_layer = nn.MultiheadAttention(6, 3, bias=False, batch_first=True, dtype=torch.float64)
parts = torch_layer.in_proj_weight.detach().chunk(3)
weights = dict(zip(("query", "key", "value"), parts, strict=True))
weights["output"] = torch_layer.out_proj.weight.detach()
x = random_tensor(2, 5, 6)
out = multi_head_attention(x, weights, 3)
assert out.dtype == torch.float64, "float64 in, float64 out"
assert close(out, torch_layer(x, x, x)[0].detach()), (
    "with the weights of torch's layer the results differ: are all four matrices transposed, and "
    "is the scale the root of the width of a head?"
)
mask = torch.ones(5, 5, dtype=torch.bool).tril()
right, _ = torch_layer(x, x, x, attn_mask=~mask)  # this layer of torch means the opposite
assert close(multi_head_attention(x, weights, 3, mask), right.detach()), (
    "with a causal mask the results differ from torch's layer"
)
each = (random_tensor(3, 5, 5, seed=1) < 0.5) | torch.eye(5, dtype=torch.bool)
right, _ = torch_layer(x, x, x, attn_mask=~each.repeat(2, 1, 1))
out = multi_head_attention(x, dict(reversed(weights.items())), 3, each)
assert close(out, right.detach()), (
    "each head may have a mask of its own, and the weights go by their names, in any order"
)
padded = mask & torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None, :]
out = multi_head_attention(x, weights, 3, padded)
other = x.clone()
other[1, 3:] = 100.0
assert close(multi_head_attention(other, weights, 3, padded)[1, :3], out[1, :3]), (
    "what stands in the padding must not change what is real"
)
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Judge the assistant  (6 points, 25 minutes, difficulty 3 of 5)
#
# **Why.** An assistant writes `attend` in ten seconds, and it looks right. Is it? Finding out is left to you. This time you write the *test*.
#
# **Contract.** `judge_attend(implementation)`
#
# | argument | type | meaning |
# |---|---|---|
# | `implementation` | function | somebody's `attend`, to be called as in task {task:attend} |
# | **returns** | `bool` | True if it does what task {task:attend} asks for, False if it does not |
#
# - The grader runs your test on sixteen implementations that you do not see: five right ones, in styles of their own, and eleven that each make one mistake. Your points are the share of the wrong ones that your test refuses, less the share of the right ones that it refuses: saying the same every time earns nothing.
# - Each run may call the implementation 200 times. Arguments and results travel as copies (numbers, texts, lists, tuples, dicts, tensors; no functions): neither side sees what the other writes into a tensor. If the implementation raises an exception, so does your call, with the same type and no message. An implementation that raises where the contract names no error is wrong: say False, or let the exception through, which counts as False. A test that raises an exception of its own has not judged.
# - Judge what is returned, for any arguments that the contract of task {task:attend} allows. Gradients and speed are not judged here.
# - You may compare the results with those of your own `attend`, with torch's, or with numbers that you know. If you use your own function, a mistake in it costs points here too.
#
# **By hand.** Which call tells what? Say what it would return before you look at the code.
#
# | an implementation that … | returns for the mask of the table in task {task:attend} | and without a mask |
# |---|---|---|
# | is right | 2, 2 | 2, 2 |
# | leaves the mask out | 2, 2 | 2, 2 |
# | inverts the mask | 0, 2 | 2, 2 |
#
# The second row is a warning: this mask does not show who leaves it out.
#
# <details><summary>Hint</summary>
#
# Write down a list of calls, tuples of arguments, and ask for each whether the result is close to the right one. Then go through the contract of task {task:attend}, sentence by sentence: which of your calls would notice if that sentence were not kept?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps4_judge_attend_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def judge_attend(implementation):
    """Say whether an implementation of attend is right."""
    ### BEGIN SOLUTION
    query, key = random_tensor(2, 3, 4, 5), random_tensor(2, 3, 6, 5)
    value = random_tensor(2, 3, 6, 2)
    mask = random_tensor(2, 1, 4, 6) > 0.5  # among its queries are some that may look nowhere
    cases = [(query, key, value), (query, key, value, mask), (query * 1000, key, value)]
    try:
        return all(close(implementation(*case), attend(*case)) for case in cases)
    except Exception:
        return False
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps4_judge_attend", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
from copy import deepcopy


def without_weights(query, key, value, mask=None):
    """Wrong: scores are no weights."""
    return query @ key.mT @ value


def with_the_wrong_scale(query, key, value, mask=None):
    """Your own, made wrong: it divides by K, not by its root."""
    return attend(query / key.shape[-1] ** 0.5, key, value, mask)


def with_the_mask_turned_round(query, key, value, mask=None):
    """Your own, made wrong: True means for it that a query may not look."""
    return attend(query, key, value, None if mask is None else ~mask)


def says(implementation):
    """What your test says: the implementation gets copies, and an exception is a refusal."""
    try:
        return judge_attend(lambda *call, **more: implementation(*deepcopy(call), **deepcopy(more)))
    except Exception:
        return False


verdict = judge_attend(without_weights)
assert type(verdict) is bool, f"return True or False, not {type(verdict).__name__}"
assert not verdict, "an implementation without a softmax is wrong; your test accepts it"
try:
    query, key = torch.full((2, 4), 1.0), torch.tensor([1.0, 3.0, 4.0]).log()[:, None] / 2
    value, first = torch.tensor([[8.0], [0.0], [2.0]]), torch.tensor([True, False, False])
    call = query, key.expand(3, 4), value
    is_right = close(attend(*call), [[2.0]] * 2) and close(attend(*call, first), [[8.0]] * 2)
except Exception:
    is_right = False
if not is_right:
    print("Your attend does not do yet what its task asks for, so your test has met only one")
    print("implementation, a wrong one. The grader has right and wrong ones of its own.")
else:
    assert not says(with_the_wrong_scale), (
        "with_the_wrong_scale divides twice by the root of K; your test accepts it"
    )
    assert not says(with_the_mask_turned_round), (
        "with_the_mask_turned_round hides what may be seen; your test accepts it"
    )
    if says(attend):
        print("All visible tests passed.")
    else:
        print("Your test refuses your own attend: one of the two is wrong. For which call?")

# %% [markdown]
# ## {task}. In your own words  (8 points, 20 minutes, difficulty 3 of 5)
#
# 1. Two places of a text exchange their vectors, and there is no mask. What does that do to the results of `multi_head_attention`, place by place? What follows for a model that consists of such layers alone? Does your answer change under a causal mask?
# 2. A friend leaves out the division by $\sqrt{K}$. With `K = 64` and queries and keys of independent numbers with variance 1, what is the standard deviation of a score? One score is larger than another by twice that: what is the ratio of the two weights, and what would it be with the division? Why is that bad for *learning*, not only for reading?
# 3. The map of a head shows that "it" looks at "dog" with the weight 0.9. Name one thing that this shows, and one that it does not.
#
# Write at most 200 words.
#
# *How it is graded: 3 points for question 1, one of them for the causal mask; 3 for the three numbers and the gradient; 2 for question 3.*

# %% [markdown] nbgrader={"grade": true, "grade_id": "ps4_explain_attention", "locked": false, "points": 8, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. The results of the two places are exchanged, and all others stay as they were: each query sums over the same set of keys and values. So a stack of such layers cannot know the order of the words; it reads "dog bites man" and "man bites dog" alike, and order must be put in. Under a causal mask the answer changes: which places are seen depends on where one stands, so results between and at the two places may change, and even the last place can know something of the order through what the others have seen (with more than one layer).
# 2. The variance is 64, so the standard deviation is 8. A difference of 16 is a ratio of $e^{16} \approx 8.9$ million; with the division it is $e^2 \approx 7.4$. In the first case the softmax is saturated: nearly all weight lies on one place, the derivatives $w_i ([i = j] - w_j)$ are nearly 0, and no gradient tells the scores how to become better.
# 3. It shows that in this head nine tenths of what is added for "it" is the value of "dog". It does not show that the model has "understood" the reference, nor that its output depends on it: the value may be small, the output matrix may ignore it, other heads may do the work, and vectors of higher layers already contain other words. Changing the weight and looking at the output would show it.
#
# *Rubric.* 1: exchanged and otherwise unchanged (1), so order is unknown (1), not so under a causal mask, with a reason (1). 2: 8 (1), both ratios (1), vanishing gradient (1). 3: what is shown (1), what is not, with a reason (1).
# ### END SOLUTION

# %% [markdown]
# ## Workshop: your attention learns (not graded)
#
# Now your `attend` goes to work inside the package's GPT: the model takes a function of `(query, key, value, mask)` in place of its own. The next cells need `course_pkg` and some ten seconds, also with `LONG = True`.
#
# Two copies of a model with two blocks of four heads get the same random weights. One copy attends with your function, the other with the package's. Both read the same stories in the same order, so their losses must agree, step by step. (We compute in `float64` here. In `float32` the two would drift apart slowly, because they round in another order.)
#
# First, what the model says to a function that does not fit.

# %% tags=["workshop"]
import copy

from course_pkg.models.gpt import GPT
from course_pkg.models.transformer_config import TransformerConfig

SHAPE = {"context_length": 32, "d_model": 48, "n_heads": 4, "n_layers": 2, "d_ff": 192}
misfits = {
    "the weights instead of the heads": lambda q, k, v, mask: torch.softmax(q @ k.mT, dim=-1),
    "half the accuracy": lambda q, k, v, mask: attend(q, k, v, mask).half(),
}
for what, misfit in misfits.items():
    model = GPT(TransformerConfig(vocab_size=11, **SHAPE), attend=misfit)
    try:
        model(torch.arange(10)[None])
    except ValueError as error:
        print(f"{what}: {error}")

# %% tags=["workshop"]
from course_pkg.text.corpora import load_corpus
from course_pkg.text.tokenizers import WordTokenizer

LONG = False  # True: three times as many steps, and the number that the text below ends with
N_STEPS, BATCH_SIZE, LEARNING_RATE = (300 if LONG else 100), 8, 3e-3
N_PLACES = SHAPE["context_length"]

corpus = load_corpus("stories")
tokenizer = WordTokenizer.train(corpus.train)
eos_id = tokenizer.eos_id


def stream(stories):
    # All stories in a row, with eos between them.
    documents = [[*tokenizer.encode(story), eos_id] for story in stories]
    return torch.tensor([eos_id, *(i for document in documents for i in document)])


text = stream(corpus.train[:4000])
starts = torch.randint(
    len(text) - N_PLACES - 1, (300, BATCH_SIZE), generator=torch.Generator().manual_seed(4)
)


def batch(step):
    # The windows of this step, the same for every model.
    rows = starts[step % len(starts), :, None] + torch.arange(N_PLACES + 1)
    return text[rows[:, :-1]], text[rows[:, 1:]]


def train(model, n_steps):
    # Return the loss at each step.
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE), []
    for step in range(n_steps):
        optimizer.zero_grad()
        _, loss = model(*batch(step))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


looking = []  # where your weights are kept while the model reads one text, below


def my_attend(query, key, value, mask):
    if looking and looking[0]:
        # A trick: with the identity matrix as values, the result is the weights themselves.
        values = torch.eye(key.shape[-2], dtype=value.dtype).expand(*key.shape[:-2], -1, -1)
        looking.append(attend(query, key, values, mask).detach())
    return attend(query, key, value, mask)


config = TransformerConfig(vocab_size=tokenizer.vocab_size, **SHAPE)
mine = GPT(config, attend=my_attend, generator=torch.Generator().manual_seed(1)).double()
theirs = GPT(config).double()
theirs.load_state_dict(copy.deepcopy(mine.state_dict()))
losses = {"yours": train(mine, N_STEPS), "the package's": train(theirs, N_STEPS)}

# %% tags=["workshop"]
from IPython.display import display

from course_pkg.plots import attention_heads, lines, show

yours, packages = losses.values()
gap = max(abs(a - b) for a, b in zip(yours, packages, strict=True))
agree = "agree" if gap < 1e-6 else f"differ by up to {gap:.3g}"
at_last = sum(yours[-20:]) / 20
print(f"{yours[0]:.2f} nats at first, {at_last:.2f} at last; both copies {agree}")
picture = show(
    lines(
        {name: (range(1, N_STEPS + 1), curve) for name, curve in losses.items()},
        x_label="step",
        y_label="loss (nats per token)",
    ),
    alt="Training loss against the number of steps, with your attention and with the package's: "
    "both lie on one curve, which falls steeply at first.",
)
display(picture)

# %% [markdown]
# **Where your heads look.** A row for each word that looks, a column for each word that it may see; the darker, the more is read. Your mask is why nothing stands above the diagonal.

# %% tags=["workshop"]
story = stream(corpus.valid[:1])[:14]
looking[:] = [True]
mine(story[None])
_, first_layer, second_layer = looking
looking.clear()
words = [tokenizer.decode([i]).strip() or "(end)" for i in story.tolist()]
for number, weights in enumerate((first_layer, second_layer), start=1):
    picture = show(
        attention_heads(weights[0], words, layer=number),
        alt=f"Attention weights of the four heads of layer {number} on the start of a story: "
        "all weight lies on or below the diagonal, and each row sums to one.",
    )
    display(picture)
print("sure of one word:", [(words[t], words[s]) for t, s in align(second_layer[0, 0], 0.5)][:8])

# %% [markdown]
# **What it writes.** Your `beam_search` asks the trained model. One beam is greedy search.

# %% tags=["workshop"]
prompt = [eos_id, *tokenizer.encode("One day,")]


@torch.no_grad()
def next_log_probs(ids):
    return mine.next_log_probs(torch.tensor([[*prompt, *ids]])[:, -N_PLACES:])[0]


for n_beams in (1, 4):
    score, ids = beam_search(next_log_probs, n_beams, eos_id, 16, 0.6)[0]
    print(f"{n_beams} beams, score {score:.2f}: {tokenizer.decode([*prompt[1:], *ids])}")

# %% [markdown]
# What you should see: one curve where there are two. After 100 steps (the mean of the last 20) the loss is at 1.29 nats; with `LONG = True`, at 0.82 after 300. After 100 steps both searches write the same text; after 300, a beam of four finds one that scores better than the greedy one. Whether it is a better *text*, judge yourself.
#
# Try it: leave out the division by the root of `K` in a copy of your function. Use one head instead of four. Invert your mask, and watch the loss fall far below what is possible. Why is that no success?

# %% [markdown]
# ## An open challenge: attention in 25,000 numbers (not graded)
#
# **Half a minute of CPU time, two thousand stories, at most 25,000 numbers: how well does attention say how stories go on?** Two functions of yours share the work. `train_small` reads 2,000 stories and returns all that it has learned, as a list of tensors. `predict_small` is given these numbers, as NumPy arrays of 16 bits, and how 2,000 *other* stories begin: one place of each. It says how probable each id is as the next one. What counts is the mean loss in nats per token; less is better. The number to beat is that of the two blocks below, which attend by your functions: about **0.56 nats per token** on the held-out stories that come with the course. (Other stories, cut at other places, may be a tenth of a nat harder or easier; on a leaderboard they are the same for all.)
#
# Change what you like: heads, blocks, widths, the optimizer, its rate and how it falls, which stories are read together and how often. Ideas of your own in the attention itself count double. A penalty that grows with distance? A learned temperature for each head? A window that makes each head look only at the last eight words? A head that looks for what followed the last time this word occurred? One thing is not allowed: `predict_small` must not learn from the beginnings that it is given: what is learned is learned in `train_small`, and counted.
#
# Your course may have a leaderboard. Everyone who changes the first cell takes part: the grader calls `train_small` on new stories, whose words are numbered anew, and counts the numbers itself; `predict_small` meets them in a fresh process, which knows nothing else of the training. `train_small` must return in 30 seconds of CPU time and `predict_small` in 5, and more than one process or thread wins nothing. So put into that cell, or into a cell of your own, all that the functions need, and nothing that takes long; `course_pkg` is not there. `PSEUDONYM` is your name on the page: Latin letters, at most 24 of them. Without one, you are given a name.

# %% tags=["workshop"]
PSEUDONYM = ""
WIDTH, N_HEADS, N_BLOCKS, LONGEST = 32, 4, 2, 64
BATCH_SIZE, N_UPDATES, BEST_RATE = 32, 300, 0.01


def in_rows(stories, eos_id):
    """Return a row for each story: eos before it, and after it until the row is full."""
    lengths = torch.tensor([len(story) for story in stories])
    rows = torch.full((len(stories), int(lengths.max()) + 2), eos_id)
    for row, story in zip(rows, stories, strict=True):
        row[1 : len(story) + 1] = torch.tensor(story, dtype=torch.int64)
    return rows, lengths


def scores_of_next(numbers, ids):
    """Blocks of your attention: at each place the scores of the next id, `(B, T, vocab_size)`."""
    table, places, *matrices = numbers
    mask = causal_mask(ids.shape[1], ids.shape[1])
    x = table[ids] + places[: ids.shape[1]]
    for start in range(0, len(matrices), 6):
        query, key, value, output, widen, narrow = matrices[start : start + 6]
        weights = {"query": query, "key": key, "value": value, "output": output}
        x = x + multi_head_attention(F.layer_norm(x, x.shape[-1:]), weights, N_HEADS, mask)
        x = x + F.relu(F.layer_norm(x, x.shape[-1:]) @ widen.T) @ narrow.T
    return F.layer_norm(x, x.shape[-1:]) @ table.T


def train_blocks(stories, vocab_size, eos_id):
    """The model to beat: two blocks, trained by Adam at a rate that falls to 0."""
    dice = torch.Generator().manual_seed(1)
    square, wide = (WIDTH, WIDTH), (2 * WIDTH, WIDTH)
    sizes = [(vocab_size, WIDTH), (LONGEST, WIDTH)]
    sizes += [square, square, square, square, wide, wide[::-1]] * N_BLOCKS
    numbers = [(torch.randn(size, generator=dice) / WIDTH**0.5).requires_grad_() for size in sizes]
    optimizer = torch.optim.Adam(numbers, lr=BEST_RATE)
    rows, lengths = in_rows([story[: LONGEST - 1] for story in stories], eos_id)
    for step in range(N_UPDATES):
        optimizer.param_groups[0]["lr"] = BEST_RATE * (1 - step / N_UPDATES)
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


def predict_by_blocks(numbers, contexts, vocab_size, eos_id):
    """Return a row for each context: the logarithm of the probability of each id."""
    numbers = [torch.as_tensor(x).detach().float() for x in numbers]
    ids, lengths = in_rows([context[-(LONGEST - 2) :] for context in contexts], eos_id)
    last = scores_of_next(numbers, ids)[torch.arange(len(ids)), lengths]
    return torch.log_softmax(last, dim=-1)


def train_small(stories, vocab_size, eos_id):
    """Yours: replace the line below."""
    return train_blocks(stories, vocab_size, eos_id)


def predict_small(numbers, contexts, vocab_size, eos_id):
    """Yours: replace the line below."""
    return predict_by_blocks(numbers, contexts, vocab_size, eos_id)


# %% tags=["workshop"]
import time

RUN_CHALLENGE = False  # True: measure yours, which as it stands is the one to beat
CPU_SECONDS, MOST_NUMBERS = 30, 25_000


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
    text = f"{nats:.3f} nats per token with {n_numbers:,} numbers"
    return text + ": too many" * (n_numbers > MOST_NUMBERS) + ", too slow" * slow


if RUN_CHALLENGE:
    print(measure(train_small, predict_small))
