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
# # Problem set 7: BERT
#
# A model that may look at both sides of a word cannot be asked for the next one: it would see it. BERT hides words and is asked what was there. You will write everything that turns plain text into this exercise: which positions are hidden, what the model sees there instead, how two texts are joined, what enters the first block, and where the loss is taken. Then you will hide whole spans, as T5 does. In the end your functions train a small BERT that fills gaps.
#
# - **You write** nine short functions, and a test that judges somebody else's. Each is graded on its own. One more question is answered in words.
# - **You need** the chapters on the transformer and on BERT, and from PyTorch: boolean masks as indices, `torch.where`, drawing with a `torch.Generator`. Tasks {task:next_sentence_pairs}, {task:join_pair}, {task:hide_spans} and {task:fill_spans} are plain Python on lists.
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
# - **Chance comes from outside.** Where something is drawn, you are given the numbers, or a `torch.Generator` to draw from. Never use torch's own generator (`torch.rand` without `generator=...`) or Python's `random`, and seed nothing: the same numbers must give the same result.
# - Use Python and torch's tensors. Do not import `course_pkg`.
# - **No loop over positions or rows of a tensor**: a tensor operation takes them all at once. Such a loop costs half of the points that your answer earns otherwise. (Loops over special ids, and over the lists of tasks {task:next_sentence_pairs}, {task:join_pair}, {task:hide_spans} and {task:fill_spans}, are fine.)
# - Floats are `float32` or `float64`. Results in `float32` must be right to about 4 digits, in `float64` to 9.
# - Do not change your arguments: neither tensors nor lists. The caller still needs them. (Drawing from a generator moves it on, of course.) A list or tensor that you return is a new one, so that the caller may write into it.
# - Lists may have thousands of entries. A function that calls itself once for each entry runs out of Python's stack.
# - Ids are whole numbers from 0 on: `int64` in tensors, `int` in lists. Any id may be that of a special token, also 0; do not assume that special ids are neighbours, or the smallest.
# - Keep the names of the functions and of their arguments.

# %% nbgrader={"grade": false, "grade_id": "ps7_install", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["workshop"]
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

# %% nbgrader={"grade": false, "grade_id": "ps7_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import torch
from torch import nn
from torch.nn import functional as F

IGNORE = -100  # the target where nothing is to be predicted


def close(found, right):
    """Whether two tensors have one dtype, one shape and the same numbers, up to 4 digits."""
    right = torch.as_tensor(right)
    same_kind = found.dtype == right.dtype and found.shape == right.shape
    return same_kind and torch.allclose(found, right, rtol=0, atol=5e-5)


def random_tensor(*shape, seed=0, dtype=torch.float64):
    """Draw a tensor that is the same in every run."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# %% [markdown]
# **Shapes.** We write `B` for the rows of a batch, `T` for positions, `D` for the width of the model, `V` for the size of the vocabulary.

# %% [markdown]
# ## {task}. Which positions to hide  (7 points, 10 minutes, difficulty 1 of 5)
#
# **Why.** Hide too little, and a text teaches little; hide too much, and nothing is left to guess from. BERT chooses 15 % of the positions, each by itself (Devlin and others, 2019). Special tokens are never chosen: there is nothing to learn in guessing a [SEP], and padding is no text at all.
#
# **Contract.** `choose_positions(ids, draws, rate, special_ids)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | `int64`, `(B, T)` | texts, special tokens and padding among them |
# | `draws` | floats, `(B, T)` | a number for each position, drawn evenly from 0 to below 1 |
# | `rate` | `float`, 0 to 1 | the share that is to be chosen |
# | `special_ids` | list, tuple or set of `int` | the ids of the special tokens, the padding's among them; may be empty |
# | **returns** | `bool`, `(B, T)` | True at the chosen positions |
#
# - A position is chosen if its draw is *below* the rate and no special token is there.
# - So the rate 0 chooses nothing, and the rate 1 everything that is not special.
#
# > **Small print.**
# >
# > - A draw may equal the rate; the rates of such cases, like 0.25, are exact in binary. No other draw is so near to the rate that rounding would matter.
# > - `B` or `T` may be 0.
#
# **By hand.** The rate is 0.25, the special ids are 0 and 7:
#
# | id | 7 | 3 | 5 | 4 | 0 |
# |---|---|---|---|---|---|
# | draw | 0.125 | 0.125 | 0.25 | 0.75 | 0 |
# | chosen | no: special | **yes** | no: not below | no | no: special |
#
# <details><summary>Hint</summary>
#
# `torch.isin(ids, torch.tensor([...]))` is True where an id is one of several. An empty list needs a dtype: `torch.tensor([], dtype=ids.dtype)`. `~` swaps True and False, `&` joins two masks.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_choose_positions_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def choose_positions(ids, draws, rate, special_ids):
    """Choose the positions whose draw is below the rate, special tokens excepted."""
    ### BEGIN SOLUTION
    is_special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    return (draws < rate) & ~is_special
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_choose_positions", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
ids = torch.tensor([[7, 3, 5, 4, 0]])
draws = torch.tensor([[0.125, 0.125, 0.25, 0.75, 0.0]])
chosen = choose_positions(ids, draws, 0.25, [0, 7])
assert isinstance(chosen, torch.Tensor), f"return a tensor, not a {type(chosen).__name__}"
assert chosen.dtype == torch.bool, f"the result is bool, not {chosen.dtype}"
assert chosen.shape == (1, 5), f"a True or False for each position: (1, 5), not {chosen.shape}"
assert not chosen[0, 0] and not chosen[0, 4], "special tokens are never chosen, whatever their draw"
assert not chosen[0, 3], "a draw above the rate is not chosen"
assert not chosen[0, 2], "a draw that equals the rate is not below it"
assert chosen.tolist() == [[False, True, False, False, False]], f"you gave {chosen.tolist()}"
chosen = choose_positions(ids, draws, 0.25, set())
assert chosen.tolist() == [[True, True, False, False, True]], (
    f"without special ids the draws alone decide; you gave {chosen.tolist()}"
)
both = torch.tensor([[2, 1], [9, 2], [0, 9]])
assert choose_positions(both, torch.zeros(3, 2), 0.5, {9}).tolist() == [
    [True, True],
    [False, True],
    [True, False],
], "special_ids may be a set"
chosen = choose_positions(both, torch.zeros(3, 2), 0.5, (9,))
assert chosen.tolist() == [[True, True], [False, True], [True, False]], (
    f"9 is special here, and 0 is not; you gave {chosen.tolist()}"
)
assert not choose_positions(both, torch.zeros(3, 2), 0.0, [9]).any(), "the rate 0 chooses nothing"
assert choose_positions(both[:, :0], torch.zeros(3, 0), 0.5, [9]).shape == (3, 0), "T may be 0"
assert ids.tolist() == [[7, 3, 5, 4, 0]], "your function changes the ids"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. What the model sees  (9 points, 25 minutes, difficulty 2 of 5)
#
# **Why.** If [MASK] stood at every chosen position, the model would never be asked about a position where it sees a word. But when it is used, there are only such positions, and no [MASK] anywhere. So of the chosen positions 80 % become [MASK], 10 % another word, and 10 % stay as they are, and *all of them* are to be predicted. Now any word that the model sees may be wrong, and it has to check each against its context.
#
# **Contract.** `corrupt(ids, chosen, dice, random_ids, mask_id)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | `int64`, `(B, T)` | texts |
# | `chosen` | `bool`, `(B, T)` | the positions that are to be predicted |
# | `dice` | `int64`, `(B, T)` | a ten-sided die for each position: 0 to 9 |
# | `random_ids` | `int64`, `(B, T)` | an id drawn for each position, in case it is needed |
# | `mask_id` | `int` | the id of [MASK] |
# | **returns** | tuple of two `int64` tensors, `(B, T)` | what the model sees; the targets |
#
# - At a chosen position the model sees `mask_id` if the die shows 0 to 7, the position's own random id if it shows 8, and the true id if it shows 9. At all others it sees the true id, whatever die and random id are.
# - The target is the true id at *every* chosen position, and `IGNORE`, which is -100, at all others.
#
# > **Small print.**
# >
# > - A random id is used as it is, also if it happens to be the true one.
# > - `mask_id` may stand in the text already; it is an id like any other there.
# > - Both results are new tensors: the caller may write into them, and finds `ids` unchanged.
# > - `B` or `T` may be 0.
#
# **By hand.** `mask_id` is 1:
#
# | position | 0 | 1 | 2 | 3 | 4 |
# |---|---|---|---|---|---|
# | id | 20 | 21 | 22 | 23 | 24 |
# | chosen | no | yes | yes | yes | yes |
# | die | 0 | 8 | 0 | 9 | 7 |
# | random id | 30 | 31 | 32 | 33 | 34 |
# | **seen** | 20 | 31 | 1 | 23 | 1 |
# | **target** | -100 | 21 | 22 | 23 | 24 |
#
# <details><summary>Hint</summary>
#
# `ids.masked_fill(where, value)` and `torch.where(where, a, b)` make new tensors. Which of the two has one value for all positions? Take the targets from `ids`, and not from what is seen.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_corrupt_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def corrupt(ids, chosen, dice, random_ids, mask_id):
    """Return what the model sees of the texts, and what it is to predict."""
    ### BEGIN SOLUTION
    seen = ids.masked_fill(chosen & (dice < 8), mask_id)
    seen = torch.where(chosen & (dice == 8), random_ids, seen)
    targets = ids.masked_fill(~chosen, IGNORE)
    return seen, targets
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_corrupt", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
ids = torch.tensor([[20, 21, 22, 23, 24]])
chosen = torch.tensor([[False, True, True, True, True]])
dice = torch.tensor([[0, 8, 0, 9, 7]])
random_ids = torch.tensor([[30, 31, 32, 33, 34]])
result = corrupt(ids, chosen, dice, random_ids, 1)
assert isinstance(result, tuple) and len(result) == 2, "return a tuple: what is seen, the targets"
seen, targets = result
assert ids.tolist() == [[20, 21, 22, 23, 24]], "your function changes the caller's ids"
assert seen[0, 0] == 20, "a position that is not chosen stays, whatever its die shows"
assert seen[0, 2] == 1 and seen[0, 4] == 1, "from 0 to 7 the model sees mask_id: 7 belongs to it"
assert seen[0, 1] == 31, "where the die shows 8, the model sees the random id of that position"
assert seen[0, 3] == 23, "where the die shows 9, the model sees the true id"
assert targets[0, 0] == IGNORE, "where nothing is chosen, the target is IGNORE"
assert targets[0, 3] == 23, "a chosen position that stays as it was is to be predicted, too"
assert targets[0, 1] == 21, "the target is the id that was really there"
assert targets.tolist() == [[-100, 21, 22, 23, 24]], f"the targets are not {targets.tolist()}"
assert seen.dtype == targets.dtype == torch.int64, "both results are int64"
two = torch.tensor([[5, 6, 0], [0, 5, 6]])
everywhere = torch.ones(2, 3, dtype=torch.bool)
seen, targets = corrupt(two, everywhere, torch.tensor([[1, 9, 8], [8, 2, 8]]), two.flip(0), 0)
assert seen.tolist() == [[0, 6, 6], [5, 0, 0]], f"with mask_id 0 and two rows: not {seen.tolist()}"
lucky = corrupt(two, everywhere, torch.full_like(two, 8), two.clone(), 9)
assert lucky[0].tolist() == two.tolist(), "a random id is used also if it is the true one"
assert targets.tolist() == two.tolist(), "the target may be 0: it is an id like any other"
seen, targets = corrupt(two, ~everywhere, torch.zeros_like(two), two.flip(0), 9)
assert seen.tolist() == two.tolist(), "nothing is chosen, so nothing changes"
assert (targets == IGNORE).all(), "nothing is chosen, so there is nothing to predict"
seen[0, 0] = 77
assert two[0, 0] == 5, "what is seen must be a new tensor, also if nothing is chosen"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. A batch with new gaps  (10 points, 30 minutes, difficulty 3 of 5)
#
# **Why.** BERT's authors masked each text once, and the model saw the same gaps in every epoch. Liu and others (2019, RoBERTa) draw new ones whenever a text is read, so that it teaches something else each time. This function does it. Unlike the two above it throws the dice itself.
#
# **Contract.** `mask_batch(ids, special_ids, vocab_size, mask_id, generator)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | `int64`, `(B, T)` | texts, special tokens and padding among them; `B` and `T` are at least 1 |
# | `special_ids` | list of different `int` | all special ids, `mask_id` among them, in any order |
# | `vocab_size` | `int` | ids are below it; at least one id is not special |
# | `mask_id` | `int` | the id of [MASK] |
# | `generator` | `torch.Generator` | the only source of chance |
# | **returns** | tuple of two `int64` tensors, `(B, T)` | what the model sees; the targets |
#
# - Each position where no special token stands is chosen with probability 15 %, independently of all others.
# - A chosen position is seen as `mask_id` with probability 80 %, as a random id with 10 %, as it is with 10 %; independently of all others, and of how it was chosen. Each random id is drawn independently, too. The targets are those of task {task:corrupt}.
# - A random id is any id below `vocab_size` that is *not special*, each equally often. It may be the true one.
# - You may use your own functions of tasks {task:choose_positions} and {task:corrupt}. But the grader then judges this task with them: a mistake there costs points here too.
#
# > **Small print.**
# >
# > - The generator in the same state gives the same result; a second call, in which it has moved on, gives other gaps. How many numbers you draw, and in which order, is up to you.
# > - The grader cannot know your numbers. It counts in batches of tens of thousands of positions: how many are chosen, what is seen there, how often each random id comes up, and whether neighbours in a row or column depend on each other. The bounds are so wide that a right answer falls outside less than once in $10^9$ times.
#
# **By hand.** Of 10,000 ordinary positions about 1,500 are chosen. About 1,200 of them are seen as [MASK], 150 as a random id, 150 as they are. If three of the ids 0 to 9 are special, each of the other seven is the random id about 21 times, and 21 times it is the true one. So about 171 chosen positions look as if nothing had happened: 11.4 %, not 10 %.
#
# <details><summary>Hint</summary>
#
# You need three draws for each position: one to choose it, a die, and a random id. `torch.rand(ids.shape, generator=generator)`, `torch.randint(10, ids.shape, generator=generator)`. For the third, make a tensor of the ids that are not special, draw *places* in it, and look them up.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_mask_batch_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    """Draw new gaps for a batch of texts; return what the model sees, and the targets."""
    ### BEGIN SOLUTION
    draws = torch.rand(ids.shape, generator=generator)
    chosen = choose_positions(ids, draws, 0.15, special_ids)
    dice = torch.randint(10, ids.shape, generator=generator)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    random_ids = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    return corrupt(ids, chosen, dice, random_ids, mask_id)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_mask_batch", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
# [CLS] is 9, [MASK] is 0, and [SEP] is 4: it stands all over the text, at one position of seven.
ids = torch.randint(2, 9, (200, 501), generator=torch.Generator().manual_seed(1))
ids[:, 0] = 9
kept, specials = ids.clone(), [9, 4, 0]
before = torch.get_rng_state()
result = mask_batch(ids, specials, 11, 0, torch.Generator().manual_seed(2))
assert specials == [9, 4, 0], "your function changes the list of special ids"
assert isinstance(result, tuple) and len(result) == 2, "return a tuple: what is seen, the targets"
seen, targets = result
assert torch.equal(before, torch.get_rng_state()), "draw from the generator that is given"
assert torch.equal(ids, kept), "your function changes the caller's ids"
assert seen.shape == targets.shape == (200, 501), f"not {seen.shape} and {targets.shape}"
chosen, ordinary = targets != IGNORE, (ids != 4) & (ids != 9)
assert not (chosen & ~ordinary).any(), "a special token is to be predicted"
assert torch.equal(targets[chosen], ids[chosen]), "a target is the id that was really there"
assert torch.equal(seen[~chosen], ids[~chosen]), "what is not chosen stays as it is"
share = chosen[ordinary].double().mean().item()
assert 0.14 < share < 0.16, f"of the ordinary positions you choose {share:.1%}, and not 15 %"
looks = seen[chosen]
share = (looks == 0).double().mean().item()
assert 0.77 < share < 0.83, f"of the chosen positions {share:.1%} are [MASK], and not 80 %"
share = (looks == targets[chosen]).double().mean().item()
assert 0.1 < share < 0.125, f"{share:.1%} of the chosen look as before; about 11.2 % should"
others = looks[(looks != 0) & (looks != targets[chosen])]
assert set(others.tolist()) == {1, 2, 3, 5, 6, 7, 8, 10}, (
    f"random ids are those below 11 that are not special; you use {sorted(set(others.tolist()))}"
)
rows = chosen.sum(dim=1).double()
assert 4 < rows.std() < 12, "each position is chosen by itself: rows differ in how many they have"
again = mask_batch(ids, specials, 11, 0, torch.Generator().manual_seed(2))
assert torch.equal(again[0], seen), "the same generator in the same state gives the same gaps"
moving = torch.Generator().manual_seed(2)
mask_batch(ids, specials, 11, 0, moving)
second = mask_batch(ids, specials, 11, 0, moving)[0]
assert not torch.equal(second, seen), "a generator that has moved on gives other gaps"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Pairs of sentences  (11 points, 25 minutes, difficulty 2 of 5)
#
# **Why.** Many tasks ask about *two* texts: does this answer fit that question, does this sentence follow from that? BERT practises on pairs. Half of the time the second sentence is the one that really comes next, half of the time it is from somewhere else, and the model is to say which (next-sentence prediction).
#
# **Contract.** `next_sentence_pairs(documents, draws)`
#
# | argument | type | meaning |
# |---|---|---|
# | `documents` | list | two documents or more; a document is a list of one or more sentences; a sentence is a list of one or more `int` |
# | `draws` | list of `(a, b, c)` | three `float` for each pair, in the order of the pairs, drawn evenly from 0 to below 1 |
# | **returns** | list of `(first, second, is_next)` | tuples of a list, a list, and a `bool` |
#
# - Every sentence that has a successor *in its own document* is the first of exactly one pair. Pairs come in the order of the documents, and in each in the order of its sentences.
# - So the last sentence of a document opens no pair and uses up no draw, and a document of one sentence opens none. There are as many draws as pairs.
# - If `a` is below 0.5, `second` is the successor, and `is_next` is True; `b` and `c` play no part.
# - Else `second` is a sentence of *another* document, and `is_next` is False. Put the other documents in a row, in their order, without the pair's own; there are $n$ of them. Take number $\lfloor b \cdot n \rfloor$, counted from 0. Of its $m$ sentences take number $\lfloor c \cdot m \rfloor$: it may be any of them, also the only one.
#
# > **Small print.**
# >
# > - What counts is where a document or sentence is, not what it says: two documents may be equal, and the same list may even be in `documents` twice.
# > - $b \cdot n$ and $c \cdot m$ are products of Python's floats.
# > - The sentences of the result may be the caller's own lists or copies.
#
# **By hand.** Three documents: `[[1], [2], [3]]`, `[[4, 5]]`, `[[6], [7]]`. They open 2 + 0 + 1 = 3 pairs.
#
# | pair opens with | draw | second | is_next |
# |---|---|---|---|
# | `[1]` | (0.25, 0.9, 0.9) | `[2]`, the successor | True |
# | `[2]` | (0.5, 0.5, 0.5) | others: documents 1 and 2; ⌊0.5 · 2⌋ = 1, so document 2; ⌊0.5 · 2⌋ = 1: `[7]` | False |
# | `[6]` | (0.75, 0.5, 0.9) | others: documents 0 and 1; ⌊0.5 · 2⌋ = 1, so document 1; ⌊0.9 · 1⌋ = 0: `[4, 5]` | False |
#
# <details><summary>Hint</summary>
#
# `enumerate(documents)` gives each document its number, so that you can leave out the pair's own: `documents[:n] + documents[n + 1:]`. `zip(document, document[1:])` pairs each sentence with its successor. `int` drops what follows the decimal point. Let `iter(draws)` and `next` hand out one draw for each pair.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_next_sentence_pairs_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def next_sentence_pairs(documents, draws):
    """Pair each sentence with its successor, or with a sentence of another document."""
    ### BEGIN SOLUTION
    pairs, draws = [], iter(draws)
    for number, document in enumerate(documents):
        others = documents[:number] + documents[number + 1 :]
        for place, first in enumerate(document[:-1]):
            a, b, c = next(draws)
            second = document[place + 1]
            if a >= 0.5:
                other = others[int(b * len(others))]
                second = other[int(c * len(other))]
            pairs.append((first, second, a < 0.5))
    return pairs
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_next_sentence_pairs", "locked": true, "points": 11, "schema_version": 3, "solution": false, "task": false}
documents = [[[1], [2], [3]], [[4, 5]], [[6], [7]]]
draws = [(0.25, 0.9, 0.9), (0.5, 0.5, 0.5), (0.75, 0.5, 0.9)]
pairs = next_sentence_pairs(documents, draws)
assert isinstance(pairs, list), f"return a list, not a {type(pairs).__name__}"
firsts = [pair[0] for pair in pairs]
assert [3] not in firsts, "the last sentence of a document opens no pair"
assert [4, 5] not in firsts, "a document of one sentence opens no pair"
assert firsts == [[1], [2], [6]], f"the pairs open with [1], [2], [6], and not with {firsts}"
assert isinstance(pairs[0], tuple) and len(pairs[0]) == 3, "a pair is (first, second, is_next)"
assert pairs[0] == ([1], [2], True), f"0.25 is below 0.5: the successor; you gave {pairs[0]}"
assert pairs[1] != ([2], [3], True), "0.5 is not below 0.5: take another document"
assert pairs[1] != ([2], [4, 5], False), "leave out the pair's own document before you count the others"
assert pairs[1] == ([2], [7], False), f"see the table; you gave {pairs[1]}"
assert pairs[2] == ([6], [4, 5], False), f"see the table; you gave {pairs[2]}"
assert all(type(pair[2]) is bool for pair in pairs), "is_next is True or False"
assert documents == [[[1], [2], [3]], [[4, 5]], [[6], [7]]], "your function changes the documents"
assert len(draws) == 3, "your function changes the draws"
twins = [[[1], [2]], [[1], [2]], [[3]]]
pairs = next_sentence_pairs(twins, [(0.9, 0.0, 0.9), (0.6, 0.0, 0.0)])
assert pairs == [([1], [2], False), ([1], [1], False)], (
    "documents 0 and 1 are equal, and yet two documents: the first pair's second sentence is from "
    f"document 1, the second pair's from document 0; you gave {pairs}"
)
around = next_sentence_pairs([[[1], [2]], [[3]], [[1], [2]]], [(0.1, 0, 0), (0.9, 0.5, 0)])
assert around[1] == ([1], [3], False), (
    "the others of document 2 are documents 0 and 1, though document 0 says the same as document "
    f"2; you gave {around[1]}"
)
assert next_sentence_pairs([[[1]], [[2]]], []) == [], "no sentence has a successor: no pairs"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Two texts in one row  (10 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** An encoder reads one row of tokens. So a pair is written as `[CLS] first [SEP] second [SEP]`, and a second row of numbers says which side each token is on. What is too long for the model must be cut, and cut fairly: taking it all from one side might leave nothing of it.
#
# **Contract.** `join_pair(first, second, cls_id, sep_id, longest)`
#
# | argument | type | meaning |
# |---|---|---|
# | `first`, `second` | lists or tuples of `int` | two texts; either may be empty |
# | `cls_id`, `sep_id` | `int` | the ids of [CLS] and [SEP] |
# | `longest` | `int`, at least 3 | the most ids that the row may have, special ones included |
# | **returns** | tuple of two lists of `int` | the ids of the row; the segments, as many |
#
# - As long as the row is too long, one token after the other is cut: each time the text that is longer *at that moment* loses its last one. If both are equally long, the second loses one.
# - No more is cut than must be. All three special tokens are always there.
# - Segment 0 is [CLS], the first text and the [SEP] after it; segment 1 is the second text and the [SEP] after that.
#
# > **Small print.**
# >
# > - There is no padding here. A text may hold the ids of [CLS] and [SEP].
#
# **By hand.** [CLS] is 1, [SEP] is 2, `longest` is 8, so there is room for 5 tokens of text.
#
# | first | second | |
# |---|---|---|
# | 10, 11, 12, 13 | 20, 21, 22 | 7 tokens: the first is longer |
# | 10, 11, 12 | 20, 21, 22 | 6 tokens: equally long, so the second loses one |
# | 10, 11, 12 | 20, 21 | 5 tokens |
#
# The ids are `[1, 10, 11, 12, 2, 20, 21, 2]`, the segments `[0, 0, 0, 0, 0, 1, 1, 1]`.
#
# <details><summary>Hint</summary>
#
# Make copies of both lists first. Then a `while` loop and `pop()`. The condition is about both lengths together.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_join_pair_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def join_pair(first, second, cls_id, sep_id, longest):
    """Return the ids of `[CLS] first [SEP] second [SEP]`, cut to fit, and their segments."""
    ### BEGIN SOLUTION
    first, second = list(first), list(second)
    while len(first) + len(second) > longest - 3:
        longer = first if len(first) > len(second) else second
        longer.pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return ids, segments
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_join_pair", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
first, second = [10, 11, 12, 13], [20, 21, 22]
result = join_pair(first, second, 1, 2, 10)
assert isinstance(result, tuple) and len(result) == 2, "return a tuple: the ids, the segments"
ids, segments = result
assert isinstance(ids, list) and isinstance(segments, list), "both results are lists"
assert ids == [1, 10, 11, 12, 13, 2, 20, 21, 22, 2], f"with room for all, nothing is cut: not {ids}"
assert len(segments) == len(ids), f"one segment for each id: 10, and not {len(segments)}"
assert segments[5] == 0, "the [SEP] behind the first text belongs to segment 0"
assert segments == [0] * 6 + [1] * 4, f"six times 0 and four times 1, and not {segments}"
ids, segments = join_pair(first, second, 1, 2, 8)
assert first == [10, 11, 12, 13] and second == [20, 21, 22], "your function changes the texts"
assert len(ids) <= 8, f"`longest` counts special tokens too: 8 in all, and not {len(ids)}"
assert ids.count(2) == 2, "both [SEP] must be there, also if something is cut"
assert len(ids) == 8, "no more is cut than must be"
assert ids != [1, 10, 11, 2, 20, 21, 22, 2], "equally long: the second loses a token, not the first"
assert ids != [1, 11, 12, 13, 2, 21, 22, 2], "a text loses its last tokens, not its first"
assert ids == [1, 10, 11, 12, 2, 20, 21, 2], f"see the table; you gave {ids}"
assert segments == [0] * 5 + [1] * 3, f"the segments fit what is left of the texts: not {segments}"
ids, segments = join_pair((), (20, 21, 22, 23, 24), 1, 2, 6)
assert ids == [1, 2, 20, 21, 22, 2], f"an empty first text, given as a tuple; you gave {ids}"
assert segments == [0, 0, 1, 1, 1, 1], f"an empty first text has [CLS] and [SEP]: not {segments}"
ids, segments = join_pair((10, 11, 12, 13, 14, 15), [], 1, 2, 7)
assert ids == [1, 10, 11, 12, 13, 2, 2], f"an empty second text; you gave {ids}"
ids, segments = join_pair([10, 11, 12, 13, 14, 15], [20, 21], 1, 2, 8)
assert ids == [1, 10, 11, 12, 2, 20, 21, 2], f"only the first is cut, as it is longer: not {ids}"
assert join_pair([5], [6], 0, 7, 3) == ([0, 7, 7], [0, 0, 1]), "room for special tokens alone"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. What enters the first block  (10 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** One vector for each position has to say three things: which token stands there, at which position, and on which side of the pair. BERT learns a table for each, adds the three vectors, and normalises the sum.
#
# **Contract.** `embed(ids, segments, weights)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | `int64`, `(B, T)` | rows of tokens |
# | `segments` | `int64`, `(B, T)`, or `None` | 0 or 1 for each position; `None` if all of them are 0 |
# | `weights` | `dict` | see below; all floats, of one dtype |
# | **returns** | floats, `(B, T, D)` | one vector for each position, of the dtype of the weights |
#
# | weight | shape | |
# |---|---|---|
# | `"token"` | `(V, D)` | a row for each id |
# | `"position"` | `(longest, D)` | a row for each position; `longest` is at least `T` |
# | `"segment"` | `(2, D)` | a row for each side |
# | `"norm_weight"`, `"norm_bias"` | `(D,)` | of the LayerNorm |
#
# - The sum of the three rows goes through LayerNorm, over the axis `D`, with `eps` 1e-12. `F.layer_norm` is allowed.
# - Positions count from 0 in every row of the batch, and go on through both segments: the second text does not start again at 0.
# - Gradients flow to all five weights. An id that occurs several times gets the sum of its gradients; if you index or use `F.embedding`, torch sees to it.
#
# > **Small print.**
# >
# > - The dict may be in any order: ask for its entries by name.
# > - Vectors may be far from 0 and their entries close together, such as 1,003 and 998: if you write the norm out, subtract the mean before you square.
# > - `B` and `T` are at least 1.
#
# **By hand.** `D = 2`, two tokens, ids `[3, 0]`, segments `[0, 1]`. The norm has weight (1, 1) and bias (0, 0).
#
# | position | token | position | segment | sum | normalised |
# |---|---|---|---|---|---|
# | 0 | row 3: (5, 0) | row 0: (1, 0) | row 0: (0, 2) | (6, 2) | (1, -1) |
# | 1 | row 0: (0, 1) | row 1: (0, 3) | row 1: (3, 4) | (3, 8) | (-1, 1) |
#
# <details><summary>Hint</summary>
#
# `weights["token"][ids]` has the shape `(B, T, D)`. The first `T` rows of the table of positions have the shape `(T, D)`; how does broadcasting add them? `F.layer_norm(x, (D,), weight, bias, eps)`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_embed_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def embed(ids, segments, weights):
    """Add the vectors of token, position and segment, and normalise the sum."""
    ### BEGIN SOLUTION
    if segments is None:
        segments = torch.zeros_like(ids)
    x = weights["token"][ids] + weights["segment"][segments]
    x = x + weights["position"][: ids.shape[1]]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_embed", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
weights = {
    "position": torch.tensor([[1.0, 0.0], [0.0, 3.0], [9.0, 9.0]]),
    "segment": torch.tensor([[0.0, 2.0], [3.0, 4.0]]),
    "norm_bias": torch.zeros(2),
    "norm_weight": torch.ones(2),
    "token": torch.tensor([[0.0, 1.0], [7.0, 7.0], [8.0, 7.0], [5.0, 0.0]]),
}
x = embed(torch.tensor([[3, 0]]), torch.tensor([[0, 1]]), weights)
assert isinstance(x, torch.Tensor), f"return a tensor, not a {type(x).__name__}"
assert x.shape == (1, 2, 2), f"a vector for each position: (1, 2, 2), not {tuple(x.shape)}"
assert not close(x, [[[6.0, 2.0], [3.0, 8.0]]]), "the LayerNorm is missing"
assert close(x, [[[1.0, -1.0], [-1.0, 1.0]]]), f"see the table; you gave {x}"
wide = {
    name: random_tensor(*shape, seed=seed)
    for seed, (name, shape) in enumerate(
        {"token": (11, 6), "position": (7, 6), "segment": (2, 6), "norm_bias": (6,)}.items()
    )
}
wide["norm_weight"] = random_tensor(6, seed=9)
ids, segments = torch.tensor([[4, 10, 4], [0, 3, 9]]), torch.tensor([[0, 1, 1], [0, 0, 1]])
x = embed(ids, segments, wide)
assert x.shape == (2, 3, 6), f"two rows of three tokens: (2, 3, 6), not {tuple(x.shape)}"
assert x.dtype == torch.float64, "float64 in, float64 out"
summed = wide["token"][4] + wide["position"][2] + wide["segment"][1]
right = (summed - summed.mean()) / summed.std(correction=0)
assert close((x[0, 2] - wide["norm_bias"]) / wide["norm_weight"], right), (
    "the last position of row 0 is token 4, position 2, segment 1, normalised over its own 6 "
    "entries; then times norm_weight, plus norm_bias"
)
assert not close(x[0, 0], x[0, 2]), "the same token at another position has another vector"
assert close(embed(ids[1:], segments[1:], wide), x[1:]), "each row counts positions from 0"
assert close(embed(ids, None, wide), embed(ids, torch.zeros_like(ids), wide)), (
    "None means that all segments are 0"
)
tiny = {name: weight * 1e-3 for name, weight in wide.items() if name[:4] != "norm"}
tiny |= {"norm_weight": wide["norm_weight"], "norm_bias": wide["norm_bias"]}
assert close(embed(ids, segments, tiny), x), "small vectors look different: eps is 1e-12 here"
leaves = {name: weight.clone().requires_grad_() for name, weight in wide.items()}
embed(ids, segments, leaves).square().sum().backward()
assert all(leaf.grad is not None for leaf in leaves.values()), "no gradient reaches some weight"
slow = {name: weight.clone().requires_grad_() for name, weight in wide.items()}
summed = torch.stack([slow["token"][i] for i in ids.flatten().tolist()]).view(2, 3, 6)
summed = summed + slow["position"][:3] + slow["segment"][segments]
F.layer_norm(summed, (6,), slow["norm_weight"], slow["norm_bias"], 1e-12).square().sum().backward()
for name in wide:
    assert close(leaves[name].grad, slow[name].grad), f"the gradient of {name!r} is wrong"
assert wide.keys() == leaves.keys() and len(wide) == 5, "your function changes the dict"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. The loss, where something was hidden  (11 points, 30 minutes, difficulty 3 of 5)
#
# **Why.** The model is judged at the chosen positions only: at all others the answer is in plain sight. That also saves work. The last layer is the widest of all, one score for each id of the vocabulary, and six of seven positions do not need it. (BERT scores a vector by its dot products with the very table that ids are embedded by, plus a bias.)
#
# **Contract.** `masked_lm_loss(vectors, targets, table, bias)`
#
# | argument | type | meaning |
# |---|---|---|
# | `vectors` | floats, `(B, T, D)` | what the model makes of each position |
# | `targets` | `int64`, `(B, T)` | the true id at chosen positions, `IGNORE` (-100) at all others |
# | `table` | floats, `(V, D)` | one row for each id |
# | `bias` | floats, `(V,)` | one number for each id; all floats are of one dtype |
# | **returns** | floats, no axis | the mean loss in nats per chosen position, a tensor of the dtype of `vectors` |
#
# - The score of id $v$ at a position is the dot product of the position's vector and row $v$ of the table, plus $b_v$. The loss at a position is $-\ln p$(target), with $p$ the softmax of its scores.
# - The mean is over *all chosen positions of the batch together*: each counts the same, in whichever row it is.
# - Vector and target of one position belong together. Nothing is shifted.
# - Compute scores at the chosen positions *only*. For all positions together, `B · T · V` numbers would not fit into memory: where few positions are chosen, no tensor that you make may be so large. (In the tests of this, `B · T` is larger than `D`.)
# - `F.cross_entropy` and `torch.log_softmax` are allowed.
#
# > **Small print.**
# >
# > - What stands in the vectors of other positions plays no part in loss or gradient, also if it is `inf` or `nan`; the gradient there is 0.
# > - If no position is chosen, the loss is 0, and it still carries a graph: `backward` works, and each of the three gets a gradient of 0.
# > - Scores may be thousands, and far apart. Gradients flow to `vectors`, `table` and `bias`.
#
# **By hand.** `D = 1`, two ids, `B = 2`, `T = 3`. The table is (1), (0), the bias (0, ln 2). Three positions are chosen:
#
# | row | position | vector | scores | p | target | loss |
# |---|---|---|---|---|---|---|
# | 0 | 0 | ln 6 | ln 6, ln 2 | 3/4, 1/4 | 0 | ln 4/3 |
# | 0 | 2 | 0 | 0, ln 2 | 1/3, 2/3 | 0 | ln 3 |
# | 1 | 1 | 0 | 0, ln 2 | 1/3, 2/3 | 1 | ln 3/2 |
#
# The loss is (ln 4/3 + ln 3 + ln 3/2) / 3 = ln 6 / 3 = 0.5973.
#
# <details><summary>Hint</summary>
#
# `chosen = targets != IGNORE` is a mask of shape `(B, T)`. As an index, `vectors[chosen]` gives the chosen vectors one below the other, `(N, D)`, and `targets[chosen]` their targets in the same order. `F.cross_entropy(..., reduction="sum")` of nothing is 0; its mean would be 0/0.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_masked_lm_loss_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masked_lm_loss(vectors, targets, table, bias):
    """Return the mean loss in nats over the chosen positions."""
    ### BEGIN SOLUTION
    chosen = targets != IGNORE
    scores = vectors[chosen] @ table.T + bias
    total = F.cross_entropy(scores, targets[chosen], reduction="sum")
    return total / chosen.sum().clamp(min=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_masked_lm_loss", "locked": true, "points": 11, "schema_version": 3, "solution": false, "task": false}
ln2, ln6 = math.log(2), math.log(6)
vectors = torch.tensor([[[ln6], [5.0], [0.0]], [[-3.0], [0.0], [4.0]]])
targets = torch.tensor([[0, IGNORE, 0], [IGNORE, 1, IGNORE]])
table, bias = torch.tensor([[1.0], [0.0]]), torch.tensor([0.0, ln2])
loss = masked_lm_loss(vectors, targets, table, bias)
assert isinstance(loss, torch.Tensor), f"return a tensor, not a {type(loss).__name__}"
assert loss.shape == (), f"the loss is one number, without an axis; you gave {tuple(loss.shape)}"
assert not close(loss, ln6), "that is the sum: divide by the number of chosen positions"
assert not close(loss, ln6 / 6), "divide by the 3 chosen positions, and not by all 6"
assert not close(loss, 0.5493), "each position counts the same: no mean of the rows' means"
assert close(loss, ln6 / 3), f"see the table: 0.5973, and not {loss.item():.4f}"
vectors, table, bias = random_tensor(3, 5, 4), random_tensor(7, 4, seed=1), random_tensor(7, seed=2)
targets = torch.full((3, 5), IGNORE)
targets[0, 1], targets[0, 4], targets[2, 0], targets[2, 2] = 3, 0, 6, 3
kept = [part.clone() for part in (vectors, targets, table, bias)]
loss = masked_lm_loss(vectors, targets, table, bias)
assert loss.dtype == torch.float64, "float64 in, float64 out"
scores = torch.einsum("btd,vd->btv", vectors, table) + bias
right = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=IGNORE)
assert close(loss, right), f"on random vectors: {right:.4f}, and not {loss:.4f}"
hostile = vectors.clone()
hostile[targets == IGNORE] = torch.tensor([math.nan, math.inf, -math.inf, 1e300]).double()
leaf = hostile.clone().requires_grad_()
loss = masked_lm_loss(leaf, targets, table, bias)
assert close(loss, right), "what stands at other positions plays no part, also if it is nan"
loss.backward()
assert (leaf.grad[targets == IGNORE] == 0).all(), "the gradient at other positions is 0, not nan"
assert (leaf.grad[targets != IGNORE] != 0).all(), "gradients flow to the chosen vectors"
far = masked_lm_loss(vectors * 1000, targets, table, bias)
assert far.isfinite(), "scores of thousands: leave the softmax to torch, or subtract the largest"
for number in range(3):
    leaves = [part.clone() for part in (vectors, table, bias)]
    leaf = leaves[number].requires_grad_()
    masked_lm_loss(leaves[0], targets, *leaves[1:]).backward()
    exact = leaf.grad
    leaves = [part.clone() for part in (vectors, table, bias)]
    leaf = leaves[number].requires_grad_()
    scores = torch.einsum("btd,vd->btv", leaves[0], leaves[1]) + leaves[2]
    F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=IGNORE).backward()
    name = ("vectors", "table", "bias")[number]
    assert close(exact, leaf.grad), f"the gradient of {name} is wrong"
leaf = hostile.clone().requires_grad_()
nothing = masked_lm_loss(leaf, torch.full_like(targets, IGNORE), table, bias)
assert close(nothing, torch.tensor(0.0, dtype=torch.float64)), (
    f"nothing is chosen: the loss is 0, and not {nothing.item()}"
)
nothing.backward()
assert leaf.grad is not None and (leaf.grad == 0).all(), "nothing is chosen: the gradients are 0"
assert all(map(torch.equal, (vectors, targets, table, bias), kept)), "an argument has changed"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Hide spans behind sentinels  (9 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** BERT fills a gap with exactly one token. An encoder–decoder can *write* what is missing, and how much that is. In T5 (Raffel and others, 2020) every hidden span shrinks to one special token, a *sentinel*, and the decoder writes: sentinel, what it stood for, next sentinel, and so on. Both texts become short, and that makes the exercise cheap.
#
# **Contract.** `hide_spans(ids, hidden, sentinel_ids)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | list of `int` | a text without sentinels; may be empty |
# | `hidden` | list of `bool`, as long as `ids` | True where a token is to be hidden |
# | `sentinel_ids` | list of different `int` | the sentinels in the order in which they are used; they need not be sorted |
# | **returns** | tuple of two lists of `int` | what the encoder reads; what the decoder is to write |
#
# - A span is a run of hidden tokens without a gap, as long as possible. Span number $k$ of the text, counted from 0, is replaced by `sentinel_ids[k]`, once, however long it is.
# - The targets are, for each span in turn, its sentinel and then its ids. They end with one more sentinel, the next in order: it says that no span follows.
# - So if nothing is hidden, the targets are `[sentinel_ids[0]]`.
#
# > **Small print.**
# >
# > - If there are fewer sentinels than spans plus one, raise a `ValueError`, with whatever message, also if there are none at all. More are fine.
# > - Both lists are new, also if nothing is hidden.
#
# **By hand.** The sentinels are 99, 98, 97.
#
# | | | | | | | | |
# |---|---|---|---|---|---|---|---|
# | id | 5 | 6 | 7 | 8 | 5 | 9 | 4 |
# | hidden | no | yes | yes | no | no | no | yes |
# | **encoder** | 5 | 99 | | 8 | 5 | 9 | 98 |
#
# The decoder writes 99 6 7, then 98 4, then 97.
#
# <details><summary>Hint</summary>
#
# Walk through `zip(ids, hidden)` and remember whether the token before was hidden: a span begins where this one is and that one was not. What both lists need then is the next sentinel.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_hide_spans_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def hide_spans(ids, hidden, sentinel_ids):
    """Replace each hidden span by a sentinel; return the text with gaps, and what fills them."""
    ### BEGIN SOLUTION
    starts = [now and not (at and hidden[at - 1]) for at, now in enumerate(hidden)]
    if sum(starts) >= len(sentinel_ids):
        raise ValueError(f"{sum(starts)} spans and the end; only {len(sentinel_ids)} sentinels")
    inputs, targets, sentinels = [], [], iter(sentinel_ids)
    for token, is_hidden, is_start in zip(ids, hidden, starts, strict=True):
        if is_start:
            inputs.append(next(sentinels))
            targets.append(inputs[-1])
        (targets if is_hidden else inputs).append(token)
    return inputs, [*targets, next(sentinels)]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_hide_spans", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
ids, hidden = [5, 6, 7, 8, 5, 9, 4], [False, True, True, False, False, False, True]
result = hide_spans(ids, hidden, [99, 98, 97])
assert isinstance(result, tuple) and len(result) == 2, "return a tuple: inputs and targets"
inputs, targets = result
assert isinstance(inputs, list) and isinstance(targets, list), "both results are lists"
assert inputs != [5, 99, 98, 8, 5, 9, 97], "a span of two tokens has one sentinel, not two"
assert inputs == [5, 99, 8, 5, 9, 98], f"the encoder reads 5 99 8 5 9 98, and not {inputs}"
assert targets != [99, 6, 7, 98, 4], "one more sentinel ends the targets"
assert targets == [99, 6, 7, 98, 4, 97], f"the decoder writes 99 6 7 98 4 97, and not {targets}"
assert ids == [5, 6, 7, 8, 5, 9, 4] and len(hidden) == 7, "your function changes its arguments"
result = hide_spans([5, 6], [False, False], [31, 40])
assert result == ([5, 6], [31]), f"nothing is hidden: the end alone; you gave {result}"
result = hide_spans([5, 6], [True, True], [31, 40])
assert result == ([31], [31, 5, 6, 40]), f"everything is hidden: one span; you gave {result}"
result = hide_spans([5, 5, 5], [True, False, True], [0, 60, 50, 70])
assert result == ([0, 5, 60], [0, 5, 60, 5, 50]), f"two spans of equal ids; you gave {result}"
assert hide_spans([], [], [31]) == ([], [31]), "an empty text has no span"
result = hide_spans([0, 0, 0], [False, True, False], [31, 40])
assert result == ([0, 31, 0], [31, 0, 40]), f"0 is an id like any other; you gave {result}"
try:
    hide_spans([5, 6, 7], [True, False, True], [31, 40])
    error = None
except ValueError as caught:
    error = caught
assert error is not None, "two spans and the end need three sentinels: raise a ValueError"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Fill the gaps again  (9 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** The decoder has written its sentinels and spans. To read the result as a text, each span goes back to where its sentinel is. For the targets of task {task:hide_spans} this undoes what `hide_spans` did. But a *model* wrote these targets, and a young model writes all sorts of things.
#
# **Contract.** `fill_spans(inputs, targets, sentinel_ids)`
#
# | argument | type | meaning |
# |---|---|---|
# | `inputs` | list of `int` | a text with sentinels in it, each at most once |
# | `targets` | list of `int` | what was written; any ids in any order |
# | `sentinel_ids` | list of different `int`, at least one | all sentinels; they need not be sorted, and other ids may be larger |
# | **returns** | list of `int` | the text, with the spans in place of the sentinels |
#
# - The span of a sentinel is what follows it in the targets, up to the next sentinel, whichever that is, or to the end.
# - A sentinel that the targets lack, or that nothing follows there, is filled with nothing: it disappears. So no sentinel is left in the result.
# - The order of the sentinels in the targets plays no part.
#
# > **Small print.**
# >
# > - If a sentinel occurs in the targets several times, its spans are joined, in their order.
# > - What stands before the first sentinel of the targets is dropped; so is the span of a sentinel that `inputs` does not have.
# > - Either list may be empty.
#
# **By hand.** The sentinels are 99, 98, 97. The text is `[5, 99, 8, 98]`.
#
# | targets | filled | why |
# |---|---|---|
# | `[99, 6, 7, 98, 4, 97]` | `[5, 6, 7, 8, 4]` | as it should be |
# | `[98, 4, 99, 6]` | `[5, 6, 8, 4]` | another order, no end |
# | `[3, 99, 6, 97, 2, 99, 7]` | `[5, 6, 7, 8]` | 3 has no sentinel, 97 is not in the text, 98 is missing, 99 comes twice |
#
# <details><summary>Hint</summary>
#
# Two walks. The first goes through the targets and collects a dict: sentinel to list of ids. Keep in a variable to which list the next id belongs. The second goes through `inputs`, and `spans.get(token, [])` finds what is to be put in.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_fill_spans_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fill_spans(inputs, targets, sentinel_ids):
    """Put the spans of the targets back in place of the sentinels."""
    ### BEGIN SOLUTION
    spans, span = {}, []
    for token in targets:
        if token in sentinel_ids:
            span = spans.setdefault(token, [])
        else:
            span.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_fill_spans", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
inputs, targets, sentinels = [5, 99, 8, 98], [99, 6, 7, 98, 4, 97], [99, 98, 97]
filled = fill_spans(inputs, targets, sentinels)
assert isinstance(filled, list), f"return a list, not a {type(filled).__name__}"
assert not set(filled) & set(sentinels), f"no sentinel is left in the result; you gave {filled}"
assert filled == [5, 6, 7, 8, 4], f"see the table; you gave {filled}"
assert inputs == [5, 99, 8, 98] and len(targets) == 6, "your function changes its arguments"
filled = fill_spans(inputs, [98, 4, 99, 6], sentinels)
assert filled != [5, 4, 8, 6], "a span belongs to its sentinel, in whatever order they come"
assert filled == [5, 6, 8, 4], f"another order, and no end; you gave {filled}"
filled = fill_spans(inputs, [3, 99, 6, 97, 2, 99, 7], sentinels)
assert 3 not in filled, "what stands before the first sentinel is dropped"
assert 2 not in filled, "97 ends the span of 99, also if the text has no 97"
assert filled == [5, 6, 7, 8], f"99 comes twice, and 98 not at all; you gave {filled}"
assert fill_spans(inputs, [], sentinels) == [5, 8], "nothing was written: both sentinels disappear"
assert fill_spans([40, 0], [0, 1, 40, 2], [0, 40]) == [2, 1], "0 may be a sentinel, too"
filled = fill_spans([50, 3], [3, 60, 60, 2], [3, 2])
assert filled == [50, 60, 60], f"other ids may be larger, and stand twice; you gave {filled}"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Judge the assistant  (6 points, 20 minutes, difficulty 3 of 5)
#
# **Why.** An assistant writes `join_pair` in ten seconds, and it looks right. Is it? Finding out is left to you. This time you write the *test*.
#
# **Contract.** `judge_join_pair(implementation)`
#
# | argument | type | meaning |
# |---|---|---|
# | `implementation` | function | somebody's `join_pair`, to be called as in task {task:join_pair} |
# | **returns** | `bool` | True if it does what task {task:join_pair} asks for, False if it does not |
#
# - The grader runs your test on eighteen implementations that you do not see: five right ones, in styles of their own, and thirteen that each make one mistake. Your points are the share of the wrong ones that your test refuses, less the share of the right ones that it refuses: saying the same every time earns nothing.
# - Each run may call the implementation 200 times. Arguments and results travel as copies (numbers, texts, lists, tuples, dicts, tensors; no functions): neither side sees what the other writes into them. If the implementation raises an exception, so does your call, with the same type and no message. An implementation that raises where the contract names no error is wrong: say False, or let the exception through, which counts as False. A test that raises an exception of its own has not judged.
# - Judge what is returned; what becomes of the caller's lists is not judged here. You may compare the results with those of your own `join_pair`; then a mistake in it costs points here too.
#
# **By hand.** Which call tells what? Say what each would return before you look at code. [CLS] is 1, [SEP] is 2.
#
# | an implementation that … | texts `[10]`, `[20]`, `longest` 5 | texts `[10, 11]`, `[20, 21]`, `longest` 6 |
# |---|---|---|
# | is right | `[1, 10, 2, 20, 2]` | `[1, 10, 11, 2, 20, 2]` |
# | cuts the first of two equals | `[1, 10, 2, 20, 2]` | `[1, 10, 2, 20, 21, 2]` |
# | counts no special tokens | `[1, 10, 2, 20, 2]` | `[1, 10, 11, 2, 20, 21, 2]` |
#
# The first call is a warning: nothing is cut, so it tells nothing.
#
# <details><summary>Hint</summary>
#
# There are few pairs of short texts: you can try all lengths from 0 to 3 on both sides, with a few values of `longest`. Let every token differ, so that each place can be told from each other.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps7_judge_join_pair_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def judge_join_pair(implementation):
    """Say whether an implementation of join_pair is right."""
    ### BEGIN SOLUTION
    texts = [[], [7], [2, 8], [7, 8, 9]]
    calls = [(one, two, 1, 2, n) for one in texts for two in texts for n in (3, 5, 6)]
    try:
        return all(implementation(*call) == join_pair(*call) for call in calls)
    except Exception:
        return False
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps7_judge_join_pair", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
from copy import deepcopy


def without_texts(first, second, cls_id, sep_id, longest):
    """Wrong: it leaves both texts out."""
    return [cls_id, sep_id, sep_id], [0, 0, 1]


def without_cutting(first, second, cls_id, sep_id, longest):
    """Your own, made wrong: it cuts nothing."""
    return join_pair(first, second, cls_id, sep_id, len(first) + len(second) + 3)


def turned_round(first, second, cls_id, sep_id, longest):
    """Your own, made wrong: the second text comes first."""
    return join_pair(second, first, cls_id, sep_id, longest)


def says(implementation):
    """What your test says: the implementation gets copies, and an exception is a refusal."""
    try:
        return judge_join_pair(
            lambda *call, **more: implementation(*deepcopy(call), **deepcopy(more))
        )
    except Exception:
        return False


verdict = judge_join_pair(without_texts)
assert type(verdict) is bool, f"return True or False, not {type(verdict).__name__}"
assert not verdict, "an implementation that leaves both texts out is wrong; your test accepts it"
try:
    right = [1, 10, 11, 2, 20, 2], [0, 0, 0, 0, 1, 1]
    is_right = bool(join_pair([10, 11], [20, 21], 1, 2, 6) == right)
except Exception:
    is_right = False
if not is_right:
    print("Your join_pair does not do yet what its task asks for, so your test has met only one")
    print("implementation, a wrong one. The grader has right and wrong ones of its own.")
else:
    assert not says(without_cutting), (
        "without_cutting makes rows that are too long; your test accepts it"
    )
    assert not says(turned_round), "turned_round begins with the second text; your test accepts it"
    if says(join_pair):
        print("All visible tests passed.")
    else:
        print("Your test refuses your own join_pair: one of the two is wrong. For which call?")

# %% [markdown]
# ## {task}. In your own words  (8 points, 20 minutes, difficulty 3 of 5)
#
# 1. A friend replaces *all* chosen positions by [MASK]: 100/0/0 instead of 80/10/10. What has the model then never been asked about, and why does that hurt when it is fine-tuned? Say what the 10 % random ids add, and what the 10 % unchanged ones add. What would a model learn with 0/0/100?
# 2. Next-sentence prediction takes its negatives from *other documents*. A model is right in 97 of 100 pairs. Name a cue that is easier than "follows from" and explains this. How would you choose the negatives so that the cue no longer helps?
# 3. A row of 512 tokens holds [CLS], two [SEP] and no padding. About how many predictions does it teach BERT, and how many a GPT? Give one reason for not simply choosing 60 % instead of 15 %.
#
# Write at most 300 words.
#
# *How it is graded: 4 points for question 1: one for what is never asked and why it hurts, one each for random, unchanged, and 0/0/100; 2 for question 2; 2 for question 3.*

# %% [markdown] nbgrader={"grade": true, "grade_id": "ps7_explain_masking", "locked": false, "points": 8, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. It has never been asked about a position where a word stands, so nothing makes the vectors there say more than "look it up"; and in fine-tuning there are only such positions, and no [MASK]. Random ids: a word that is there may be wrong, so every vector has to be checked against its context, and the context has to be carried by every vector. Unchanged ones: the word that is there is usually right, so its identity must stay in its vector; with random ids alone the model would learn to distrust what it sees. With 0/0/100 it learns to copy: the loss goes to 0 without any look at the context.
# 2. The topic: two documents speak of different things and people, so shared words or names tell the pairs apart without any reading of order or logic. Take negatives from the same document, such as the same two sentences in exchanged order (ALBERT's sentence-order prediction) or a later sentence; the topic is then the same in both classes.
# 3. 15 % of 509 is about 76; a GPT has 511 (or 512 with a beginning or end token). With 60 % hidden too little context is left: most gaps could only be guessed from frequencies, and texts would look less and less like those in use.
#
# *Rubric.* 1: words that are there are never asked, and use has only those (1); random: any word may be wrong (1); unchanged: keep what is seen, it is mostly right (1); copying (1). 2: topic, names or vocabulary (1); negatives from the same document, or swapped (1). 3: about 76 and 511 or 512 (1); too little context, or unlike use (1).
# ### END SOLUTION

# %% [markdown]
# ## Workshop: your BERT fills gaps (not graded)
#
# Now your functions go to work. The next cells need `course_pkg` and about half a minute.
#
# The course's stories are cut into sentences. Your `next_sentence_pairs` and `join_pair` make rows of them. Then two small BERTs, with the same weights at first, learn from these rows. One masks with your `mask_batch`, embeds with your `embed`, and learns from your `masked_lm_loss`. The other does everything with the package, and draws its own gaps. Both also learn to tell whether the second sentence comes next.

# %% tags=["workshop"]
import copy
import random
import re

from course_pkg.models.bert import BERT
from course_pkg.models.transformer_config import classic
from course_pkg.text.batches.masking import choose_tokens, mask_tokens, may_mask
from course_pkg.text.corpora import load_corpus
from course_pkg.text.tokenizers import WordTokenizer

N_STORIES, LONGEST, BATCH_SIZE, N_STEPS, BEST_RATE = 3000, 28, 32, 800, 0.003

corpus = load_corpus("stories")
special_tokens = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
tokenizer = WordTokenizer.train(corpus.train, special_tokens=special_tokens)
vocab_size = tokenizer.vocab_size
pad_id, cls_id, sep_id, mask_id = (tokenizer.special_ids[token] for token in special_tokens)
specials = sorted({*tokenizer.special_ids.values(), tokenizer.unk_id})


def make_rows(stories, seed):
    # Make pairs of the sentences of some stories, join them, shuffle them and fill them up.
    documents = [
        [tokenizer.encode(sentence) for sentence in re.findall(r"[^.?!]+[.?!]", story)]
        for story in stories
    ]
    chance = random.Random(seed)
    n_pairs = sum(len(document) - 1 for document in documents)
    draws = [(chance.random(), chance.random(), chance.random()) for _ in range(n_pairs)]
    pairs = next_sentence_pairs(documents, draws)
    if len(pairs) != n_pairs:
        raise ValueError(f"your next_sentence_pairs made {len(pairs)} pairs of {n_pairs}")
    chance.shuffle(pairs)
    joined = [join_pair(first, second, cls_id, sep_id, LONGEST) for first, second, _ in pairs]
    ids = [row + [pad_id] * (LONGEST - len(row)) for row, _ in joined]
    segments = [row + [0] * (LONGEST - len(row)) for _, row in joined]
    is_other = [int(not is_next) for _, _, is_next in pairs]  # BERT's class 0 is "next"
    return torch.tensor(ids), torch.tensor(segments), torch.tensor(is_other)


ids, segments, is_other = make_rows(corpus.train[:N_STORIES], seed=1)
unseen_ids, unseen_segments, unseen_is_other = make_rows(corpus.valid[:300], seed=2)
print(f"{len(ids):,} pairs, of which {1 - is_other.double().mean():.1%} are neighbours; the first:")
is_text = ids[0] != pad_id
print("segments", *segments[0][is_text].tolist())
names = {cls_id: "[CLS]", sep_id: "[SEP]"}
words = [names.get(i) or tokenizer.decode([i]) for i in ids[0][is_text].tolist()]
print("tokens  ", " ".join(words))

# %% [markdown]
# **The gaps of one batch.** Each row of the picture is a row of the batch, each column a position. Run the cell again with another seed: other gaps.

# %% tags=["workshop"]
from course_pkg.plots import heatmap, loss_curves, show

seen, targets = mask_batch(
    ids[:12], specials, vocab_size, mask_id, torch.Generator().manual_seed(3)
)
chosen = targets != IGNORE
n_words = torch.isin(ids[:12], torch.tensor(specials), invert=True).sum()
n_masked, n_changed = (chosen & (seen == mask_id)).sum(), (chosen & (seen != ids[:12])).sum()
print(f"{n_words} words, {chosen.sum()} chosen: {n_masked} [MASK], {n_changed - n_masked} others")
show(
    heatmap(
        0.25 * (ids[:12] != pad_id) + 0.75 * chosen,
        rows=[str(row) for row in range(1, 13)],
        columns=[str(position) for position in range(LONGEST)],
        row_label="row of the batch",
        column_label="position",
        numbers=False,
    ),
    alt="Twelve rows of positions: light where a token stands, dark where one was chosen, which is "
    "about every seventh word, without a pattern.",
)

# %% tags=["workshop"]


def like(name, result, shape, dtype):
    # Let pass what has the right shape and dtype; else say in one line what came instead.
    if not isinstance(result, torch.Tensor):
        raise TypeError(f"your {name} returned {type(result).__name__}; it must return a tensor")
    if (result.shape, result.dtype) != (torch.Size(shape), dtype):
        raise ValueError(
            f"your {name} returned {tuple(result.shape)}, {result.dtype}; "
            f"it must return {tuple(shape)}, {dtype}"
        )
    return result


def my_vectors(model, seen, segments):
    # What the model makes of each position, beginning with your embeddings.
    weights = {
        "token": model.embedding.weight,
        "position": model.positions.table.weight,
        "segment": model.segment_embedding.weight,
        "norm_weight": model.embedding_norm.weight,
        "norm_bias": model.embedding_norm.bias,
    }
    x = embed(seen, segments, weights)
    x = like("embed", x, (*seen.shape, model.config.d_model), torch.float32)
    return model.stack(x, mask=(seen != pad_id).unsqueeze(1))


def my_loss(model, seen, segments, targets):
    # Your loss at the gaps, and how the model judges the pairs.
    x = my_vectors(model, seen, segments)
    head = model.token_head
    scored = head.norm(head.activate(head.transform(x)))
    loss = masked_lm_loss(scored, targets, model.output_table, head.bias)
    return like("masked_lm_loss", loss, (), torch.float32), model.pair_head(model.pool(x))


def their_loss(model, seen, segments, targets):
    is_text = seen != pad_id
    said = model(seen, segments=segments, mask=is_text, targets=targets)
    return said.loss, said.pair_logits


def my_gaps(ids, generator):
    seen, targets = mask_batch(ids, specials, vocab_size, mask_id, generator)
    like("mask_batch", targets, ids.shape, torch.int64)
    return like("mask_batch", seen, ids.shape, torch.int64), targets


def their_gaps(ids, generator):
    chosen = choose_tokens(may_mask(ids, specials), 0.15, generator)
    return mask_tokens(
        ids,
        chosen,
        vocab_size=vocab_size,
        mask_id=mask_id,
        special_ids=specials,
        generator=generator,
    )


def train(model, gaps, loss_of, seed):
    # Both tasks at once; the rate rises for 30 steps and then falls to 0.
    optimizer = torch.optim.Adam(model.parameters())
    dice, losses = torch.Generator().manual_seed(seed), []
    for step in range(N_STEPS):
        for group in optimizer.param_groups:
            group["lr"] = BEST_RATE * min(1, (step + 1) / 30) * (1 - step / N_STEPS)
        start = step * BATCH_SIZE % (len(ids) - BATCH_SIZE)
        rows = slice(start, start + BATCH_SIZE)
        seen, targets = gaps(ids[rows], dice)
        loss, pair_scores = loss_of(model, seen, segments[rows], targets)
        pair_loss = F.cross_entropy(pair_scores, is_other[rows])
        optimizer.zero_grad()
        (loss + pair_loss).backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


config = classic(vocab_size, LONGEST, 64, 4, 2, block="post_norm", activation="gelu")
theirs = BERT(config, generator=torch.Generator().manual_seed(4))
mine = copy.deepcopy(theirs)

batch = (*their_gaps(ids[:64], torch.Generator().manual_seed(5)), segments[:64])
with torch.no_grad():
    (my_first, _), (their_first, _) = (
        loss_of(theirs, batch[0], batch[2], batch[1]) for loss_of in (my_loss, their_loss)
    )
print(f"one batch before training: your loss {my_first:.5f}, the package's {their_first:.5f}")

# %% tags=["workshop"]
my_losses = train(mine, my_gaps, my_loss, seed=6)
their_losses = train(theirs, their_gaps, their_loss, seed=7)
steps = range(1, N_STEPS + 1)
show(
    loss_curves({"yours": (steps, my_losses), "the package's": (steps, their_losses)}, window=40),
    alt="Training loss against the number of steps, for your BERT and the package's: two curves "
    "that fall together, close to each other, first steeply and then slowly.",
)

# %% [markdown]
# **The same exam for both.** The pairs are from stories that neither has seen, with the same gaps.

# %% tags=["workshop"]
exam = their_gaps(unseen_ids, torch.Generator().manual_seed(8))
with torch.no_grad():
    for name, model in {"yours": mine, "the package's": theirs}.items():
        loss, pair_scores = their_loss(model, exam[0], unseen_segments, exam[1])
        right = (pair_scores.argmax(dim=-1) == unseen_is_other).double().mean()
        print(f"{name:13} {loss:.2f} nats per gap; {right:.0%} of the pairs judged correctly")

# %% [markdown]
# **What stood there?** Each text has one gap, and some gaps come *before* the word that gives them away: a model that reads from left to right has nothing to go by there. After so few steps yours does not use all that stands around a gap. Write texts of your own, and train longer: what does it learn next?

# %% tags=["workshop"]
texts_with_a_gap = [
    ("Then Tom took the red [MASK] home from the park.", "At home, he was happy."),
    ("Then Tom [MASK] the red ball home from the park.", "At home, he was happy."),
    ("In her [MASK] was a red ball.", "Then Zoe took the red ball home from the park."),
    ("At noon Tom left the [MASK] with the red ball.", "At home, he was happy."),
]


def encode_with_gaps(text):
    first, *rest = [tokenizer.encode(part) for part in text.split("[MASK]")]
    return first + [i for part in rest for i in (mask_id, *part)]


guesses = []
with torch.no_grad():
    for texts in texts_with_a_gap:
        row, sides = join_pair(*map(encode_with_gaps, texts), cls_id, sep_id, LONGEST)
        x = my_vectors(mine, torch.tensor([row]), torch.tensor([sides]))
        scores = mine.token_logits(x[0, row.index(mask_id)])
        best = torch.softmax(scores, dim=-1).topk(4)
        words = [tokenizer.decode([i]) for i in best.indices.tolist()]
        guesses.append((texts[0], words, best.values.tolist()))
for text, words, shares in guesses:
    print(text)
    print("   ", ", ".join(f"{w} {share:.0%}" for w, share in zip(words, shares, strict=True)))

# %% [markdown]
# **Spans.** At last your `hide_spans`, on a story. The sentinels get ids behind those of all words; `fill_spans` undoes it.

# %% tags=["workshop"]
story = tokenizer.encode(corpus.valid[0])
sentinels = [vocab_size + number for number in range(20)]
dice = torch.Generator().manual_seed(11)
starts = torch.rand(len(story), generator=dice) < 0.08  # where a span of three tokens begins
hidden = (starts | starts.roll(1) | starts.roll(2)).tolist()
with_gaps, spans = hide_spans(story, hidden, sentinels)


def words_of(ids):
    parts = []
    for token in ids:
        name = f"<{token - vocab_size}>" if token >= vocab_size else tokenizer.decode([token])
        parts.append(name)
    return " ".join(parts)


print("the encoder reads ", words_of(with_gaps))
print("the decoder writes", words_of(spans))
print("filled again, it is the story:", fill_spans(with_gaps, spans, sentinels) == story)

# %% [markdown]
# What you should see: before training both losses agree to all digits that are printed; the two curves fall side by side, though each model met other gaps; and in the exam they are as good as each other. The pairs are judged rightly far more often than by guessing. But what has the model learned there? Look at the negatives: a sentence of another story may come from its beginning ("One day, ...") and stand where no story begins. That is easier than to understand what follows from what, and question 2 of task {task:explain_masking} asks about it.
#
# Now break something on purpose. Return `seen` for the targets in your `corrupt`; replace 0.15 by 0.6 in your `mask_batch`; leave the segments out of your `embed`; divide by all positions in your `masked_lm_loss`. Run the cell of the function and the workshop again. Which of these does the training loss notice, which the exam, and which neither? Why is a *lower* training loss no good sign in two of these cases?
#
# ## Challenge: fill the most gaps (not graded)
#
# **Half a minute of CPU time, two thousand stories: how many gaps do you fill?** Your `fill_gaps` is given 2,000 stories to learn from, and 2,000 *other* stories in which about every seventh word is `mask_id`. For each of these it returns the ids that it puts into the gaps, from left to right; the share that is right counts.
#
# The model to beat is made of your functions and of PyTorch's blocks; it fills about six of ten gaps. Everything is allowed: more gaps in training, other shares than 80/10/10, spans, other sizes and rates, a mean of several models, the words around the gaps as further text to learn from, no network at all.
#
# Your course may have a leaderboard. Everyone who changes the first cell takes part: the grader calls your `fill_gaps` on stories that nobody has seen and whose words are numbered anew, and only afterwards looks up what stood in the gaps, in a place that your code does not reach. It must return in 30 seconds of CPU time, learning included, and more than one process or thread wins nothing. So put into that cell, or into a cell of your own, all that the function needs, and nothing that takes long; `course_pkg` is not there. `PSEUDONYM` is your name on the page: Latin letters, at most 24 of them. Without one, you are given a name.

# %% tags=["workshop"]
PSEUDONYM = ""
WIDTH, N_HEADS, N_BLOCKS = 32, 2, 2
ROWS, N_UPDATES, RATE = 16, 1000, 0.006


def in_rows(stories, mask_id):
    """Return a row for each story, filled up with `mask_id`; and where the stories stand."""
    lengths = torch.tensor([len(story) for story in stories])
    rows = torch.full((len(stories), int(lengths.max())), mask_id)
    for row, story in zip(rows, stories, strict=True):
        row[: len(story)] = torch.tensor(story)
    return rows, torch.arange(rows.shape[1]) < lengths.unsqueeze(1)


def fill_by_encoder(stories, gapped, vocab_size, mask_id):
    """The model to beat: two blocks that see both sides, trained by Adam at a rate that falls."""
    torch.manual_seed(1)
    rows, is_text = in_rows(stories, mask_id)
    asked, is_asked = in_rows(gapped, mask_id)
    tables = {
        "token": torch.randn(vocab_size, WIDTH) / WIDTH**0.5,
        "position": torch.randn(max(rows.shape[1], asked.shape[1]), WIDTH) / WIDTH**0.5,
        "segment": torch.zeros(2, WIDTH),
        "norm_weight": torch.ones(WIDTH),
        "norm_bias": torch.zeros(WIDTH),
    }
    bias = torch.zeros(vocab_size, requires_grad=True)
    block = nn.TransformerEncoderLayer(
        WIDTH, N_HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True
    )
    blocks = nn.TransformerEncoder(block, N_BLOCKS, enable_nested_tensor=False)
    learned = [*(x.requires_grad_() for x in tables.values()), bias, *blocks.parameters()]
    optimizer = torch.optim.Adam(learned)

    def vectors(seen, is_text):
        x = embed(seen, torch.zeros_like(seen), tables)
        return blocks(x, src_key_padding_mask=~is_text)

    dice = torch.Generator().manual_seed(2)
    for step in range(N_UPDATES):
        optimizer.param_groups[0]["lr"] = RATE * min(1, (step + 1) / 30) * (1 - step / N_UPDATES)
        some = torch.randint(len(rows), (ROWS,), generator=dice)
        longest = int(is_text[some].sum(dim=1).max())
        # What fills the rows up is special, so none of it is chosen.
        ids = rows[some, :longest]
        seen, targets = mask_batch(ids, [mask_id], vocab_size, mask_id, dice)
        x = vectors(seen, is_text[some, :longest])
        loss = masked_lm_loss(x, targets, tables["token"], bias)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    pieces = zip(asked.split(100), is_asked.split(100), strict=True)
    with torch.no_grad():
        scores = torch.cat([vectors(*piece) @ tables["token"].T + bias for piece in pieces])
    scores[..., mask_id] = -math.inf
    best = scores.argmax(dim=-1)
    is_gap = (asked == mask_id) & is_asked
    return [row[gaps].tolist() for row, gaps in zip(best, is_gap, strict=True)]


def fill_gaps(stories, gapped, vocab_size, mask_id):
    """Yours: replace the line below."""
    return fill_by_encoder(stories, gapped, vocab_size, mask_id)


# %% tags=["workshop"]
import time

TAKE_PART = False  # True: measure yours, which as it stands is the one to beat
CPU_SECONDS = 30


def share_filled(fill):
    # The leaderboard hides words of other stories in the same way.
    chance, gapped, missing = random.Random(1), [], []
    for story in corpus.valid:
        ids = tokenizer.encode(story)
        places = sorted(chance.sample(range(len(ids)), max(1, round(0.15 * len(ids)))))
        gapped.append([mask_id if t in places else i for t, i in enumerate(ids)])
        missing.append([ids[place] for place in places])
    start = time.process_time()
    found = fill([tokenizer.encode(s) for s in corpus.train[:2000]], gapped, vocab_size, mask_id)
    used = time.process_time() - start
    assert [len(row) for row in found] == [len(row) for row in missing], "not an id for each gap"
    pairs = [pair for rows in zip(found, missing, strict=True) for pair in zip(*rows, strict=True)]
    share = sum(mine == right for mine, right in pairs) / len(pairs)
    return f"{share:.1%} of {len(pairs):,} gaps" + ", too slow" * (used > CPU_SECONDS)


if TAKE_PART:
    print(share_filled(fill_gaps))
