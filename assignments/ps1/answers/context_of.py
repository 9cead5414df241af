# %% right: Slices, then looks for the wall from the right.
def context_of(tokens, order, eos):
    history = tuple(tokens[max(0, len(tokens) - (order - 1)) :])
    if eos in history:
        history = history[len(history) - 1 - history[::-1].index(eos) :]
    return history


# %% right: Walks forward and starts again at every wall.
def context_of(tokens, order, eos):
    history = ()
    for token in tokens:
        history = (token,) if token == eos else (*history, token)
    return history[len(history) - order + 1 :] if len(history) >= order else history


# %% right: Takes the last token and calls itself for those before.
def context_of(tokens, order, eos):
    if order == 1 or len(tokens) == 0:
        return ()
    if tokens[-1] == eos:
        return (eos,)
    return (*context_of(tokens[:-1], order - 1, eos), tokens[-1])


# %% right: Fills a queue that forgets, and empties it at every wall.
def context_of(tokens, order, eos):
    queue = deque(maxlen=order - 1)
    for token in tokens:
        if token == eos:
            queue.clear()
        queue.append(token)
    return tuple(queue)


# %% right: Computes where the history starts.
def context_of(tokens, order, eos):
    walls = [place for place, token in enumerate(tokens) if token == eos]
    start = max([len(tokens) - order + 1, 0, *walls[-1:]])
    return tuple(tokens[start:]) if order > 1 else ()


# %% right: backwards
def context_of(tokens, order, eos):
    seen = []
    for token in reversed(tokens):
        if len(seen) == order - 1:
            break
        seen.append(token)
        if token == eos:
            break
    return tuple(seen[::-1])


# %% right: window then wall
def context_of(tokens, order, eos):
    window = tuple(tokens[max(0, len(tokens) - (order - 1)) :])
    while eos in window[1:]:
        window = window[window.index(eos, 1) :]
    return window


# %% right: deque with clear
from collections import deque


def context_of(tokens, order, eos):
    seen = deque(maxlen=order - 1)
    for token in tokens:
        if token == eos:
            seen.clear()
        seen.append(token)
    return tuple(seen)


# %% right: recursion
def context_of(tokens, order, eos):
    if order <= 1 or len(tokens) == 0:
        return ()
    if tokens[-1] == eos:
        return (tokens[-1],)
    if order > 200:  # not so deep
        last = max((i for i, t in enumerate(tokens) if t == eos), default=0)
        return tuple(tokens[max(last, len(tokens) - order + 1) :])
    return (*context_of(tokens[-order:-1], order - 1, eos), tokens[-1])


# %% right: largest start
def context_of(tokens: list | tuple, order: int, eos) -> tuple:
    starts = [0, len(tokens) - order + 1]
    starts += [place for place, token in enumerate(tokens) if token == eos]
    return tuple(tokens[i] for i in range(max(starts), len(tokens))) if order > 1 else ()


# %% right: itertools
import itertools


def context_of(tokens, order, eos):
    back = list(itertools.islice(reversed(tokens), order - 1))
    upto = list(itertools.takewhile(lambda t: t != eos, back))
    return tuple(reversed(back[: len(upto) + 1]))


# %% right: walk backwards
# walks backwards with islice, stops behind the first eos that it meets, and turns the deque round
from collections import deque
from itertools import islice


def context_of(tokens, order, eos):
    seen = deque()
    for token in islice(reversed(tokens), order - 1):
        seen.appendleft(token)
        if token == eos:
            break
    return tuple(seen)


# %% wrong: eos zero
# "if eos" takes the eos id 0 for "no eos": nothing is a wall then.
# shows: eos = 0, and a 0 in the last tokens.

def context_of(tokens, order, eos):
    start = max(0, len(tokens) - (order - 1))
    if eos:
        for i in range(len(tokens) - 1, start - 1, -1):
            if tokens[i] == eos:
                start = i
                break
    return tuple(tokens[start:])


# %% wrong: identity
# compares with "is": equal strings, tuples or large numbers that are other objects are no wall.
# shows: eos = 1000 or ("<eos>",) made afresh in tokens.

def context_of(tokens, order, eos):
    seen = []
    for token in reversed(tokens):
        if len(seen) == order - 1:
            break
        seen.append(token)
        if token is eos:
            break
    return tuple(reversed(seen))


# %% wrong: reverses in place
# reverses the caller's list and does not turn it back (and a tuple has no reverse).
# shows: tokens after the call; tuples.

def context_of(tokens, order, eos):
    tokens.reverse()
    seen = []
    for token in tokens[: order - 1]:
        seen.append(token)
        if token == eos:
            break
    return tuple(seen[::-1])


# %% wrong: first wall
# cuts at the FIRST eos of the window, not at the last.
# shows: two eos among the last order - 1 tokens.

def context_of(tokens, order, eos):
    window = tuple(tokens)[max(0, len(tokens) - order + 1) :]
    return window[window.index(eos) :] if eos in window else window


# %% wrong: order one after eos
# order 1 sees the last eos, where the text ends with it ("the last eos is part of the history").
# shows: order 1, tokens that end with eos.

def context_of(tokens, order, eos):
    seen = []
    for token in reversed(tokens):
        if token == eos:
            seen.append(token)
            break
        if len(seen) >= order - 1:
            break
        seen.append(token)
    return tuple(reversed(seen))[-max(order - 1, 1) :]


# %% wrong: minus zero
# tokens[-0:] is everything: at order 1 the whole text since the last eos.
# shows: order 1.

def context_of(tokens, order, eos):
    tokens = list(tokens)
    for i in range(len(tokens) - 1, -1, -1):
        if tokens[i] == eos:
            tokens = tokens[i:]
            break
    return tuple(tokens[-(order - 1) :])


# %% wrong: no wall is minus one
# -1 stands for "no eos found", and then tokens[-1:] is the last token only.
# shows: texts without eos of two tokens and more, order 3 and more.

def context_of(tokens, order, eos):
    last = max((i for i, t in enumerate(tokens) if t == eos), default=-1)
    rest = tuple(tokens[last:])
    return rest[max(0, len(rest) - order + 1) :]


# %% wrong: without the wall
# eos itself is left out.
# shows: eos among the last order - 1 tokens.

def context_of(tokens, order, eos):
    seen = []
    for token in reversed(tokens):
        if token == eos or len(seen) == order - 1:
            break
        seen.append(token)
    return tuple(reversed(seen))


# %% wrong: numpy comparison
# np.array(tokens) == eos: tuples become a second axis, mixed tokens become strings.
# shows: tokens that are tuples; numbers beside the eos "<eos>" come back as strings.

import numpy as np


def context_of(tokens, order, eos):
    if len(tokens) == 0:
        return ()
    array = np.array(tokens)
    walls = np.flatnonzero(array == eos)
    start = max(len(array) - order + 1, walls[-1] if len(walls) else 0)
    return tuple(array[start:].tolist())


# %% wrong: eos put in front
# a short text without eos gets one in front.
# shows: ["the"] at order 3: must be ("the",).

def context_of(tokens, order, eos):
    tokens = tuple(tokens)
    if eos not in tokens and len(tokens) < order - 1:
        tokens = (eos, *tokens)
    window = tokens[max(0, len(tokens) - order + 1) :]
    while eos in window[1:]:
        window = window[1:]
    return window


# %% wrong: eos by identity
# looks for eos with `is`, and so misses an equal token that is another object; breaks "the last order - 1 tokens, but none from before the last eos"
# shows: eos = tuple([0, 1]); context_of([5, tuple([0, 1]), 6], 4, eos) keeps the 5
def context_of(tokens, order, eos):
    start = max(0, len(tokens) - (order - 1))
    for i in range(len(tokens) - 1, start, -1):
        if tokens[i] is eos:
            start = i
            break
    return tuple(tokens[start:])


# %% wrong: pops from the list
# shortens the caller's own list until the rest is the answer; breaks "Do not change your arguments. The caller still needs them."
# shows: tokens = [1, 2, 3]; context_of(tokens, 2, 0) leaves tokens == [3]
def context_of(tokens, order, eos):
    seen = tokens if isinstance(tokens, list) else list(tokens)
    while len(seen) > order - 1 or eos in seen[1:]:
        seen.pop(0)
    return tuple(seen)


# %% wrong: tokens compared as text
# Tokens are compared as strings, so the text "0" is a wall if eos is the number 0: a text may hold several kinds of tokens.
# shows: eos is the number 0, and the string "0" stands in the text
def context_of(tokens, order, eos):
    names = [str(token) for token in tokens]
    start = max(0, len(tokens) - (order - 1))
    if str(eos) in names:
        start = max(start, len(names) - 1 - names[::-1].index(str(eos)))
    return tuple(tokens[start:])
