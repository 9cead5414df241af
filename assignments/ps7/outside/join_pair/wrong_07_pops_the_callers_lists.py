# wrong: cuts the caller's own lists, if they are lists.
# shows: first and second after the call.


def join_pair(first, second, cls_id, sep_id, longest):
    first = first if isinstance(first, list) else list(first)
    second = second if isinstance(second, list) else list(second)
    while len(first) + len(second) + 3 > longest:
        (first if len(first) > len(second) else second).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)
