# right: copies a text for each token that is cut: quadratic.
# shows: a text of a million tokens takes minutes and more.


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    while len([cls_id] + first + [sep_id] + second + [sep_id]) > longest:
        if len(first) > len(second):
            first = first[:-1]
        else:
            second = second[:-1]
    ids = [cls_id] + first + [sep_id] + second + [sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)
