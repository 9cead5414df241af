# %% right: Lets tokens without a sentinel fall into a list that nobody reads.
def fill_spans(inputs, targets, sentinel_ids):
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


# %% right: Collects under the sentinel that came last.
from collections import defaultdict


def fill_spans(inputs, targets, sentinel_ids):
    known, spans, last = set(sentinel_ids), defaultdict(list), None
    for token in targets:
        if token in known:
            last = token
        else:
            spans[last].append(token)
    return [t for token in inputs for t in (spans[token] if token in known else [token])]


# %% right: Searches the targets anew for each sentinel.
def fill_spans(inputs, targets, sentinel_ids):
    filled = []
    for token in inputs:
        if token not in sentinel_ids:
            filled.append(token)
            continue
        is_inside = False
        for written in targets:
            if written in sentinel_ids:
                is_inside = written == token
            elif is_inside:
                filled.append(written)
    return filled


# %% right: Cuts the targets at their sentinels.
def fill_spans(inputs, targets, sentinel_ids):
    cuts = [place for place, token in enumerate(targets) if token in sentinel_ids]
    result = list(inputs)
    for sentinel in sentinel_ids:
        span = []
        for start, end in zip(cuts, [*cuts[1:], len(targets)], strict=False):
            if targets[start] == sentinel:
                span += targets[start + 1 : end]
        if sentinel in inputs:
            place = result.index(sentinel)
            result[place : place + 1] = span
    return result


# %% right: Gives each written token its sentinel first.
def fill_spans(inputs, targets, sentinel_ids):
    owner, owned = None, []
    for token in targets:
        owner = token if token in sentinel_ids else owner
        owned.append((owner, token))
    filled = []
    for token in inputs:
        if token in sentinel_ids:
            filled.extend(t for o, t in owned if o == token and t != token)
        else:
            filled.append(token)
    return filled


# %% right: Reads the targets from their end, so that a sentinel closes what was collected.
def fill_spans(inputs, targets, sentinel_ids):
    spans, collected = {}, []
    for token in reversed(targets):
        if token in sentinel_ids:
            spans[token] = collected[::-1] + spans.get(token, [])
            collected = []
        else:
            collected.append(token)
    filled = []
    for token in inputs:
        filled.extend(spans.get(token, []) if token in sentinel_ids else (token,))
    return filled


# %% right: dict
# the hint.


def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {}, []
    for token in targets:
        if token in sentinel_ids:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled


# %% right: walk for each sentinel
# one walk through the targets for each sentinel of the text.


def fill_spans(inputs, targets, sentinel_ids):
    sentinels = frozenset(sentinel_ids)

    def span(wanted):
        inside = False
        for token in targets:
            if token in sentinels:
                inside = token == wanted
            elif inside:
                yield token

    filled = []
    for token in inputs:
        filled.extend(span(token) if token in sentinels else (token,))
    return filled


# %% right: owners
# gives each written token its owner first.

from itertools import accumulate


def fill_spans(inputs, targets, sentinel_ids):
    all_sentinels = set(sentinel_ids)
    marks = (t if t in all_sentinels else None for t in targets)
    owners = accumulate(marks, lambda owner, mark: owner if mark is None else mark)
    written = [(o, t) for o, t in zip(owners, targets) if o is not None and t not in all_sentinels]
    return [
        i
        for token in inputs
        for i in ([t for o, t in written if o == token] if token in all_sentinels else [token])
    ]


# %% right: cuts
# cuts the targets at the sentinels, and replaces from the end of a copy.


def fill_spans(inputs, targets, sentinel_ids):
    cuts = [i for i, token in enumerate(targets) if token in sentinel_ids] + [len(targets)]
    result = list(inputs)
    for place in range(len(inputs) - 1, -1, -1):
        if inputs[place] in sentinel_ids:
            new = []
            for start, end in zip(cuts, cuts[1:]):
                if targets[start] == inputs[place]:
                    new += targets[start + 1 : end]
            result[place : place + 1] = new
    return result


# %% wrong: table up to the largest sentinel
# looks ids up in a table that ends at the largest sentinel.
# shows: sentinels [3, 2], an ordinary id 50: IndexError.


def fill_spans(inputs, targets, sentinel_ids):
    is_sentinel = [False] * (max(sentinel_ids) + 1)
    for sentinel in sentinel_ids:
        is_sentinel[sentinel] = True
    spans, current = {}, []
    for token in targets:
        if is_sentinel[token]:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if is_sentinel[token] else [token]
    return filled


# %% wrong: sorts the callers list
# sorts the caller's sentinels, in order to look them up by bisection (the text is right).
# shows: sentinel_ids after the call.

from bisect import bisect_left


def fill_spans(inputs, targets, sentinel_ids):
    sentinel_ids.sort()

    def is_sentinel(token):
        place = bisect_left(sentinel_ids, token)
        return place < len(sentinel_ids) and sentinel_ids[place] == token

    spans, current = {}, []
    for token in targets:
        if is_sentinel(token):
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if is_sentinel(token) else [token]
    return filled


# %% wrong: the first sentinels
# takes the sentinels of the text to be the first ones of the list, as hide_spans leaves them.
# shows: inputs [5, 98], targets [98, 4], sentinels [99, 98, 97]: the 4 is missing.


def fill_spans(inputs, targets, sentinel_ids):
    n = sum(token in sentinel_ids for token in inputs)
    spans = {sentinel: [] for sentinel in sentinel_ids[:n]}
    current = []
    for token in targets:
        if token in sentinel_ids:
            current = spans.get(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled


# %% wrong: longest span wins
# of several spans of one sentinel only the last one counts that says something.
# shows: targets [99, 6, 99, 7]: 7 instead of 6, 7.


def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {}, None
    for token in targets:
        if token in sentinel_ids:
            current = token
            spans[token] = []
        elif current is not None:
            spans[current].append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled


# %% wrong: in order of the targets
# the spans are put in by their order, not by their sentinels.
# shows: targets [98, 4, 99, 6].


def fill_spans(inputs, targets, sentinel_ids):
    spans = []
    for token in targets:
        if token in sentinel_ids:
            spans.append([])
        elif spans:
            spans[-1].append(token)
    queue, filled = iter(spans), []
    for token in inputs:
        filled += next(queue, []) if token in sentinel_ids else [token]
    return filled


# %% wrong: missing sentinels stay
# a sentinel without a span stays in the text.
# shows: targets [].


def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {}, []
    for token in targets:
        if token in sentinel_ids:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    return [i for token in inputs for i in spans.get(token, [token])]


# %% wrong: stops at the first sentinel of no gap
# stops reading at a sentinel that the text does not have: "this is the end".
# shows: targets [97, 2, 99, 6]: the 6 is missing.


def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {}, []
    for token in targets:
        if token in sentinel_ids:
            if token not in inputs:
                break
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled


# %% wrong: empty text is the targets
# an empty text gives what was written, without its sentinels.
# shows: inputs [], targets [99, 6]: [6] instead of [].


def fill_spans(inputs, targets, sentinel_ids):
    if not inputs:
        return [token for token in targets if token not in sentinel_ids]
    spans, current = {}, []
    for token in targets:
        if token in sentinel_ids:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled


# %% wrong: recursion
# one call inside the other for each token of the text; Python's stack is too short.
# shows: a text of 2000 tokens: RecursionError.


def fill_spans(inputs, targets, sentinel_ids):
    if not inputs:
        return []
    token, *rest = inputs
    if token not in sentinel_ids:
        return [token, *fill_spans(rest, targets, sentinel_ids)]
    span, inside = [], False
    for i in targets:
        if i in sentinel_ids:
            inside = i == token
        elif inside:
            span.append(i)
    return span + fill_spans(rest, targets, sentinel_ids)


# %% wrong: span up to the next in order
# a span ends only at the sentinel that is next in order; others are left out, but what is behind them is taken.
# shows: targets [99, 6, 97, 2, 98, 4], the order 99, 98, 97: 6 and 2 for 99.


def fill_spans(inputs, targets, sentinel_ids):
    follows = dict(zip(sentinel_ids, [*sentinel_ids[1:], None]))
    filled = []
    for token in inputs:
        if token not in sentinel_ids:
            filled.append(token)
            continue
        inside = False
        for i in targets:
            if i == token:
                inside = True
            elif i == follows[token]:
                inside = False
            elif inside and i not in sentinel_ids:
                filled.append(i)
    return filled


# %% wrong: repeated words once
# a word that the span has already is not added again.
# shows: targets [99, 6, 6]: one 6 instead of two.


def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {}, {}
    for token in targets:
        if token in sentinel_ids:
            current = spans.setdefault(token, {})
        else:
            current[token] = True
    filled = []
    for token in inputs:
        filled += spans.get(token, {}) if token in sentinel_ids else [token]
    return filled


# %% wrong: zero before the first sentinel
# collects what stands before the first sentinel under 0, which may be a sentinel.
# shows: inputs [0, 7], targets [5, 6], sentinels [0]: [5, 6, 7] in place of [7]

def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {0: []}, 0
    for token in targets:
        if token in sentinel_ids:
            current = token
            spans.setdefault(current, [])
        else:
            spans[current].append(token)
    filled = []
    for token in inputs:
        filled.extend(spans.get(token, []) if token in sentinel_ids else [token])
    return filled


# %% wrong: targets without a sentinel
# looks for the first sentinel of the targets and fails if there is none.
# shows: targets [3, 4], sentinels [99]: StopIteration

def fill_spans(inputs, targets, sentinel_ids):
    known, spans = set(sentinel_ids), {}
    if targets:
        start = next(n for n, token in enumerate(targets) if token in known)
        for token in targets[start:]:
            if token in known:
                span = spans.setdefault(token, [])
            else:
                span.append(token)
    return [t for token in inputs for t in (spans.get(token, []) if token in known else [token])]


# %% wrong: nothing to fill, the inputs themselves
# without a sentinel in the inputs, the same list is returned.
# shows: changing the result changes the inputs.
def fill_spans(inputs, targets, sentinel_ids):
    if not any(token in sentinel_ids for token in inputs):
        return inputs
    spans, current = {s: [] for s in sentinel_ids}, None
    for token in targets:
        if token in sentinel_ids:
            current = token
        elif current is not None:
            spans[current].append(token)
    filled = []
    for token in inputs:
        filled.extend(spans.get(token, [token]))
    return filled


# %% wrong: asks for two sentinels
# A single one is refused.
# shows: sentinel_ids [9]
def fill_spans(inputs, targets, sentinel_ids):
    """Put the spans of the targets back in place of the sentinels."""
    sentinel_ids[1]
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
