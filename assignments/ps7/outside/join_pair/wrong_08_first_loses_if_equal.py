# wrong: of equally long texts the first loses a token.
# shows: the table's second row.


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    while len(first) + len(second) + 3 > longest:
        (second if len(second) > len(first) else first).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)
