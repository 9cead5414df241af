# wrong: one call inside the other for each token that is cut; Python's stack is too short.
# shows: a first text of 5000 tokens: RecursionError.


def join_pair(first, second, cls_id, sep_id, longest):
    if len(first) + len(second) + 3 > longest:
        if len(first) > len(second):
            return join_pair(first[:-1], second, cls_id, sep_id, longest)
        return join_pair(first, second[:-1], cls_id, sep_id, longest)
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)
