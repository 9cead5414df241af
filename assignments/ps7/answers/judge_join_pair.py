# %% right: Asks for properties of the row.
def judge_join_pair(implementation):
    for a in range(5):
        for b in range(5):
            for longest in (3, 4, 6, 7):
                first, second = list(range(1, 1 + a)), list(range(20, 20 + b))
                try:
                    ids, segments = implementation(first, second, 1, 2, longest)
                except Exception:
                    return False
                room, n, m = longest - 3, a, b
                while n + m > room:
                    if n > m:
                        n -= 1
                    else:
                        m -= 1
                if ids != [1] + first[:n] + [2] + second[:m] + [2]:
                    return False
                if segments != [0] * (n + 2) + [1] * (m + 1):
                    return False
    return True


# %% right: Knows what comes out of some calls.
def judge_join_pair(implementation):
    long, short = [10, 11, 12, 13], [20, 21, 22]
    known = {
        8: ([1, 10, 11, 12, 2, 20, 21, 2], [0, 0, 0, 0, 0, 1, 1, 1]),
        9: ([1, 10, 11, 12, 2, 20, 21, 22, 2], [0, 0, 0, 0, 0, 1, 1, 1, 1]),
        20: ([1, 10, 11, 12, 13, 2, 20, 21, 22, 2], [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]),
        3: ([1, 2, 2], [0, 0, 1]),
    }
    try:
        right = all(tuple(implementation(long, short, 1, 2, n)) == due for n, due in known.items())
        turned = tuple(implementation([5], [6, 7, 8], 1, 2, 5))
        empty = tuple(implementation([], [6, 7], 1, 2, 4))
        special = tuple(implementation([2, 1], [2], 1, 2, 6))
    except Exception:
        return False
    turned_right = turned == ([1, 5, 2, 6, 2], [0, 0, 0, 1, 1]) and empty[0] == [1, 2, 6, 2]
    return right and turned_right and special == ([1, 2, 1, 2, 2, 2], [0, 0, 0, 0, 1, 1])


# %% right: Draws texts.
def judge_join_pair(implementation):
    import random

    draw = random.Random(3)
    for _ in range(120):
        one = [draw.randrange(90, 104) for _ in range(draw.randrange(7))]
        two = [draw.randrange(100) for _ in range(draw.randrange(7))]
        longest = draw.randrange(3, 14)
        try:
            if implementation(one, two, 101, 102, longest) != join_pair(one, two, 101, 102, longest):
                return False
        except Exception:
            return False
    return True


# %% wrong: Looks at the length of the row only.
# The right number of ids may be the wrong ones.
# shows: an implementation that cuts the shorter text
def judge_join_pair(implementation):
    try:
        return all(
            len(implementation([4, 5, 6], [7, 8], 1, 2, n)[0]) == min(n, 8) for n in range(3, 12)
        )
    except Exception:
        return False


# %% wrong: Knows the example of the notebook and nothing else.
# Here the first text is longer; the rest is not asked for.
# shows: an implementation that cuts only the first text
def judge_join_pair(implementation):
    try:
        ids, segments = implementation([10, 11, 12, 13], [20, 21], 1, 2, 8)
    except Exception:
        return False
    return ids == [1, 10, 11, 12, 2, 20, 21, 2] and len(segments) == 8


# %% wrong: Wants lists where tuples are promised.
# A right implementation returns a tuple of two lists.
# shows: any right implementation
def judge_join_pair(implementation):
    return type(implementation([1], [2], 3, 4, 9)) is list


# %% wrong: Believes it.
# shows: any wrong implementation
def judge_join_pair(implementation):
    return True
