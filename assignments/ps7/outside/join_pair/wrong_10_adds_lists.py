# wrong: adds the first text to a list, which a tuple refuses.
# shows: first = (5, 6): TypeError; an empty tuple is replaced by a list.


def join_pair(first, second, cls_id, sep_id, longest):
    n, m = len(first), len(second)
    while n + m + 3 > longest:
        n, m = (n - 1, m) if n > m else (n, m - 1)
    first, second = (first or [])[:n], list(second)[:m]
    ids = [cls_id] + first + [sep_id] + second + [sep_id] if first else [cls_id, sep_id, *second, sep_id]
    return ids, [0] * (n + 2) + [1] * (m + 1)
