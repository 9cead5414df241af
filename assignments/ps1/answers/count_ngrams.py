# %% right: Returns a defaultdict.
def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        history = (eos,)[: order - 1]
        for token in [*document, eos]:
            counts[history][token] += 1
            history = (*history, token)[-(order - 1) :] if order > 1 else ()
    return counts


# %% right: Slides a window of limited length.
def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        window = deque([eos], maxlen=max(order - 1, 1))
        for token in (*document, eos):
            history = tuple(window) if order > 1 else ()
            if history not in counts:
                counts[history] = Counter()
            counts[history][token] += 1
            window.append(token)
    return counts


# %% right: Counts in plain dictionaries, and makes counters of them at the end.
def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        padded = (eos, *document, eos)
        for end in range(2, len(padded) + 1):
            *history, token = padded[max(0, end - order) : end]
            row = counts.setdefault(tuple(history), {})
            row[token] = row.get(token, 0) + 1
    return {history: Counter(row) for history, row in counts.items()}


# %% right: Counts whole n-grams first and splits them afterwards.
def count_ngrams(documents, order, eos):
    grams = Counter(
        tuple(padded[max(0, end - order) : end])
        for padded in ([eos, *document, eos] for document in documents)
        for end in range(2, len(padded) + 1)
    )
    counts = {}
    for gram, n in grams.items():
        counts.setdefault(gram[:-1], Counter())[gram[-1]] = n
    return counts


# %% right: padded slices
from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            history = tuple(padded[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


# %% right: deque window
from collections import Counter
from collections import defaultdict
from collections import deque
import itertools


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        window = deque([eos], maxlen=order - 1)
        for token in itertools.chain(document, [eos]):
            counts[tuple(window)][token] += 1
            window.append(token)
    return counts


# %% right: growing tuple
from collections import Counter


def count_ngrams(documents: list, order: int, eos) -> dict:
    counts: dict[tuple, Counter] = {}
    for document in documents:
        history = (eos,)[: order - 1]
        for token in (*document, eos):
            if history not in counts:
                counts[history] = Counter()
            counts[history].update((token,))
            history = (*history, token)
            if len(history) >= order:
                history = history[1:]
    return counts


# %% right: one flat counter
# first all n-grams in one Counter, then sorted into histories

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    grams = Counter(
        (tuple(padded[max(0, t + 1 - order) : t]), padded[t])
        for padded in ([eos, *d, eos] for d in documents)
        for t in range(1, len(padded))
    )
    counts = defaultdict(Counter)
    for (history, token), n in grams.items():
        counts[history][token] = n
    return dict(counts)


# %% right: lists then counters
from collections import Counter


def count_ngrams(documents, order, eos):
    followers = {}
    for document in documents:
        padded = (eos,) + tuple(document) + (eos,)
        for t, token in enumerate(padded[1:], start=1):
            start = t - (order - 1) if t > order - 1 else 0
            followers.setdefault(padded[start:t], []).append(token)
    return {history: Counter(tokens) for history, tokens in followers.items()}


# %% right: zip of shifts
from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}

    def see(history, token):
        counts.setdefault(tuple(history), Counter())[token] += 1

    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, min(order, len(padded))):
            if t < order - 1 or order == 1:
                see(padded[:t] if order > 1 else [], padded[t])
        if order == 1:
            continue
        shifts = [padded[i:] for i in range(order)]
        for *history, token in zip(*shifts):
            see(history, token)
    if order == 1:
        counts = {(): Counter(t for d in documents for t in (*d, eos))}
    return counts


# %% right: shifted zips
# the growing histories at the start apart, then a zip of shifted iterators; n-grams are counted flat and grouped at the end
from collections import Counter
from itertools import islice


def count_ngrams(documents, order, eos):
    flat = Counter()
    for document in documents:
        padded = (eos, *document, eos)
        for end in range(1, min(order, len(padded))):
            flat[padded[:end], padded[end]] += 1
        if order < len(padded):
            shifted = [islice(padded, 1 + s, None) for s in range(order)]
            flat.update((gram[:-1], gram[-1]) for gram in zip(*shifted))
    result = {}
    for (history, token), count in flat.items():
        result.setdefault(history, Counter())[token] = count
    return result


# %% wrong: falsy tokens skipped
# "if token" leaves out tokens that are falsy: 0, "", ().
# shows: the id 0, an empty string or an empty tuple as a token.

from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            token = padded[t]
            if token or t == len(padded) - 1:
                history = tuple(padded[max(0, t - order + 1) : t])
                counts.setdefault(history, Counter())[token] += 1
    return counts


# %% wrong: numpy array of tokens
# np.array makes strings of numbers beside a string eos (and two axes of tuples).
# shows: integer tokens with eos = "<eos>"; tuple tokens.

import numpy as np
from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        padded = np.array([eos, *document, eos]).tolist()
        for t in range(1, len(padded)):
            counts[tuple(padded[max(0, t - order + 1) : t])][padded[t]] += 1
    return dict(counts)


# %% wrong: quadratic prefix
# copies the whole prefix of the document at each place: quadratic time. Results are right.
# shows: one document of 100,000 tokens and more.

from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        padded = [eos] + list(document) + [eos]
        for t in range(1, len(padded)):
            before = padded[:t]
            history = tuple(before[max(0, len(before) - (order - 1)) :])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


# %% wrong: plain dicts inside
# the inner tables are plain dicts, not Counters: asking for an unseen token is a KeyError.
# shows: counts[history]["unseen"], or isinstance(..., Counter).

def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            inner = counts.setdefault(tuple(padded[max(0, t - order + 1) : t]), {})
            inner[padded[t]] = inner.get(padded[t], 0) + 1
    return counts


# %% wrong: tuple tokens flattened
# a history is made by adding tuples, and a token that is a tuple itself is spread out in it.
# shows: tokens that are tuples, order 2 and more.

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        history = (eos,) if order > 1 else ()
        for token in [*document, eos]:
            counts[history][token] += 1
            history += token if isinstance(token, tuple) else (token,)
            history = history[max(0, len(history) - order + 1) :]
    return dict(counts)


# %% wrong: appends to the documents
# puts eos into the caller's documents and takes only the first one away again.
# shows: documents after the call: one token longer.

from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        document.insert(0, eos)
        document.append(eos)
        for t in range(1, len(document)):
            counts.setdefault(tuple(document[max(0, t - order + 1) : t]), Counter())[document[t]] += 1
        del document[0]
    return counts


# %% wrong: mutable default
# the table is a default argument: counts of earlier calls stay in it.
# shows: a second call (at the same order the numbers double).

from collections import Counter


def count_ngrams(documents, order, eos, counts={}):
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            counts.setdefault(tuple(padded[max(0, t - order + 1) : t]), Counter())[padded[t]] += 1
    return counts


# %% wrong: padded to order
# order - 1 eos in front: histories like (eos, eos).
# shows: order 3 and more; at order 2 it is right; at order 1 the first target is lost.

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        padded = [eos] * (order - 1) + list(document) + [eos]
        for t in range(order - 1, len(padded)):
            counts[tuple(padded[t - order + 1 : t])][padded[t]] += 1
    return dict(counts)


# %% wrong: recursion over tokens
# recursion, one level per token: RecursionError for a document of a thousand tokens.
# shows: one long document.

from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}

    def walk(history, rest, i):
        if i == len(rest):
            return
        counts.setdefault(history, Counter())[rest[i]] += 1
        longer = (*history, rest[i])
        walk(longer[max(0, len(longer) - order + 1) :], rest, i + 1)

    for document in documents:
        walk((eos,)[: order - 1], [*document, eos], 0)
    return counts


# %% wrong: one long stream
# all documents in one row, and the history cut at eos by looking BACK for it in the whole stream from the start (first eos of the stream only).
# shows: order 3 and more, the second document: histories reach into the first.

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    stream = [eos]
    for document in documents:
        stream += [*document, eos]
    counts = defaultdict(Counter)
    for t in range(1, len(stream)):
        counts[tuple(stream[max(0, t - order + 1) : t])][stream[t]] += 1
    return dict(counts)


# %% wrong: joined strings
# histories are strings joined by a space and cut again: tokens that hold a space, or are no strings, are changed.
# shows: number tokens; tokens such as "New York".

from collections import Counter
from collections import defaultdict


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            text = " ".join(map(str, padded[max(0, t - order + 1) : t]))
            counts[tuple(text.split())][padded[t]] += 1
    return dict(counts)


# %% wrong: numpy unifies types
# puts each padded document into a NumPy array, which turns mixed tokens into strings; breaks "A token may be a string, a number or a tuple. So never assume that a token is a word."
# shows: count_ngrams([[1, 2]], 2, "<eos>") has the keys ("1",) and ("2",) in place of (1,) and (2,)
from collections import Counter, defaultdict

import numpy as np


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        padded = np.array([eos, *document, eos])
        for i in range(1, len(padded)):
            history = tuple(padded[max(0, i - order + 1) : i].tolist())
            counts[history][padded[i].item()] += 1
    return counts


# %% wrong: quadratic in documents
# glues all documents into one list by sum(lists, []), which copies all that came before for each document; breaks "The time may grow only in proportion to the length of the text."
# shows: count_ngrams([["a"]] * n, 2, "<eos>"): 8 times the documents cost about 64 times the time once n is some ten thousand
from collections import Counter, defaultdict


def count_ngrams(documents, order, eos):
    stream = sum(([eos, *document, eos] for document in documents), [])
    counts, start, inside = defaultdict(Counter), 0, False
    for i, token in enumerate(stream):
        if token == eos and not inside:
            start, inside = i, True
            continue
        counts[tuple(stream[max(start, i - order + 1) : i])][token] += 1
        if token == eos:
            inside = False
    return counts


# %% wrong: histories of at most seven tokens
# A long order is cut off.
# shows: order 20 and a document of 30 words
def count_ngrams(documents, order, eos):
    """Count which tokens follow each history of `order - 1` tokens."""
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for position in range(1, len(padded)):
            start = max(0, position - min(order, 8) + 1)
            history = tuple(padded[start:position])
            counts.setdefault(history, Counter())[padded[position]] += 1
    return counts
