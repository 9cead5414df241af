# %% right: Walks over all places and skips the one after a merge.
def merge_pair(ids, pair, merged):
    result, skip = [], False
    for place, current in enumerate(ids):
        if skip:
            skip = False
        elif current == pair[0] and place + 1 < len(ids) and ids[place + 1] == pair[1]:
            result.append(merged)
            skip = True
        else:
            result.append(current)
    return result


# %% right: Looks back at what was written last.
def merge_pair(ids, pair, merged):
    result, fresh = [], False
    for current in ids:
        if result and not fresh and result[-1] == pair[0] and current == pair[1]:
            result[-1], fresh = merged, True
        else:
            result.append(current)
            fresh = False
    return result


# %% right: Merges at the front and calls itself for the rest.
def merge_pair(ids, pair, merged):
    for place in range(len(ids) - 1):
        if ids[place] == pair[0] and ids[place + 1] == pair[1]:
            return [*ids[:place], merged, *merge_pair(ids[place + 2 :], pair, merged)]
    return list(ids)


# %% right: Changes a copy from left to right.
def merge_pair(ids, pair, merged):
    result, place = list(ids), 0
    while place + 1 < len(result):
        if (result[place], result[place + 1]) == pair:
            result[place] = merged
            del result[place + 1]
        place += 1
    return result


# %% right: Asks an iterator for one id after the other.
def merge_pair(ids, pair, merged):
    waiting = iter(ids)
    result, missing = [], object()
    current = next(waiting, missing)
    while current is not missing:
        following = next(waiting, missing)
        if following is not missing and (current, following) == pair:
            result.append(merged)
            current = next(waiting, missing)
        else:
            result.append(current)
            current = following
    return result


# %% right: while loop
def merge_pair(ids, pair, merged):
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            out.append(merged)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


# %% right: iterator
_NOTHING = object()


def merge_pair(ids, pair, merged):
    left, right = pair
    out, waiting = [], _NOTHING
    for i in ids:
        if waiting is not _NOTHING and waiting == left and i == right:
            out.append(merged)
            waiting = _NOTHING
        else:
            if waiting is not _NOTHING:
                out.append(waiting)
            waiting = i
    if waiting is not _NOTHING:
        out.append(waiting)
    return out


# %% right: skip flag
def merge_pair(ids: list, pair: tuple, merged) -> list:
    out, skip = [], False
    for place, current in enumerate(ids):
        if skip:
            skip = False
            continue
        skip = tuple(ids[place : place + 2]) == tuple(pair)
        out.append(merged if skip else current)
    return out


# %% right: generator
def merge_pair(ids, pair, merged):
    def parts():
        stream = iter(ids)
        for a in stream:
            while a == pair[0]:
                b = next(stream, parts)
                if b is parts:
                    break
                if b == pair[1]:
                    a = merged
                    break
                yield a
                a = b
            else:
                yield a
                continue
            yield a

    return list(parts())


# %% right: stack backwards
def merge_pair(ids, pair, merged):
    stack, out = list(reversed(ids)), []
    while stack:
        a = stack.pop()
        if a == pair[0] and stack and stack[-1] == pair[1]:
            stack.pop()
            a = merged
        out.append(a)
    return out


# %% right: starts first
# first find where merges begin, then build

from itertools import pairwise


def merge_pair(ids, pair, merged):
    begins, free = set(), 0
    for i, both in enumerate(pairwise(ids)):
        if i >= free and both == tuple(pair):
            begins.add(i)
            free = i + 2
    return [merged if i in begins else token for i, token in enumerate(ids) if i - 1 not in begins]


# %% right: one id held back
# one pass over an iterator that holds one id back; a box says whether there is one
def merge_pair(ids, pair, merged):
    result, held = [], []
    for i in ids:
        if held and held[0] == pair[0] and i == pair[1]:
            held.clear()
            result.append(merged)
        else:
            result += held
            held = [i]
    return result + held


# %% wrong: identity
# compares with "is": equal ids above 256 (or bytes) may be different objects.
# shows: ids made at run time, such as int("300") or bytes joined afresh.

def merge_pair(ids, pair, merged):
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] is pair[0] and ids[i + 1] is pair[1]:
            out.append(merged)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


# %% wrong: same list back
# if the pair does not occur it returns the caller's own list, not a new one.
# shows: `result is ids`; changing the result changes ids.

from itertools import pairwise


def merge_pair(ids, pair, merged):
    if pair not in pairwise(ids):
        return ids
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(merged)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


# %% wrong: zero behind the end
# a 0 is put behind the end as a neighbour: a last id that is pair[0] merges with it if pair[1] is 0.
# shows: [5] with the pair (5, 0): must stay [5].

def merge_pair(ids, pair, merged):
    padded, out, i = [*ids, 0], [], 0
    while i < len(ids):
        if (padded[i], padded[i + 1]) == tuple(pair):
            out.append(merged)
            i += 2
        else:
            out.append(padded[i])
            i += 1
    return out


# %% wrong: merged is used again
# looks at the last id of the RESULT: a merged id can be merged again at once.
# shows: merged equal to pair[0]: [1, 2, 2] with (1, 2) -> 1 must give [1, 2], not [1].

def merge_pair(ids, pair, merged):
    out = []
    for i in ids:
        if out and out[-1] == pair[0] and i == pair[1]:
            out[-1] = merged
        else:
            out.append(i)
    return out


# %% wrong: from the right
# goes from right to left.
# shows: runs of odd length: [7, 7, 7].

def merge_pair(ids, pair, merged):
    out, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == tuple(pair):
            out.append(merged)
            i -= 2
        else:
            out.append(ids[i])
            i -= 1
    return out[::-1]


# %% wrong: in place
# changes the caller's list with del (and returns it).
# shows: ids after the call.

def merge_pair(ids, pair, merged):
    i = 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            ids[i : i + 2] = [merged]
        i += 1
    return ids


# %% wrong: text replace
# joins the ids to a text "1,2,12," and replaces in it: "2,1," is found inside "12,1,".
# shows: [12, 1] with the pair (2, 1); bytes come back as strings of their repr.

def merge_pair(ids, pair, merged):
    if any(not isinstance(i, int) for i in ids):
        return merge_bytes(ids, pair, merged)
    text = "".join(f"{i}," for i in ids).replace(f"{pair[0]},{pair[1]},", f"{merged},")
    return [int(part) for part in text.split(",") if part]


def merge_bytes(ids, pair, merged):
    out, i = [], 0
    while i < len(ids):
        hit = tuple(ids[i : i + 2]) == pair
        out.append(merged if hit else ids[i])
        i += 1 + hit
    return out


# %% wrong: first only
# merges the first occurrence only... and the one after it.
# shows: three occurrences.

def merge_pair(ids, pair, merged):
    out = list(ids)
    for _ in range(2):
        for i in range(len(out) - 1):
            if (out[i], out[i + 1]) == tuple(pair):
                out[i : i + 2] = [merged]
                break
    return out


# %% wrong: recursion
# recursion, one level per id: RecursionError for a thousand ids.
# shows: long lists.

def merge_pair(ids, pair, merged):
    if len(ids) < 2:
        return list(ids)
    if (ids[0], ids[1]) == tuple(pair):
        return [merged] + merge_pair(ids[2:], pair, merged)
    return [ids[0]] + merge_pair(ids[1:], pair, merged)


# %% wrong: falsy neighbour
# the id 0 (and b"") is taken for "nothing waiting" and gets lost.
# shows: a 0 in the list.

def merge_pair(ids, pair, merged):
    out, waiting = [], None
    for i in ids:
        if waiting is not None and (waiting, i) == tuple(pair):
            out.append(merged)
            waiting = None
            continue
        if waiting:
            out.append(waiting)
        waiting = i
    return out + ([waiting] if waiting is not None else [])


# %% wrong: merges what was merged
# compares with the last id of the RESULT, which may itself be a merge; breaks "An id that has been merged is used up" where "merged may even be an id that the list holds already"
# shows: merge_pair([1, 2, 2], (1, 2), 1) is [1] in place of [1, 2]
def merge_pair(ids, pair, merged):
    result, free = [], False
    first, second = pair
    for i in ids:
        if result and result[-1] == first and i == second and (first != second or free):
            result[-1] = merged
            free = False
        else:
            result.append(i)
            free = True
    return result


# %% wrong: gives the same list back
# where the pair does not occur, returns the list that it was given; breaks "returns: a new list"
# shows: ids = [1, 2, 3]; merge_pair(ids, (3, 1), 9) is ids
def merge_pair(ids, pair, merged):
    if tuple(pair) not in zip(ids, ids[1:]):
        return ids
    result, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == tuple(pair):
            result.append(merged)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result
