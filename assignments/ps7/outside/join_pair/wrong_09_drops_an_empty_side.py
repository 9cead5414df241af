# wrong: an empty second text loses its [SEP] (a single text has only one).
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
