# %% right: Counts how much of each text is left, and cuts once.
def join_pair(first, second, cls_id, sep_id, longest):
    n, m = len(first), len(second)
    while n + m > longest - 3:
        if n > m:
            n -= 1
        else:
            m -= 1
    ids = [cls_id, *first[:n], sep_id, *second[:m], sep_id]
    return ids, [0] * (n + 2) + [1] * (m + 1)


# %% right: Finds both lengths without a loop: half of the room, rounded up, is the first one's.
def join_pair(first, second, cls_id, sep_id, longest):
    room = longest - 3
    n, m = len(first), len(second)
    if n + m > room:
        n = min(n, max(room - m, (room + 1) // 2))
        m = room - n
    ids = [cls_id, *list(first[:n]), sep_id, *list(second[:m]), sep_id]
    return ids, [int(place > n + 1) for place in range(n + m + 3)]


# %% right: Cuts as many times as tokens are too many.
def join_pair(first, second, cls_id, sep_id, longest):
    texts = [list(first), list(second)]
    for _ in range(max(0, len(first) + len(second) + 3 - longest)):
        del texts[len(texts[0]) <= len(texts[1])][-1]
    ids, segments = [cls_id], [0]
    for side, text in enumerate(texts):
        ids.extend([*text, sep_id])
        segments.extend([side] * (len(text) + 1))
    return ids, segments


# %% right: Takes tokens in turn from both beginnings as long as there is room.
def join_pair(first, second, cls_id, sep_id, longest):
    n = m = 0
    while n + m < longest - 3 and (n < len(first) or m < len(second)):
        if n < len(first) and (n <= m or m == len(second)):
            n += 1
        else:
            m += 1
    row = (cls_id, *first[:n], sep_id, *second[:m], sep_id)
    return list(row), [0 for _ in row[: n + 2]] + [1 for _ in row[n + 2 :]]


# %% right: Counts how many tokens are too many, and takes the difference of lengths off first.
def join_pair(first, second, cls_id, sep_id, longest):
    left, right = list(first), list(second)
    too_many = max(len(left) + len(right) + 3 - longest, 0)
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    at_once = min(too_many, len(longer) - len(shorter))
    del longer[len(longer) - at_once :]
    too_many -= at_once
    del right[len(right) - (too_many + 1) // 2 :]
    del left[len(left) - too_many // 2 :]
    head, tail = [cls_id, *left, sep_id], [*right, sep_id]
    return head + tail, [0] * len(head) + [1] * len(tail)


# %% right: Asks `max` for the longer text; of equal ones it finds the one that stands first.
def join_pair(first, second, cls_id, sep_id, longest):
    first, second = [*first], [*second]
    while len(first) + len(second) > longest - 3:
        max((second, first), key=len).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    n_left = 2 + len(first)
    return ids, [0] * n_left + [1] * (len(ids) - n_left)


# %% right: pop
# copies, while, pop.


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    while len(first) + len(second) + 3 > longest:
        (first if len(first) > len(second) else second).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% right: formula
# the lengths by a formula.


def join_pair(first, second, cls_id, sep_id, longest):
    room = longest - 3
    n, m = len(first), len(second)
    if n + m > room:
        if n <= room // 2:
            m = room - n
        elif m <= room // 2:
            n = room - m
        else:
            m = room // 2
            n = room - m
    first, second = list(first)[:n], list(second)[:m]
    return [cls_id] + first + [sep_id] + second + [sep_id], [0, 0] + [0] * n + [1] * m + [1]


# %% right: counts
# counts down, slices at the end.


def join_pair(first, second, cls_id, sep_id, longest):
    keep = [len(first), len(second)]
    for _ in range(max(0, sum(keep) - (longest - 3))):
        keep[0 if keep[0] > keep[1] else 1] -= 1
    sides = [(cls_id, *first[: keep[0]], sep_id), (*second[: keep[1]], sep_id)]
    ids = [i for side in sides for i in side]
    return ids, [number for number, side in enumerate(sides) for _ in side]


# %% right: grows
# grows instead of cutting: token by token, the first before the second.


def join_pair(first, second, cls_id, sep_id, longest):
    room, kept = longest - 3, ([], [])
    longer = max(len(first), len(second))
    for place in range(longer):
        for side, text in enumerate((first, second)):
            if place < len(text) and len(kept[0]) + len(kept[1]) < room:
                kept[side].append(text[place])
    ids = [cls_id] + kept[0] + [sep_id] + kept[1] + [sep_id]
    return ids, [0] * (len(kept[0]) + 2) + [1] * (len(kept[1]) + 1)


# %% right: slices each time
# copies a text for each token that is cut: quadratic.
# shows: a text of a million tokens takes minutes and more.


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    while len([cls_id] + first + [sep_id] + second + [sep_id]) > longest:
        if len(first) > len(second):
            first = first[:-1]
        else:
            second = second[:-1]
    ids = [cls_id] + first + [sep_id] + second + [sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% wrong: alternately
# cuts from both in turn, the second first, whatever their lengths.
# shows: first of 10, second of 2, room for 8: the second loses one, too.


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    turn = second
    while len(first) + len(second) + 3 > longest:
        other = first if turn is second else second
        (turn or other).pop()
        turn = other
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% wrong: minus 0
# cuts by text[:-n], which leaves nothing for n = 0.
# shows: first of 1, second of 9, longest 8: the first disappears.


def join_pair(first, second, cls_id, sep_id, longest):
    n, m = len(first), len(second)
    while n + m + 3 > longest:
        if n > m:
            n -= 1
        else:
            m -= 1
    if n + m < len(first) + len(second):
        first, second = first[: n - len(first)], second[: m - len(second)]
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% wrong: half for each
# the first gets half of the room at most, even if the second needs less than its half.
# shows: first of 10, second of 1, longest 9: only 4 tokens of text instead of 6.


def join_pair(first, second, cls_id, sep_id, longest):
    room = longest - 3
    first = list(first[: (room + 1) // 2])
    second = list(second[: room - len(first)])
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% wrong: recursion
# one call inside the other for each token that is cut; Python's stack is too short.
# shows: a first text of 5000 tokens: RecursionError.


def join_pair(first, second, cls_id, sep_id, longest):
    if len(first) + len(second) + 3 > longest:
        if len(first) > len(second):
            return join_pair(first[:-1], second, cls_id, sep_id, longest)
        return join_pair(first, second[:-1], cls_id, sep_id, longest)
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% wrong: segments by sep
# finds the end of the first text by its [SEP]; a text may hold this id, and cls_id may equal sep_id.
# shows: first = [5, 2, 6] with sep_id 2; or cls_id = sep_id = 0.


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    while len(first) + len(second) > longest - 3:
        (first if len(first) > len(second) else second).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    end = ids.index(sep_id) + 1
    return ids, [0] * end + [1] * (len(ids) - end)


# %% wrong: lengths as they were
# what was longer at first loses all.
# shows: the table: (10, 11) and (20, 21, 22).


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    loser = first if len(first) > len(second) else second
    other = second if loser is first else first
    while len(first) + len(second) + 3 > longest:
        (loser or other).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% wrong: pops the callers lists
# cuts the caller's own lists, if they are lists.
# shows: first and second after the call.


def join_pair(first, second, cls_id, sep_id, longest):
    first = first if isinstance(first, list) else list(first)
    second = second if isinstance(second, list) else list(second)
    while len(first) + len(second) + 3 > longest:
        (first if len(first) > len(second) else second).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% wrong: first loses if equal
# of equally long texts the first loses a token.
# shows: the table's second row.


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    while len(first) + len(second) + 3 > longest:
        (second if len(second) > len(first) else first).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% wrong: drops an empty side
# an empty second text loses its [SEP] (a single text has only one).
# shows: second = []: the row ends with one [SEP] instead of two.


def join_pair(first, second, cls_id, sep_id, longest):
    was_empty = not second
    first, second = list(first), list(second)
    while len(first) + len(second) + 3 > longest:
        (first if len(first) > len(second) else second).pop()
    ids, segments = [cls_id, *first, sep_id], [0] * (len(first) + 2)
    if not was_empty:
        ids, segments = [*ids, *second, sep_id], segments + [1] * (len(second) + 1)
    return ids, segments


# %% wrong: adds lists
# adds the first text to a list, which a tuple refuses.
# shows: first = (5, 6): TypeError; an empty tuple is replaced by a list.


def join_pair(first, second, cls_id, sep_id, longest):
    n, m = len(first), len(second)
    while n + m + 3 > longest:
        n, m = (n - 1, m) if n > m else (n, m - 1)
    first, second = (first or [])[:n], list(second)[:m]
    ids = [cls_id] + first + [sep_id] + second + [sep_id] if first else [cls_id, sep_id, *second, sep_id]
    return ids, [0] * (n + 2) + [1] * (m + 1)


# %% wrong: cuts the first before the second
# cuts the first text to what the second leaves, but not below its length, and then the second: where both are far too long, the first takes all.
# shows: texts of 9 and 8 tokens, longest 7: 4 and 0 tokens are left in place of 2 and 2

def join_pair(first, second, cls_id, sep_id, longest):
    room = longest - 3
    first, second = list(first), list(second)
    first = first[: max(len(second), room - len(second))][:room]
    second = second[: room - len(first)]
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


# %% wrong: no second sep
# adds no [SEP] behind a text that ends in one.
# shows: first (5, 2), second (6,), [SEP] 2: [1, 5, 2, 6, 2] in place of [1, 5, 2, 2, 6, 2]

def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    while len(first) + len(second) > longest - 3:
        (first if len(first) > len(second) else second).pop()
    left = [cls_id, *first]
    left += [] if first[-1:] == [sep_id] else [sep_id]
    right = second if second[-1:] == [sep_id] else [*second, sep_id]
    return left + right, [0] * len(left) + [1] * len(right)


# %% wrong: a leading [CLS] is dropped
# A [CLS] id that the first text begins with is taken for the row's own and dropped, though a text may hold it.
# shows: first [1, 5, 2] with cls_id 1
def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    if first and first[0] == cls_id:
        del first[0]
    while len(first) + len(second) + 3 > longest:
        longer = first if len(first) > len(second) else second
        del longer[-1]
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (2 + len(first)) + [1] * (1 + len(second))
