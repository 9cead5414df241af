# %% right: Knows what comes out of a few calls.
def judge_merge_pair(implementation):
    known = [
        ([], (7, 7), []),
        ([5], (5, 5), [5]),
        ([7, 7, 7, 5], (7, 7), [9, 7, 5]),
        ([5, 7, 7], (7, 7), [5, 9]),
        ([7, 7, 7, 7], (7, 7), [9, 9]),
        ([7, 5, 7], (7, 7), [7, 5, 7]),
        ([1, 2, 3, 1, 2, 1], (1, 2), [9, 3, 9, 1]),
        ([2, 1, 2, 1, 3], (1, 2), [2, 9, 1, 3]),
        ([9, 7, 7, 9], (7, 9), [9, 7, 9]),
        ([7, 9, 9], (7, 9), [9, 9]),
        ([9, 7, 7], (9, 7), [9, 7]),
    ]
    for ids, pair, due in known:
        try:
            found = implementation(ids, pair, 9)
        except (IndexError, ValueError, TypeError):
            return False
        if list(found) != due:
            return False
    return True


# %% right: Draws many lists, and asks for properties.
def judge_merge_pair(implementation):
    import random

    if list(implementation([1, 2, 2, 1], (1, 2), 1)) != [1, 2, 1]:  # its own id as the new one
        return False
    draw = random.Random(0)
    for _ in range(150):
        ids = [draw.randrange(3) for _ in range(draw.randrange(9))]
        pair = draw.randrange(3), draw.randrange(3)
        try:
            found = implementation(list(ids), pair, 9)
        except Exception:
            return False
        back = [i for one in found for i in (pair if one == 9 else (one,))]
        left = list(zip(found, found[1:]))
        runs = any(a == pair[0] == pair[1] and b == 9 for a, b in left)
        if back != ids or pair in left or runs:
            return False
    return True


# %% right: Holds it against str.replace.
def judge_merge_pair(implementation):
    texts = ["", "a", "aa", "aaa", "aaaa", "ba", "ab", "bab", "abab", "aab", "abb", "baab", "aabab"]
    try:
        for text in texts:
            for pair in ("aa", "ab", "ba"):
                ids = [ord(letter) for letter in text]
                found = implementation(ids, tuple(map(ord, pair)), ord("M"))
                if "".join(map(chr, found)) != text.replace(pair, "M"):
                    return False
        if implementation([1, 2, 2], (1, 2), 1) != [1, 2]:
            return False
    except Exception:
        return False
    return True


# %% right: Lets what it calls raise.
def judge_merge_pair(implementation):
    lists = [[a, b, c, d] for a in (1, 2) for b in (1, 2) for c in (1, 2) for d in (1, 2)]
    lists += [ids[:n] for ids in lists for n in range(4)]
    return all(
        implementation(ids, pair, merged) == merge_pair(ids, pair, merged)
        for ids in lists
        for pair, merged in (((1, 1), 9), ((1, 2), 1))
    )


# %% wrong: Tries one long list without repeats.
# No run of equal ids, one pair, in the middle.
# shows: an implementation that goes from right to left
def judge_merge_pair(implementation):
    try:
        return implementation(list(range(20)), (7, 8), 99) == [*range(7), 99, *range(9, 20)]
    except Exception:
        return False


# %% wrong: Compares what is left as a set.
# How often and where an id stands is lost.
# shows: an implementation that goes from right to left
def judge_merge_pair(implementation):
    try:
        return set(implementation([7, 7, 7, 5], (7, 7), 9)) == {9, 7, 5}
    except Exception:
        return False


# %% wrong: Says that it is right.
# shows: any wrong implementation
def judge_merge_pair(implementation):
    return True


# %% wrong: Is content with any answer.
# An exception is all that it refuses.
# shows: an implementation that merges the first pair only
def judge_merge_pair(implementation):
    try:
        implementation([1, 2, 3], (1, 2), 4)
        return True
    except Exception:
        return False
