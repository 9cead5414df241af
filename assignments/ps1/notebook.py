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
# # Problem set 1: n-gram models
#
# You will build a language model by counting. In the end it will write text and compete with the model of the course package.
#
# - **You write** nine short functions, and a test that judges somebody else's. Each is graded on its own. One more question is answered in words.
# - **You need** the chapter on n-gram models, and Python's `dict` and `Counter`.
# - **Time:** about three hours and forty minutes. Each task names its own share.
# - **Points:** 100. They are given beside each task.
# - **Assistants:** {assistants}
#
# How a task works:
#
# 1. Read the contract. It says what the function receives and what it must return.
# 2. Follow the example by hand, on paper.
# 3. Write your code in place of the stub. Run the test cell below it. Its messages say what is wrong.
#
# The grader runs more tests than you see: other sizes, and other kinds of token. A token may be a string, a number or a tuple, and one text may hold several kinds of them. Two tokens are the same if Python says that they are equal, as `1` and `1.0` are; `1`, `"1"` and `(1,)` are three. So never assume that a token is a word, or that tokens can be sorted.
#
# Rules for the whole set:
#
# - Floats must be right to about 9 digits. Python's own arithmetic is, if you add up as many numbers as a contract names.
# - Use Python, its standard library and NumPy. Do not import n-gram code from a package, `course_pkg` included.
# - Do not change your arguments. The caller still needs them.
# - Keep the names of the functions and of their arguments.

# %% nbgrader={"grade": false, "grade_id": "ps1_install", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["workshop"]
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

# %% nbgrader={"grade": false, "grade_id": "ps1_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import random
from collections import Counter, defaultdict, deque

import numpy as np

EOS = "<eos>"
SENTENCES = [["the", "cat", "sat"], ["the", "cat", "ran"], ["the", "dog", "sat"]]
VOCABULARY = ["the", "cat", "dog", "bird", "sat", "ran", EOS]  # "bird" occurs in no sentence


def toy_unigrams():
    """The counts of SENTENCES at order 1, made afresh, so that no task depends on another."""
    return {(): Counter({"the": 3, "cat": 2, "dog": 1, "sat": 2, "ran": 1, EOS: 3})}


def toy_bigrams():
    """The counts of SENTENCES at order 2."""
    return {
        (EOS,): Counter({"the": 3}),
        ("the",): Counter({"cat": 2, "dog": 1}),
        ("cat",): Counter({"sat": 1, "ran": 1}),
        ("dog",): Counter({"sat": 1}),
        ("sat",): Counter({EOS: 2}),
        ("ran",): Counter({EOS: 1}),
    }


def toy_trigrams():
    """The counts of SENTENCES at order 3."""
    return {
        (EOS,): Counter({"the": 3}),
        (EOS, "the"): Counter({"cat": 2, "dog": 1}),
        ("the", "cat"): Counter({"sat": 1, "ran": 1}),
        ("the", "dog"): Counter({"sat": 1}),
        ("cat", "sat"): Counter({EOS: 1}),
        ("cat", "ran"): Counter({EOS: 1}),
        ("dog", "sat"): Counter({EOS: 1}),
    }


def plain(counts):
    """The counts as dicts of dicts: to a Counter, a key of count 0 is the same as none."""
    return {history: dict(followers) for history, followers in counts.items()}


# %% [markdown]
# The three `SENTENCES` above are our training text. They are small enough to count by hand, and we use them in every example.
#
# One special token separates documents: `EOS`, "end of sequence". A document is read as `EOS`, its tokens, `EOS`. The first `EOS` is only context: nobody has to predict it. The last one is predicted, because a model must know when to stop.

# %% [markdown]
# ## {task}. Count n-grams  (11 points, 25 minutes, difficulty 2 of 5)
#
# **Why.** An n-gram model of *order* $n$ guesses a token from the $n - 1$ tokens before it, the *history*. All it knows about the training text is how often each token followed each history.
#
# **Contract.** `count_ngrams(documents, order, eos)`
#
# | argument | type | meaning |
# |---|---|---|
# | `documents` | list of lists of tokens | at least one document; a document may be empty, and documents may be equal; none contains `eos` |
# | `order` | `int`, at least 1 | length of the n-grams: the history and the token after it |
# | `eos` | a token | comes before the first and after the last token of each document |
# | **returns** | `dict[tuple, Counter]` | `counts[history][token]` says how often `token` followed `history`; a `defaultdict` is a `dict` too |
#
# - A history is a tuple of the `order - 1` tokens before the target. At order 1 it is the empty tuple `()`.
# - A history never reaches back beyond the start of its document. There it is shorter: `(eos,)`, then `(eos, w1)`, and so on.
# - The last `eos` of a document is a target. The first one never is.
# - The time may grow only in proportion to the length of the text.
#
# **By hand.** Order 2, our three sentences:
#
# | history | what follows |
# |---|---|
# | `("<eos>",)` | the 3 |
# | `("the",)` | cat 2, dog 1 |
# | `("cat",)` | sat 1, ran 1 |
# | `("dog",)` | sat 1 |
# | `("sat",)` | \<eos\> 2 |
# | `("ran",)` | \<eos\> 1 |
#
# <details><summary>Hint</summary>
#
# Write down the padded document once. Walk over the positions of its targets, from 1 on. The history is the slice that ends just before the target. Where may that slice start at the earliest?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_count_ngrams_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_ngrams(documents, order, eos):
    """Count which tokens follow each history of `order - 1` tokens."""
    ### BEGIN SOLUTION
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for position in range(1, len(padded)):
            start = max(0, position - order + 1)
            history = tuple(padded[start:position])
            counts.setdefault(history, Counter())[padded[position]] += 1
    return counts
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_count_ngrams", "locked": true, "points": 11, "schema_version": 3, "solution": false, "task": false}
documents = [list(sentence) for sentence in SENTENCES]
bigrams = count_ngrams(documents, 2, EOS)
assert isinstance(bigrams, dict), f"return a dict, not a {type(bigrams).__name__}"
assert all(isinstance(history, tuple) for history in bigrams), "each key of the dict is a tuple"
assert all(isinstance(row, Counter) for row in bigrams.values()), "each value is a Counter"
assert (EOS,) in bigrams, "the first word of a sentence has a history too: (EOS,)"
assert () not in bigrams, "the start EOS is given, so it is never a target"
assert all(len(history) == 1 for history in bigrams), "at order 2 each history is one token"
assert bigrams[(EOS,)]["the"] == 3, "all three sentences begin with 'the': count every one"
assert bigrams.get(("the",)) == {"cat": 2, "dog": 1}, "after 'the' came cat, cat and dog"
assert bigrams.get(("sat",)) == {EOS: 2}, "the end of a sentence is counted as a target"
assert len(bigrams) == 6, f"there are 6 histories, see the table; you have {len(bigrams)}"
assert documents == SENTENCES, "your function changes the documents that it was given"

unigrams = count_ngrams(documents, 1, EOS)
assert set(unigrams) == {()}, "at order 1 the only history is the empty tuple"
assert unigrams[()][EOS] == 3, "the start EOS is never a target, the final EOS always is"

trigrams = count_ngrams(documents, 3, EOS)
assert (EOS,) in trigrams, "at order 3 the first word still has the history (EOS,)"
assert trigrams.get((EOS, "the")) == {"cat": 2, "dog": 1}, "at order 3 histories have two tokens"
assert ("sat", EOS) not in trigrams, "a history never reaches into the sentence before"
assert count_ngrams([[]], 2, EOS) == {(EOS,): {EOS: 1}}, "an empty document has one target: EOS"
twice = count_ngrams([[0, 0, 0], [0, 0, 0]], 2, 9)
assert twice == {(9,): {0: 2}, (0,): {0: 4, 9: 2}}, f"equal documents all count; you gave {twice}"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. From counts to probabilities  (6 points, 10 minutes, difficulty 1 of 5)
#
# **Why.** The simplest estimate is the relative frequency. It makes the training text as probable as possible, so it is called *maximum likelihood*:
#
# $$P(w \mid h) = \frac{c(h\,w)}{\sum_{v} c(h\,v)}$$
#
# **Contract.** `mle_prob(counts, history, token)`
#
# | argument | type | meaning |
# |---|---|---|
# | `counts` | `dict[tuple, Counter]` | as from `count_ngrams`, so each history has a follower, and every count is at least 1; it may be a `defaultdict` |
# | `history` | `tuple` | looked up as it is |
# | `token` | a token | may be one that was never seen |
# | **returns** | `float` | the estimate; 0.0 if `history` was never seen |
#
# **By hand.** After `("the",)` we saw three tokens: cat, cat, dog. So $P(\text{cat} \mid \text{the}) = 2/3$.
#
# <details><summary>Hint</summary>
#
# A `Counter` answers 0 for a token that it has never seen. A `dict` raises a `KeyError` for a missing history, so check first. Looking a history up in a `defaultdict` with square brackets adds it, and so changes the argument.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_mle_prob_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mle_prob(counts, history, token):
    """Return the relative frequency of `token` after `history`."""
    ### BEGIN SOLUTION
    followers = counts.get(history)
    if followers is None:
        return 0.0
    return followers[token] / sum(followers.values())
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_mle_prob", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
counts = toy_bigrams()
p = mle_prob(counts, ("the",), "cat")
assert p is not None, "mle_prob returned None: is there a return?"
assert abs(p - 2 / 3) < 1e-12, f"P(cat | the) is 2/3, not {p:.6g}: divide by what followed 'the'"
assert mle_prob(counts, ("the",), "ran") == 0, "'ran' never followed 'the': 0"
assert mle_prob(counts, ("bird",), "cat") == 0, "a history that was never seen gives 0"
assert mle_prob(counts, ("dog", "the"), "cat") == 0, "a history is looked up as it is, not its end"
assert plain(counts) == plain(toy_bigrams()), "looking up must not add keys to counts"
counts = defaultdict(Counter, toy_bigrams())
assert mle_prob(counts, ("bird",), "cat") == 0 and ("bird",) not in counts, (
    "looking up must not add keys, not even to a defaultdict"
)
print("All visible tests passed.")

# %% [markdown]
# ## {task}. What the model can see  (8 points, 10 minutes, difficulty 2 of 5)
#
# **Why.** A text grows longer and longer, but an n-gram model sees only its end. And it must not look into the document before: `EOS` is a wall.
#
# **Contract.** `context_of(tokens, order, eos)`
#
# | argument | type | meaning |
# |---|---|---|
# | `tokens` | list or tuple of tokens | everything so far; may be empty; may contain `eos` several times |
# | `order` | `int`, at least 1 | order of the model |
# | `eos` | a token | the wall between documents |
# | **returns** | `tuple` | the last `order - 1` tokens, but none from before the last `eos` |
#
# The last `eos` itself is part of the history. If there are fewer tokens than `order - 1`, return those there are.
#
# **By hand.** At order 3:
#
# - `["<eos>", "the", "cat"]` gives `("the", "cat")`.
# - `["ran", "<eos>", "the"]` gives `("<eos>", "the")`.
# - `["cat", "ran", "<eos>"]` gives `("<eos>",)`: what came before the wall is out of sight.
#
# <details><summary>Hint</summary>
#
# Try `[1, 2, 3][-0:]`. Is that what you expected? Order 1 is a trap.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_context_of_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def context_of(tokens, order, eos):
    """Return the last `order - 1` tokens, but none from before the last `eos`."""
    ### BEGIN SOLUTION
    history = []
    for token in reversed(tokens):
        if len(history) == order - 1:
            break
        history.append(token)
        if token == eos:
            break
    return tuple(reversed(history))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_context_of", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
seen = context_of([EOS, "the", "cat"], 3, EOS)
assert isinstance(seen, tuple), f"return a tuple, not a {type(seen).__name__}"
assert seen == ("the", "cat"), f"order 3 sees the last two tokens, in their order; you gave {seen}"
seen = context_of(["ran", EOS, "the"], 4, EOS)
assert seen == (EOS, "the"), f"nothing from before the last EOS, but EOS itself; you gave {seen}"
seen = context_of(["ran", EOS, "the"], 1, EOS)
assert seen == (), f"order 1 sees nothing: the empty tuple; you gave {seen}"
assert context_of([EOS], 1, EOS) == (), "order 1 sees nothing, not even EOS"
seen = context_of([EOS, "ran", EOS, "the"], 5, EOS)
assert seen == (EOS, "the"), f"it is the last EOS that is the wall; you gave {seen}"
assert context_of(["the"], 4, EOS) == ("the",), "return what there is if the text is short"
seen = context_of((EOS, "the", "cat", "sat"), 3, EOS)
assert seen == ("cat", "sat"), f"a tuple of tokens will do as well; you gave {seen}"
assert context_of([], 3, EOS) == (), "nothing in sight: the empty tuple"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Draw a token  (10 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** A language model can write: draw a token, append it, ask again. To draw is to throw a dart at a line of length 1. Each token owns a piece as long as its probability.
#
# **Contract.** `sample(probs, u)`
#
# | argument | type | meaning |
# |---|---|---|
# | `probs` | `dict` from token to `float` | non-negative, summing to 1 up to rounding |
# | `u` | `float`, 0 ≤ u < 1 | where the dart lands |
# | **returns** | a token | the owner of the place `u` |
#
# - The pieces lie on the line in the order of the dictionary.
# - A piece owns its left end, but not its right end. So the answer is the first token for which the sum of the probabilities up to it, its own included, is *greater* than `u`.
# - A token of probability 0 is never drawn, even if it stands at an end of the line.
# - Add the floats one after the other. Where rounding could move a border, `u` keeps away from it.
# - Rounding may leave the whole sum a little below 1 (by less than 0.000001), and `u` may lie beyond it. Then return the last token whose probability is not 0.
# - `u` is the only chance in this function. Do not use a random generator.
#
# **By hand.** With `{"sat": 0.5, "ran": 0.25, "<eos>": 0.25}`: "sat" owns the places from 0 up to 0.5, "ran" from 0.5 up to 0.75, "\<eos\>" the rest. So `u = 0.6` draws "ran", and so does `u = 0.5`.
#
# <details><summary>Hint</summary>
#
# Keep a running sum. Compare it with `u` after each addition. Which comparison leaves the right end to the next token?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_sample_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sample(probs, u):
    """Return the token that owns the place `u` on the line of probabilities."""
    ### BEGIN SOLUTION
    total = 0.0
    last = None
    for token, prob in probs.items():
        if prob == 0:
            continue
        last = token
        total += prob
        if total > u:
            break
    return last
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_sample", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
line = {"sat": 0.5, "ran": 0.25, EOS: 0.25}
drawn = sample(line, 0.6)
assert drawn is not None, "sample returned None: is there a return on every path?"
assert drawn in line, f"return a token of probs, not {drawn!r}"
assert drawn == "ran", f"0.6 lies in the piece of 'ran', from 0.5 to 0.75; you drew {drawn!r}"
assert sample(line, 0.4) == "sat", "the piece of 'sat' is as long as its probability, 0.5"
assert sample(line, 0.0) == "sat", "0.0 is the left end of the first piece"
assert sample(line, 0.5) == "ran", "a right end belongs to the next token: 0.5 draws 'ran'"
assert sample(line, 0.99) == EOS, "0.99 lies in the last piece"
assert sample({"cat": 0.0, "dog": 1.0}, 0.0) == "dog", "a token of probability 0 is never drawn"
tenths = {number: 0.1 for number in range(10)} | {"never": 0.0}  # the sum is a little below 1
drawn = sample(tenths, 1 - 2**-53)
assert drawn == 9, f"beyond the sum the last possible token is drawn, not {drawn!r}"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Perplexity  (8 points, 10 minutes, difficulty 2 of 5)
#
# **Why.** One number says how well a model predicts a text. Perplexity is the number of equally likely tokens among which the model hesitates, on average:
#
# $$\mathrm{PPL} = \exp\Big(-\frac{1}{N}\sum_{t=1}^{N} \ln P(w_t \mid h_t)\Big)$$
#
# **Contract.** `perplexity(log_probs)`
#
# | argument | type | meaning |
# |---|---|---|
# | `log_probs` | list, tuple or NumPy array of `float` | natural logarithms of the probabilities of the $N \geq 1$ targets; `-inf` for probability 0 |
# | **returns** | `float` | the perplexity; `inf` if any target had probability 0, or if the perplexity is too large for a float |
#
# - It must also work for a text of a hundred thousand tokens.
# - The logarithm of 0 is minus infinity. Python's `math.log(0)` raises an error, so the caller writes `-math.inf`; you only have to add it up.
# - `math.exp(1000)` raises an `OverflowError`, as the result is too large for a float. Your answer is `math.inf` then.
#
# **By hand.** A model gives three tokens the probabilities 1/2, 1/4 and 1/8. Their product is 1/64, and its third root is 1/4. So the perplexity is 4.
#
# <details><summary>Hint</summary>
#
# The product of many probabilities is smaller than the smallest float, so it becomes 0. Stay with the logarithms until the last step.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_perplexity_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def perplexity(log_probs):
    """Return the exponential of the mean negative log-probability."""
    ### BEGIN SOLUTION
    mean = math.fsum(log_probs) / len(log_probs)
    try:
        return math.exp(-mean)
    except OverflowError:
        return math.inf
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_perplexity", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
halves = [math.log(1 / 2), math.log(1 / 4), math.log(1 / 8)]
value = perplexity(halves)
assert value is not None, "perplexity returned None: is there a return?"
assert abs(value - 4) < 1e-9, f"the example has perplexity 4, not {value:.6g}"
assert abs(perplexity(halves * 5) - 4) < 1e-9, "the same text five times has the same perplexity"
assert abs(perplexity([math.log(1 / 2)] * 5000) - 2) < 1e-9, (
    "a long text must not underflow to 0"
)
assert perplexity([math.log(1 / 2), -math.inf]) == math.inf, "one impossible token: infinity"
assert perplexity([-1000.0]) == math.inf, "e to the 1000 is too large for a float: infinity"
assert abs(perplexity([-1000.0] + [0.0] * 999) - math.e) < 1e-9, (
    "one token so improbable among a thousand: the mean is -1, and the perplexity e"
)
for values in (tuple(halves), np.array(halves)):
    value = perplexity(values)
    assert abs(value - 4) < 1e-9, f"a {type(values).__name__} has the same perplexity as a list"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Add-k smoothing  (8 points, 15 minutes, difficulty 2 of 5)
#
# **Why.** Maximum likelihood gives probability 0 to whatever the training text did not show. One such token makes the perplexity of a whole book infinite. The oldest remedy: pretend that after every history each token of the vocabulary was seen $k$ times more.
#
# $$P(w \mid h) = \frac{c(h\,w) + k}{\sum_{v} c(h\,v) + k\,V}$$
#
# **Contract.** `add_k_prob(counts, history, token, *, k, vocab_size)`
#
# | argument | type | meaning |
# |---|---|---|
# | `counts`, `history`, `token` | | as in task {task:mle_prob} |
# | `k` | `float`, above 0 | may be a fraction |
# | `vocab_size` | `int` | $V$, the number of different tokens that may come, seen or not |
# | **returns** | `float` | the smoothed estimate |
#
# After a history that was never seen, all $V$ tokens are equally probable.
#
# **By hand.** Our vocabulary has 7 tokens. With $k = 1$: $P(\text{cat} \mid \text{the}) = (2 + 1)/(3 + 7) = 0.3$, and $P(\text{bird} \mid \text{the}) = 1/10$. After "bird", which was never seen, every token gets 1/7.
#
# <details><summary>Hint</summary>
#
# An unseen history needs no formula of its own. What are its counts?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_add_k_prob_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add_k_prob(counts, history, token, *, k, vocab_size):
    """Return the estimate after adding `k` to every count."""
    ### BEGIN SOLUTION
    followers = counts.get(history, Counter())
    return (followers[token] + k) / (sum(followers.values()) + k * vocab_size)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_add_k_prob", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
p = add_k_prob(toy_bigrams(), ("the",), "cat", k=1, vocab_size=7)
assert p is not None, "add_k_prob returned None: is there a return?"
assert abs(p - 0.3) < 1e-12, f"P(cat | the) is (2 + 1) / (3 + 7), not {p:.6g}"
p = add_k_prob(toy_bigrams(), ("the",), "bird", k=1, vocab_size=7)
assert abs(p - 0.1) < 1e-12, f"P(bird | the) is (0 + 1) / (3 + 7), not {p:.6g}"
p = add_k_prob(toy_bigrams(), ("the",), "cat", k=0.5, vocab_size=7)
assert abs(p - 2.5 / 6.5) < 1e-12, f"k may be a fraction: (2 + 0.5) / (3 + 3.5), not {p:.6g}"
p = add_k_prob(toy_bigrams(), ("bird",), "cat", k=1, vocab_size=7)
assert abs(p - 1 / 7) < 1e-12, f"after an unseen history all 7 tokens get 1/7, not {p:.6g}"
total = sum(add_k_prob(toy_bigrams(), ("cat",), w, k=0.1, vocab_size=7) for w in VOCABULARY)
assert abs(total - 1) < 1e-12, f"over the vocabulary the probabilities sum to 1, not {total:.6g}"
counts = defaultdict(Counter, toy_bigrams())
add_k_prob(counts, ("bird",), "cat", k=1, vocab_size=7)
add_k_prob(counts, ("the",), "bird", k=1, vocab_size=7)
assert plain(counts) == plain(toy_bigrams()), "looking up must not add keys, even to a defaultdict"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Linear interpolation  (11 points, 30 minutes, difficulty 3 of 5)
#
# **Why.** Add-k treats all unseen tokens alike. But a shorter history often knows more. So ask all orders at once and mix their answers (Jelinek and Mercer 1980). The uniform distribution stands at the bottom and knows every token:
#
# $$P(w \mid h) = \frac{\lambda_0}{V} + \sum_{n=1}^{N} \lambda_n\, P_{\mathrm{MLE}}(w \mid \text{last } n-1 \text{ tokens of } h)$$
#
# **Contract.** `interpolated_prob(counts_by_order, history, token, *, weights, vocab_size)`
#
# | argument | type | meaning |
# |---|---|---|
# | `counts_by_order` | list of `dict[tuple, Counter]` | `count_ngrams` of order 1, 2, ..., N, in this order; each may be a `defaultdict`; no count is 0, and each history has a follower |
# | `history` | `tuple` | any length: longer than order N needs, or shorter |
# | `token` | a token | |
# | `weights` | list of N + 1 `float` | $\lambda_0$ of the uniform, then one per order; positive, summing to 1 |
# | `vocab_size` | `int` | $V$ |
# | **returns** | `float` | the mixed estimate |
#
# - Order $n$ looks up the **last** $n - 1$ tokens of `history`.
# - An order has no opinion if those tokens were never seen as a history, or if `history` is shorter than that. Leave it out. Divide the sum by the weights of those that are left, so that the probabilities still sum to 1.
#
# **By hand.** Orders 1 and 2, weights 0.1, 0.3 and 0.6. Among the 12 targets "cat" occurs twice.
#
# - $P(\text{cat} \mid \text{the}) = 0.1 \cdot \frac{1}{7} + 0.3 \cdot \frac{2}{12} + 0.6 \cdot \frac{2}{3} \approx 0.4643$
# - "bird" was never seen, so order 2 has no opinion after it: $P(\text{cat} \mid \text{bird}) = \big(0.1 \cdot \frac{1}{7} + 0.3 \cdot \frac{2}{12}\big) / (0.1 + 0.3) \approx 0.1607$
#
# <details><summary>Hint</summary>
#
# Keep two sums side by side: the weighted probabilities, and the weights used. The last 0 tokens of a tuple are not `history[-0:]`. Try `history[len(history) - length:]`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_interpolated_prob_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    """Return the weighted mean of the uniform and the estimates of all orders."""
    ### BEGIN SOLUTION
    mixed = weights[0] / vocab_size
    used = weights[0]
    for length, counts in enumerate(counts_by_order):
        if length > len(history):
            break
        followers = counts.get(history[len(history) - length :])
        if followers is None:
            break
        mixed += weights[length + 1] * followers[token] / sum(followers.values())
        used += weights[length + 1]
    return mixed / used
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_interpolated_prob", "locked": true, "points": 11, "schema_version": 3, "solution": false, "task": false}
def mixed(history, token, weights=(0.1, 0.3, 0.6)):
    tables = [toy_unigrams(), toy_bigrams(), toy_trigrams()][: len(weights) - 1]
    tables = [defaultdict(Counter, counts) for counts in tables]
    before = [plain(counts) for counts in tables]
    p = interpolated_prob(
        tables, history, token, weights=list(weights), vocab_size=len(VOCABULARY)
    )
    assert [plain(counts) for counts in tables] == before, "looking up must not add keys to counts"
    return p


p = mixed(("the",), "cat")
assert p is not None, "interpolated_prob returned None: is there a return?"
assert abs(p - 0.4642857142857143) < 1e-12, (
    f"P(cat | the) is 0.1/7 + 0.3*2/12 + 0.6*2/3, not {p:.6g}"
)
p = mixed(("sat", "the"), "cat")
assert abs(p - 0.4642857142857143) < 1e-12, (
    f"order 2 looks at the last token only; you gave {p:.6g}"
)
p = mixed(("bird",), "cat")
assert abs(p - 0.1607142857142857) < 1e-12, (
    f"P(cat | bird) leaves order 2 out, weight too; not {p:.6g}"
)
p = mixed((), "cat")
assert abs(p - 0.1607142857142857) < 1e-12, (
    f"without history only order 1 and the uniform; not {p:.6g}"
)
for history in [("the",), ("bird",), ()]:
    total = sum(mixed(history, token) for token in VOCABULARY)
    assert abs(total - 1) < 1e-12, f"after {history} the probabilities sum to {total:.6g}, not to 1"
three = [0.1, 0.2, 0.3, 0.4]
p = mixed((EOS, "the"), "cat", three)
assert abs(p - (0.1 / 7 + 0.2 * 2 / 12 + 0.3 * 2 / 3 + 0.4 * 2 / 3)) < 1e-12, (
    f"with three orders, order 3 looks at the last two tokens; you gave {p:.6g}"
)
p = mixed((EOS,), "the", three)
assert abs(p - (0.1 / 7 + 0.2 * 3 / 12 + 0.3) / 0.6) < 1e-12, (
    f"a history of one token is too short for order 3, which has no opinion; you gave {p:.6g}"
)
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Continuation counts  (12 points, 25 minutes, difficulty 3 of 5)
#
# **Why.** In our sentences "the" is as frequent as any token, but it always comes after the same thing. So it is a bad guess after something new. Kneser and Ney (1995) ask another question: after how many *different* tokens did it come?
#
# **Contract.** `continuation_counts(counts, order)`
#
# | argument | type | meaning |
# |---|---|---|
# | `counts` | `dict[tuple, Counter]` | `count_ngrams` of order `order + 1`; no count is 0 |
# | `order` | `int`, at least 1 | the order of the counts to be made |
# | **returns** | `dict[tuple, Counter]` | histories of `order - 1` tokens; for each n-gram the number of different tokens seen before it |
#
# - A history in `counts` has `order` tokens. Its first token is the one *before*; the rest is the history of the new counts.
# - At the start of a document histories are shorter than `order` tokens. They begin with `eos`, and nothing can come before that. Keep these histories and their counts as they are.
# - Return new counters. The old ones must not change, now or later.
#
# **By hand.** From the table of task {task:count_ngrams}, with `order = 1`:
#
# | token | comes after | continuation count | plain count |
# |---|---|---|---|
# | the | \<eos\> | 1 | 3 |
# | cat | the | 1 | 2 |
# | dog | the | 1 | 1 |
# | sat | cat, dog | 2 | 2 |
# | ran | cat | 1 | 1 |
# | \<eos\> | sat, ran | 2 | 3 |
#
# <details><summary>Hint</summary>
#
# In `counts`, every pair of a history and a token appears once, however often it was seen. So each pair is one more predecessor for an n-gram. Which n-gram?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_continuation_counts_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def continuation_counts(counts, order):
    """Count how many different tokens were seen before each n-gram of `order` tokens."""
    ### BEGIN SOLUTION
    result = {}
    for history, followers in counts.items():
        if len(history) < order:
            result[history] = Counter(followers)
            continue
        row = result.setdefault(history[1:], Counter())
        for token in followers:
            row[token] += 1
    return result
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_continuation_counts", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
counts = toy_bigrams()
contexts = continuation_counts(counts, 1)
assert isinstance(contexts, dict), f"return a dict, not a {type(contexts).__name__}"
assert all(isinstance(row, Counter) for row in contexts.values()), "each value is a Counter"
assert set(contexts) == {()}, f"at order 1 the only history is (); you have {list(contexts)}"
assert contexts[()]["the"] == 1, "'the' was seen three times, but after one token only"
assert contexts[()]["sat"] == 2, "'sat' was seen after cat and after dog"
assert contexts[()] == {"the": 1, "cat": 1, "dog": 1, "sat": 2, "ran": 1, EOS: 2}, "see the table"
assert plain(counts) == plain(toy_bigrams()), "the old counts must not change"

made_up = {
    (EOS,): Counter({"the": 3}),
    (EOS, "the"): Counter({"cat": 2, "dog": 1}),
    ("and", "the"): Counter({"cat": 4}),
}
contexts = continuation_counts(made_up, 2)
assert ("the",) in contexts, "the first token of a history is the one before; the rest remains"
assert contexts.get(("the",)) == {"cat": 2, "dog": 1}, (
    "'the cat' was seen after EOS and after 'and'"
)
assert contexts.get((EOS,)) == {"the": 3}, (
    "nothing stands before the start EOS: its counts stay as is"
)
contexts[(EOS,)]["dog"] = 1
assert made_up[(EOS,)] == {"the": 3}, "return new counters: a later change must not reach the old"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Kneser–Ney  (12 points, 40 minutes, difficulty 4 of 5)
#
# **Why.** The best of the classic n-gram models belong to this family. It takes a discount $D$ off every count that was seen, and spends what that frees on the next shorter history:
#
# $$P_n(w \mid h) = \frac{\max(c_n(h\,w) - D_n,\, 0)}{\sum_v c_n(h\,v)} + \frac{D_n \cdot N_{1+}(h)}{\sum_v c_n(h\,v)} \cdot P_{n-1}(w \mid h')$$
#
# $N_{1+}(h)$ is the number of *different* tokens seen after $h$. The shorter history $h'$ is $h$ without its first token. Below order 1 comes the uniform distribution: $P_0(w) = 1/V$. The counts $c_n$ are plain counts at the highest order and continuation counts below it. The caller has prepared them.
#
# **Contract.** `kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size)`
#
# | argument | type | meaning |
# |---|---|---|
# | `counts_by_order` | list of `dict[tuple, Counter]` | the $c_n$ of order 1, 2, ..., N, in this order; each may be a `defaultdict`; no count is 0, and each history has a follower |
# | `history` | `tuple` | any length; order $n$ uses its last $n - 1$ tokens |
# | `token` | a token | seen or not |
# | `discounts` | list of N `float` | $D_1, \dots, D_N$, each above 0 and below 1 |
# | `vocab_size` | `int` | $V$ |
# | **returns** | `float` | the smoothed probability |
#
# - If order $n$ never saw its history, or `history` is too short for it, then $P_n$ is simply $P_{n-1}$.
# - Over the vocabulary the probabilities sum to 1, after every history.
#
# **By hand.** Order 2, both discounts 0.5. The order-1 counts are the continuation counts of task {task:continuation_counts}: 6 different tokens, 8 in all.
#
# - $P_1(\text{bird}) = \frac{0}{8} + \frac{0.5 \cdot 6}{8} \cdot \frac{1}{7} = \frac{3}{56}$
# - $P_1(\text{cat}) = \frac{1 - 0.5}{8} + \frac{3}{56} = \frac{13}{112}$
# - $P_2(\text{cat} \mid \text{the}) = \frac{2 - 0.5}{3} + \frac{0.5 \cdot 2}{3} \cdot \frac{13}{112} \approx 0.5387$
# - $P_2(\text{cat} \mid \text{bird}) = P_1(\text{cat})$, because "bird" was never seen.
#
# <details><summary>Hint</summary>
#
# Get order 2 right first. Then look at your two lines: they are the same line. You may start from $1/V$ and climb from order 1 upwards. Or you may write a function that calls itself with one order less.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_kneser_ney_prob_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    """Return the interpolated Kneser–Ney probability of `token` after `history`."""
    ### BEGIN SOLUTION
    prob = 1 / vocab_size
    for length, counts in enumerate(counts_by_order):
        if length > len(history):
            break
        followers = counts.get(history[len(history) - length :])
        if followers is None:
            break
        discount = discounts[length]
        total = sum(followers.values())
        kept = max(followers[token] - discount, 0)
        prob = (kept + discount * len(followers) * prob) / total
    return prob
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_kneser_ney_prob", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
def smoothed(history, token, discounts=(0.5, 0.5)):
    contexts = {(): Counter({"the": 1, "cat": 1, "dog": 1, "sat": 2, "ran": 1, EOS: 2})}
    tables = [contexts, toy_bigrams(), toy_trigrams()][: len(discounts)]
    tables = [defaultdict(Counter, counts) for counts in tables]
    before = [plain(counts) for counts in tables]
    p = kneser_ney_prob(
        tables, history, token, discounts=list(discounts), vocab_size=len(VOCABULARY)
    )
    assert [plain(counts) for counts in tables] == before, "looking up must not add keys to counts"
    return p


p = smoothed((), "cat", [0.5])
assert p is not None, "kneser_ney_prob returned None: is there a return?"
assert abs(p - 13 / 112) < 1e-12, f"P1(cat) is 0.5/8 + 3/56, not {p:.6g}: is 1/V below order 1?"
p = smoothed((), "bird", [0.5])
assert abs(p - 3 / 56) < 1e-12, (
    f"P1(bird) is 3/56, not {p:.6g}: a count of 0 has nothing to give up"
)
p = smoothed(("the",), "cat")
assert abs(p - (0.5 + 13 / 336)) < 1e-12, f"P2(cat | the) is 1.5/3 + (1/3) * 13/112, not {p:.6g}"
p = smoothed(("sat", "the"), "cat")
assert abs(p - (0.5 + 13 / 336)) < 1e-12, f"order 2 looks at the last token only; you gave {p:.6g}"
p = smoothed(("bird",), "cat")
assert abs(p - 13 / 112) < 1e-12, f"after an unseen history P2 is P1, not {p:.6g}"
p = smoothed(("the",), "cat", [0.5, 0.2])
assert abs(p - (1.8 / 3 + (0.2 * 2 / 3) * 13 / 112)) < 1e-12, (
    f"each order has its own discount: with 0.5 and 0.2, 1.8/3 + (0.4/3) * 13/112, not {p:.6g}"
)
p = smoothed((EOS, "the"), "cat", [0.5, 0.2, 0.8])
assert abs(p - (1.2 / 3 + (0.8 * 2 / 3) * (1.8 / 3 + (0.2 * 2 / 3) * 13 / 112))) < 1e-12, (
    f"with three orders, order 3 falls back on order 2, and order 2 on order 1; you gave {p:.6g}"
)
p = smoothed((EOS,), "the", [0.5, 0.2, 0.8])
assert abs(p - (2.8 + 0.2 * 13 / 112) / 3) < 1e-12, (
    f"a history of one token is too short for order 3: P3 is P2, not {p:.6g}"
)
for history in [("the",), ("cat",), ("bird",), (), (EOS, "the")]:
    for discounts in [(0.5, 0.5), (0.5, 0.2, 0.8)]:
        total = sum(smoothed(history, token, discounts) for token in VOCABULARY)
        assert abs(total - 1) < 1e-12, f"after {history} they sum to {total:.6g}, not to 1"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Judge the assistant  (6 points, 20 minutes, difficulty 3 of 5)
#
# **Why.** An assistant writes `context_of` in ten seconds, and it looks right. Is it? Finding out is left to you. This time you write the *test*.
#
# **Contract.** `judge_context_of(implementation)`
#
# | argument | type | meaning |
# |---|---|---|
# | `implementation` | function | somebody's `context_of`, to be called as in task {task:context_of} |
# | **returns** | `bool` | True if it does what task {task:context_of} asks for, False if it does not |
#
# - The grader runs your test on fourteen implementations that you do not see: five right ones, in styles of their own, and nine that each make one mistake. Your points are the share of the wrong ones that your test refuses, less the share of the right ones that it refuses: saying the same every time earns nothing.
# - Each run may call the implementation 200 times. Arguments and results travel as copies (numbers, texts, lists, tuples, dicts, tensors; no functions): neither side sees what the other writes into them. If the implementation raises an exception, so does your call, with the same type and no message. An implementation that raises where the contract names no error is wrong: say False, or let the exception through, which counts as False. A test that raises an exception of its own has not judged.
# - Judge what is returned; what becomes of the caller's list is not judged here. You may compare the results with those of your own `context_of`; then a mistake in it costs points here too.
#
# **By hand.** Which call tells what? Say what each would return before you look at code. At order 2, with `0` for `eos`:
#
# | an implementation that … | for `[0, 1, 2]` | for `[1, 0, 2, 0]` |
# |---|---|---|
# | is right | `(2,)` | `(0,)` |
# | sees one token too many | `(1, 2)` | `(0,)` |
# | cuts off the wall itself | `(2,)` | `()` |
#
# Each call tells one of the two from what is right, and says nothing of the other.
#
# <details><summary>Hint</summary>
#
# Most mistakes in code like this show in a list of three tokens, if it is the right one. There are few lists of up to three tokens out of `eos` and two others: you can try them all, at a few orders. `itertools.product((0, 1, 2), repeat=3)` gives those of three.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps1_judge_context_of_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def judge_context_of(implementation):
    """Say whether an implementation of context_of is right."""
    ### BEGIN SOLUTION
    from itertools import product

    texts = [list(text) for n in range(4) for text in product((0, 1, 2), repeat=n)]
    calls = [(text, order, 0) for text in texts for order in (1, 2, 3)]
    try:
        return all(implementation(*call) == context_of(*call) for call in calls)
    except Exception:
        return False
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps1_judge_context_of", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
from copy import deepcopy


def nothing(tokens, order, eos):
    """Wrong: it never sees anything."""
    return ()


def without_a_wall(tokens, order, eos):
    """Your own, made wrong: it takes no token for a wall."""
    return context_of(tokens, order, object())


def with_all_of_it(tokens, order, eos):
    """Your own, made wrong: it sees everything since the wall, whatever the order."""
    return context_of(tokens, len(tokens) + 1, eos)


def says(implementation):
    """What your test says: the implementation gets copies, and an exception is a refusal."""
    try:
        return judge_context_of(
            lambda *call, **more: implementation(*deepcopy(call), **deepcopy(more))
        )
    except Exception:
        return False


verdict = judge_context_of(nothing)
assert type(verdict) is bool, f"return True or False, not {type(verdict).__name__}"
assert not verdict, "an implementation that always returns () is wrong; your test accepts it"
try:
    calls = {(0, 1, 2): (2,), (1, 0, 2, 0): (0,)}
    is_right = all(context_of(list(x), 2, 0) == right for x, right in calls.items())
except Exception:
    is_right = False
if not is_right:
    print("Your context_of does not do yet what its task asks for, so your test has met only one")
    print("implementation, a wrong one. The grader has right and wrong ones of its own.")
else:
    assert not says(without_a_wall), (
        "without_a_wall sees what stands before eos; your test accepts it"
    )
    assert not says(with_all_of_it), (
        "with_all_of_it does not ask for the order; your test accepts it"
    )
    if says(context_of):
        print("All visible tests passed.")
    else:
        print("Your test refuses your own context_of: one of the two is wrong. For which call?")

# %% [markdown]
# ## {task}. In your own words  (8 points, 15 minutes, difficulty 3 of 5)
#
# In a travel guide, "Francisco" occurs 500 times, always after "San". "Harbour" occurs 50 times, after 40 different words. A bigram model has never seen the word "rusty" before. It must guess what comes next.
#
# 1. What do the plain unigram counts say about "Francisco" and "Harbour" after "rusty"? What do continuation counts say? Give the two ratios.
# 2. Why is it the *lower* order that should count contexts, and not the highest?
# 3. Your Kneser–Ney model gives "Francisco" a much smaller unigram probability than its frequency. Why does that hardly hurt the prediction after "San"?
#
# Write at most 150 words.
#
# *How it is graded: 2 points for both ratios; 3 for saying when a lower order is consulted, and what that means for its counts; 3 for saying where the probability after "San" comes from.*

# %% [markdown] nbgrader={"grade": true, "grade_id": "ps1_explain_contexts", "locked": false, "points": 8, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. Plain counts prefer "Francisco" by 500 : 50 = 10 : 1. Continuation counts prefer "Harbour" by 40 : 1, because "Francisco" follows one word only.
# 2. The lower order matters where the higher order has little or nothing to say: after new or rare histories. There the question is not "how frequent is this word?" but "how likely is it to appear after something new?". The number of different words before it measures just that. The highest order is asked about one given history, and for that the plain counts are the evidence.
# 3. After "San" the bigram count of "Francisco" is large, and the discount takes less than 1 off it. Nearly all its probability comes from the highest order. The unigram only spreads the small part that the discounts have freed. Plain unigram counts would count the same 500 occurrences a second time.
#
# *Rubric.* 2: both ratios, 10 : 1 and 40 : 1 (one point each). 3: lower orders speak when the higher is silent (2), so they should measure readiness to follow something new (1). 3: the discounted bigram count carries the probability after "San" (2); the freed share or the double counting is named (1). Formulas alone earn half.
# ### END SOLUTION

# %% [markdown]
# ## Workshop: your model on real text (not graded)
#
# Now your functions go to work. The next cells need `course_pkg` and some ten seconds.
#
# They learn from two thousand stories of the course's corpus. Then they read thirty stories that they have never seen. The perplexity of your Kneser–Ney model is drawn beside that of the package's model, and beside add-k smoothing.

# %% tags=["workshop"]
from course_pkg.text.corpora import load_corpus
from course_pkg.text.tokenizers import WordTokenizer

stories = load_corpus("stories")
tokenizer = WordTokenizer.train(stories.train[:2000])
train = [tokenizer.encode(story) for story in stories.train[:2000]]
valid = [tokenizer.encode(story) for story in stories.valid[:30]]
eos, vocab_size = tokenizer.eos_id, tokenizer.vocab_size
print(stories.train[0])
print(f"{sum(map(len, train))} tokens to learn from, {vocab_size} in the vocabulary")

# %% tags=["workshop"]
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models.ngram import KneserNey, NGram
from course_pkg.plots import lines, show

DISCOUNT, K = 0.75, 0.1


def kneser_ney_counts(documents, order):
    # Plain counts at the highest order, continuation counts below it.
    plain = [count_ngrams(documents, n, eos) for n in range(1, order + 1)]
    return [*(continuation_counts(plain[n], n) for n in range(1, order)), plain[-1]]


def score(prob, counts, order, **settings):
    # The perplexity that one of your functions reaches on the held-out stories.
    log_probs = []
    for story in valid:
        padded = [eos, *story, eos]
        for position in range(1, len(padded)):
            history = context_of(padded[:position], order, eos)
            log_probs.append(math.log(prob(counts, history, padded[position], **settings)))
    return perplexity(log_probs)


orders = [1, 2, 3, 4, 5]
mine, theirs, simple = [], [], []
for order in orders:
    tables, discounts = kneser_ney_counts(train, order), [DISCOUNT] * order
    mine.append(score(kneser_ney_prob, tables, order, discounts=discounts, vocab_size=vocab_size))
    simple.append(score(add_k_prob, tables[-1], order, k=K, vocab_size=vocab_size))
    package = NGram.fit(train, order, vocab_size, eos, KneserNey(tuple(discounts)))
    theirs.append(evaluate(package, valid, eos_id=eos).perplexity)

results = {"your Kneser–Ney": mine, "the package's Kneser–Ney": theirs, "your add-k": simple}
for name, values in results.items():
    print(f"{name:26}", *(f"{value:8.3f}" for value in values))
gap = np.abs(np.subtract(mine, theirs)).max()
print("The two Kneser–Ney models agree." if gap < 1e-6 else f"They differ by up to {gap:.3g}.")
show(
    lines(
        {name: (orders[1:], values[1:]) for name, values in results.items()},
        x_label="order",
        y_label="perplexity on held-out stories",
    ),
    alt="Perplexity against order for your Kneser–Ney model, the package's, and add-k smoothing.",
)

# %% [markdown]
# What you should see: your curve lies exactly on the package's, and falls from 3.85 at order 2 to 2.15 at order 5. (Order 1 is left out of the figure: 67.7.) Add-k is nearly as good at order 2. From order 4 on it gets worse: many long histories are new, and after a new history it knows nothing.
#
# Now let your model write. It draws one token after the other until it draws `EOS`.


# %% tags=["workshop"]
def write(order, seed, longest=60):
    # Draw a story from your Kneser–Ney model.
    dice = random.Random(seed)
    tables, discounts = kneser_ney_counts(train, order), [DISCOUNT] * order
    tokens = [eos]
    while len(tokens) <= longest:
        history = context_of(tokens, order, eos)
        probs = {
            token: kneser_ney_prob(
                tables, history, token, discounts=discounts, vocab_size=vocab_size
            )
            for token in range(vocab_size)
        }
        tokens.append(sample(probs, dice.random()))
        if tokens[-1] == eos:
            break
    return tokenizer.decode(tokens)


for order in (1, 2, 3, 5):
    print(f"order {order}: {write(order, seed=order)}\n")

# %% [markdown]
# ## Harder, for those who want more (not graded)
#
# **Modified Kneser–Ney** (Chen and Goodman 1999) takes less off a count of 1 than off a larger one: order $n$ has three discounts, $D_1$ for counts of 1, $D_2$ for counts of 2, $D_3$ for all above. What a history frees is the sum of what was taken: $D_1 N_1 + D_2 N_2 + D_3 N_{3+}$, where $N_1$ counts the followers that were seen once, and so on. Write it, set `TRY_MODIFIED = True`, and run the tests.


# %% tags=["workshop"]
TRY_MODIFIED = False  # True: run the tests below


def modified_kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    """Return the probability of `token`; `discounts` has a triple for each order."""
    raise NotImplementedError("write modified Kneser–Ney here")


if TRY_MODIFIED:
    contexts = {(): Counter({"the": 1, "cat": 1, "dog": 1, "sat": 2, "ran": 1, EOS: 2})}
    tables, V = [contexts, toy_bigrams(), toy_trigrams()], len(VOCABULARY)
    triples = [(0.5, 0.7, 0.9), (0.4, 0.6, 0.8), (0.3, 0.5, 0.7)]
    for history in [(), ("the",), (EOS, "the"), ("bird",)]:
        plain = kneser_ney_prob(tables, history, "cat", discounts=[0.4, 0.5, 0.6], vocab_size=V)
        p = modified_kneser_ney_prob(
            tables, history, "cat", discounts=[(d,) * 3 for d in (0.4, 0.5, 0.6)], vocab_size=V
        )
        assert abs(p - plain) < 1e-12, "three equal discounts are plain Kneser–Ney"
        probs = [
            modified_kneser_ney_prob(tables, history, token, discounts=triples, vocab_size=V)
            for token in VOCABULARY
        ]
        assert abs(sum(probs) - 1) < 1e-12, f"after {history} they sum to {sum(probs):.6g}"
    p = modified_kneser_ney_prob([contexts], (), "sat", discounts=[(0.5, 0.7, 0.9)], vocab_size=7)
    # Seen twice of 8; freed are 0.5 for each of four tokens and 0.7 for each of two.
    assert abs(p - ((2 - 0.7) / 8 + (4 * 0.5 + 2 * 0.7) / 8 / 7)) < 1e-12, f"by hand; not {p:.6g}"
    print("All visible tests passed.")

# %% [markdown]
# ## An open challenge: how stories go on (not graded)
#
# **Half a minute of CPU time, two thousand stories: how few bits per token do you need?** Your `predict_next` is given stories to learn from, and how 2,000 *other* stories begin: one place of each. For every beginning it says how probable each token of the vocabulary is as the next one; then the tokens that really came are looked up. (What counts are bits per *token*: the tokens are the same for everybody.) The number to beat is that of your own Kneser–Ney model of order 5. Other orders, other discounts, one for each order or three, a mixture of models, a cache of the words that the story has used: everything is allowed.
#
# Your course may have a leaderboard. Everyone who changes the first cell takes part: the grader calls your `predict_next` on stories that nobody has seen and whose words are numbered anew, and only afterwards looks up what came next, in a place that your code does not reach. It must return in 30 seconds of CPU time, learning included, and more than one process or thread wins nothing. So put into that cell, or into a cell of your own, all that the function needs, and nothing that takes long; `course_pkg` is not there. `PSEUDONYM` is your name on the page: Latin letters, at most 24 of them. Without one, you are given a name.

# %% tags=["workshop"]
PSEUDONYM = ""


def by_kneser_ney(stories, contexts, vocab_size, eos_id, order=5):
    """The model to beat: a row for each context, the logarithm of the probability of each id."""
    plain = [count_ngrams(stories, n, eos_id) for n in range(1, order + 1)]
    tables = [*(continuation_counts(plain[n], n) for n in range(1, order)), plain[-1]]
    settings = {"discounts": [0.75] * order, "vocab_size": vocab_size}
    rows = []
    for context in contexts:
        history = context_of([eos_id, *context], order, eos_id)
        probs = [kneser_ney_prob(tables, history, token, **settings) for token in range(vocab_size)]
        rows.append([math.log(prob) for prob in probs])
    return rows


def predict_next(stories, contexts, vocab_size, eos_id):
    """Yours: replace the line below."""
    return by_kneser_ney(stories, contexts, vocab_size, eos_id)


# %% tags=["workshop"]
import time

TAKE_PART = False  # True: measure the model to beat, and yours
CPU_SECONDS = 30


def bits_per_token(predict):
    # Each held-out story is cut at one place, as the leaderboard does it with others.
    dice, contexts, following = np.random.default_rng(1), [], []
    for story in stories.valid:
        ids = [*tokenizer.encode(story), eos]
        end = dice.integers(len(ids))
        contexts.append(ids[:end])
        following.append(ids[end])
    rows = np.asarray(predict(train, contexts, vocab_size, eos))
    assert rows.shape == (len(contexts), vocab_size), f"the shape is {rows.shape}"
    sums = np.exp(rows).sum(axis=1)
    assert np.abs(sums - 1).max() < 1e-4, f"a row sums to {sums[np.abs(sums - 1).argmax()]:.6g}"
    return -rows[np.arange(len(rows)), following].mean() / math.log(2)


if TAKE_PART:
    print(f"to beat: {bits_per_token(by_kneser_ney):.4f} bits per token")
    start = time.process_time()
    print(f"yours:   {bits_per_token(predict_next):.4f} bits per token")
    used = time.process_time() - start
    print(f"{used:.0f} s of CPU time of {CPU_SECONDS}" + ("" if used < CPU_SECONDS else ": too long"))
