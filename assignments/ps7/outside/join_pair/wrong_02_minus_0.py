# wrong: cuts by text[:-n], which leaves nothing for n = 0.
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
