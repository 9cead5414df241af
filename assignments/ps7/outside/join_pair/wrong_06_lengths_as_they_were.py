# wrong: what was longer at first loses all.
# shows: the table: (10, 11) and (20, 21, 22).


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    loser = first if len(first) > len(second) else second
    other = second if loser is first else first
    while len(first) + len(second) + 3 > longest:
        (loser or other).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)
