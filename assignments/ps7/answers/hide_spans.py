# %% right: Finds first where spans begin.
def hide_spans(ids, hidden, sentinel_ids):
    starts = [now and not before for before, now in zip([False, *hidden], hidden, strict=False)]
    if sum(starts) + 1 > len(sentinel_ids):
        raise ValueError(f"{len(sentinel_ids)} sentinels for {sum(starts)} spans and the end")
    inputs, targets, unused = [], [], list(sentinel_ids)
    for token, is_hidden, is_start in zip(ids, hidden, starts, strict=True):
        if is_start:
            sentinel = unused.pop(0)
            inputs.append(sentinel)
            targets.append(sentinel)
        (targets if is_hidden else inputs).append(token)
    return inputs, targets + unused[:1]


# %% right: Groups tokens that are hidden, or kept, side by side.
import itertools


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, unused = [], [], iter(sentinel_ids)
    try:
        pairs = zip(hidden, ids, strict=True)
        for is_hidden, run in itertools.groupby(pairs, key=lambda pair: bool(pair[0])):
            tokens = [token for _, token in run]
            if is_hidden:
                sentinel = next(unused)
                inputs.append(sentinel)
                targets += [sentinel, *tokens]
            else:
                inputs += tokens
        return inputs, [*targets, next(unused)]
    except StopIteration:
        raise ValueError("too few sentinels") from None


# %% right: Jumps from the start of a span to its end.
def hide_spans(ids, hidden, sentinel_ids):
    inputs, spans, place = [], [], 0
    while place < len(ids):
        if not hidden[place]:
            inputs.append(ids[place])
            place += 1
            continue
        end = place
        while end < len(ids) and hidden[end]:
            end += 1
        if len(spans) == len(sentinel_ids):
            raise ValueError("too few sentinels")
        inputs.append(sentinel_ids[len(spans)])
        spans.append(ids[place:end])
        place = end
    if len(spans) >= len(sentinel_ids):
        raise ValueError("no sentinel for the end")
    targets = []
    for sentinel, span in zip(sentinel_ids, [*spans, []], strict=False):
        targets.extend([sentinel, *span])
    return inputs, targets


# %% right: Lets the list run out, and says so.
def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, count = [], [], -1
    try:
        for place, token in enumerate(ids):
            if not hidden[place]:
                inputs.append(token)
                continue
            if place == 0 or not hidden[place - 1]:
                count += 1
                inputs.append(sentinel_ids[count])
                targets.append(sentinel_ids[count])
            targets.append(token)
        targets.append(sentinel_ids[count + 1])
    except IndexError as error:
        raise ValueError("sentinel_ids is too short") from error
    return inputs, targets


# %% right: Gives every token the number of spans that have begun by then.
import itertools


def hide_spans(ids, hidden, sentinel_ids):
    begun = list(
        itertools.accumulate(
            int(h and not (place and hidden[place - 1])) for place, h in enumerate(hidden)
        )
    )
    n_spans = begun[-1] if begun else 0
    if n_spans >= len(sentinel_ids):
        raise ValueError(f"{n_spans} spans need {n_spans + 1} sentinels")
    inputs, targets, last = [], [], 0
    for token, is_hidden, number in zip(ids, hidden, begun, strict=True):
        if number > last:
            inputs.append(sentinel_ids[last])
            last = number
        if not is_hidden:
            inputs.append(token)
    for number in range(n_spans):
        span = [t for t, h, n in zip(ids, hidden, begun, strict=True) if h and n == number + 1]
        targets += [sentinel_ids[number], *span]
    return inputs, [*targets, sentinel_ids[n_spans]]


# %% right: Cuts the spans out of a copy, the last one first.
def hide_spans(ids, hidden, sentinel_ids):
    inputs, edges = list(ids), [False, *hidden, False]
    places = [p for p in range(len(edges) - 1) if edges[p] != edges[p + 1]]
    spans = list(zip(places[::2], places[1::2], strict=True))
    if not len(spans) < len(sentinel_ids):
        raise ValueError("too few sentinels")
    targets = [sentinel_ids[len(spans)]]
    for (start, end), sentinel in reversed(list(zip(spans, sentinel_ids, strict=False))):
        targets[:0] = [sentinel, *ids[start:end]]
        inputs[start:end] = [sentinel]
    return inputs, targets


# %% right: walk
# the hint.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, before, sentinels = [], [], False, iter(sentinel_ids)
    try:
        for token, is_hidden in zip(ids, hidden):
            if is_hidden and not before:
                inputs.append(next(sentinels))
                targets.append(inputs[-1])
            (targets if is_hidden else inputs).append(token)
            before = is_hidden
        targets.append(next(sentinels))
    except StopIteration:
        raise ValueError("too few sentinels") from None
    return inputs, targets


# %% right: groupby
# itertools.groupby.

from itertools import groupby


def hide_spans(ids, hidden, sentinel_ids):
    runs = [(key, [i for i, _ in run]) for key, run in groupby(zip(ids, hidden), key=lambda p: p[1])]
    n = sum(key for key, _ in runs)
    if len(sentinel_ids) <= n:
        raise ValueError(f"{n} spans and the end need {n + 1} sentinels")
    inputs, targets, k = [], [], 0
    for key, run in runs:
        if key:
            inputs += [sentinel_ids[k]]
            targets += [sentinel_ids[k], *run]
            k += 1
        else:
            inputs += run
    return inputs, targets + [sentinel_ids[n]]


# %% right: borders
# begins and ends first, then slices.


def hide_spans(ids, hidden, sentinel_ids):
    padded = [False, *hidden, False]
    starts = [i for i in range(len(ids)) if padded[i + 1] and not padded[i]]
    ends = [i + 1 for i in range(len(ids)) if padded[i + 1] and not padded[i + 2]]
    if len(sentinel_ids) < len(starts) + 1:
        raise ValueError
    inputs, targets, done = [], [], 0
    for start, end, sentinel in zip(starts, ends, sentinel_ids):
        inputs.extend([*ids[done:start], sentinel])
        targets.extend([sentinel, *ids[start:end]])
        done = end
    return inputs + ids[done:], targets + sentinel_ids[len(starts) : len(starts) + 1]


# %% right: regex
# a regular expression over a string of marks.

import re


def hide_spans(ids, hidden, sentinel_ids):
    marks = "".join("x" if h else "." for h in hidden)
    spans = [m.span() for m in re.finditer("x+", marks)]
    if len(spans) >= len(sentinel_ids):
        raise ValueError("not enough")
    inputs, targets = list(ids), []
    for (a, b), sentinel in reversed(list(zip(spans, sentinel_ids))):
        targets[:0] = [sentinel, *ids[a:b]]
        inputs[a:b] = [sentinel]
    return inputs, [*targets, sentinel_ids[len(spans)]]


# %% wrong: pops sentinels
# takes the sentinels out of the caller's list.
# shows: sentinel_ids after the call.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, before = [], [], False
    try:
        for token, is_hidden in zip(ids, hidden):
            if is_hidden and not before:
                sentinel = sentinel_ids.pop(0)
                inputs.append(sentinel)
                targets.append(sentinel)
            (targets if is_hidden else inputs).append(token)
            before = is_hidden
        targets.append(sentinel_ids.pop(0))
    except IndexError:
        raise ValueError("too few sentinels") from None
    return inputs, targets


# %% wrong: hidden 0 ends a span
# remembers the hidden token before, and takes the id 0 for none.
# shows: ids [0, 5], both hidden: two spans instead of one.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, before, k = [], [], None, 0
    for token, is_hidden in zip(ids, hidden):
        if not is_hidden:
            inputs.append(token)
            before = None
            continue
        if not before:
            if k >= len(sentinel_ids):
                raise ValueError("too few sentinels")
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        targets.append(token)
        before = token
    if k >= len(sentinel_ids):
        raise ValueError("too few sentinels")
    return inputs, [*targets, sentinel_ids[k]]


# %% wrong: nothing hidden without sentinels
# if nothing is hidden, the missing end is not noticed.
# shows: hide_spans([5], [False], []): ValueError expected, ([5], []) returned.


def hide_spans(ids, hidden, sentinel_ids):
    if not any(hidden):
        return list(ids), sentinel_ids[:1]
    inputs, targets, k = [], [], -1
    for i, token in enumerate(ids):
        if hidden[i]:
            if i == 0 or not hidden[i - 1]:
                k += 1
                if k + 1 >= len(sentinel_ids):
                    raise ValueError("too few sentinels")
                inputs.append(sentinel_ids[k])
                targets.append(sentinel_ids[k])
            targets.append(token)
        else:
            inputs.append(token)
    return inputs, [*targets, sentinel_ids[k + 1]]


# %% wrong: recursion
# one call inside the other for each token; Python's stack is too short.
# shows: a text of 2000 tokens: RecursionError.


def hide_spans(ids, hidden, sentinel_ids):
    def go_on(i, k, before):
        if k >= len(sentinel_ids):
            raise ValueError("too few sentinels")
        if i == len(ids):
            return [], [sentinel_ids[k]]
        if not hidden[i]:
            inputs, targets = go_on(i + 1, k + before, False)
            return [ids[i], *inputs], targets
        inputs, targets = go_on(i + 1, k, True) if i + 1 < len(ids) else ([], end(k + 1))
        if before:
            return inputs, [ids[i], *targets]
        return [sentinel_ids[k], *inputs], [sentinel_ids[k], ids[i], *targets]

    def end(k):
        if k >= len(sentinel_ids):
            raise ValueError("too few sentinels")
        return [sentinel_ids[k]]

    return go_on(0, 0, False)


# %% wrong: a sentinel for each token
# every hidden token is a span of its own.
# shows: two hidden tokens side by side.


def hide_spans(ids, hidden, sentinel_ids):
    if len(sentinel_ids) < sum(hidden) + 1:
        raise ValueError("too few sentinels")
    inputs, targets, k = [], [], 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden:
            inputs.append(sentinel_ids[k])
            targets += [sentinel_ids[k], token]
            k += 1
        else:
            inputs.append(token)
    return inputs, [*targets, sentinel_ids[k]]


# %% wrong: first looks at last
# the token before the first is the last one: hidden[-1].
# shows: first and last token hidden.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, k = [], [], 0
    for i in range(len(ids)):
        if hidden[i] and not hidden[i - 1]:
            if k >= len(sentinel_ids):
                raise ValueError("too few sentinels")
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        (targets if hidden[i] else inputs).append(ids[i])
    if k >= len(sentinel_ids):
        raise ValueError("too few sentinels")
    return inputs, [*targets, sentinel_ids[k]]


# %% wrong: sentinels from the largest
# uses the sentinels from the largest down, as T5's are.
# shows: sentinels [31, 40].


def hide_spans(ids, hidden, sentinel_ids):
    falling = sorted(sentinel_ids, reverse=True)
    inputs, targets, before, k = [], [], False, 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden and not before:
            if k >= len(falling):
                raise ValueError("too few sentinels")
            inputs.append(falling[k])
            targets.append(falling[k])
            k += 1
        (targets if is_hidden else inputs).append(token)
        before = is_hidden
    if k >= len(falling):
        raise ValueError("too few sentinels")
    return inputs, [*targets, falling[k]]


# %% wrong: hundred sentinels
# counts on T5's hundred sentinels: more spans are an error, even if there are sentinels enough.
# shows: 150 spans and 200 sentinels: ValueError.


def hide_spans(ids, hidden, sentinel_ids):
    sentinels = iter(sentinel_ids[:100])
    inputs, targets, before = [], [], False
    try:
        for token, is_hidden in zip(ids, hidden):
            if is_hidden and not before:
                inputs.append(next(sentinels))
                targets.append(inputs[-1])
            (targets if is_hidden else inputs).append(token)
            before = is_hidden
        targets.append(next(sentinels))
    except StopIteration:
        raise ValueError("too few sentinels") from None
    return inputs, targets


# %% wrong: too few by the text
# asks a text of 9 tokens or more for as many sentinels as it could need at most.
# shows: ids of 10, nothing hidden, one sentinel: ValueError.


def hide_spans(ids, hidden, sentinel_ids):
    n_spans = sum(now and not before for before, now in zip([False, *hidden], hidden))
    needed = n_spans + 1 if len(ids) < 9 else (len(ids) + 1) // 2 + 1
    if len(sentinel_ids) < needed:
        raise ValueError("too few sentinels")
    inputs, targets, before, k = [], [], False, 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden and not before:
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        (targets if is_hidden else inputs).append(token)
        before = is_hidden
    return inputs, [*targets, sentinel_ids[k]]


# %% wrong: index error
# too few sentinels end in an IndexError.
# shows: two spans, two sentinels.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, before, k = [], [], False, 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden and not before:
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        (targets if is_hidden else inputs).append(token)
        before = is_hidden
    return inputs, [*targets, sentinel_ids[k]]


# %% wrong: returns the argument
# if nothing is hidden, the caller's own list comes back.
# shows: hide_spans(ids, all False, ...)[0] is ids.


def hide_spans(ids, hidden, sentinel_ids):
    if not sentinel_ids:
        raise ValueError("too few sentinels")
    if True not in hidden:
        return ids, [sentinel_ids[0]]
    inputs, targets, before, k = [], [], False, 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden and not before:
            if k >= len(sentinel_ids):
                raise ValueError("too few sentinels")
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        (targets if is_hidden else inputs).append(token)
        before = is_hidden
    if k >= len(sentinel_ids):
        raise ValueError("too few sentinels")
    return inputs, [*targets, sentinel_ids[k]]
