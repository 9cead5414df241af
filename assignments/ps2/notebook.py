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
# # Problem set 2: tokenization
#
# A model reads numbers. In this set you will build what turns any text into numbers and back: byte-pair encoding, as GPT-2 and its successors use it. At the end your tokenizer will learn from real text, and must give the same ids as the course package and as a published library.
#
# - **You write** seven functions, and a test that judges somebody else's. Each is graded on its own. One more question is answered in words.
# - **You need** the chapter on tokenization, and Python's `dict`, `list` and `bytes`.
# - **Time:** about three hours. Each task names its own share.
# - **Points:** 100. They are given beside each task.
# - **Assistants:** {assistants}
#
# How a task works:
#
# 1. Read the contract. It says what the function receives and what it must return.
# 2. Follow the example by hand, on paper.
# 3. Write your code in place of the stub. Run the test cell below it. Its messages say what is wrong.
#
# The grader runs more tests than you see: other words, other sizes, and texts in many scripts.
#
# Rules for the whole set:
#
# - The one float that you return, in task {task:bytes_per_token}, must be right to about 9 digits. Everything else is exact.
# - Use Python and its standard library. Do not import a tokenizer from a package, `course_pkg` included.
# - Do not change your arguments. The caller still needs them.
# - Keep the names of the functions and of their arguments.
# - You may use your own functions of the tasks above. But the grader then judges this task with them: a mistake there costs points here too.

# %% nbgrader={"grade": false, "grade_id": "ps2_install", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["workshop"]
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

# %% nbgrader={"grade": false, "grade_id": "ps2_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import re
from collections import Counter, defaultdict
from itertools import pairwise

WORDS = {b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3}  # a word, and how often it occurs
MERGES = [(b"e", b"s"), (b"es", b"t"), (b"l", b"o"), (b"lo", b"w"), (b"e", b"w")]
EOS = "<eos>"

# A word with the space before it, a number, other signs, or spaces.
SPLIT = r" ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"


def toy_vocabulary(merges=MERGES):
    """All bytes, what the merges make, and one special token."""
    return [bytes([b]) for b in range(256)] + [a + b for a, b in merges] + [EOS]


# %% [markdown]
# **Bytes, tokens, ids.** Every text is a row of bytes: `"é".encode("utf-8")` is `b"\xc3\xa9"`, two bytes. There are only 256 of them, so no text is ever unknown. A *token* is a `bytes` object, such as `b"low"`. Its *id* is its place in the vocabulary. The ids 0 to 255 are the bytes themselves; from 256 on stand the tokens that were learned.
#
# We train on ids, because they say which token is older, and comparing two numbers is quick. We write merges down as `bytes`, because you can read them.
#
# In Python, `list(b"low")` is `[108, 111, 119]`: the ids of a word before any merge. `bytes([108])` is `b"l"`, and `b"lo" + b"w"` is `b"low"`.

# %% [markdown]
# ## {task}. Count pairs  (10 points, 15 minutes, difficulty 1 of 5)
#
# **Why.** Training asks one question again and again: which two neighbours occur together most often? A corpus repeats its words: it has far fewer different words than words. So we count in a table of words rather than in the running text.
#
# **Contract.** `count_pairs(words, counts)`
#
# | argument | type | meaning |
# |---|---|---|
# | `words` | list of lists of `int` | the ids of each word; a word may have one id or none |
# | `counts` | list of `int`, at least 1 | how often each word occurs in the corpus, in the same order |
# | **returns** | `dict` | its keys are pairs of ids, its values say how often they are neighbours in the corpus; a `Counter` is a `dict` too |
#
# - A pair has an order: `(1, 2)` is not `(2, 1)`.
# - Pairs may overlap: in `[7, 7, 7]` the pair `(7, 7)` occurs twice.
# - There is no pair across two words, and no key for a pair that never occurs.
#
# **By hand.** The words `[7, 7, 7]` (2 times) and `[7, 5]` (3 times):
#
# | pair | in word 1 | in word 2 | in the corpus |
# |---|---|---|---|
# | `(7, 7)` | 2 | 0 | 2 · 2 + 3 · 0 = 4 |
# | `(7, 5)` | 0 | 1 | 2 · 0 + 3 · 1 = 3 |
#
# <details><summary>Hint</summary>
#
# `zip(words, counts)` walks over both lists. `pairwise(ids)` gives the neighbours in one word. By how much does one pair in a word raise the count?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps2_count_pairs_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_pairs(words, counts):
    """Count the pairs of neighbours over a corpus of counted words."""
    ### BEGIN SOLUTION
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        for pair in pairwise(ids):
            pairs[pair] += n
    return pairs
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps2_count_pairs", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
words, counts = [[7, 7, 7], [7, 5]], [2, 3]
pairs = count_pairs(words, counts)
assert isinstance(pairs, dict), f"return a dict, not a {type(pairs).__name__}"
assert all(isinstance(pair, tuple) for pair in pairs), "each key is a tuple of two ids"
assert (7, 5) in pairs, "7 and 5 are neighbours in the second word"
assert (5, 7) not in pairs, "a pair has an order: 5 never stands before 7"
assert pairs[(7, 5)] == 3, "the second word occurs 3 times, and so does each pair in it"
assert pairs[(7, 7)] == 4, "pairs may overlap: (7, 7) occurs twice in [7, 7, 7], a word seen twice"
assert (words, counts) == ([[7, 7, 7], [7, 5]], [2, 3]), "your function changes its arguments"
assert count_pairs([[1, 2], [3, 4]], [1, 1]) == {(1, 2): 1, (3, 4): 1}, (
    "the last id of a word and the first of the next are not a pair"
)
assert count_pairs([[0, 2], [0, 2]], [5, 6]) == {(0, 2): 11}, "add up over all words"
assert count_pairs([[], [4]], [3, 3]) == {}, "a word of one id, or of none, has no pair"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Merge a pair  (12 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** A merge is the one thing that byte-pair encoding does to a text, in training and afterwards: two neighbours become one token.
#
# **Contract.** `merge_pair(ids, pair, merged)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | list of `int` | may be empty, and thousands long |
# | `pair` | tuple of two `int` | both may be the same id |
# | `merged` | `int` | the id that replaces the pair |
# | **returns** | `list` | a new list, with every occurrence of the pair replaced by `merged` |
#
# - Go from left to right. An id that has been merged is used up: `[7, 7, 7]` has room for one merge of `(7, 7)`, not two.
# - Do not rely on the ids being numbers: only ask whether two of them are equal. In task {task:encode_word} you may pass `bytes` objects instead. `merged` may even be an id that the list holds already.
#
# **By hand.** `pair = (7, 7)`, `merged = 9`:
#
# | before | after |
# |---|---|
# | `[7, 7, 7, 5]` | `[9, 7, 5]` |
# | `[5, 7, 7]` | `[5, 9]` |
# | `[7, 7, 7, 7]` | `[9, 9]` |
# | `[7, 5, 7]` | `[7, 5, 7]` |
#
# <details><summary>Hint</summary>
#
# Use a `while` loop and a place that you move yourself: by two after a merge, else by one. What happens at the last id, which has no right neighbour?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps2_merge_pair_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge_pair(ids, pair, merged):
    """Replace every occurrence of a pair by one id, from left to right."""
    ### BEGIN SOLUTION
    result = []
    place = 0
    while place < len(ids):
        if tuple(ids[place : place + 2]) == pair:
            result.append(merged)
            place += 2
        else:
            result.append(ids[place])
            place += 1
    return result
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps2_merge_pair", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
ids = [1, 2, 3, 1, 2]
result = merge_pair(ids, (1, 2), 9)
assert isinstance(result, list), f"return a list, not a {type(result).__name__}"
assert result[:1] == [9], f"the pair at the start becomes 9; you gave {result}"
assert result[-1:] == [9], f"the pair at the end becomes 9 too; you gave {result}"
assert result == [9, 3, 9], f"both ids of the pair vanish, all others stay; you gave {result}"
assert ids == [1, 2, 3, 1, 2], "your function changes the list that it was given"
result = merge_pair([1, 2, 3], (1, 2), 9)
assert result == [9, 3], f"an id in no pair stays, at the end too; [1, 2, 3] became {result}"
result = merge_pair([7, 7, 7, 5], (7, 7), 9)
assert result == [9, 7, 5], f"in [7, 7, 7, 5] the first two become 9, not {result}"
assert merge_pair([7, 7, 7, 7], (7, 7), 9) == [9, 9], "four equal ids have room for two merges"
assert merge_pair([2, 1, 2], (1, 2), 9) == [2, 9], "(2, 1) is not the pair (1, 2)"
assert merge_pair([1, 3, 2], (1, 2), 9) == [1, 3, 2], "1 and 2 are not neighbours in [1, 3, 2]"
assert merge_pair([], (1, 2), 9) == [], "nothing in, nothing out"
assert merge_pair([b"l", b"o"], (b"l", b"o"), b"lo") == [b"lo"], "bytes objects can be merged too"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Learn the merges  (18 points, 45 minutes, difficulty 4 of 5)
#
# **Why.** Training is one step, repeated: count the pairs, merge the most frequent one, and give it the next id. Philip Gage invented it in 1994 to compress files. Sennrich, Haddow and Birch (2016) brought it to language.
#
# **Contract.** `learn_merges(words, n_tokens, min_count)`
#
# | argument | type | meaning |
# |---|---|---|
# | `words` | `dict` from `bytes` to `int`, at least 1 | how often each word occurs; a word may be empty, and there may be no words |
# | `n_tokens` | `int`, at least 256 | stop at this many tokens, the 256 bytes included |
# | `min_count` | `int`, at least 1 | stop when no pair occurs at least this often |
# | **returns** | `(tokens, merges)` | the tokens by id, a list of `bytes`; the merged pairs in order, a list of `(bytes, bytes)` |
#
# - The tokens 0 to 255 are the single bytes, then each merge adds one. In all words that you are given, no two merges make the same bytes.
# - **Ties.** Of equally frequent pairs, take the one whose *first id* is smallest. If that is equal too, take the one whose second id is smallest. Every trainer must have some rule for this, or two runs would give two vocabularies.
# - Also stop when no pair is left.
#
# **By hand.** `WORDS`, up to 261 tokens:
#
# | step | the best pairs | merged | id |
# |---|---|---|---|
# | 1 | (e, s) and (s, t), 9 each | e + s, as the id of e is smaller | 256 |
# | 2 | (es, t) 9 | es + t | 257 |
# | 3 | (l, o) and (o, w), 7 each | l + o | 258 |
# | 4 | (lo, w) 7 | lo + w | 259 |
# | 5 | (e, w), (n, e) and (w, est), 6 each | e + w, as the id of e is smallest | 260 |
#
# Before step 1, (w, e) occurs 8 times: 2 in "lower" and 6 in "newest". After step 2 only the 2 in "lower" are left. So count anew after each merge.
#
# <details><summary>Hint</summary>
#
# Keep `tokens`, `merges`, and the words as lists of ids. A tuple `(-count, pair)` is smallest for the most frequent pair, and among equals for the smallest pair: Python compares tuples from left to right. `min(..., key=...)` will do.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps2_learn_merges_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def learn_merges(words, n_tokens, min_count):
    """Learn merges from counted words; return the tokens by id, and the merges in order."""
    ### BEGIN SOLUTION
    tokens = [bytes([b]) for b in range(256)]
    merges = []
    spelled = [list(word) for word in words]
    counts = list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        first, second = best
        merges.append((tokens[first], tokens[second]))
        tokens.append(tokens[first] + tokens[second])
    return tokens, merges
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps2_learn_merges", "locked": true, "points": 18, "schema_version": 3, "solution": false, "task": false}
words = dict(WORDS)
learned = learn_merges(words, 261, 1)
assert isinstance(learned, tuple) and len(learned) == 2, "return two things: tokens, merges"
tokens, merges = learned
assert tokens[:256] == [bytes([b]) for b in range(256)], "the tokens 0 to 255 are the bytes"
assert len(tokens) == 261, f"stop at 261 tokens, bytes included; you have {len(tokens)}"
assert len(merges) == 5, f"261 tokens need 5 merges; you have {len(merges)}"
assert merges[0] != (b"s", b"t"), "(e, s) and (s, t) are equally frequent: the smaller ids win"
assert merges[0] == (b"e", b"s"), f"the first merge is e + s, not {merges[0]}: do counts matter?"
assert merges[1] == (b"es", b"t"), f"the second merge is es + t, not {merges[1]}: count anew"
assert merges[2] == (b"l", b"o"), f"after es + t comes l + o with 7, not {merges[2]}"
assert merges == MERGES, f"see the table; you have {merges}"
assert tokens[256:] == [b"es", b"est", b"lo", b"low", b"ew"], "each merge adds one token, in order"
assert words == WORDS, "your function changes the words that it was given"

assert len(learn_merges(WORDS, 999, 7)[1]) == 4, "4 merges have a pair that occurs 7 times or more"
assert len(learn_merges(WORDS, 999, 8)[1]) == 2, "2 merges have a pair that occurs 8 times or more"
tokens, merges = learn_merges({b"ab": 1}, 999, 1)
assert merges == [(b"a", b"b")], "with one word of one token no pair is left: stop"
assert learn_merges({b"aaaa": 1, b"bc": 2}, 257, 1)[1] == [(b"a", b"a")], (
    "(a, a) occurs 3 times in 'aaaa', as pairs may overlap"
)
assert learn_merges({b"lolo": 1}, 999, 1)[1] == [(b"l", b"o"), (b"lo", b"lo")], (
    "in each word, merge a pair wherever it stands"
)
assert learn_merges({b"ac": 1, b"ab": 1}, 257, 1)[1] == [(b"a", b"b")], (
    "where the first ids are equal too, the smaller second id wins, whichever pair came first"
)
assert learn_merges({b"abx": 2, b"cy": 2}, 258, 1)[1] == [(b"a", b"b"), (b"c", b"y")], (
    "ties go by id, and not by bytes: c is 99, but ab is 256"
)
merges = learn_merges({b"": 2, b"ab": 1}, 999, 1)[1]
assert merges == [(b"a", b"b")], f"a word may be empty; you learned {merges}"
assert learn_merges(WORDS, 256, 1)[1] == [], "256 tokens leave room for the bytes only"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Encode a word  (16 points, 30 minutes, difficulty 3 of 5)
#
# **Why.** A new word must be cut as training would have cut it: by the same merges, in the same order. The place of a merge in the list is its *rank*; a small rank was learned early. It is tempting to look for the longest known token instead, but that is a different algorithm, and it gives different ids.
#
# **Contract.** `encode_word(word, vocabulary, merges)`
#
# | argument | type | meaning |
# |---|---|---|
# | `word` | `bytes` | the UTF-8 of some text, at most a few hundred bytes; may be empty |
# | `vocabulary` | list | the tokens by id: all single bytes, what each merge makes, then perhaps special tokens, which are strings |
# | `merges` | list of `(bytes, bytes)` | the pairs to merge, the first learned first: both parts of a pair are single bytes, or made by pairs before it |
# | **returns** | list of `int` | the ids |
#
# - No two merges make the same bytes, as a + bc and ab + c would.
# - Start from the single bytes. As long as some neighbours are a pair in `merges`: take the pair of the smallest rank, and merge it wherever it stands.
#
# **By hand.** "newest" with `MERGES`:
#
# | the word | known pairs | smallest rank |
# |---|---|---|
# | n e w e s t | (e, w) rank 4, (e, s) rank 0 | (e, s) |
# | n e w es t | (e, w) rank 4, (es, t) rank 1 | (es, t) |
# | n e w est | (e, w) rank 4 | (e, w) |
# | n ew est | none | |
#
# And with the merges `[(b"h", b"e"), (b"t", b"h")]`, "the" becomes t + he. If you start from the left, or merge t + h because it comes first in the text, you get th + e.
#
# <details><summary>Hint</summary>
#
# Keep the word as a list of `bytes` objects, and look up the ids at the very end. A dict from pair to rank answers quickly. `merge_pair` works for `bytes` objects too.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps2_encode_word_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def encode_word(word, vocabulary, merges):
    """Return the ids of a word, by replaying the merges."""
    ### BEGIN SOLUTION
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    pieces = [bytes([b]) for b in word]
    while True:
        known = [pair for pair in pairwise(pieces) if pair in ranks]
        if not known:
            break
        first, second = min(known, key=ranks.get)
        pieces = merge_pair(pieces, (first, second), first + second)
    id_of = {token: i for i, token in enumerate(vocabulary)}
    return [id_of[piece] for piece in pieces]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps2_encode_word", "locked": true, "points": 16, "schema_version": 3, "solution": false, "task": false}
vocabulary, merges = toy_vocabulary(), list(MERGES)
ids = encode_word(b"newest", vocabulary, merges)
assert isinstance(ids, list), f"return a list, not a {type(ids).__name__}"
assert not any(isinstance(i, bytes) for i in ids), "return ids, not the tokens themselves"
assert ids == [110, 260, 257], f"'newest' is n + ew + est, that is 110, 260, 257, not {ids}"
assert encode_word(b"lowlow", vocabulary, merges) == [259, 259], "merge a pair wherever it stands"
assert encode_word(b"xyz", vocabulary, merges) == [120, 121, 122], "without merges: the bytes"
assert encode_word(b"", vocabulary, merges) == [], "an empty word has no ids"
assert encode_word("é".encode(), vocabulary, merges) == [195, 169], "'é' is two bytes"
order = [(b"h", b"e"), (b"t", b"h")]
ids = encode_word(b"the", toy_vocabulary(order), order)
assert ids == [116, 256], (
    f"the smallest rank comes first: 'the' is t + he, so [116, 256], not {ids}"
)
assert (vocabulary, merges) == (toy_vocabulary(), MERGES), "your function changes its arguments"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Encode a text  (12 points, 20 minutes, difficulty 3 of 5)
#
# **Why.** If merges could run over whole texts, "dog." and "dog!" would become tokens of their own, and so would "of the". So a text is first cut into pieces by a *split pattern*, and each piece is encoded by itself. A space belongs to the word after it: that is why GPT-2 has tokens like `" the"`.
#
# **Contract.** `encode(text, vocabulary, merges, pattern)`
#
# | argument | type | meaning |
# |---|---|---|
# | `text` | `str` | any text; may be empty |
# | `vocabulary`, `merges` | | as in task {task:encode_word} |
# | `pattern` | `str` | a regular expression without groups for Python's `re`; its matches, joined, are the text again |
# | **returns** | list of `int` | the ids of all pieces |
#
# - No merge crosses the border between two pieces, even if `merges` has the pair.
# - Nothing gets lost: spaces at the start, at the end, and in a row have ids as well.
# - Bytes means UTF-8. No text that you are given has lone surrogates, such as `"\ud800"`, which have no UTF-8.
# - The text `"<eos>"` is ordinary text. A special token never comes out of a text, because the author of a text must not be able to end the document.
#
# **By hand.** `SPLIT` cuts `"low  lowest!"` into `"low"`, `" "`, `" lowest"`, `"!"`. The second space goes with the word, the first is left alone. The ids are 259 for low; 32 for the space; 32, 259, 257 for the space, low, est; and 33 for the sign.
#
# <details><summary>Hint</summary>
#
# `re.finditer(pattern, text)` gives one match after the other, and `match.group()` its text. `str.split` throws the spaces away. The method `str.encode` makes bytes of a text.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps2_encode_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def encode(text, vocabulary, merges, pattern):
    """Return the ids of a text, each match of the pattern encoded apart."""
    ### BEGIN SOLUTION
    ids = []
    for match in re.finditer(pattern, text):
        ids.extend(encode_word(match.group().encode("utf-8"), vocabulary, merges))
    return ids
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps2_encode", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
vocabulary, merges = toy_vocabulary(), list(MERGES)
ids = encode("low", vocabulary, merges, SPLIT)
assert isinstance(ids, list), f"return a list, not a {type(ids).__name__}"
assert ids == [259], f"'low' is one token, 259; you gave {ids}"
ids = encode("low lowest", vocabulary, merges, SPLIT)
assert 32 in ids, f"the space has an id too, 32; you gave {ids}"
assert ids == [259, 32, 259, 257], f"one list for the whole text; you gave {ids}"
ids = encode("low  lowest!", vocabulary, merges, SPLIT)
assert ids.count(32) == 2, f"both spaces have an id; you gave {ids}"
assert ids == [259, 32, 32, 259, 257, 33], f"see the example; you gave {ids}"
assert encode(" low ", vocabulary, merges, SPLIT) == [32, 259, 32], "spaces at both ends survive"
assert encode("", vocabulary, merges, SPLIT) == [], "an empty text has no ids"
ids = encode("low\r\nlow", vocabulary, merges, SPLIT)
assert ids == [259, 13, 10, 259], f"line ends of both kinds survive; you gave {ids}"
crossing = [(b"w", b" "), (b"o", b"w")]
ids = encode("low low", toy_vocabulary(crossing), crossing, SPLIT)
assert ids == [108, 257, 32, 108, 257], f"no merge crosses the border of two pieces; you gave {ids}"
assert encode("es", vocabulary, merges, ".") == [101, 115], "the pattern decides where to cut"
assert encode("é", vocabulary, merges, SPLIT) == [195, 169], "'é' is two bytes in UTF-8"
ids = encode(EOS, vocabulary, merges, SPLIT)
assert len(vocabulary) - 1 not in ids, "the text '<eos>' is five ordinary characters"
assert (vocabulary, merges) == (toy_vocabulary(), MERGES), "your function changes its arguments"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Decode  (10 points, 20 minutes, difficulty 2 of 5)
#
# **Why.** A model writes ids. Nothing forces it to finish a character before it begins another: it may give one byte of "é" and then a space. A decoder must not stumble over that.
#
# **Contract.** `decode(ids, vocabulary)`
#
# | argument | type | meaning |
# |---|---|---|
# | `ids` | list of `int` | may be empty |
# | `vocabulary` | list | as in task {task:encode_word}; there may be several special tokens, or none |
# | **returns** | `str` | the text |
#
# - Special tokens are left out, inside a character too: `[195, 261, 169]` is "é", where 261 is `"<eos>"`.
# - A character may be spread over several tokens. Bytes that are not UTF-8 become U+FFFD, "�", as in Python with `errors="replace"`.
# - An id that is below 0, or not below the size of the vocabulary, raises a `ValueError`.
#
# **By hand.** 195 and 169 together are "é", though neither is a character alone. `[195, 169, 259]` is "élow". `[195, 259]` is "�low".
#
# <details><summary>Hint</summary>
#
# Put all bytes together first; turn them into text once, at the end. Python takes an index of -1 for the last place of a list, and says nothing.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps2_decode_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def decode(ids, vocabulary):
    """Return the text of some ids."""
    ### BEGIN SOLUTION
    pieces = []
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(f"id {i} is outside the vocabulary of {len(vocabulary)}")
        if isinstance(vocabulary[i], bytes):
            pieces.append(vocabulary[i])
    return b"".join(pieces).decode("utf-8", errors="replace")
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps2_decode", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
def decoding_error(ids):
    try:
        decode(ids, toy_vocabulary())
    except Exception as error:
        return type(error)
    return None


vocabulary = toy_vocabulary()
text = decode([259, 257], vocabulary)
assert isinstance(text, str), f"return a str, not a {type(text).__name__}"
assert text == "lowest", f"259 and 257 are 'lowest', not {text!r}"
text = decode([32, 259, 32], vocabulary)
assert text == " low ", f"all spaces survive, and none is added; you gave {text!r}"
text = decode([195, 169, 259], vocabulary)
assert text == "élow", f"195 and 169 together are 'é': join before you decode; you gave {text!r}"
assert decoding_error([195, 259]) is None, "broken UTF-8 must not raise an error"
text = decode([195, 259], vocabulary)
assert text == "\ufffdlow", f"half an 'é' becomes U+FFFD; you gave {text!r}"
text = decode([259, len(vocabulary) - 1, 259], vocabulary)
assert text == "lowlow", f"special tokens are left out; you gave {text!r}"
text = decode([259, 261, 262, 259], [*vocabulary, "<pad>"])
assert text == "lowlow", f"there may be several special tokens; you gave {text!r}"
text = decode([195, len(vocabulary) - 1, 169], vocabulary)
assert text == "é", f"the bytes around a special token meet, here as 'é'; you gave {text!r}"
assert decode([], vocabulary) == "", "no ids, no text"
for outside in (-1, len(vocabulary)):
    error = decoding_error([259, outside])
    assert error and issubclass(error, ValueError), (
        f"the id {outside} should raise a ValueError; you gave {error}"
    )
assert vocabulary == toy_vocabulary(), "your function changes the vocabulary"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Bytes per token  (8 points, 10 minutes, difficulty 1 of 5)
#
# **Why.** How good is a tokenizer? The more bytes of text a token covers, the fewer steps a model needs, and the more text fits into its context. A tokenizer of single bytes has 1. GPT-2 has about 4 on English.
#
# **Contract.** `bytes_per_token(tokenizer, texts)`
#
# | argument | type | meaning |
# |---|---|---|
# | `tokenizer` | an object | its method `encode(text)` returns a list of ids |
# | `texts` | list of `str` | encode each one by itself |
# | **returns** | `float` | all bytes of the texts in UTF-8, divided by all their tokens |
#
# - Add everything up first, and divide once. A short text must not count as much as a long one.
# - If the texts give no token at all, raise a `ValueError`.
#
# **By hand.** A tokenizer cuts at spaces. `"a bc"` gives 2 tokens for 4 bytes. `"é"` gives 1 token for 2 bytes. Together: 6 bytes, 3 tokens, 2.0 bytes per token.
#
# <details><summary>Hint</summary>
#
# `len("é")` is 1: it counts characters. How long is `"é".encode("utf-8")`?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps2_bytes_per_token_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bytes_per_token(tokenizer, texts):
    """Return how many bytes of text a token covers on average."""
    ### BEGIN SOLUTION
    n_bytes = sum(len(text.encode("utf-8")) for text in texts)
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    if n_tokens == 0:
        raise ValueError("the texts give no token")
    return n_bytes / n_tokens
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps2_bytes_per_token", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
class WordCutter:
    def encode(self, text):
        return [len(word) for word in text.split()]


def measuring_error(texts):
    try:
        bytes_per_token(WordCutter(), texts)
    except Exception as error:
        return type(error)
    return None


texts = ["a bc", "é"]
value = bytes_per_token(WordCutter(), ["a bc"])
assert value is not None, "bytes_per_token returned None: is there a return?"
assert value == 2, f"4 bytes, 2 tokens: 2 bytes per token, not {value}"
value = bytes_per_token(WordCutter(), ["abc de"])
assert value == 3, f"6 bytes, 2 tokens: 3 bytes per token, not {value}"
value = bytes_per_token(WordCutter(), ["é"])
assert value == 2, f"'é' has 2 bytes, so 2 bytes per token, not {value}"
value = bytes_per_token(WordCutter(), ["abcdef", "a b c"])
assert value == 11 / 4, f"11 bytes, 4 tokens: 2.75, not {value}; sum up before you divide"
assert bytes_per_token(WordCutter(), texts) == 2, "6 bytes, 3 tokens: 2 bytes per token"
error = measuring_error(["", ""])
assert error and issubclass(error, ValueError), (
    f"texts without a token should raise a ValueError; you gave {error}"
)
assert texts == ["a bc", "é"], "your function changes the texts that it was given"
print("All visible tests passed.")

# %% [markdown]
# ## {task}. Judge the assistant  (6 points, 20 minutes, difficulty 3 of 5)
#
# **Why.** An assistant writes `merge_pair` in ten seconds, and it looks right. Is it? Finding out is left to you. This time you write the *test*.
#
# **Contract.** `judge_merge_pair(implementation)`
#
# | argument | type | meaning |
# |---|---|---|
# | `implementation` | function | somebody's `merge_pair`, to be called as in task {task:merge_pair} |
# | **returns** | `bool` | True if it does what task {task:merge_pair} asks for, False if it does not |
#
# - The grader runs your test on sixteen implementations that you do not see: five right ones, in styles of their own, and eleven that each make one mistake. Your points are the share of the wrong ones that your test refuses, less the share of the right ones that it refuses: saying the same every time earns nothing.
# - Each run may call the implementation 200 times. Arguments and results travel as copies (numbers, texts, lists, tuples, dicts, tensors; no functions): neither side sees what the other writes into them. If the implementation raises an exception, so does your call, with the same type and no message. An implementation that raises where the contract names no error is wrong: say False, or let the exception through, which counts as False. A test that raises an exception of its own has not judged.
# - Ids are `int` here. Judge what is returned; speed, and what becomes of the caller's list, are not judged here. You may compare the results with those of your own `merge_pair`; then a mistake in it costs points here too.
#
# **By hand.** Which call tells what? Say what each would return before you look at code. `pair = (7, 7)`, `merged = 9`:
#
# | an implementation that … | for `[7, 7]` | for `[7, 7, 7]` |
# |---|---|---|
# | is right | `[9]` | `[9, 7]` |
# | goes from right to left | `[9]` | `[7, 9]` |
# | uses an id twice | `[9]` | `[9, 9]` |
#
# The first call is a warning: it gives neither mistake away.
#
# <details><summary>Hint</summary>
#
# Most mistakes in code like this show in some list of three or four ids. With two different ids there are few such lists: you can try them all. `itertools.product((1, 2), repeat=3)` gives those of three.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ps2_judge_merge_pair_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def judge_merge_pair(implementation):
    """Say whether an implementation of merge_pair is right."""
    ### BEGIN SOLUTION
    from itertools import product

    lists = [list(ids) for n in range(5) for ids in product((1, 2), repeat=n)]
    calls = [(ids, pair, merged) for ids in lists for pair in [(1, 1), (1, 2)] for merged in (9, 1)]
    try:
        return all(implementation(*call) == merge_pair(*call) for call in calls)
    except Exception:
        return False
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ps2_judge_merge_pair", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
from copy import deepcopy


def nothing_merged(ids, pair, merged):
    """Wrong: it leaves all ids as they are."""
    return list(ids)


def without_the_last(ids, pair, merged):
    """Your own, made wrong: it loses what stands last."""
    return merge_pair(ids, pair, merged)[:-1]


def turned_round(ids, pair, merged):
    """Your own, made wrong: it looks for the second id before the first."""
    return merge_pair(ids, pair[::-1], merged)


def says(implementation):
    """What your test says: the implementation gets copies, and an exception is a refusal."""
    try:
        return judge_merge_pair(
            lambda *call, **more: implementation(*deepcopy(call), **deepcopy(more))
        )
    except Exception:
        return False


verdict = judge_merge_pair(nothing_merged)
assert type(verdict) is bool, f"return True or False, not {type(verdict).__name__}"
assert not verdict, "an implementation that merges nothing is wrong; your test accepts it"
try:
    is_right = bool(merge_pair([1, 2, 3, 1, 2], (1, 2), 9) == [9, 3, 9])
except Exception:
    is_right = False
if not is_right:
    print("Your merge_pair does not do yet what its task asks for, so your test has met only one")
    print("implementation, a wrong one. The grader has right and wrong ones of its own.")
else:
    assert not says(without_the_last), "without_the_last loses the last id; your test accepts it"
    assert not says(turned_round), (
        "turned_round merges the pair's mirror image; your test accepts it"
    )
    if says(merge_pair):
        print("All visible tests passed.")
    else:
        print("Your test refuses your own merge_pair: one of the two is wrong. For which call?")

# %% [markdown]
# ## {task}. In your own words  (8 points, 15 minutes, difficulty 3 of 5)
#
# Anna and Ben train a model each on the same English text. Anna's tokenizer has 1,000 tokens and reaches 2.5 bytes per token on held-out text; her model's loss there is 3.2 nats per token. Ben's has 30,000 tokens and reaches 4.0 bytes per token; his model's loss is 4.5 nats per token.
#
# 1. Anna says: "my perplexity is far smaller, so my model is better." Give both perplexities. Then give both losses in bits per byte. Who has the better model?
# 2. Why must perplexities per token not be compared here, while bits per byte may?
# 3. Now both tokenizers read a Greek text. Every Greek letter has two bytes in UTF-8. What do you expect for their bytes per token, and why? Name one consequence for a person who uses such a model in Greek.
#
# Write at most 150 words.
#
# *How it is graded: 3 points for the four numbers and the verdict; 2 for saying what differs between the two units; 3 for the value with its reason and a consequence.*

# %% [markdown] nbgrader={"grade": true, "grade_id": "ps2_explain_compression", "locked": false, "points": 8, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. Perplexity: exp(3.2) ≈ 24.5 for Anna, exp(4.5) ≈ 90 for Ben. Bits per byte: 3.2 / (2.5 · ln 2) ≈ 1.85 for Anna, 4.5 / (4.0 · ln 2) ≈ 1.62 for Ben. Ben's model is better: it needs fewer bits for the same text.
# 2. Perplexity per token is a mean over tokens. Ben's tokens are longer and fewer, so each one is harder to guess, but there are fewer of them. A byte of text is the same thing for both, and the losses of the whole text are divided by the same number.
# 3. About 1 byte per token, 2 at most for frequent letters: the merges were learned from English bytes, and hardly any of them fits Greek. A Greek text takes several times as many tokens as an English one. So it costs more, takes longer, and less of it fits into the context.
#
# *Rubric.* 3: perplexities (1), bits per byte (1), Ben is better (1). 2: the unit "token" differs between the two (1), bytes are the same for both (1). 3: near 1 (1), merges come from English (1), one consequence: price, time, context, or quality (1). A right verdict without numbers earns 1.
# ### END SOLUTION

# %% [markdown]
# ## Workshop: your tokenizer on real text (not graded)
#
# Now your functions go to work. The next cells need `course_pkg` and some ten seconds.
#
# They learn from the reference texts of Python itself. Then they read texts that they have never seen. The package's tokenizer learns from the same texts, and the compiled `tokenizers` library encodes with it. All three must agree, id for id.

# %% tags=["workshop"]
from course_pkg.text.corpora import load_corpus
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer

N_TOKENS, MIN_COUNT = 768, 2

corpus = load_corpus("reference")
train, held_out = corpus.train[:32], corpus.valid[:3]
word_counts = Counter(word.encode() for text in train for word in re.findall(SPLIT, text))
tokens, merges = learn_merges(word_counts, N_TOKENS, MIN_COUNT)
print(f"{sum(word_counts.values())} words, {len(word_counts)} of them different")
print("your first tokens:", *(repr(token.decode()) for token in tokens[256:276]))
print("your longest token:", repr(max(tokens, key=len).decode()))

# %% tags=["workshop"]
package = BytePairTokenizer.train(
    train, vocab_size=N_TOKENS + 1, min_count=MIN_COUNT, pattern=SPLIT
)
compiled = BytePairTokenizer([*tokens, EOS], merges, pattern=SPLIT).to_fast()


class MyTokenizer:
    # Your functions behind the one method that the package asks for.
    def __init__(self, tokens, merges):
        self.vocabulary, self.merges, self.seen = [*tokens, EOS], merges, {}

    def encode(self, text):
        # Most words come again and again: each piece is encoded once.
        ids = []
        for piece in re.findall(SPLIT, text):
            if piece not in self.seen:
                self.seen[piece] = encode(piece, self.vocabulary, self.merges, SPLIT)
            ids += self.seen[piece]
        return ids


mine = MyTokenizer(tokens, merges)
unseen = [*held_out, "  Zwölf Boxkämpfer\t jagen 日本語 👩‍👧!  "]
same_merges = merges == package.merges
same_ids = all(mine.encode(t) == package.encode(t) == compiled.encode(t) for t in unseen)
round_trip = all(decode(mine.encode(t), mine.vocabulary) == t for t in unseen)
print("merges equal the package's:", same_merges)
print("ids equal the package's and the library's:", same_ids)
print("every text comes back:", round_trip)

# %% [markdown]
# What you should see: three times `True`. If the merges differ, look at the first that does, and ask which rule decided it.
#
# (If you try texts of your own: the package cuts with the library `regex`, which takes a loose accent for part of a word. Python's `re` does not. So the ids of such a text may differ, and neither is wrong.)
#
# What does a larger vocabulary buy? The first merges are the best ones, so the first part of your list is the tokenizer that a smaller vocabulary would have given.

# %% tags=["workshop"]
from course_pkg.plots import lines, show

sizes = [256, 272, 288, 320, 384, 512, 640, 768]
unlike = ["Der schnelle braune Fuchs springt über den faulen Hund.", "Η γρήγορη καφέ αλεπού."]
curves = {"held-out text": held_out, "German and Greek": unlike}
results = {
    name: [bytes_per_token(MyTokenizer(tokens[:n], merges[: n - 256]), texts) for n in sizes]
    for name, texts in curves.items()
}
print(f"{'tokens':18}", *(f"{n:6}" for n in sizes))
for name, values in results.items():
    print(f"{name:18}", *(f"{value:6.2f}" for value in values))
show(
    lines(
        {name: (sizes, values) for name, values in results.items()},
        x_label="tokens in the vocabulary",
        y_label="bytes per token",
    ),
    alt="Bytes per token against the size of the vocabulary: the curve for text like the training "
    "text rises steeply and then ever more slowly; the one for other languages stays low.",
)

# %% [markdown]
# What you should see: on held-out text the first 16 merges already gain more than a fifth, and 512 merges reach about 2.7 bytes per token (each version of Python has slightly other texts). Each doubling of the merges adds less. On German and Greek the same merges end at about 1.3: they are compressed by what they share with English, and by nothing else. A tokenizer is trained, and so it knows some languages better than others.

# %% [markdown]
# ## An open challenge: fast and correct (not graded)
#
# Your `learn_merges` counts every pair anew after each merge, though a merge changes only the words that hold the pair. **Write a trainer that gives the same merges, id for id, in the least CPU time.** Keep the counts of all pairs and, for each pair, the words in which it stands; after a merge, correct the counts of the pairs beside it and of no other. A heap finds the best pair. (Beware: it holds old counts, too.)
#
# The number to beat is that of the package's trainer, measured on your machine by the second cell below.
#
# Your course may have a leaderboard. Everyone who changes the first cell takes part: the grader calls your `fast_learn_merges` on words that you have not seen, checks the merges, and counts the CPU time itself. So put into that cell, or into a cell of your own, all that the function needs, and nothing that takes long. `PSEUDONYM` is your name on the page: Latin letters, at most 24 of them. Without one, you are given a name.

# %% tags=["workshop"]
PSEUDONYM = ""


def fast_learn_merges(words, n_tokens, min_count):
    """Yours: replace the line below."""
    return learn_merges(words, n_tokens, min_count)


# %% tags=["workshop"]
import time

TAKE_PART = False  # True: measure the trainer to beat, and yours

if TAKE_PART:
    tests = [(WORDS, 261, 1), (WORDS, 999, 7), ({b"ab": 1}, 999, 1), ({b"aaaa": 3, b"": 1}, 260, 1)]
    for words, n_tokens, min_count in tests:
        fast = fast_learn_merges(dict(words), n_tokens, min_count)
        assert fast == learn_merges(words, n_tokens, min_count), f"different merges from {words}"
    start = time.process_time()
    package = BytePairTokenizer.train(
        train, vocab_size=N_TOKENS + 1, min_count=MIN_COUNT, pattern=SPLIT
    )
    to_beat, start = time.process_time() - start, time.process_time()
    counted = Counter(word.encode() for text in train for word in re.findall(SPLIT, text))
    _, fast_merges = fast_learn_merges(counted, N_TOKENS, MIN_COUNT)
    yours = time.process_time() - start
    assert fast_merges == package.merges, "the merges differ from the package's"
    print("All visible tests passed.")
    print(f"CPU seconds to learn {len(fast_merges)} merges: to beat {to_beat:.2f}, yours {yours:.2f}")
