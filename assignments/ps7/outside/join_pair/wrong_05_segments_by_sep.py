# wrong: finds the end of the first text by its [SEP]; a text may hold this id, and cls_id may equal sep_id.
# shows: first = [5, 2, 6] with sep_id 2; or cls_id = sep_id = 0.


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    while len(first) + len(second) > longest - 3:
        (first if len(first) > len(second) else second).pop()
    ids = [cls_id, *first, sep_id, *second, sep_id]
    end = ids.index(sep_id) + 1
    return ids, [0] * end + [1] * (len(ids) - end)
